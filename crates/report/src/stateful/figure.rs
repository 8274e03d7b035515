//! How the table fills, and what passes on few and many connections.

use maud::{Markup, html};
use nicety_model::stateful::{EntryState, Filling, Goodput, StatefulReport};

use super::words::time;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Look, Plot, Stroke};
use crate::figure::{Key, Room, key, legend, series, ticks};
use crate::number;

const HEIGHT: f64 = 280.0;

/// Entries against time; none where no fill was noted.
pub fn filling(report: &StatefulReport) -> Option<Markup> {
    let fills: Vec<&Filling> = report
        .filling
        .iter()
        .filter(|fill| fill.points.len() > 1)
        .collect();
    let end = fills.iter().flat_map(|fill| fill.points.last());
    let end = end.map(|point| point.s).fold(0.0, f64::max);
    let points = || fills.iter().flat_map(|fill| &fill.points);
    let most = points().map(|point| point.entries).max()?;
    // A limit far above says nothing, and would press the lines down.
    let limit = Some(report.table.max).filter(|max| *max > 0 && *max <= most * 2);
    let named: Vec<(usize, String)> = fills.iter().map(|fill| said(fill)).enumerate().collect();
    let label = format!(
        "Entries over {}: {}",
        time(end),
        named
            .iter()
            .map(|(_, name)| name.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    );
    let y = Axis::from_zero(most.max(limit.unwrap_or(0)) as f64, 4, "").named("entries");
    let drawn = Room::Whole.draw(HEIGHT, |size| {
        let x = Axis::time(end, ticks(size));
        let frame = Frame {
            size,
            axes: (&x, &y),
            label: &label,
        };
        svg::draw(&frame, |plot| {
            if let Some(limit) = limit {
                plot.level(limit as f64, Ink::Muted, Stroke::Dashed, "nf_conntrack_max");
            }
            for (n, fill) in fills.iter().enumerate() {
                fill_line(plot, fill, n);
            }
        })
    });
    let mut keys: Vec<Key> = named.iter().map(|(n, name)| series(*n, name)).collect();
    keys.extend(limit.map(|_| key("dash-line", "", "most that the kernel lets there be")));
    let body = html! { (legend(&keys)) (drawn) };
    Some(crate::figure::figure(
        "How the table fills",
        "the count of the kernel while connections are opened",
        body,
    ))
}

fn said(fill: &Filling) -> String {
    let count = number::count(fill.connections);
    if fill.held {
        format!("{count} opened, and all stay")
    } else {
        format!("{count} opened, and not all stay")
    }
}

fn fill_line(plot: &mut Plot<'_>, fill: &Filling, n: usize) {
    let of = |point: &nicety_model::stateful::FillPoint| (point.s, point.entries as f64);
    let line: Vec<(f64, f64)> = fill.points.iter().map(of).collect();
    plot.series(&line, n);
    for point in &fill.points {
        let told = format!(
            "{}: {} entries of {}",
            time(point.s),
            number::count(point.entries),
            number::count(fill.connections)
        );
        plot.mark(of(point), Look::of_series(n, 2.5, false), &told);
    }
}

/// Frames per second against entries; none where none was found.
pub fn goodput(report: &StatefulReport) -> Option<Markup> {
    let found: Vec<&Goodput> = report
        .goodput
        .iter()
        .filter(|of| of.fps.is_some())
        .collect();
    let highs = found.iter().filter_map(|of| of.fps);
    let most = highs.map(|fps| fps.high).reduce(f64::max)?;
    let mut entries: Vec<u64> = found.iter().map(|of| of.entries).collect();
    entries.sort_unstable();
    entries.dedup();
    let label = format!(
        "Goodput on {} connections: {} frames/s at most",
        entries
            .iter()
            .map(|entries| number::count(*entries))
            .collect::<Vec<_>>()
            .join(" and "),
        number::short(most)
    );
    let names = entries.iter().map(|entries| number::count(*entries));
    let x = Axis::places(names, entries.len()).named("open connections");
    let y = Axis::from_zero(most, 4, "").named("frames/s");
    let at = |of: &Goodput| {
        let place = entries.iter().position(|entries| *entries == of.entries);
        place.map_or(0.0, |place| place as f64 + 1.0)
    };
    let drawn = Room::Whole.draw(HEIGHT, |size| {
        let frame = Frame {
            size,
            axes: (&x, &y),
            label: &label,
        };
        svg::draw(&frame, |plot| {
            for (n, state) in EntryState::ALL.into_iter().enumerate() {
                let of_state = found.iter().filter(|of| of.state == state);
                // Intervals at one place would hide each other.
                let aside = (n as f64 - 0.5) * 0.04;
                let mut line = Vec::new();
                for (of, fps) in of_state.filter_map(|of| Some((of, of.fps?))) {
                    let x = at(of) + aside;
                    line.push((x, fps.median));
                    if fps.n > 1 {
                        plot.error_bar(x, fps.low, fps.high, Ink::Series(n));
                    }
                }
                plot.series(&line, n);
                for of in found.iter().filter(|of| of.state == state) {
                    let Some(fps) = of.fps else { continue };
                    let told = format!(
                        "{} frames/s, {} on {} connections",
                        number::short(fps.median),
                        ways(state),
                        number::count(of.entries)
                    );
                    let point = (at(of) + aside, fps.median);
                    plot.mark(point, Look::of_series(n, 4.5, false), &told);
                }
            }
        })
    });
    let states = EntryState::ALL.into_iter().enumerate();
    let there = states.filter(|(_, state)| found.iter().any(|of| of.state == *state));
    let keys: Vec<Key> = there.map(|(n, state)| series(n, ways(state))).collect();
    let body = html! { (legend(&keys)) (drawn) };
    Some(crate::figure::figure(
        "Goodput on few and many connections",
        "median of the repeats; bars from the smallest to the largest",
        body,
    ))
}

fn ways(state: EntryState) -> &'static str {
    match state {
        EntryState::Unreplied => "one way, not answered",
        EntryState::Replied => "both ways together, answered",
    }
}
