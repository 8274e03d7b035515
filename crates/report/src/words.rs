//! The run in words: what a reader takes away when they read nothing else.

use nicety_model::run::ControlSummary;
use nicety_model::{Direction, Run, Verdict};

use crate::number;
use crate::pick::{self, Group};
use crate::sock;
use crate::threads;

/// Busy share from which a CPU counts as full: what is left is within the noise of `/proc/stat`.
const FULL: f64 = 0.95;
/// Share of the line rate from which the link itself counts as the limit.
const AT_LINE_RATE: f64 = 0.99;
/// Paths told of; more are counted.
const TOLD: usize = 6;

/// The visits of the control cell in one line.
pub(crate) fn control(control: &ControlSummary) -> String {
    let visits = control.throughput_fps.iter();
    let visits: Vec<String> = visits.map(|fps| number::grouped(*fps)).collect();
    let failed = match control.failed {
        0 => String::new(),
        failed => format!(
            "; {} found no throughput",
            plural(failed as usize, "further visit")
        ),
    };
    format!(
        "{}: {} frames/s{failed}; drift {} (noisy above {})",
        control.cell,
        visits.join(", "),
        number::variation(control.drift),
        number::variation(control.drift_limit)
    )
}

/// One sentence per path, direction and number of flows: what it carries and what stopped it
/// from carrying more. Never empty.
pub fn summary(run: &Run) -> Vec<String> {
    let groups = pick::groups(run);
    if groups.is_empty() && !run.sockets.is_empty() {
        return sock::sentences(&run.sockets);
    }
    if groups.is_empty() {
        return vec![without_number(run)];
    }
    let series = pick::series(&groups);
    let mut sentences: Vec<String> = trust(&groups).into_iter().collect();
    sentences.extend(
        series
            .iter()
            .take(TOLD)
            .enumerate()
            .map(|(place, (_, cells))| {
                let mut text = sentence(run, cells);
                if let Some(times) = beside(&series[..place], cells) {
                    text.push_str(&times);
                }
                text
            }),
    );
    if series.len() > TOLD {
        sentences.push(format!("and {} more", series.len() - TOLD));
    }
    sentences.extend(sock::sentences(&run.sockets));
    sentences
}

/// Why there is no number at all.
fn without_number(run: &Run) -> String {
    let skipped = plural(run.skipped.len(), "cell");
    match (run.skipped.is_empty(), run.left_out.is_empty()) {
        (true, true) => "nothing was measured".to_owned(),
        (true, false) => "nothing was measured: there was no time for a cell".to_owned(),
        (false, true) => format!("nothing was measured: this machine cannot build {skipped}"),
        (false, false) => format!(
            "nothing was measured: there was no time for what this machine can build; it cannot build {skipped}"
        ),
    }
}

/// Said before any number when most of them are not to be relied on.
fn trust(groups: &[Group<'_>]) -> Option<String> {
    let doubtful = |verdict: Verdict| {
        matches!(
            verdict,
            Verdict::Late | Verdict::Unstable | Verdict::Noisy | Verdict::Failed
        )
    };
    let doubted: Vec<(Verdict, usize)> = pick::verdicts(groups)
        .into_iter()
        .filter(|(verdict, _)| doubtful(*verdict))
        .collect();
    let count: usize = doubted.iter().map(|(_, cells)| cells).sum();
    if count * 2 <= groups.len() {
        return None;
    }
    let words: Vec<String> = doubted
        .iter()
        .map(|(verdict, cells)| format!("{cells} {verdict}"))
        .collect();
    let good = groups.len() - count;
    let how_many = match (groups.len(), good) {
        (1, _) => "the one number of this run is not to be relied on".to_owned(),
        (_, 0) => "no number of this run is to be relied on".to_owned(),
        (all, good) => format!("only {good} of {} can be relied on", plural(all, "cell")),
    };
    Some(format!("{how_many} ({})", words.join(", ")))
}

/// The first path of the same direction and flows as a yardstick, at the smallest frame size
/// both have: `, 3.1 times bridge`. Only numbers that are the paths' own compare.
fn beside(before: &[(pick::SeriesKey, Vec<&Group<'_>>)], cells: &[&Group<'_>]) -> Option<String> {
    let own = |group: &Group<'_>| {
        (group.verdict() == Verdict::Ok)
            .then(|| group.throughput_fps())
            .flatten()
            .filter(|fps| *fps > 0.0)
    };
    let key = cells.first()?.series();
    let (_, yardstick) = before
        .iter()
        .find(|(other, _)| other.direction == key.direction && other.flows == key.flows)?;
    let pair = cells.iter().find_map(|cell| {
        let other = yardstick
            .iter()
            .find(|other| other.key.frame_size_bytes == cell.key.frame_size_bytes)?;
        Some((own(cell)?, own(other)?, cell, other))
    });
    let (fps, other_fps, cell, other) = pair?;
    Some(format!(
        "; {} times what {} carries at {} bytes",
        number::significant(fps / other_fps, 2),
        other.key.path_name(),
        cell.key.frame_size_bytes
    ))
}

/// `1 cell`, `3 cells`.
pub(crate) fn plural(n: usize, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", number::count(n as u64))
    }
}

