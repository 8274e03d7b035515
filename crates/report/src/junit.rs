//! JUnit XML, for build servers: a cell, of frames or of sockets, is a test case.
//!
//! The format as build servers read it (the schema of Jenkins' xUnit plugin, junit-10.xsd). A
//! cell without a result is a failure; any other verdict passes and is told in the case's
//! output, because a build server knows no third answer.

use std::io::{self, Write};
use std::time::Duration;

use nicety_model::sock::{Ending, SockSeries};
use nicety_model::{Run, Verdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::error::{ReportError, write_text};
use crate::note;
use crate::number;
use crate::pick::{self, Group};
use crate::sock;

/// What the format is called in errors.
const FORMAT: &str = "JUnit";

/// Writes the run as one test suite.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let head = &run.run;
    let mut suite = TestSuite::new(&head.name);
    suite.timestamp = head.started.parse().ok();
    suite.set_time(seconds(head.elapsed_s));
    let host = &head.host;
    suite.add_properties([
        ("nicety", host.nicety.as_str()),
        ("kernel", host.kernel.as_str()),
        ("cpu_model", host.cpu_model.as_str()),
        ("preset", head.preset.as_str()),
        ("command", head.command.as_str()),
    ]);
    suite.add_test_cases(pick::groups(run).iter().map(cell_case));
    suite.add_test_cases(run.sockets.iter().map(socket_case));
    suite.add_test_cases(run.skipped.iter().map(|cell| {
        let why = format!("{}; {}", cell.reason, cell.remedy);
        skip(&cell.cell, &why)
    }));
    let left_out = "left out by the time box or an interruption";
    suite.add_test_cases(run.left_out.iter().map(|cell| skip(cell, left_out)));
    let mut report = Report::new("nicety");
    report.set_time(seconds(head.elapsed_s));
    report.add_test_suite(suite);
    // The text stands in memory first: what can fail is the writer.
    let page = report.to_string().map_err(|error| ReportError::Write {
        format: FORMAT,
        source: io::Error::other(error),
    })?;
    write_text(out, FORMAT, &page)
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

fn socket_case(series: &SockSeries) -> TestCase {
    let last = series.results.last();
    let class = last.map_or("?", |result| result.path.as_str());
    let time: f64 = series.results.iter().map(|result| result.elapsed_s).sum();
    let mut told = Vec::from_iter(sock::figure(series));
    let results = last.into_iter();
    told.extend(results.flat_map(|result| note::lines(&result.notes)));
    let status = match trouble(series) {
        Some(why) => failure(&why),
        None => TestCaseStatus::success(),
    };
    case([class, &series.name], time, status, &told)
}

fn cell_case(group: &Group<'_>) -> TestCase {
    let time: f64 = group.repeats.iter().map(|cell| cell.search_s).sum();
    let (verdict, notes) = (group.verdict(), note::lines(&group.notes()));
    let mut told = figures(group);
    told.push(format!("verdict {verdict}: {}", verdict.meaning()));
    let status = if verdict == Verdict::Failed {
        let mut status = failure(notes.first().map_or(verdict.meaning(), String::as_str));
        status.set_description(notes.join("\n"));
        status
    } else {
        told.extend(notes);
        TestCaseStatus::success()
    };
    case([&group.key.path_name(), group.name], time, status, &told)
}

fn failure(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type("failed").set_message(why);
    status
}

/// A test case: class and name, seconds, how it ended, and its output.
fn case([class, name]: [&str; 2], time: f64, status: TestCaseStatus, told: &[String]) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case.set_time(seconds(time));
    case.set_system_out(told.join("\n"));
    case
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
    let mut told = vec![number, format!("interval {interval} ({label})")];
    if let Some(confirm) = group.shown.confirm {
        let length = number::significant(confirm.duration_s, 2);
        told.push(format!("held for {length} s: {}", group.held_text()));
    }
    let capacity = group.capacity_fps();
    told.extend(capacity.map(|fps| format!("capacity {} frames/s", number::short(fps))));
    told
}

fn skip(cell: &str, why: &str) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    let mut case = TestCase::new(cell, status);
    case.set_classname(cell.split('/').next().unwrap_or(cell));
    case
}

/// No time at all where none was measured.
fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
