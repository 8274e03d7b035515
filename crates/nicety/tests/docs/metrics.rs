//! The reference of metrics has what the daemon and the reports write, in its words.

use std::collections::BTreeMap;

use crate::page;

const PAGE: &str = "docs/reference/metrics.md";
const DAEMON: &str = "crates/policed/src/metrics.rs";

/// Name, without prefix and `_total`, and help of each metric: two texts behind each other.
fn registered(source: &str) -> BTreeMap<String, String> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let texts: Vec<(usize, &str)> = code.match_indices('"').map(|(at, _)| (at, "")).collect();
    let mut found = BTreeMap::new();
    for pair in texts.windows(4) {
        let (name, between, help) = (
            &code[pair[0].0 + 1..pair[1].0],
            &code[pair[1].0 + 1..pair[2].0],
            &code[pair[2].0 + 1..pair[3].0],
        );
        if let Some(name) = name.strip_prefix("nicety_police_")
            && between.trim() == ","
        {
            let name = name.strip_suffix("_total").unwrap_or(name);
            found.insert(name.to_owned(), help.trim_end_matches('.').to_owned());
        }
    }
    found
}

/// Rows of the tables: name without prefix and `_total`, and what the last column says.
fn documented(page: &str) -> BTreeMap<String, String> {
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `nicety_police_"));
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
fn the_page_has_every_metric_of_the_daemon() {
    let there = registered(&page::read(DAEMON));
    assert!(there.len() > 15, "{there:?}");
    let documented = documented(&page::read(PAGE));
    let missing: Vec<_> = there
        .iter()
        .filter(|(name, _)| !documented.contains_key(*name))
        .collect();
    assert!(missing.is_empty(), "not in {PAGE}: {missing:#?}");
    let gone: Vec<_> = documented
        .keys()
        .filter(|name| !there.contains_key(*name))
        .collect();
    assert!(gone.is_empty(), "in {PAGE} and not in {DAEMON}: {gone:?}");
    for (name, help) in there {
        assert_eq!(
            documented[&name], help,
            "{PAGE}: {name} has the help that the daemon writes"
        );
    }
}
