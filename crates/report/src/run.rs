//! The report of a run, written once for terminals, Markdown and pages.

mod bursts;
pub(crate) mod cells;
mod control;
mod cpu;
mod curve;
mod goals;
mod grid;
mod hardware;
mod heat;
mod key_figures;
mod latency;
mod ledger;
mod legend;
mod loss;
pub(crate) mod machine;
mod parameters;
mod ranked;
mod recovery;
mod reset;
mod sizes;
mod throughput;
mod trials;
mod visits;

use maud::{Markup, html};
use nicety_model::note::List;
use nicety_model::{Run, Verdict};

use crate::Report;
use crate::answer;
use crate::document::html::doubt;
use crate::document::{Block, Document, Medium};
use crate::error::ReportError;
use crate::fate;
use crate::figure::{self, Room};
use crate::guests;
use crate::hops;
use crate::json;
use crate::number::{self, plural};
use crate::pick::{self, Group};
use crate::route::Routes;
use crate::{skips, sock, waterfall};
use throughput::{Throughput, Unit};

/// Lines that a page shows of a list that few read; more are folded.
const FEW: usize = 4;
/// Cells from which the data in a page have shorter numbers.
const MANY: usize = 500;

/// The answer in words, a row per cell, then what a reader must know about the numbers. A page draws
/// loss curves where the run has trials, and says where it has none.
impl Report for Run {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let run = self;
        let groups = pick::groups(run);
        let mut doc = Document::new(medium, &run.run.name);
        doc.host = run.run.host.called();
        answer::begin(&mut doc, run, &groups);
        // What belongs on the first screen below the answer is an opening block, and stands here.
        match medium {
            Medium::Terminal => {}
            Medium::Markdown => doc.opening.push(Block::Text(how(run))),
            Medium::Page => page(&mut doc, run, &groups)?,
        }
        doc.opening
            .extend(Routes::of(run, &groups).map(Block::Routes));
        results(&mut doc, run, &groups);
        doc.list("others", "The other paths", answer::others(run, &groups));
        let most = match medium {
            Medium::Terminal => FEW,
            _ => usize::MAX,
        };
        let falls = waterfall::blocks(run, &groups, medium, most);
        let told = !falls.is_empty();
        if told {
            doc.section("waterfall", "Frames from station to station", falls);
        } else {
            // Runs put together by older versions have none.
            doc.list(
                "fates",
                "What became of lost frames",
                fate::lines(&groups, most),
            );
        }
        let hops = hops::blocks(&groups, most);
        // A terminal has room for one of the two.
        let room = !told || medium != Medium::Terminal;
        if room && !hops.is_empty() {
            doc.section("hops", "Where frames spend their time", hops);
        }
        sock::section(&mut doc, &run.sockets, Vec::new())?;
        let problems = cells::notes(run, &groups, List::Problem);
        doc.list("problems", "Problems", problems);
        if doc.on_page() && !groups.is_empty() {
            doc.section("loss", "Loss against load", loss::blocks(run, &groups));
            doc.section("latency", "Latency", latency::blocks(&groups));
            doc.section("cpu", "CPU time", cpus(&groups));
            doc.section("ledger", "Where frames were lost", ledger::blocks(&groups));
        }
        beside(&mut doc, run);
        let worth_telling = match medium {
            Medium::Terminal => groups.iter().any(|group| group.verdict() != Verdict::Ok),
            _ => run.sockets.is_empty() || !groups.is_empty(),
        };
        if worth_telling {
            let title = if doc.on_page() {
                "What the verdicts mean"
            } else {
                "Verdicts"
            };
            doc.section("verdicts", title, cells::verdicts(&groups));
        }
        let conditions = cells::notes(run, &groups, List::Condition);
        doc.list("conditions", "Conditions", conditions);
        if medium != Medium::Terminal {
            let machine = match medium {
                Medium::Page => machine::fingerprint(run),
                _ => vec![Block::Text(machine::line(run))],
            };
            doc.section("machine", "Machine", machine);
            doc.section(
                "repeat",
                "Repeat it",
                vec![Block::Code(run.run.command.clone())],
            );
        }
        if doc.on_page() && !run.trials.is_empty() {
            doc.section("trials", "Trials", vec![trials::table(run)]);
        }
        Ok(doc)
    }
}

/// How the run was made.
fn how(run: &Run) -> String {
    let head = &run.run;
    let missing = if head.complete {
        ""
    } else {
        " Not complete: see below for what is missing."
    };
    format!(
        "Started {}, {} long, preset {}, loss goal {}, seed {}.{missing}",
        head.started,
        number::seconds(head.elapsed_s),
        head.preset,
        number::loss(head.loss_goal),
        head.seed
    )
}

