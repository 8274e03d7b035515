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
        cell_case(&mut page, group);
    }
    for series in &run.sockets {
        socket_case(&mut page, series);
    }
    for cell in &run.skipped {
        let why = format!("{}; {}", cell.reason, cell.remedy);
        skip(&mut page, &cell.cell, &why);
    }
    for cell in &run.left_out {
        let why = "left out by the time box or an interruption";
        skip(&mut page, cell, why);
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
    let failure = trouble(series).map(|why| format!(" message=\"{}\"/>", escape(&why)));
    let mut told = Vec::from_iter(sock::figure(series));
    let results = last.into_iter();
    told.extend(results.flat_map(|result| note::lines(&result.notes)));
    case(page, [class, &series.name], time, failure, &told);
}

fn cell_case(page: &mut String, group: &Group<'_>) {
    let time: f64 = group.repeats.iter().map(|cell| cell.search_s).sum();
    let (verdict, notes) = (group.verdict(), note::lines(&group.notes()));
    let mut told = figures(group);
    told.push(format!("verdict {verdict}: {}", verdict.meaning()));
    let failed = (verdict == Verdict::Failed).then(|| {
        let why = notes.first().map_or(verdict.meaning(), String::as_str);
        let (why, all) = (escape(why), escape(&notes.join("\n")));
        format!(" message=\"{why}\">{all}</failure>")
    });
    if failed.is_none() {
        told.extend(notes);
    }
    case(
        page,
        [&group.key.path_name(), group.name],
        time,
        failed,
        &told,
    );
}

/// A test case: class and name, seconds, what follows its failure's type, and its output.
fn case(page: &mut String, names: [&str; 2], time: f64, failure: Option<String>, told: &[String]) {
    let [class, name] = names.map(escape);
    let time = seconds(time);
    *page += &format!("    <testcase classname=\"{class}\" name=\"{name}\" time=\"{time}\">\n");
    if let Some(failure) = failure {
        *page += &format!("      <failure type=\"failed\"{failure}\n");
    }
    let told = escape(&told.join("\n"));
    *page += &format!("      <system-out>{told}</system-out>\n    </testcase>\n");
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
    let [class, name, why] = [class, cell, why].map(escape);
    *page += &format!(
        "    <testcase classname=\"{class}\" name=\"{name}\">\n      <skipped message=\"{why}\"/>\n    </testcase>\n"
    );
}

fn seconds(value: f64) -> String {
    let value = Some(value).filter(|value| value.is_finite() && *value > 0.0);
    format!("{:.3}", value.unwrap_or(0.0))
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
