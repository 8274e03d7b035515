//! A waterfall in words.

use nicety_model::FateOf;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::fate::Way;
use nicety_model::hop::Hop;
use nicety_model::waterfall::{Off, OffWhy, Unknown, Waterfall, WaterfallStation};

use super::frames;
use crate::fate;
use crate::number;

/// Causes that a station tells of; the smaller ones are added up.
const TOLD: usize = 4;

/// `bridge/64/uni, just above the throughput: 1.02 M frames/s for 1.0 s`
pub(super) fn title(waterfall: &Waterfall) -> String {
    format!(
        "{}{}, {}: {} frames/s for {}",
        waterfall.cell,
        way(waterfall.way),
        trial(waterfall.of),
        number::short(waterfall.load_fps),
        number::seconds(waterfall.duration_s)
    )
}

/// `, B to A`; empty where there is no other.
fn way(way: Option<Way>) -> String {
    way.map_or_else(String::new, |way| format!(", {}", way.words()))
}

/// The load of a trial in words.
fn trial(of: FateOf) -> &'static str {
    match of {
        FateOf::Overload => "just above the throughput",
        FateOf::Confirm => "at the throughput",
        FateOf::Latency => "at the load of latency",
    }
}

/// `0`, or `[0-3]` for those that may run it.
pub(super) fn cpus(station: &WaterfallStation) -> String {
    let mut cpus = station.cpus.clone();
    cpus.sort_unstable();
    match (cpus.is_empty(), station.cpus_seen) {
        (true, _) => String::new(),
        (false, true) => format_cpu_list(&cpus),
        (false, false) => format!("[{}]", format_cpu_list(&cpus)),
    }
}

/// Why frames were lost where, what does not fit, and what is not known.
pub(super) fn lines(waterfall: &Waterfall) -> Vec<String> {
    let mut lines = Vec::new();
    for station in &waterfall.stations {
        let name = &station.station;
        for entry in station.causes.iter().take(TOLD) {
            lines.push(format!("{name}: {}.", fate::line(entry)));
        }
        let rest = frames(station.causes.get(TOLD..).unwrap_or_default());
        if rest > 0 {
            lines.push(format!(
                "{name}: {} lost for other causes.",
                number::count(rest)
            ));
        }
        lines.extend(station.off.map(|off| format!("{name}: {}", misfit(off))));
    }
    for entry in &waterfall.elsewhere {
        lines.push(format!(
            "At no station that is known: {}.",
            fate::line(entry)
        ));
    }
    if waterfall.off != 0 {
        let off = number::count(waterfall.off.unsigned_abs());
        let what = if waterfall.off > 0 {
            format!("{off} lost frames are in no line")
        } else {
            format!("the lines have {off} frames more than were lost")
        };
        lines.push(format!("The books do not close: {what}."));
    }
    lines.extend(
        waterfall
            .unknown
            .iter()
            .map(|what| missing(*what).to_owned()),
    );
    lines.extend(without_times(waterfall));
    let hops: Vec<&Hop> = waterfall
        .stations
        .iter()
        .flat_map(|station| &station.hops)
        .collect();
    lines.extend(crossing(&hops));
    lines
}

/// How far to trust the times of hops into guests and out of them.
pub(crate) fn crossing(hops: &[&Hop]) -> Vec<String> {
    let both: Vec<&Hop> = hops
        .iter()
        .filter(|hop| hop.error_ns.is_some())
        .copied()
        .collect();
    let Some(error) = both.iter().filter_map(|hop| hop.error_ns).max() else {
        return Vec::new();
    };
    let us = |ns: u64| number::micros(ns as f64 / 1e3);
    let (known, unknown): (Vec<&Hop>, Vec<&Hop>) =
        both.iter().copied().partition(|hop| hop.is_known());
    let names = |hops: &[&Hop]| {
        let names: Vec<&str> = hops
            .iter()
            .map(|hop| {
                hop.to
                    .rsplit_once(" at ")
                    .map_or(hop.to.as_str(), |(_, device)| device)
            })
            .collect();
        names.join(" and ")
    };
    let mut lines = Vec::new();
    if !known.is_empty() {
        lines.push(format!(
            "Times until {} are right to ± {} µs: the clocks of host and guest were compared.",
            names(&known),
            us(error)
        ));
    }
    if !unknown.is_empty() {
        lines.push(format!(
            "The time until {} is not known: the clocks of host and guest were compared to ± {} µs only.",
            names(&unknown),
            us(error)
        ));
    }
    let sum: u64 = both.iter().map(|hop| hop.time.mean_ns).sum();
    lines.push(format!(
        "Into the guest and out of it take {} µs together (mean), whatever the clocks say.",
        us(sum)
    ));
    lines
}

