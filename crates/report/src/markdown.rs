//! Markdown with tables (GitHub Flavored Markdown), for wikis and merge requests.

mod grid;

use std::io::Write;

use nicety_model::{Note, Run};

use crate::error::{ReportError, write_text};
use crate::guests;
use crate::legend;
use crate::number;
use crate::pick::{self, Group};
use crate::row::{self, Column};
use crate::sock;
use crate::words;

/// Writes the run as Markdown: the answer in words, the table of cells, notes, what was skipped
/// or left out, the machine and the command to repeat it.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let mut page = String::new();
    line(&mut page, &format!("# {}\n", escape(&run.run.name)));
    for sentence in words::summary(run) {
        line(&mut page, &format!("**{}**\n", escape(&sentence)));
    }
    line(&mut page, &head(run));
    if !groups.is_empty() {
        cells(&mut page, &groups);
        grid::all(&mut page, &groups);
    }
    sockets(&mut page, run);
    verdicts(&mut page, &groups);
    lists(&mut page, run, &groups);
    machine(&mut page, run);
    write_text(out, "Markdown", &page)
}

fn head(run: &Run) -> String {
    let head = &run.run;
    let mut text = format!(
        "Started {}, {} long, preset {}, loss goal {}, seed {}.",
        escape(&head.started),
        number::seconds(head.elapsed_s),
        escape(&head.preset),
        number::loss(head.loss_goal),
        head.seed
    );
    if !head.complete {
        text.push_str(" Not complete: see below for what is missing.");
    }
    text.push('\n');
    text
}

fn cells(page: &mut String, groups: &[Group<'_>]) {
    let columns = row::columns(groups);
    line(page, "## Throughput\n");
    line(
        page,
        &record(columns.iter().map(|c| c.heading().to_owned())),
    );
    line(
        page,
        &record(columns.iter().map(|c| side(c.is_number()).to_owned())),
    );
    for (_, series) in pick::series(groups) {
        for group in series {
            line(
                page,
                &record(columns.iter().map(|column| escape(&column.text(group)))),
            );
        }
    }
    line(page, &format!("\n{}\n", escape(&legend::legend(groups))));
    debug_assert!(columns.last() == Some(&Column::Verdict));
}

fn sockets(page: &mut String, run: &Run) {
    if run.sockets.is_empty() {
        return;
    }
    line(page, "## Socket workloads\n");
    for (headings, rows) in sock::tables(&run.sockets) {
        line(page, &record(headings.iter().map(|h| escape(h))));
        let sides = (0..headings.len()).map(|n| side(n > 0));
        line(page, &record(sides.map(str::to_owned)));
        for row in rows {
            line(page, &record(row.iter().map(|cell| escape(cell))));
        }
        page.push('\n');
    }
    for note in sock::notes(&run.sockets, &[]) {
        line(page, &format!("- {}", escape(&note)));
    }
    page.push('\n');
}

fn verdicts(page: &mut String, groups: &[Group<'_>]) {
    let verdicts = pick::verdicts(groups);
    if verdicts.is_empty() {
        return;
    }
    line(page, "## Verdicts\n");
    for (verdict, cells) in verdicts {
        line(
            page,
            &format!(
                "- **{verdict}** ({}): {}",
                words::plural(cells, "cell"),
                escape(verdict.meaning())
            ),
        );
    }
    page.push('\n');
}

fn lists(page: &mut String, run: &Run, groups: &[Group<'_>]) {
    list(
        page,
        "Guests that share a path, in the confirm trial",
        &guests::lines(groups),
    );
    let notes: Vec<String> = pick::notes(groups)
        .into_iter()
        .map(|(note, cells)| format!("{note} ({})", pick::named(&cells)))
        .collect();
    list(page, "Notes", &notes);
    if let Some(control) = &run.control {
        list(page, "Control cell", &[words::control(control)]);
    }
    let limits: Vec<String> = run
        .tester_limit_fps
        .iter()
        .map(|(key, fps)| {
            format!(
                "{}: {} frames/s",
                pick::limit_words(key),
                number::grouped(*fps)
            )
        })
        .collect();
    list(page, "The tester alone, without a path", &limits);
    let skipped: Vec<String> = run.skipped.iter().map(pick::skipped_line).collect();
    list(page, "Skipped: this machine cannot build them", &skipped);
    list(
        page,
        "Left out by the time box or an interruption",
        &run.left_out,
    );
    list(page, "This run", &Note::texts(&run.run.notes));
}

fn machine(page: &mut String, run: &Run) {
    let host = &run.run.host;
    line(page, "## Machine\n");
    line(
        page,
        &format!(
            "nicety {}, kernel {}, {} with {}.\n",
            known(&host.nicety),
            known(&host.kernel),
            known(&host.cpu_model),
            words::plural(host.cpus as usize, "CPU")
        ),
    );
    line(page, "## Repeat it\n");
    // An indented block needs no fence that the text could close.
    for part in run.run.command.lines() {
        line(page, &format!("    {}", part.replace('\u{1b}', "\u{fffd}")));
    }
}

fn known(text: &str) -> String {
    if text.trim().is_empty() {
        "unknown".to_owned()
    } else {
        escape(text)
    }
}

fn list(page: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    line(page, &format!("## {title}\n"));
    for item in items {
        line(page, &format!("- {}", escape(item)));
    }
    page.push('\n');
}

pub(crate) fn record(fields: impl Iterator<Item = String>) -> String {
    let mut text = "|".to_owned();
    for field in fields {
        text.push_str(&format!(" {field} |"));
    }
    text
}

/// To which side a column leans.
fn side(number: bool) -> &'static str {
    if number { "---:" } else { ":---" }
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

/// What HTML and XML write for a character that would be read as markup.
pub(crate) fn entity(c: char) -> &'static str {
    match c {
        '<' => "&lt;",
        '>' => "&gt;",
        _ => "&amp;",
    }
}

/// `text` with everything escaped that Markdown or HTML would read as markup, on one line.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' => escaped.push_str(entity(c)),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\n' | '\r' | '\t' => escaped.push(' '),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}
