//! Where frames were lost, drawn: a stream of lost frames that grows thinner at every place.

use maud::{Markup, html};
use nicety_model::LossEntry;

use crate::figure::svg::SERIES;
use crate::figure::{self, Key};
use crate::number;
use crate::pick::Group;

/// Width, height of the stream and of the whole drawing, in its own units.
const WIDTH: f64 = 360.0;
const STREAM: f64 = 44.0;
const HEIGHT: f64 = 108.0;
/// Places that are drawn; the table has all.
const MOST: usize = 6;

/// Draws the places of a cell's overload trial, else of its confirm trial; nothing where no frame
/// was lost.
pub fn figure(group: &Group<'_>) -> Option<Markup> {
    let (trial, entries) = match group.shown.overload_ledger.as_slice() {
        [] => ("confirm trial", group.shown.loss_ledger.as_slice()),
        over => ("trial above the throughput", over),
    };
    let entries: Vec<&LossEntry> = entries
        .iter()
        .filter(|entry| entry.frames > 0)
        .take(MOST)
        .collect();
    let total: f64 = entries.iter().map(|entry| entry.frames as f64).sum();
    if total <= 0.0 {
        return None;
    }
    let told: Vec<String> = entries
        .iter()
        .map(|e| format!("{} {}", e.place, number::count(e.frames)))
        .collect();
    let label = format!(
        "Frames lost along the path of {}, {trial}: {}",
        group.name,
        told.join(", ")
    );
    let key = |(n, told): (usize, &String)| figure::key(&format!("s{}", n % SERIES), "■", told);
    let keys: Vec<Key> = told.iter().enumerate().map(key).collect();
    Some(html! {
        svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(label) {
            @for (n, part) in parts(&entries, total).iter().enumerate() {
                path d=(part.stream) fill="var(--cpu-idle)" stroke="var(--rule)" {}
                path d=(part.fall) fill={ "var(--s" (n % SERIES) ")" } {}
                text x=(part.middle) y=(HEIGHT - 4.0) text-anchor="middle" font-size="12" fill="var(--ink)" { (part.share) }
            }
        }
        (figure::legend(&keys))
        p.muted { (trial) }
    })
}

/// What is drawn of one place.
struct Part {
    /// The stream up to the place.
    stream: String,
    /// What falls out of it.
    fall: String,
    middle: f64,
    share: String,
}

fn parts(entries: &[&LossEntry], total: f64) -> Vec<Part> {
    const TOP: f64 = 6.0;
    let wide = WIDTH / entries.len() as f64;
    let mut left = total;
    let mut all = Vec::new();
    for (n, entry) in entries.iter().enumerate() {
        let frames = entry.frames as f64;
        let (x, before) = (n as f64 * wide, left / total * STREAM);
        left -= frames;
        let after = (left / total * STREAM).max(0.0);
        // What falls is as wide as it was high, as far as its column allows.
        let half = ((before - after) / 2.0).clamp(1.0, wide * 0.35);
        let middle = x + wide * 0.6;
        let floor = HEIGHT - 20.0;
        all.push(Part {
            stream: format!(
                "M{x:.1} {TOP}H{:.1}V{:.1}H{middle:.1}V{:.1}H{x:.1}Z",
                x + wide,
                TOP + after,
                TOP + before
            ),
            fall: format!(
                "M{:.1} {:.1}H{:.1}V{floor:.1}H{:.1}Z",
                middle - half,
                TOP + after.max(before * 0.5),
                middle + half,
                middle - half
            ),
            middle,
            share: share(frames / total),
        });
    }
    all
}

fn share(ratio: f64) -> String {
    match ratio {
        few if few < 0.005 => "< 1 %".to_owned(),
        ratio => number::share(ratio),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_ends_where_the_last_frame_was_lost() {
        let entry = |place: &str, frames| LossEntry {
            place: place.to_owned(),
            frames,
        };
        let entries = [entry("a tx_dropped", 75), entry("d1 rx_dropped", 25)];
        let parts = parts(&entries.iter().collect::<Vec<_>>(), 100.0);
        let shares: Vec<_> = parts.iter().map(|part| part.share.as_str()).collect();
        assert_eq!(shares, ["75 %", "25 %"]);
        // At the last place nothing is left: the stream closes at its upper edge.
        assert!(parts[1].stream.contains("V6.0H"), "{}", parts[1].stream);
    }
}