/// What is around the sections of a page.
fn page(doc: &mut Document, run: &Run, groups: &[Group<'_>]) -> Result<(), ReportError> {
    let (head, host) = (&run.run, &run.run.host);
    doc.opening
        .push(Block::Drawn(key_figures::worth(run, groups)));
    let ranked = ranked::figures(groups);
    let figure = ranked.or_else(|| {
        let throughput = Throughput::new(run, groups)?;
        Some(throughput.figure(Unit::Fps, "Throughput"))
    });
    let figure = figure.unwrap_or_default();
    doc.page.figure = Some(html! { (figure) (key_figures::tiles(groups)) });
    doc.page.generator = Some(format!("nicety {}", host.nicety));
    let mut eyebrow = format!("nicety bench · {}", head.started.replace('T', " "));
    if !host.cpu_model.is_empty() {
        let cpus = plural(host.cpus, "CPU");
        eyebrow.push_str(&format!(" · {}, {cpus}", host.cpu_model));
    }
    if !host.kernel.is_empty() {
        eyebrow.push_str(&format!(" · Linux {}", host.kernel));
    }
    doc.page.eyebrow = eyebrow;
    doc.page.footer = format!(
        "Written by nicety {}. Terms as in RFC 1242 and RFC 2544; frame sizes include the FCS.",
        host.nicety
    );
    let style = if run.visits.len() > MANY {
        json::Style::Short
    } else {
        json::Style::Compact
    };
    doc.page.data = json::text(run, style)?;
    doc.page.save = ("Save this run as JSON", "nicety-run.json");
    Ok(())
}

/// The table of cells and what follows from it.
pub(crate) fn results(doc: &mut Document, run: &Run, groups: &[Group<'_>]) {
    let mut blocks = Vec::new();
    let throughput = Throughput::new(run, groups).filter(|_| doc.on_page());
    if doc.on_page() && throughput.is_none() && (run.sockets.is_empty() || !groups.is_empty()) {
        blocks.push(Block::text("No result has a throughput."));
    }
    if !groups.is_empty() {
        blocks.push(Block::Table(cells::table(groups, doc.medium)));
    }
    if throughput.is_some() {
        blocks.extend(visits::how(run, groups));
    }
    // A single size makes no curve; the page begins with the paths' order then.
    if let Some(throughput) = throughput.filter(|_| !ranked::are_drawn(groups)) {
        blocks.push(Block::Drawn(throughput.figure(Unit::L1, "Bit rate")));
        blocks.push(Block::Remark(throughput.remarks()));
    }
    doc.main("throughput", "Throughput", blocks);
    doc.section("curve", "Curve", curve::blocks(groups));
    doc.section("goals", "Throughput by loss goal", goals::blocks(groups));
    doc.section("bursts", "Bursts", bursts::blocks(groups));
    doc.section("recovery", "System recovery", recovery::blocks(groups));
    doc.section("reset", "Reset", reset::blocks(groups));
    doc.section("sizes", "Frames of each size", sizes::blocks(groups));
    cells::users(doc, groups);
    let rankings = grid::rankings(groups, doc.medium);
    doc.tables("ranking", "Ranking of the paths", rankings);
    if doc.medium != Medium::Terminal {
        let map = heat::map(groups, doc.medium);
        doc.tables("matrix", "The matrix", map.into_iter().collect());
        if doc.on_page() {
            doc.section(
                "parameters",
                "Which parameter matters",
                parameters::section(groups),
            );
        }
        // Directions by frame size are long: pages have them.
        let most = if doc.on_page() { usize::MAX } else { 1 };
        let directions = grid::directions(groups).into_iter().take(most);
        doc.tables("directions", "One direction and both", directions.collect());
    }
    doc.list("guests", guests::HEADING, guests::lines(groups));
}

/// Figures of the first cells that have one, in a grid, each under its name and verdict.
fn figures(
    kind: &str,
    groups: &[Group<'_>],
    draw: impl Fn(&Group<'_>, Room) -> Option<Markup>,
    below: impl Fn(&Group<'_>) -> Markup,
) -> Option<Markup> {
    let drawn = figure::fill(groups, |group, room| {
        let body = html! { (draw(group, room)?) (below(group)) };
        let id = figure::anchor(kind, group.name);
        let beside = doubt(group.verdict());
        Some(figure::titled(&id, group.name, beside, body))
    });
    let rest = loss::not_all(drawn.len(), groups.len());
    (!drawn.is_empty()).then(|| html! { (figure::grid(&drawn)) (rest) })
}

fn cpus(groups: &[Group<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(grid) = figures("cpu", groups, cpu::figure, cpu::left_out) {
        blocks.push(Block::text(
            "Share of each core’s time while the confirm trial sent at the throughput.",
        ));
        blocks.push(Block::Drawn(html! { (cpu::legend()) (grid) }));
    }
    blocks.push(match cpu::table(groups) {
        Some(table) => Block::Table(table),
        None => Block::text("CPU time was not read."),
    });
    blocks
}

/// The control cell, the tester alone, and what has no result.
fn beside(doc: &mut Document, run: &Run) {
    if let Some(control) = &run.control {
        let mut blocks = vec![Block::Text(control::words(control))];
        let figure = control::figure(control).filter(|_| doc.on_page());
        blocks.extend(figure.map(Block::Drawn));
        doc.section("control", "Control result", blocks);
    }
    let limits = run.tester_limit_fps.iter();
    let limits: Vec<String> = limits
        .map(|(key, fps)| format!("{}: {}", pick::limit_words(key), number::short(*fps)))
        .collect();
    if !limits.is_empty() {
        let limits = Block::Text(format!("{} frames/s", limits.join(", ")));
        doc.section("limits", "The tester alone, without a path", vec![limits]);
    }
    not_measured(doc, run);
}

/// Cells that this machine cannot build, and those for which there was no time.
pub(crate) fn not_measured(doc: &mut Document, run: &Run) {
    doc.list("missing", skips::TITLE, skips::lines(run));
    if !run.left_out.is_empty() {
        let cells = skips::left_out_cells(run);
        let block = if doc.on_page() && cells.len() > FEW {
            let count = number::plural(skips::left_out_count(run), "measurement");
            Block::Folded(count, vec![Block::List(cells)])
        } else {
            Block::Text(cells.join(", "))
        };
        doc.section("left-out", skips::left_out(run), vec![block]);
    }
}
