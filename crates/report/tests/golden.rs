//! Every renderer against a golden file, for a rich and for an empty run.
//!
//! `NICETY_UPDATE_GOLDEN=1 cargo test -p nicety-report` rewrites the files; read the
//! difference before committing it.

// Tests may read files and the environment; the crate itself may not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use nicety_model::Run;
use nicety_report::{csv, html, json, markdown, table};

fn check(file: &str, text: &[u8]) {
    common::golden(file, std::str::from_utf8(text).expect("reports are UTF-8"));
}

fn rendered(
    render: impl FnOnce(&mut Vec<u8>) -> Result<(), nicety_report::ReportError>,
) -> Vec<u8> {
    let mut out = Vec::new();
    render(&mut out).expect("rendered");
    out
}

fn all(name: &str, run: &Run) {
    for width in [20, 80, 160] {
        let options = table::Options {
            width,
            colour: false,
        };
        check(
            &format!("{name}.{width}.txt"),
            &rendered(|out| table::render(run, out, options)),
        );
    }
    check(
        &format!("{name}.md"),
        &rendered(|out| markdown::render(run, out)),
    );
    check(
        &format!("{name}.csv"),
        &rendered(|out| csv::render(run, out)),
    );
    check(
        &format!("{name}.json"),
        &rendered(|out| json::render(run, out, json::Style::Pretty)),
    );
    check(
        &format!("{name}.html"),
        &rendered(|out| html::render(run, out)),
    );
}

#[test]
fn rich_run() {
    all("rich", &common::rich());
}

#[test]
fn empty_run() {
    all("empty", &common::empty());
}
