//! Room in the table of tracked connections (T41).

use nicety_model::facts::ConntrackFacts;
use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T41",
    name: "conntrack",
    checks: "The table of tracked connections has room",
    fires: "Fires when it is filled to 90 % or more, or had to drop flows in the window.",
    writes: Some("net.netfilter.nf_conntrack_max: doubled, at most a 16th of the memory"),
    gain: Gain::Large,
    reasons: &[FULL],
    check,
};

const FULL: Reason = Reason {
    why: "Each flow that a firewall or NAT tracks takes an entry. When the table is full, packets of new \
          flows are dropped.",
    source: "Linux Documentation/networking/nf_conntrack-sysctl.rst; net/netfilter/nf_conntrack_core.c, \
             __nf_conntrack_alloc, \"table full, dropping packet\"",
    cost: "Memory: some 320 bytes an entry, taken as flows come. Longer chains in the hash unless it \
           grows too.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

const SYSCTL: &str = "net.netfilter.nf_conntrack_max";
/// Share of the table from which on a burst fills it.
const NEARLY: f64 = 0.9;
/// Bytes of an entry: `struct nf_conn` in whole cache lines (object size of nf_conntrack in /proc/slabinfo).
const ENTRY: u64 = 320;
/// Share of the memory that entries may take.
const SHARE: u64 = 16;
/// Entries per bucket with the kernel's own default; each is in the hash twice.
const PER_BUCKET: u64 = 4;
/// Counts flows that were thrown out for new ones, which happens to a full table only.
const THROWN: &str = "early_drop";

fn check(case: &Case<'_>, report: &mut Report) {
    let Some(table) = case.facts.conntrack.as_ref().filter(|table| table.max > 0) else {
        return;
    };
    let thrown = thrown(case);
    if filled(table) >= NEARLY || thrown.is_some() {
        full(case, table, thrown, report);
    } else if let Some(before) = table
        .counters
        .get(THROWN)
        .filter(|_| case.facts.window.is_none())
    {
        let needs = format!(
            "Rerun with --window 10s under your real load: a full table dropped {before} flows since boot."
        );
        report.undecided(&needs, Some("--window 10s"));
    }
}

/// Share of the entries that are taken.
fn filled(table: &ConntrackFacts) -> f64 {
    table.count as f64 / table.max as f64
}

fn full(case: &Case<'_>, table: &ConntrackFacts, thrown: Option<String>, report: &mut Report) {
    let wanted = wanted(case, table);
    let should = match wanted {
        Some(entries) => format!("{entries} entries; double it again while it fills"),
        None => "more memory, or fewer tracked flows".to_owned(),
    };
    let (count, max) = (table.count, table.max);
    let mut is = format!("{count} of {max} entries ({:.0} %)", filled(table) * 100.0);
    is.extend(thrown.or_else(|| before(table)));
    let finding = report.find("host", is, should, &FULL);
    if let Some(entries) = wanted {
        let mib = ((entries - max) * ENTRY) >> 20;
        finding.formula = Some(format!(
            "2 × {max} = {entries}; {ENTRY} bytes an entry: {mib} MiB more"
        ));
        finding
            .changes
            .push(change(Knob::sysctl(SYSCTL), max, entries));
        finding.advice.extend(buckets(table, entries));
    }
    finding.advice.push(
        "Traffic that needs no firewall state can go untracked: notrack in a prerouting chain of priority raw."
            .to_owned(),
    );
    if case.facts.services.kubelet {
        let line = "kube-proxy sets it when it starts: change conntrack.maxPerCore there.";
        finding.advice.push(line.to_owned());
    }
}

/// Flows that made room while somebody looked on, in words.
fn thrown(case: &Case<'_>) -> Option<String> {
    let window = case.facts.window.as_ref()?;
    let count = window.conntrack.get(THROWN).filter(|count| **count > 0)?;
    Some(format!(
        ", {count} flows thrown out for new ones {}",
        in_seconds(window)
    ))
}

/// What became of flows since boot, in the kernel's words.
fn before(table: &ConntrackFacts) -> Option<String> {
    let counters = table.counters.iter();
    let words: Vec<String> = counters
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    (!words.is_empty()).then(|| format!(", since boot {}", words.join(", ")))
}

/// Twice as many entries, where the memory has room for them.
fn wanted(case: &Case<'_>, table: &ConntrackFacts) -> Option<u64> {
    let entries = table.max.checked_mul(2)?;
    let bytes = case.facts.memory.total_mib.map(|mib| mib << 20);
    let fits = bytes.is_none_or(|bytes| entries.saturating_mul(ENTRY) <= bytes / SHARE);
    fits.then_some(entries)
}

/// The hash should grow with the table.
fn buckets(table: &ConntrackFacts, entries: u64) -> Option<String> {
    let is_long = |now: u64| entries > PER_BUCKET.saturating_mul(now);
    if !table.buckets.is_none_or(is_long) {
        return None;
    }
    let has = table
        .buckets
        .map_or("unknown".to_owned(), |now| format!("{now}"));
    let wanted = entries / PER_BUCKET;
    Some(format!(
        "Let the hash grow too ({has} buckets now): sysctl -w net.netfilter.nf_conntrack_buckets={wanted}, \
         and hashsize={wanted} for the module at boot."
    ))
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::ConntrackFacts;

    use crate::fixture::Host;

    fn host(count: u64, max: u64, thrown: u64) -> Host {
        let table = ConntrackFacts {
            count,
            max,
            buckets: Some(65_536),
            counters: [("early_drop".to_owned(), thrown)]
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .collect(),
        };
        Host::new(1, 4).facts_with(|facts| facts.conntrack = Some(table))
    }

    #[test]
    fn a_table_that_is_nearly_full_is_doubled() {
        let finding = host(262_143, 262_144, 0).one("conntrack");
        assert_eq!(finding.is, "262143 of 262144 entries (100 %)");
        assert_eq!(finding.changes[0].to, "524288");
        let formula = finding.formula.unwrap();
        assert!(
            formula.ends_with("320 bytes an entry: 80 MiB more"),
            "{formula}"
        );
        assert!(
            finding.advice[0].contains("buckets=131072"),
            "{:?}",
            finding.advice
        );
        assert_eq!(host(236_000, 262_144, 0).find("conntrack").len(), 1);
        host(235_000, 262_144, 0).none("conntrack");
        let before = host(262_144, 262_144, 9).one("conntrack").is;
        assert!(before.ends_with(", since boot early_drop 9"), "{before}");
        host(5_000, 0, 0).none("conntrack");
        Host::new(1, 4).none("conntrack");
    }

    #[test]
    fn memory_bounds_the_table() {
        let small =
            host(262_144, 262_144, 0).facts_with(|facts| facts.memory.total_mib = Some(2_000));
        let finding = small.one("conntrack");
        assert!(finding.changes.is_empty() && finding.formula.is_none());
        let large = small.facts_with(|facts| facts.memory.total_mib = Some(4_000));
        assert_eq!(large.one("conntrack").changes.len(), 1);
    }

    #[test]
    fn flows_thrown_out_now_count_and_those_of_last_week_do_not() {
        let host = host(1_000, 262_144, 9);
        host.none("conntrack");
        assert!(host.waits("conntrack").contains("9 flows since boot"));
        let watched = |count: u64| {
            host.clone().window(5.0, |window| {
                window.conntrack = [("early_drop".to_owned(), count)].into();
            })
        };
        assert!(
            watched(7)
                .one("conntrack")
                .is
                .contains("7 flows thrown out")
        );
        watched(0).none("conntrack");
        assert_eq!(watched(0).waits("conntrack"), "");
    }
}
