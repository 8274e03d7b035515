//! JUnit XML, for build servers: a cell, of frames or of sockets, is a test case.
//!
//! The format as build servers read it (the schema of Jenkins' xUnit plugin, junit-10.xsd). A
//! cell without a result is a failure; any other verdict passes and is told in the case's
//! output, because a build server knows no third answer.

use std::io::Write;

use nicety_model::sock::{Ending, SockSeries};
use nicety_model::{Run, Verdict};

use crate::document::markdown::entity;
use crate::error::{ReportError, write_text};
use crate::note;
use crate::number;
use crate::pick::{self, Group};
use crate::sock;

/// Writes the run as one test suite.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let failed = groups
        .iter()
        .filter(|group| group.verdict() == Verdict::Failed)
        .count()
        + run.sockets.iter().filter(|s| trouble(s).is_some()).count();
    let skipped = run.skipped.len() + run.left_out.len();
    let tests = groups.len() + run.sockets.len() + skipped;
    let head = &run.run;
    let counts = format!(
        "tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{}\"",
        seconds(head.elapsed_s)
    );
    let mut page = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    page.push_str(&format!(
        "<testsuites name=\"nicety\" {counts}>\n  <testsuite name=\"{}\" timestamp=\"{}\" {counts}>\n",
        escape(&head.name),
        // The schema has local times without a zone.
        escape(head.started.trim_end_matches('Z')),
    ));
    properties(&mut page, run);
    for group in &groups {
        case(&mut page, group);
    }
    for series in &run.sockets {
        socket_case(&mut page, series);
    }
    for cell in &run.skipped {
        let why = format!("{}; {}", cell.reason, cell.remedy);
        skip(&mut page, &cell.cell, &why);
    }
    for cell in &run.left_out {
        skip(
            &mut page,
            cell,
            "left out by the time box or an interruption",
        );
    }
    page.push_str("  </testsuite>\n</testsuites>\n");
    write_text(out, "JUnit", &page)
}

fn properties(page: &mut String, run: &Run) {
    let host = &run.run.host;
    page.push_str("    <properties>\n");
    for (name, value) in [
        ("nicety", &host.nicety),
        ("kernel", &host.kernel),
        ("cpu_model", &host.cpu_model),
        ("preset", &run.run.preset),
        ("command", &run.run.command),
    ] {
        page.push_str(&format!(
            "      <property name=\"{name}\" value=\"{}\"/>\n",
            escape(value)
        ));
    }
    page.push_str("    </properties>\n");
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

fn socket_case(page: &mut String, series: &SockSeries) {
    let last = series.results.last();
    let class = last.map_or("?", |result| result.path.as_str());
    let time: f64 = series.results.iter().map(|result| result.elapsed_s).sum();
    page.push_str(&format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\">\n",
        escape(class),
        escape(&series.name),
        seconds(time)
    ));
    if let Some(why) = trouble(series) {
        page.push_str(&format!(
            "      <failure type=\"failed\" message=\"{}\"/>\n",
            escape(&why)
        ));
    }
    let mut told = sock::figure(series).into_iter().collect::<Vec<String>>();
    told.extend(
        last.into_iter()
            .flat_map(|result| note::lines(&result.notes)),
    );
    page.push_str(&format!(
        "      <system-out>{}</system-out>\n    </testcase>\n",
        escape(&told.join("\n"))
    ));
}

fn case(page: &mut String, group: &Group<'_>) {
    let time: f64 = group.repeats.iter().map(|cell| cell.search_s).sum();
    page.push_str(&format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\">\n",
        escape(&group.key.path_name()),
        escape(group.name),
        seconds(time)
    ));
    let verdict = group.verdict();
    let notes = group.notes().join("\n");
    if verdict == Verdict::Failed {
        page.push_str(&format!(
            "      <failure type=\"failed\" message=\"{}\">{}</failure>\n",
            escape(
                group
                    .notes()
                    .first()
                    .map_or(verdict.meaning(), String::as_str)
            ),
            escape(&notes)
        ));
    }
    let mut told = vec![format!("verdict {verdict}: {}", verdict.meaning())];
    told.splice(0..0, figures(group));
    if verdict != Verdict::Failed {
        told.extend(group.notes());
    }
    page.push_str(&format!(
        "      <system-out>{}</system-out>\n    </testcase>\n",
        escape(&told.join("\n"))
    ));
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

fn skip(page: &mut String, cell: &str, why: &str) {
    let class = cell.split('/').next().unwrap_or(cell);
    page.push_str(&format!(
        "    <testcase classname=\"{}\" name=\"{}\">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
        escape(class),
        escape(cell),
        escape(why)
    ));
}

fn seconds(value: f64) -> String {
    format!(
        "{:.3}",
        if value.is_finite() {
            value.max(0.0)
        } else {
            0.0
        }
    )
}

/// `text` for an attribute or an element. Characters that XML 1.0 has no way to write (§2.2)
/// are replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' => escaped.push_str(entity(c)),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.push(char::REPLACEMENT_CHARACTER);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
