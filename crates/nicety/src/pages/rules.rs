//! The page of tuning rules in the documentation, made of the rules themselves. `make golden` writes it.

use std::fs;

use nicety_advisor::catalogue;
use nicety_report::rules;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/rules.md");

#[test]
fn the_reference_of_rules_is_theirs() {
    let text = rules::page(&catalogue::rules());
    if std::env::var_os("NICETY_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(FILE, text).unwrap();
        return;
    }
    let there = fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        there == text,
        "docs/reference/rules.md is not what make golden writes"
    );
}
