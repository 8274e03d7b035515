//! Sentences about tables of connections.

use nicety_model::number::{self, plural};
use nicety_model::stateful::{
    Capacity, EntryState, Figure, Goodput, Setback, SetupRate, StatefulReport, TableCounts,
    TableVerdict, Teardown,
};

/// Port numbers that translation has of an address.
const PORTS: u64 = 64_512;

/// What stopped a rate or a fill, for who sees the word for the first time.
pub fn meaning(setback: Setback) -> &'static str {
    match setback {
        Setback::TableFull => "the table is full",
        Setback::NoPort => "translation found no free port",
        Setback::LongChain => "a hash chain of the table is too long",
        Setback::Lost => "frames were lost on the path",
        Setback::Strange => "frames came out with addresses of another connection",
        Setback::Miscounted => "the kernel has another number of entries than arrived",
        Setback::Late => "the tester was late",
        Setback::TesterDropped => "the tester itself lost frames",
        Setback::Stalled => "a CPU stood still or worked for another program in every trial",
    }
}

/// What came of a trial, for a progress line.
pub fn event_setback(setback: Option<Setback>) -> &'static str {
    setback.map_or("passed", meaning)
}

/// A line for each figure.
pub(super) fn answers(report: &StatefulReport) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(report.setup.as_ref().map(setup));
    let max = report.table.max;
    lines.extend(report.capacity.as_ref().map(|of| capacity(of, max)));
    // The largest table is the last of its kind.
    lines.extend(report.teardown.last().map(teardown));
    for state in EntryState::ALL {
        let of: Vec<&Goodput> = report
            .goodput
            .iter()
            .filter(|of| of.state == state)
            .collect();
        lines.extend(goodput(&of));
    }
    if !report.complete {
        lines.push("Interrupted: what was measured until then.".to_owned());
    }
    lines
}

/// A figure with its unit, and how far repeats went.
fn around(figure: Figure, unit: &str) -> String {
    let median = number::short(figure.median);
    match figure.n {
        0 | 1 => format!("{median} {unit}"),
        n => format!(
            "{median} {unit} ({} in {n} repeats)",
            number::interval((figure.low, figure.high))
        ),
    }
}

fn setup(of: &SetupRate) -> String {
    let why = of.stopped_by.map(meaning);
    let Some(per_s) = of.per_s.filter(|_| of.verdict != TableVerdict::NotValid) else {
        return format!(
            "No valid setup rate: {}.{}",
            why.unwrap_or("no rate was tried"),
            differing(&of.counts)
        );
    };
    let rate = around(per_s, "connections per second");
    match (of.verdict, why) {
        (TableVerdict::AtLeast, Some(why)) if of.stopped_by == Some(Setback::Stalled) => {
            format!("The router opens at least {rate}. Above that {why}.")
        }
        (TableVerdict::AtLeast, _) => {
            format!("The router opens at least {rate}: the tester sends no faster.")
        }
        (_, Some(why)) => {
            format!("The router opens {rate}. Above that {why}.")
        }
        (_, None) => format!("The router opens {rate}."),
    }
}

fn capacity(of: &Capacity, max: u64) -> String {
    let why = of.stopped_by.map(meaning);
    let Some(entries) = of.entries else {
        return format!(
            "The capacity was not found: {}.",
            why.unwrap_or("no fill was tried")
        );
    };
    let held = number::count(entries);
    match of.verdict {
        TableVerdict::NotValid => format!("The capacity is not valid.{}", differing(&of.counts)),
        TableVerdict::AtLeast | TableVerdict::Failed => match of.overflowed {
            Some(over) => format!(
                "Between {held} and {} connections are opened: then {}.",
                number::count(over),
                why.unwrap_or("some are missing")
            ),
            None => format!(
                "The table holds at least {held} connections; more were not tried (--most)."
            ),
        },
        TableVerdict::Ok => {
            let limit = if max == entries {
                format!("{held} connections, which is nf_conntrack_max")
            } else {
                format!("{held} connections")
            };
            let one_more = match of.stopped_by {
                Some(Setback::TableFull) if of.thrown_out.is_some_and(|out| out > 0) => {
                    " One more throws out an older one that nobody has answered (early_drop)."
                        .to_owned()
                }
                Some(setback) => format!(" With one more {}.", meaning(setback)),
                None => String::new(),
            };
            format!("The table holds {limit}.{one_more}")
        }
    }
}

