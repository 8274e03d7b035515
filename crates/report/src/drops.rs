//! Packets that the kernel of a host drops: the answer in a line, a table by owner, and what is not in it.

use nicety_model::FateCause;
use nicety_model::drops::{
    DropOwner, DropOwnerKind, DropsReport, OwnerDrops, PlaceDrops, Towards, Unseen,
};
use nicety_model::number::{self, plural};

use crate::document::columns;
use crate::fate;
use crate::page::Page;

/// The answer, a table of the `top` places with most packets, and what is not counted.
pub fn page(report: &DropsReport, top: usize) -> Page {
    let mut page = Page::default();
    page.line(&answer(report));
    let mut lines: Vec<(&OwnerDrops, &PlaceDrops)> = report
        .owners
        .iter()
        .flat_map(|of| of.places.iter().map(move |place| (of, place)))
        .collect();
    // Owners stay together, those with most packets first.
    let shown = lines.len().min(top);
    let rest: u64 = lines.drain(shown..).map(|(_, place)| place.packets).sum();
    let per_s = |packets: u64| number::short(packets as f64 / report.seconds.max(1e-9));
    page.rows(
        "dropped packets",
        lines,
        columns![|(of, place)|
            "whose" Name: whose(&of.owner);
            "packets" Number: number::count(place.packets);
            "per s" Number: per_s(place.packets);
            "way" Text: place.towards.map(Towards::word);
            "at" Text: place.device.as_ref();
            "received at" Text: place.received_at.as_ref().filter(|at| place.device.as_ref() != Some(at));
            "function" Text: place.function.as_ref();
            "reason" Text: place.reason.as_ref();
            "because" Text: meaning(place);
        ],
    );
    if rest > 0 {
        page.line(&format!(
            "{} more at other places (--top).",
            number::count(rest)
        ));
    }
    page.line("");
    for line in notes(report) {
        page.line(&line);
    }
    page
}

/// How many, how fast, and where most of them.
pub fn answer(report: &DropsReport) -> String {
    let seconds = number::seconds(report.seconds);
    let Some(first) = report.owners.first() else {
        return format!("No packet was dropped in {seconds}.");
    };
    let rate = number::short(report.packets as f64 / report.seconds.max(1e-9));
    let packets = match report.packets {
        1 => "1 packet was".to_owned(),
        many => format!("{} packets were", number::count(many)),
    };
    let all = format!("{packets} dropped in {seconds}, {rate} per second");
    let Some(place) = first.places.first() else {
        return format!("{all}.");
    };
    let share = match (report.packets, first.packets) {
        (all, own) if all == own => "all".to_owned(),
        // Not rounded to all of them.
        (all, own) if own as f64 >= 0.99 * all as f64 => "nearly all".to_owned(),
        (all, own) => number::share(own as f64 / all as f64),
    };
    let because = match meaning(place) {
        Some(meaning) => format!(", mostly because {meaning}"),
        None => format!(", mostly {}", fate::place(&cause(place))),
    };
    format!("{all}: {share} of {}{because}.", whose(&first.owner))
}

/// `web01 (tap0)`; a port, function or name that says its interface already stands alone.
fn whose(owner: &DropOwner) -> String {
    match &owner.interface {
        Some(interface) if *interface != owner.name => format!("{} ({interface})", owner.name),
        _ if owner.kind == DropOwnerKind::Namespace => format!("namespace {}", owner.name),
        _ if owner.kind == DropOwnerKind::Host => "the host".to_owned(),
        _ => owner.name.clone(),
    }
}

fn cause(place: &PlaceDrops) -> FateCause {
    FateCause::Dropped {
        device: place.device.clone(),
        function: place.function.clone(),
        reason: place.reason.clone(),
    }
}

fn meaning(place: &PlaceDrops) -> Option<String> {
    // Those for many addresses are no lines.
    if place.reason.as_deref() == Some("OTHERHOST") {
        return Some(STALE.to_owned());
    }
    fate::meaning(&cause(place))
}

/// What frames mean that all go to one address that is not this host's.
const STALE: &str =
    "all went to one other hardware address: is the sender’s neighbour entry stale? See ip neigh";

/// What is not in the counts, and what is in none of them.
fn notes(report: &DropsReport) -> Vec<String> {
    let mut notes = Vec::new();
    if report.copies > 0 {
        notes.push(format!(
            "Beside these: {} for many other hosts, which nobody misses (OTHERHOST).",
            plural_count(report.copies, "packet")
        ));
    }
    if report.uncounted > 0 {
        notes.push(format!(
            "Beside these: {} at more places than are kept apart.",
            plural_count(report.uncounted, "packet")
        ));
    }
    notes.extend(report.unseen.iter().map(unseen));
    notes
}

fn plural_count(count: u64, noun: &str) -> String {
    match count {
        1 => plural(count, noun),
        many => format!("{} {noun}s", number::count(many)),
    }
}

fn unseen(what: &Unseen) -> String {
    match what {
        Unseen::Outside => {
            "Not seen: what NICs drop themselves, and what guests drop inside.".to_owned()
        }
        Unseen::XdpPrograms { interfaces } => format!(
            "Not seen: what the XDP programs at {} drop; they have counters of their own.",
            number::first_few(interfaces, 4, ", ")
        ),
        Unseen::Reasons => {
            "Not seen: reasons; the kernel gives them from Linux 5.17 on.".to_owned()
        }
        Unseen::Functions => {
            "Not seen: functions; the kernel hides its addresses. Add CAP_SYSLOG.".to_owned()
        }
        Unseen::Owners => {
            "Not seen: some owners; add CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.".to_owned()
        }
        Unseen::Missed { events } => format!(
            "Not seen: {} that interrupted the program itself.",
            plural_count(*events, "drop")
        ),
    }
}

#[cfg(test)]
mod tests;