fn sentence(run: &Run, cells: &[&Group<'_>]) -> String {
    let measured: Vec<&&Group<'_>> = cells
        .iter()
        .filter(|group| group.throughput_fps().is_some())
        .collect();
    let Some(first) = measured.first() else {
        return nothing(cells);
    };
    let mut text = format!(
        "{} carries {}{} frames/s of {} bytes ({})",
        name(first),
        at_least(first),
        number::short(first.throughput_fps().unwrap_or(f64::NAN)),
        first.key.frame_size_bytes,
        number::bit_rate(first.l1_mbps().unwrap_or(f64::NAN)),
    );
    if let Some(last) = measured.last().filter(|_| measured.len() > 1) {
        text.push_str(&format!(
            " and {}{} of {} bytes ({})",
            at_least(last),
            number::short(last.throughput_fps().unwrap_or(f64::NAN)),
            last.key.frame_size_bytes,
            number::bit_rate(last.l1_mbps().unwrap_or(f64::NAN)),
        ));
    }
    if first.key.direction == Direction::Bi {
        text.push_str(" in each direction");
    }
    text.push_str("; ");
    text.push_str(&limit(run, first));
    text
}

fn name(group: &Group<'_>) -> String {
    let path = group.key.path_name();
    if group.key.flows > 1 {
        format!("{path} with {} flows", group.key.flows)
    } else {
        path
    }
}

fn at_least(group: &Group<'_>) -> &'static str {
    if group.verdict() == Verdict::TesterLimited {
        "at least "
    } else {
        ""
    }
}

fn nothing(cells: &[&Group<'_>]) -> String {
    let Some(first) = cells.first() else {
        return "nothing was measured".to_owned();
    };
    let mut text = format!("{} gave no result", name(first));
    if let Some(note) = first.notes().first() {
        text.push_str(": ");
        text.push_str(note);
    }
    text
}

/// What stopped the path, from the verdict first and the busiest CPU next.
fn limit(run: &Run, group: &Group<'_>) -> String {
    match group.verdict() {
        Verdict::TesterLimited => return "the limit was the tester, not the path".to_owned(),
        Verdict::Coupled => {
            return "it ran in the sender's own calls, so this is sender and path together"
                .to_owned();
        }
        Verdict::Late => return "the sender missed its schedule, so take it with care".to_owned(),
        _ => {}
    }
    let mut text = found_limit(run, group);
    match group.verdict() {
        Verdict::Unstable => text.push_str(", and the longer confirm trial lost more than allowed"),
        Verdict::Noisy => text.push_str(", on a machine that was not quiet"),
        _ => {}
    }
    text
}

fn found_limit(run: &Run, group: &Group<'_>) -> String {
    let at_line_rate = pick::link_speed(run)
        .zip(group.throughput_fps())
        .is_some_and(|((mbps, _), fps)| {
            fps >= AT_LINE_RATE * group.key.frame_size_bytes.line_rate(mbps).0
        });
    if at_line_rate {
        return "the limit was the link".to_owned();
    }
    let busiest = group.shown.cpu.as_ref().and_then(|c| c.busiest.as_ref());
    // A thread that polls fills its CPU at any load: how much of that was of use is what counts.
    let polls = group.shown.cpu.as_ref().and_then(|c| c.polls_on_busiest());
    if let Some((b, thread)) = busiest.zip(polls) {
        let how = format!("{} on CPU {} {}", thread.who, b.cpu, threads::polls(thread));
        return match first_place(group) {
            _ if thread.useful_ratio.is_some_and(|useful| useful >= FULL) => {
                format!("the limit was {how}")
            }
            Some(place) => format!("frames died first at {place} while {how}"),
            None => how,
        };
    }
    match busiest {
        Some(b) if b.busy_ratio >= FULL => {
            format!(
                "the limit was CPU {} ({})",
                b.cpu,
                threads::greatest_user(b)
            )
        }
        Some(b) => match first_place(group) {
            Some(place) => format!(
                "frames died first at {place} while the busiest CPU {} ({}) was {} busy",
                b.cpu,
                threads::greatest_user(b),
                number::share(b.busy_ratio)
            ),
            None => format!(
                "no CPU was full: the busiest was CPU {} ({}) at {}",
                b.cpu,
                threads::greatest_user(b),
                number::share(b.busy_ratio)
            ),
        },
        None => match first_place(group) {
            Some(place) => format!("frames died first at {place}"),
            None => "what limited it was not measured".to_owned(),
        },
    }
}

/// The counter that lost most frames just above the throughput.
fn first_place<'a>(group: &'a Group<'_>) -> Option<&'a str> {
    group
        .shown
        .overload_ledger
        .iter()
        .filter(|entry| entry.place != "unexplained" && entry.frames > 0)
        .max_by_key(|entry| entry.frames)
        .map(|entry| entry.place.as_str())
}