/// By how much counts do not fit, and why.
fn misfit(off: Off) -> String {
    let frames = number::count(off.frames.unsigned_abs());
    match (off.why, off.frames > 0) {
        (OffWhy::OtherFrames, _) => {
            format!("its counter saw {frames} more; it counts frames of others too.")
        }
        (OffWhy::Elsewhere, _) => {
            format!("{frames} fewer were here; they were lost where no station is known.")
        }
        (OffWhy::NotCounted, _) => {
            format!("its counter saw {frames} fewer; it does not count frames that XDP takes.")
        }
        (OffWhy::Unexplained, true) => format!("{frames} more than the lost frames explain."),
        (OffWhy::Unexplained, false) => format!("{frames} fewer than the lost frames explain."),
    }
}

/// What is missing in the whole table.
fn missing(what: Unknown) -> &'static str {
    match what {
        Unknown::HopsNotTaken => "No times: take them with --fate hops.",
        Unknown::NoSampledFrame => "No times: no sampled frame was seen from end to end.",
        Unknown::BothWays => {
            "In and out are not known: frames went both ways, and this run does not tell losses apart by direction."
        }
        Unknown::NotFollowed => {
            "In and out are not known: counters alone tell of the lost frames, and they count others too."
        }
        Unknown::InNextStation => "no tracepoint; the time is included in the next station's.",
        Unknown::InGuest => {
            "inside a guest, where the frames were not seen; the time is included in the next station's."
        }
        Unknown::OutsideKernel => "outside the kernel; the time is included in the next station's.",
        Unknown::NotSeen => {
            "no sampled frame seen; macvlans and VLANs have no tracepoint where they receive, and XDP frames pass unseen."
        }
    }
}

/// Stations without a time, those of the same reason together.
fn without_times(waterfall: &Waterfall) -> Vec<String> {
    let all = [
        Unknown::InNextStation,
        Unknown::InGuest,
        Unknown::OutsideKernel,
        Unknown::NotSeen,
    ];
    let timed = waterfall
        .stations
        .iter()
        .any(|station| !station.hops.is_empty());
    let line = |why: Unknown| {
        let names: Vec<&str> = waterfall
            .stations
            .iter()
            .filter(|station| station.no_time == Some(why))
            .map(|station| match station.station.as_str() {
                "" => station.kind.as_str(),
                name => name,
            })
            .collect();
        (!names.is_empty()).then(|| format!("No time of {}: {}", names.join(", "), missing(why)))
    };
    all.into_iter().filter(|_| timed).filter_map(line).collect()
}

/// What the columns hold.
pub(super) fn remark(waterfall: &Waterfall) -> String {
    let open = waterfall
        .stations
        .iter()
        .all(|station| station.frames_in.is_none());
    let mut text = if open {
        "Lost frames are those of the whole trial.".to_owned()
    } else {
        "Frames are those of the whole trial; each lost one was found by its number.".to_owned()
    };
    if waterfall.end_to_end.is_some() {
        let sampled = waterfall.sampled.unwrap_or(0);
        text += &format!(
            " Times are of {}: from the station before until here.",
            number::plural(sampled, "sampled frame")
        );
    }
    let allowed = |station: &WaterfallStation| !station.cpus_seen && !station.cpus.is_empty();
    if waterfall.stations.iter().any(allowed) {
        text += " [n] is an allowed CPU, n one that ran it.";
    }
    text
}

#[cfg(test)]
mod tests {
    use nicety_model::hop::HopTime;

    use super::*;

    #[test]
    fn a_time_that_the_clocks_do_not_tell_is_not_told() {
        let hop = |to: &str, ns, error_ns| Hop {
            from: String::new(),
            to: to.to_owned(),
            cpus: Vec::new(),
            time: HopTime {
                mean_ns: ns,
                p50_ns: ns,
                ..HopTime::default()
            },
            error_ns,
        };
        let hops = [
            hop("received at guest eth0", 20_000, Some(30_000)),
            hop("sent at guest eth1", 12_000, None),
            hop("received at t1", 90_000, Some(30_000)),
        ];
        let told = crossing(&hops.iter().collect::<Vec<_>>());
        assert_eq!(
            told,
            [
                "Times until t1 are right to ± 30 µs: the clocks of host and guest were compared.",
                "The time until guest eth0 is not known: the clocks of host and guest were compared to ± 30 µs only.",
                "Into the guest and out of it take 110 µs together (mean), whatever the clocks say.",
            ]
        );
        assert!(crossing(&[&hops[1]]).is_empty());
    }
}
