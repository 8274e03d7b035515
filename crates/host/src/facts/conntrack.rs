//! The table of tracked connections.

use std::collections::BTreeMap;

use nicety_model::facts::ConntrackFacts;

use crate::roots::ProcRoot;

/// Counters that are kept: what became of new flows.
const KEPT: [&str; 3] = ["drop", "early_drop", "insert_failed"];

/// `None` where nothing is tracked: the module is not loaded.
pub(super) fn read(proc: &ProcRoot) -> Option<ConntrackFacts> {
    let number = |name: &str| {
        let text = proc.text(format!("sys/net/netfilter/nf_conntrack_{name}"))?;
        text.parse().ok()
    };
    Some(ConntrackFacts {
        count: number("count")?,
        max: number("max")?,
        buckets: number("buckets"),
        counters: counters(proc),
    })
}

/// Counters since boot, all CPUs together, those that are 0 left out.
pub(super) fn counters(proc: &ProcRoot) -> BTreeMap<String, u64> {
    let mut counters = parse(&proc.text("net/stat/nf_conntrack").unwrap_or_default());
    counters.retain(|_, count| *count > 0);
    counters
}

/// A line of names, then one of hexadecimal numbers for each CPU (net/netfilter/nf_conntrack_standalone.c,
/// `ct_cpu_seq_show`). Columns have changed with kernels.
fn parse(text: &str) -> BTreeMap<String, u64> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    let names: Vec<&str> = lines.next().map(Iterator::collect).unwrap_or_default();
    let mut counters = BTreeMap::new();
    for numbers in lines {
        let columns = names.iter().zip(numbers);
        for (name, number) in columns.filter(|(name, _)| KEPT.contains(name)) {
            let count = u64::from_str_radix(number, 16).unwrap_or(0);
            *counters.entry((*name).to_owned()).or_default() += count;
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_and_added_up() {
        let text = "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop \
                    early_drop icmp_error  expect_new\n\
                    00000fce  00000000 00000000 00000000 00000000 00000004 00000000 00000000 00000000 \
                    00000000 000000c8 000001d8 00000000 00000000\n\
                    00000fce  00000000 00000000 00000000 00000000 00000004 00000000 00000000 00000000 \
                    00000002 000000a2 0000016f 00000000\n";
        let counters = parse(text);
        let wanted = [
            ("drop", 0xc8 + 0xa2),
            ("early_drop", 0x1d8 + 0x16f),
            ("insert_failed", 2),
        ];
        assert_eq!(
            counters,
            wanted.map(|(name, count)| (name.to_owned(), count)).into()
        );
        assert!(parse("").is_empty());
    }
}