fn teardown(of: &Teardown) -> String {
    let entries = number::count(of.entries);
    match (of.per_s, of.seconds, of.verdict) {
        (Some(per_s), Some(seconds), TableVerdict::Ok) => format!(
            "{entries} connections are removed in {}: {}.",
            time(seconds.median),
            around(per_s, "per second")
        ),
        (.., TableVerdict::NotValid) => format!(
            "The removal of {entries} connections is not valid: {} were left.",
            number::count(of.left)
        ),
        _ => format!(
            "The removal of {entries} connections was not measured: {}.",
            of.stopped_by.map_or("it took no time", meaning)
        ),
    }
}

/// A time in three digits.
pub(super) fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{} ms", number::significant(seconds * 1e3, 3))
    } else {
        format!("{} s", number::significant(seconds, 3))
    }
}

fn goodput(of: &[&Goodput]) -> Option<String> {
    let (last, few) = of.split_last()?;
    let entries = number::count(last.entries);
    let ways = match last.state {
        EntryState::Unreplied => "one way",
        EntryState::Replied => "both ways together",
    };
    let Some(fps) = last.fps.filter(|_| last.verdict != TableVerdict::NotValid) else {
        return Some(format!(
            "No valid goodput {ways} on {entries} connections: {}.",
            last.stopped_by.map_or("no rate was tried", meaning)
        ));
    };
    let least = match last.verdict {
        TableVerdict::AtLeast => "at least ",
        _ => "",
    };
    let payload = last.payload_mbps.map_or_else(String::new, |mbps| {
        format!(", {} of payload", number::bit_rate(mbps))
    });
    let beside = few.first().and_then(|few| Some((few.entries, few.fps?)));
    let beside = beside.map_or_else(String::new, |(entries, fps)| {
        format!(
            "; on {} it is {}",
            number::count(entries),
            number::short(fps.median)
        )
    });
    Some(format!(
        "On {entries} open connections {least}{} pass {ways}{payload}{beside}.",
        around(fps, "frames/s")
    ))
}

/// Who counts what, where not all count the same.
fn differing(counts: &TableCounts) -> String {
    if counts.equal() {
        return String::new();
    }
    format!(
        " Opened were {}, the responder saw {}, and the kernel has {}.",
        number::count(counts.sent),
        number::count(counts.responder),
        number::count(counts.kernel)
    )
}

/// What the table is like, and what to do about its limits.
pub(super) fn notes(report: &StatefulReport) -> Vec<String> {
    let table = &report.table;
    let bytes = table
        .entry_bytes
        .map_or_else(String::new, |bytes| format!(", {bytes} B an entry"));
    let most = match table.max {
        0 => "no limit of entries".to_owned(),
        max => format!("{} entries at most (nf_conntrack_max)", number::count(max)),
    };
    let mut lines = vec![format!(
        "Table: {most}, {} hash buckets{bytes}.",
        number::count(table.buckets)
    )];
    let translated = match table.addresses {
        0 => "no translation".to_owned(),
        1 => "translated to 1 address".to_owned(),
        many => format!("translated to {many} addresses"),
    };
    lines.push(format!(
        "Tester: {}, {translated}; {} of the destination.",
        plural(table.hosts, "host"),
        plural(table.destination_ports, "port"),
    ));
    let stopped = |setback| {
        let goodput = report.goodput.iter().map(|of| of.stopped_by);
        let teardown = report.teardown.iter().map(|of| of.stopped_by);
        let mut all = goodput
            .chain(teardown)
            .chain(report.setup.iter().map(|of| of.stopped_by))
            .chain(report.capacity.iter().map(|of| of.stopped_by));
        all.any(|by| by == Some(setback))
    };
    if stopped(Setback::TableFull) {
        let twice = (table.max * 2).max(1);
        lines.push(format!(
            "A larger table: sysctl net.netfilter.nf_conntrack_max={twice} on the host."
        ));
    }
    if stopped(Setback::NoPort) {
        lines.push(format!(
            "Translation has {} of each address, for each port of a destination. More addresses: --nat addresses={}.",
            plural(table.ports.map_or(PORTS, u64::from), "port"),
            table.hosts.max(table.addresses + 1)
        ));
    }
    if stopped(Setback::Stalled) {
        lines.push(
            "Other programs or the hypervisor had the CPUs of tester and path: stop them, or give the machine more CPUs."
                .to_owned(),
        );
    }
    if stopped(Setback::LongChain) {
        lines.push(
            "Shorter hash chains: sysctl net.netfilter.nf_conntrack_buckets, a quarter of the connections or more."
                .to_owned(),
        );
    }
    if table.timeout_s < 600 {
        lines.push(format!(
            "Entries without an answer are forgotten after {} s here, and this kernel lets nobody change that.",
            table.timeout_s
        ));
    }
    lines
}
