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

use std::path::PathBuf;

use nicety_model::Run;
use nicety_report::{csv, html, json, markdown, table};

fn check(file: &str, text: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    let text = std::str::from_utf8(text).expect("reports are UTF-8");
    if std::env::var_os("NICETY_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("golden file written");
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if let Some((number, (is, should))) = text
        .lines()
        .zip(expected.lines())
        .enumerate()
        .find(|(_, (is, should))| is != should)
    {
        panic!("{file}:{}:\n  is     {is}\n  should {should}", number + 1);
    }
    assert_eq!(text.len(), expected.len(), "{file}: lengths differ");
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
