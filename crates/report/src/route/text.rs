//! The picture as text, for terminals and Markdown.

use nicety_model::LossEntry;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::route::{SiteKind, StationKind};

use super::{Picture, Routes, Runs, Site, Station};
use crate::number::{self, plural};
use crate::page::clean;

/// What the ledger calls frames that no counter has seen.
const UNEXPLAINED: &str = "unexplained";

/// Threads told of at one place.
const TOLD: usize = 4;

/// The first path with its stations, then what the others look like.
pub(super) fn lines(routes: &Routes, width: usize) -> Vec<String> {
    let first = &routes.first;
    let mut lines = fold(&chain(first), width, "  ");
    let rows = rows(first);
    let name = rows.iter().map(|(name, _)| name.chars().count()).max();
    let name = name.unwrap_or(0).min(width / 3);
    if !rows.is_empty() {
        lines.push(String::new());
    }
    for (label, told) in rows {
        let text = format!("{label:name$}  {told}");
        // Narrow screens cannot spare the column.
        let indent = if width < 40 { 2 } else { name + 2 };
        lines.extend(fold(&words(&text), width, &" ".repeat(indent)));
    }
    if !first.elsewhere.is_empty() {
        let text = losses(&first.elsewhere);
        lines.extend(fold(&words(&text), width, "  "));
    }
    if !first.remark.is_empty() {
        lines.extend(fold(&words(&first.remark), width, ""));
    }
    for other in &routes.others {
        lines.push(String::new());
        lines.extend(fold(&words(&format!("{}:", other.path)), width, "  "));
        lines.extend(fold(&chain(other), width, "  "));
    }
    if routes.more > 0 {
        lines.push(String::new());
        let text = format!("{} more look different again.", plural(routes.more, "path"));
        lines.extend(fold(&words(&text), width, ""));
    }
    lines
        .into_iter()
        .map(|line| clean(line.trim_end()))
        .collect()
}

/// `a ── d0 [bridge br0] d1 ── b`, in pieces that stay together.
pub(super) fn chain(picture: &Picture) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for (at, site) in picture.sites.iter().enumerate() {
        let mut own: Vec<String> = Vec::new();
        let mut joined = true;
        for station in &site.stations {
            let piece = piece(station);
            if joined || station.kind.joins() {
                own.push(piece);
            } else {
                own.push(format!("─ {piece}"));
            }
            joined = station.kind.joins();
        }
        let named = matches!(site.kind, SiteKind::Guests(_) | SiteKind::Nic);
        if let (true, Some(first)) = (named, own.first_mut()) {
            *first = format!("({}: {first}", site.title());
        }
        if let (true, Some(last)) = (named, own.last_mut()) {
            last.push(')');
        }
        if let (true, Some(first)) = (at > 0, own.first_mut()) {
            *first = format!("── {first}");
        }
        pieces.extend(own);
    }
    pieces
}

fn piece(station: &Station) -> String {
    if !station.kind.joins() {
        station.label.clone()
    } else if station.label.is_empty() || is_program(station.kind) {
        // It has its program's name.
        format!("[{}]", station.kind.words())
    } else {
        format!("[{} {}]", station.kind.words(), station.label)
    }
}

fn is_program(kind: StationKind) -> bool {
    matches!(kind, StationKind::Ovs | StationKind::OvsDpdk)
}

/// A row for every station of which there is more to tell than its name.
fn rows(picture: &Picture) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for site in &picture.sites {
        let told = [site.about.clone(), threads(&site.threads)];
        let told: Vec<String> = told.into_iter().filter(|text| !text.is_empty()).collect();
        if !told.is_empty() {
            rows.push((site.title(), told.join(", ")));
        }
        rows.extend(site.stations.iter().filter_map(|station| {
            let known = known(station);
            let passed = passed(site, station);
            let quiet = known.is_empty() && station.lost.is_empty() && is_inner(site);
            let kind = Some(station.kind.words()).filter(|_| is_inner(site));
            let known: Vec<&str> = kind
                .into_iter()
                .chain((!known.is_empty()).then_some(known.as_str()))
                .collect();
            let known = known.join(", ");
            let told = match (known.is_empty(), passed.is_empty()) {
                (_, true) => known,
                (true, false) => passed,
                (false, false) => format!("{known}: {passed}"),
            };
            let label = if station.label.is_empty() {
                station.kind.words().to_owned()
            } else {
                station.label.clone()
            };
            (!quiet && !told.is_empty()).then_some((label, told))
        }));
    }
    rows
}

fn is_inner(site: &Site) -> bool {
    !matches!(site.kind, SiteKind::TesterA | SiteKind::TesterB)
}

