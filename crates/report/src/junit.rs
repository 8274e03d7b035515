//! JUnit XML, for build servers: a cell, of frames or of sockets, is a test case.
//!
//! The format as build servers read it (the schema of Jenkins' xUnit plugin, junit-10.xsd). A
//! cell without a result is a failure, one of which only a bound is known was skipped. Any other verdict passes and is
//! told in the case's output, because a build server knows no fourth answer.

use std::io::Write;
use std::time::Duration;

use maud::{Markup, PreEscaped, html};
use nicety_model::sock::{Ending, SockSeries};
use nicety_model::{Run, Verdict};

use crate::error::{ReportError, write_text};
use crate::note;
use crate::number;
use crate::pick::{self, Group};
use crate::sock;

/// A cell as build servers see it.
struct Case {
    class: String,
    name: String,
    time_s: f64,
    ending: Ended,
    output: Vec<String>,
}

enum Ended {
    Passed,
    /// Why, and more of it.
    Failed(String, String),
    Skipped(String),
}

/// Writes the run as one test suite.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let page = suites(run).into_string();
    // XML 1.0 knows no control characters, not even escaped (section 2.2).
    let allowed = |c: &char| *c == '\n' || !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let page: String = page.chars().filter(allowed).collect();
    write_text(out, "JUnit", &page)
}

fn suites(run: &Run) -> Markup {
    let head = &run.run;
    let cases = cases(run);
    let count = |is: fn(&Ended) -> bool| cases.iter().filter(|case| is(&case.ending)).count();
    let failed = count(|ending| matches!(ending, Ended::Failed(..)));
    let skipped = count(|ending| matches!(ending, Ended::Skipped(_)));
    let (tests, time) = (cases.len(), seconds(head.elapsed_s));
    let properties = [
        ("nicety", &head.host.nicety),
        ("kernel", &head.host.kernel),
        ("cpu_model", &head.host.cpu_model),
        ("preset", &head.preset),
        ("command", &head.command),
    ];
    html! {
        (PreEscaped(r#"<?xml version="1.0" encoding="UTF-8"?>"#)) "\n"
        testsuites name="nicety" tests=(tests) skipped=(skipped) failures=(failed) errors="0" time=(time) { "\n"
            testsuite name=(head.name) tests=(tests) skipped=(skipped) failures=(failed) errors="0"
                timestamp=(head.started) time=(time) { "\n"
                properties { "\n"
                    @for (name, value) in properties { property name=(name) value=(value) {} "\n" }
                } "\n"
                @for case in &cases { (element(case)) "\n" }
            } "\n"
        } "\n"
    }
}

fn element(case: &Case) -> Markup {
    html! {
        testcase name=(case.name) classname=(case.class) time=(seconds(case.time_s)) {
            @match &case.ending {
                Ended::Passed => {}
                Ended::Failed(why, more) => { failure type="failed" message=(why) { (more) } }
                Ended::Skipped(why) => { skipped message=(why) {} }
            }
            @if !case.output.is_empty() { system-out { (case.output.join("\n")) } }
        }
    }
}

fn cases(run: &Run) -> Vec<Case> {
    let measured = pick::groups(run).iter().map(cell_case).collect::<Vec<_>>();
    let sockets = run.sockets.iter().map(socket_case);
    let impossible = run.skipped.iter().map(|cell| {
        let why = format!("{}; {}", cell.reason, cell.remedy);
        skip(&cell.cell, why)
    });
    let left_out = "left out by the time box or an interruption";
    let left_out = run
        .left_out
        .iter()
        .map(|cell| skip(cell, left_out.to_owned()));
    let all = measured.into_iter().chain(sockets);
    all.chain(impossible).chain(left_out).collect()
}

/// Why a socket workload has no figure to rely on.
fn trouble(series: &SockSeries) -> Option<String> {
    let Some(last) = series.results.last() else {
        return Some("no result".to_owned());
    };
    let bad = series.results.iter().find(|r| r.ending != Ending::Complete);
    if let Some(bad) = bad {
        let why = bad.client.faults.first();
        let why = why.or(bad.server.as_ref().and_then(|server| server.faults.first()));
        let more = why.map_or(String::new(), |why| format!(": {why}"));
        return Some(format!("{}{more}", bad.ending.word()));
    }
    last.headline().is_none().then(|| "no figure".to_owned())
}

fn socket_case(series: &SockSeries) -> Case {
    let last = series.results.last();
    let mut output = Vec::from_iter(sock::figure(series));
    let results = last.into_iter();
    output.extend(results.flat_map(|result| note::lines(&result.notes)));
    let failed = |why| Ended::Failed(why, String::new());
    Case {
        class: last.map_or("?", |result| result.path.as_str()).to_owned(),
        name: series.name.clone(),
        time_s: series.results.iter().map(|result| result.elapsed_s).sum(),
        ending: trouble(series).map_or(Ended::Passed, failed),
        output,
    }
}

fn cell_case(group: &Group<'_>) -> Case {
    let (verdict, notes) = (group.verdict(), note::lines(&group.notes()));
    let mut output = figures(group);
    output.push(format!("verdict {verdict}: {}", verdict.meaning()));
    let why = notes
        .first()
        .map_or(verdict.meaning(), String::as_str)
        .to_owned();
    let ending = match verdict {
        Verdict::Failed => Ended::Failed(why, notes.join("\n")),
        Verdict::Bound => Ended::Skipped(why),
        _ => Ended::Passed,
    };
    if verdict != Verdict::Failed {
        output.extend(notes);
    }
    Case {
        class: group.key.path_name(),
        name: group.name.to_owned(),
        time_s: group.repeats.iter().map(|cell| cell.search_s).sum(),
        ending,
        output,
    }
}

/// The number, its interval, the load that held and the capacity, as far as they are known.
fn figures(group: &Group<'_>) -> Vec<String> {
    if group.throughput_fps().is_none() {
        return Vec::new();
    }
    let number = format!("{} frames/s", group.fps_text());
    let Some((interval, label)) = group.interval_text().zip(group.interval_label()) else {
        return vec![number];
    };
    let mut output = vec![number, format!("interval {interval} ({label})")];
    if let Some(confirm) = group.shown.confirm {
        let length = number::significant(confirm.duration_s, 2);
        output.push(format!("held for {length} s: {}", group.held_text()));
    }
    let capacity = group.capacity_fps();
    output.extend(capacity.map(|fps| format!("capacity {} frames/s", number::short(fps))));
    output
}

fn skip(cell: &str, why: String) -> Case {
    Case {
        class: cell.split('/').next().unwrap_or(cell).to_owned(),
        name: cell.to_owned(),
        time_s: 0.0,
        ending: Ended::Skipped(why),
        output: Vec::new(),
    }
}

/// No time at all where none was measured.
fn seconds(value: f64) -> String {
    let time = Duration::try_from_secs_f64(value).unwrap_or_default();
    format!("{:.3}", time.as_secs_f64())
}
