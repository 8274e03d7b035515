//! The rates of functions and ports on a full screen, again and again.

mod history;

#[cfg(test)]
mod tests;

use nicety_model::vf::{PortCounters, VfReport};
use nicety_model::visible::visible;
use nicety_police::explain::readable;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

pub use self::history::History;
use super::heading;
use super::seen::{Seen, seen};
use crate::live::keys::View;
use crate::live::list::{Column, Entry, Item, Key, List};
use crate::live::look::{Look, Tone};
use crate::live::{filter, help};
use crate::number::count;

/// NICs that the head names.
const NICS: usize = 4;
/// A sender this near to its limit is held back by it.
const AT_LIMIT: f64 = 0.95;

const fn column(title: &'static str, number: bool, rank: u8) -> Column {
    Column {
        title,
        number,
        rank,
    }
}

const COLUMNS: [Column; 8] = [
    column("port", false, 0),
    column("sent", true, 1),
    column("received", true, 2),
    column("dropped", true, 4),
    column("limit", true, 3),
    column("tenant", false, 6),
    column("held by", false, 5),
    column("counted by", false, 7),
];
const SPARKS: [&str; 2] = ["sent lately", "received lately"];

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'w> {
    /// Name of the host.
    pub host: &'w str,
    /// The last sample, with rates.
    pub report: &'w VfReport,
    /// What was seen before it.
    pub history: &'w History,
    /// What the terminal shows.
    pub look: Look,
    /// Somebody listens to keys.
    pub keys: bool,
}

/// Draws it on all of `buf`.
pub fn screen(watch: Watch<'_>, view: &mut View, buf: &mut Buffer) {
    let area = buf.area;
    let list = list(watch);
    let head = head(watch, area.height);
    // The last line is the foot's.
    let end = area.bottom().saturating_sub(1);
    for (y, line) in (area.top()..end).zip(&head) {
        buf.set_line(area.x, y, line, area.width);
    }
    let from = (area.y + head.len() as u16).min(end);
    let rows = Rect::new(area.x, from, area.width, end - from);
    let shown = list.render(view, watch.look, rows, buf);
    if area.height > 0 {
        let foot = foot(watch, view, area.width, (list.items.len(), shown));
        buf.set_line(area.x, end, &foot, area.width);
    }
    if view.help {
        help::render(&help::LIST, watch.look, area, buf);
    }
}

/// The host, then each NIC with what its functions send and receive together.
fn head(watch: Watch<'_>, height: u16) -> Vec<Line<'static>> {
    let Watch { report, look, .. } = watch;
    let scale = readable(watch.history.highest());
    let words = format!("  sent and received by owners; a full bar is {scale}");
    let mut lines = vec![Line::from(vec![
        Span::styled(visible(watch.host), look.style(Tone::Bold)),
        Span::styled(words, look.style(Tone::Dim)),
    ])];
    // A low screen is for the rows.
    let room = usize::from(height / 4).clamp(1, NICS);
    for nic in report.nics.iter().take(room) {
        let sum = |of: fn(&PortCounters) -> Option<f64>| -> f64 {
            let counters = nic.functions.iter().filter_map(|f| f.counters.as_ref());
            counters.filter_map(of).sum()
        };
        let (sent, received) = (sum(|c| c.tx_bps), sum(|c| c.rx_bps));
        let heading = visible(&heading(nic));
        let name = visible(&nic.interface);
        lines.push(Line::from(format!(
            "{name}: {} sent, {} received{}",
            readable(sent),
            readable(received),
            heading.strip_prefix(&name).unwrap_or_default()
        )));
    }
    if report.nics.len() > room {
        let more = format!("and {} more NICs", report.nics.len() - room);
        lines.push(Line::styled(more, look.style(Tone::Dim)));
    }
    lines
}

fn foot(watch: Watch<'_>, view: &View, width: u16, (all, shown): (usize, usize)) -> Line<'static> {
    let look = watch.look;
    if let Some(line) = filter(view, look) {
        return line;
    }
    let mut words = Vec::new();
    if view.frozen {
        words.push(Span::styled("frozen  ", look.style(Tone::Doubtful)));
    }
    let first = (view.top + 1).min(shown);
    let last = (view.top + view.page).min(shown);
    let rows = match shown {
        0 => "no virtual functions, taps, veths or macvtaps here  ".to_owned(),
        _ => format!("{first}{}{last} of {all}  ", look.dash()),
    };
    words.push(Span::raw(rows));
    if watch.keys {
        let all = "q quit  s sort  / filter  space freeze  ? keys";
        let used: usize = words.iter().map(Span::width).sum();
        let fits = used + all.len() <= width.into();
        let keys = if fits { all } else { "q quit  ? keys" };
        words.push(Span::styled(keys, look.style(Tone::Dim)));
    }
    Line::from(words)
}

fn list(watch: Watch<'_>) -> List<'static> {
    let items = seen(watch.report).enumerate();
    List {
        columns: &COLUMNS,
        sparks: &SPARKS,
        highest: watch.history.highest(),
        items: items
            .map(|(place, seen)| item(place, &seen, watch))
            .collect(),
    }
}

fn item(place: usize, seen: &Seen<'_>, watch: Watch<'_>) -> Item {
    let look = watch.look;
    let (sent, received) = (seen.sent(), seen.received());
    let held = seen.limit_bps.zip(sent);
    let held = held.is_some_and(|(limit, sent)| sent >= AT_LIMIT * limit);
    let dropped = watch.history.dropped(&seen.name);
    let drops = dropped.is_some_and(|dropped| dropped > 0);
    let when = |doubtful: bool| {
        if doubtful {
            Tone::Doubtful
        } else {
            Tone::Plain
        }
    };
    let text = |text: Option<&str>| Entry::text(text.unwrap_or(look.dash()));
    Item {
        entries: vec![
            Entry {
                key: Key::Place(place),
                ..Entry::text(&seen.name)
            }
            .toned(Tone::Bold),
            Entry::number(sent, readable, look).toned(when(held)),
            Entry::number(received, readable, look),
            Entry::number(dropped.map(|n| n as f64), |n| count(n as u64), look).toned(when(drops)),
            Entry {
                key: Key::Number(seen.limit_bps),
                ..Entry::text(&seen.limit)
            },
            text(seen.tenant()),
            text(Some(seen.holder)),
            text(seen.counters.map(|counters| counters.source.as_str())),
        ],
        sparks: watch.history.rates(&seen.name).to_vec(),
    }
}