/// `2 queues, napi/d0 on CPU 0 (23 %)`; empty where nothing is known.
fn known(station: &Station) -> String {
    let queues = station.queues.filter(|count| *count > 1);
    let queues = queues.map(|count| plural(count, "queue"));
    let threads = Some(threads(&station.threads)).filter(|text| !text.is_empty());
    let told: Vec<String> = queues.into_iter().chain(threads).collect();
    told.join(", ")
}

/// `1,000,000 frames, lost 20,000 (tx_dropped)`; empty where nothing was counted.
pub(super) fn passed(site: &Site, station: &Station) -> String {
    let frames = |count: u64| format!("{} frames", number::count(count));
    let counted = match (site.kind, station.passed) {
        (SiteKind::TesterA, [Some(sent), None]) => Some(format!("sent {}", frames(sent))),
        (SiteKind::TesterB, [Some(got), None]) => Some(format!("received {}", frames(got))),
        (SiteKind::TesterA, [Some(sent), Some(got)])
        | (SiteKind::TesterB, [Some(got), Some(sent)]) => Some(format!(
            "sent {}, received {}",
            frames(sent),
            number::count(got)
        )),
        (_, [Some(there), Some(back)]) => Some(format!(
            "{} to B, {} to A",
            frames(there),
            number::count(back)
        )),
        (_, [Some(one), None] | [None, Some(one)]) => Some(frames(one)),
        (_, [None, None]) => None,
    };
    let lost = station.lost.iter().map(lost);
    let told: Vec<String> = counted.into_iter().chain(lost).collect();
    told.join(", ")
}

/// `lost 20,000 (tx_dropped)`
pub(super) fn lost(entry: &LossEntry) -> String {
    format!("lost {} ({})", number::count(entry.frames), entry.place)
}

/// `Also lost: 312 (cpu0 softnet dropped), 3 that no counter explains.`
pub(super) fn losses(entries: &[LossEntry]) -> String {
    let told = entries.iter().map(|entry| {
        let frames = number::count(entry.frames);
        match entry.place.as_str() {
            UNEXPLAINED => format!("{frames} that no counter explains"),
            place => format!("{frames} ({place})"),
        }
    });
    format!("Also lost: {}.", told.collect::<Vec<_>>().join(", "))
}

/// The first threads, and how many more.
pub(super) fn threads(all: &[Runs]) -> String {
    let mut told: Vec<String> = all.iter().take(TOLD).map(runs).collect();
    told.retain(|text| !text.is_empty());
    if all.len() > TOLD {
        told.push(format!("{} more", all.len() - TOLD));
    }
    told.join(", ")
}

/// `napi/d0 on CPU 0 (23 %)`
pub(super) fn runs(thread: &Runs) -> String {
    let cpus = match thread.cpus.as_slice() {
        [] => String::new(),
        [one] => format!("CPU {one}"),
        several => format!("CPUs {}", format_cpu_list(several)),
    };
    let time = match thread.share {
        _ if thread.polls => " (polls)".to_owned(),
        Some(share) => format!(" ({})", number::share(share)),
        None => String::new(),
    };
    let place = match (thread.name.as_str(), cpus.as_str()) {
        ("", cpus) => cpus.to_owned(),
        (name, "") => name.to_owned(),
        (name, cpus) => format!("{name} on {cpus}"),
    };
    format!("{place}{time}").trim_start().to_owned()
}

fn words(text: &str) -> Vec<String> {
    // Leading columns stay as they are.
    let text = text.trim_end();
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(last) if word.is_empty() || last.ends_with(' ') => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Pieces in lines of at most `width` columns, later lines with an indent.
fn fold(pieces: &[String], width: usize, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let columns = |text: &str| text.chars().count();
    for piece in pieces {
        let mut rest = piece.as_str();
        if !line.trim().is_empty() && columns(&line) + 1 + columns(rest) <= width {
            line.push(' ');
            line.push_str(rest);
            continue;
        }
        if !line.trim().is_empty() {
            lines.push(std::mem::take(&mut line));
            indent.clone_into(&mut line);
        }
        // What is wider than a line is cut.
        loop {
            let room = width.saturating_sub(columns(&line)).max(1);
            let cut = rest.char_indices().nth(room).map(|(at, _)| at);
            let Some(cut) = cut else {
                line.push_str(rest);
                break;
            };
            line.push_str(&rest[..cut]);
            rest = &rest[cut..];
            lines.push(std::mem::take(&mut line));
            indent.clone_into(&mut line);
        }
    }
    if !line.trim().is_empty() {
        lines.push(line);
    }
    lines
}
