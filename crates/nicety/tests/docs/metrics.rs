//! The reference of metrics has what the daemon and a run under way write, in their words.

use std::collections::BTreeMap;

use crate::page;

const PAGE: &str = "docs/reference/metrics.md";
/// Where metrics are made, what their names begin with, and how many there are at least.
const SOURCES: [(&[&str], &str, usize); 2] = [
    (
        &[
            "crates/policed/src/metrics.rs",
            "crates/policed/src/metrics/received.rs",
            "crates/policed/src/metrics/packets.rs",
            "crates/policed/src/metrics/bursts.rs",
        ],
        "nicety_police_",
        24,
    ),
    (&["crates/report/src/live/metrics.rs"], "nicety_bench_", 12),
];

/// Name, without prefix and `_total`, and help of each metric: two texts behind each other.
fn registered(source: &str, prefix: &str) -> BTreeMap<String, String> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let texts: Vec<(usize, &str)> = code.match_indices('"').map(|(at, _)| (at, "")).collect();
    let mut found = BTreeMap::new();
    for pair in texts.windows(4) {
        let (name, between, help) = (
            &code[pair[0].0 + 1..pair[1].0],
            &code[pair[1].0 + 1..pair[2].0],
            &code[pair[2].0 + 1..pair[3].0],
        );
        if let Some(name) = name.strip_prefix(prefix)
            && between.trim() == ","
        {
            let name = name.strip_suffix("_total").unwrap_or(name);
            found.insert(name.to_owned(), help.trim_end_matches('.').to_owned());
        }
    }
    found
}

/// Rows of the tables: name without prefix and `_total`, and what the last column says.
fn documented(page: &str, prefix: &str) -> BTreeMap<String, String> {
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_prefix(prefix));
    let rows = rows.map(|row| {
        let (name, rest) = row.split_once('`').unwrap();
        let help = rest
            .trim_end_matches([' ', '|'])
            .rsplit(" | ")
            .next()
            .unwrap();
        let name = name.strip_suffix("_total").unwrap_or(name);
        (name.to_owned(), help.to_owned())
    });
    rows.collect()
}

#[test]
fn the_page_has_every_metric() {
    let page = page::read(PAGE);
    for (files, prefix, least) in SOURCES {
        let read = files.iter().map(|file| page::read(file));
        let there = read.flat_map(|source| registered(&source, prefix));
        let there: BTreeMap<String, String> = there.collect();
        assert!(there.len() >= least, "{files:?}: {there:?}");
        let documented = documented(&page, prefix);
        let missing: Vec<_> = there
            .iter()
            .filter(|(name, _)| !documented.contains_key(*name))
            .collect();
        assert!(missing.is_empty(), "not in {PAGE}: {missing:#?}");
        let gone: Vec<_> = documented
            .keys()
            .filter(|name| !there.contains_key(*name))
            .collect();
        assert!(gone.is_empty(), "in {PAGE} and not in {files:?}: {gone:?}");
        for (name, help) in there {
            assert_eq!(
                documented[&name], help,
                "{PAGE}: {name} has the help that is written with it"
            );
        }
    }
}
