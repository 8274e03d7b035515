//! What the short headings of the table of cells leave out.

use nicety_model::Estimate;

use crate::estimate::ONE_VISIT;
use crate::number::{self, ABSENT};
use crate::pick::Group;
use crate::threads;

/// Units, direction, how loads were judged, and the load of the latency.
pub fn legend(groups: &[Group<'_>]) -> String {
    let any = |has: fn(&Group<'_>) -> bool| groups.iter().any(has);
    if any(|group| group.estimate().is_some()) {
        of_intervals(groups)
    } else {
        of_repeats(groups)
    }
}

const PER_DIRECTION: &str = "Rates are per direction; Mbit/s counts preamble and gap (L1)";

/// Of runs whose numbers have intervals.
fn of_intervals(groups: &[Group<'_>]) -> String {
    let any = |has: fn(&Group<'_>) -> bool| groups.iter().any(has);
    let mut told = vec![PER_DIRECTION.to_owned()];
    if any(|group| group.repeats.len() > 1) {
        told.push("frames/s is the median of the visits".to_owned());
    }
    told.push(format!(
        "The interval says how well frames/s is known ({})",
        sure(groups)
    ));
    told.extend(judged(groups));
    let confirmed = confirmed(groups);
    if any(|group| group.held_text() != ABSENT) {
        told.push(match &confirmed {
            Some(length) => format!("{length} is the load that held for {length}"),
            None => "Confirmed is the load that held in the confirm trial".to_owned(),
        });
    }
    if any(|group| group.capacity_fps().is_some()) {
        told.push("Capacity is what the path forwards under overload, in frames/s".to_owned());
    }
    if any(|group| group.shown.confirm.is_some()) {
        let length = confirmed.as_deref().unwrap_or("the confirm trial");
        told.push(format!("Loss is that of {length} at frames/s"));
    }
    let stalls = |group: &Group<'_>| {
        let confirm = group.shown.confirm;
        confirm.is_some_and(|confirm| confirm.lost_in_stalls.is_some())
    };
    if any(stalls) {
        told.push("Frames lost in stalls were sent while a CPU was stopped".to_owned());
    }
    if any(guest_is_known) {
        told.push("Guest CPU is the guest's busiest by its own count".to_owned());
    }
    let shares = shares(groups);
    if !shares.is_empty() {
        told.push(format!("Latency is one-way at {shares} of the throughput"));
    }
    format!("{}.", told.join(". "))
}

/// Heading of the load that held: how long, as in `10 s`.
pub fn held(groups: &[Group<'_>]) -> String {
    confirmed(groups).unwrap_or_else(|| "confirmed".to_owned())
}

/// How long the confirm trials were; `None` where not all were equally long, or there are none.
fn confirmed(groups: &[Group<'_>]) -> Option<String> {
    let confirms = groups.iter().filter_map(|group| group.shown.confirm);
    let mut lengths = distinct(confirms.map(|confirm| length(confirm.duration_s)));
    lengths.pop().filter(|_| lengths.is_empty())
}

/// `10 s`, `0.5 s`.
fn length(seconds: f64) -> String {
    if (seconds - seconds.round()).abs() < 0.05 && seconds < 99.95 {
        format!("{seconds:.0} s")
    } else {
        number::seconds(seconds)
    }
}

/// What the intervals are worth: `94 %, range of 5 visits`, or where cells differ
/// `93 to 97 %, from 5 to 8 visits; 14 from one visit: no confidence stated`.
fn sure(groups: &[Group<'_>]) -> String {
    let mut labels = distinct(groups.iter().filter_map(Group::interval_label));
    let stated = groups.iter().filter_map(Group::estimate);
    let (sure, unsure): (Vec<&Estimate>, Vec<&Estimate>) =
        stated.partition(|estimate| estimate.confidence.is_some());
    let shares = spread(sure.iter().filter_map(|estimate| estimate.confidence));
    let visits = spread(sure.iter().map(|estimate| f64::from(estimate.visits)));
    if let (true, Some(shares), Some(visits)) = (labels.len() > 1, shares, visits) {
        let percent = |share: f64| format!("{:.0}", share * 100.0);
        let stated = format!(
            "{} %, from {} visits",
            range(shares, percent),
            range(visits, |visits| format!("{visits:.0}"))
        );
        labels.retain(|label| label == ONE_VISIT);
        labels
            .iter_mut()
            .for_each(|label| *label = format!("{} {label}", unsure.len()));
        labels.insert(0, stated);
    }
    labels.join("; ")
}

/// The least and the greatest.
fn spread(of: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    of.clone().reduce(f64::min).zip(of.reduce(f64::max))
}

/// `93 to 97`, and where both ends read the same `93`.
fn range((least, most): (f64, f64), words: impl Fn(f64) -> String) -> String {
    let [least, most] = [least, most].map(words);
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

/// How loads were judged: `A load passes if most windows of 59 ms lose at most …`. Absent where
/// whole trials were.
pub fn judged(groups: &[Group<'_>]) -> Option<String> {
    let lengths = groups.iter().flat_map(|group| &group.repeats);
    let mut lengths: Vec<f64> = lengths.filter_map(|cell| cell.window_s).collect();
    lengths.retain(|length| length.is_finite());
    lengths.sort_by(f64::total_cmp);
    let ends = (*lengths.first()?, *lengths.last()?);
    let lengths = range(ends, |length| format!("{:.0}", length * 1e3));
    let goals = distinct(groups.iter().map(|g| number::loss(g.shown.loss_goal)));
    Some(format!(
        "A load passes if most windows of {lengths} ms lose at most {}",
        goals.join(" or ")
    ))
}

/// Of runs without intervals.
fn of_repeats(groups: &[Group<'_>]) -> String {
    let any = |has: fn(&Group<'_>) -> bool| groups.iter().any(has);
    let mut told = vec![PER_DIRECTION.to_owned()];
    if any(|group| group.extremes_fps().is_some()) {
        let of = "frames/s is the average of the repeats; the details are those of the repeat nearest to it";
        told.push(of.to_owned());
    }
    if any(|group| group.shown.confirm.is_some()) {
        told.push("Loss is that of the confirm trial".to_owned());
    }
    if any(|group| group.shown.held.is_some()) {
        told.push("Held is a lower load, in frames/s, that met the goal for as long".to_owned());
    }
    if any(guest_is_known) {
        told.push("Guest CPU is the guest's busiest by its own count".to_owned());
    }
    let shares = shares(groups);
    if !shares.is_empty() {
        told.push(format!("Latency is one-way at {shares} of the throughput"));
    }
    format!("{}.", told.join(". "))
}

fn guest_is_known(group: &Group<'_>) -> bool {
    let cpu = group.shown.cpu.as_ref();
    cpu.is_some_and(|cpu| threads::guest(cpu).is_some())
}

/// Shares of the throughput at which latency is shown: `50 % or 90 %`.
fn shares(groups: &[Group<'_>]) -> String {
    let ratios = groups
        .iter()
        .filter_map(|group| group.latency()?.load_ratio);
    distinct(ratios.map(number::share)).join(" or ")
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts.dedup();
    texts
}
