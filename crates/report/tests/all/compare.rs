//! Every renderer of a comparison against a golden file, and what must hold of each.
//!
//! `make golden` rewrites the files; read the difference before committing it.

use nicety_model::compare::{Comparison, Counts, Judgement};
use nicety_report::{Options, html, json, markdown, table};
use scraper::{Html, Selector};
use serde_json::{Value, json};

use crate::common::{self, NASTY, rendered, terminal};

fn sample(mean: Option<f64>, repeats: u32, verdict: &str) -> Value {
    let mut sample =
        json!({"repeats": repeats, "runs": u32::from(repeats > 0), "verdict": verdict});
    if let Some(mean) = mean {
        sample["mean"] = json!(mean);
        sample["min"] = json!(mean * 0.99);
        sample["max"] = json!(mean * 1.01);
    }
    sample
}

fn row(path: &str, size: u16, old: f64, new: f64, judgement: &str) -> Value {
    let ratio = new / old;
    json!({
        "cell": format!("{path}/{size}/uni"), "path": {"kind": path}, "frame_size_bytes": size,
        "direction": "uni", "flows": 1, "metric": "throughput", "unit": "frames/s",
        "old": sample(Some(old), 3, "ok"), "new": sample(Some(new), 3, "ok"),
        "ratio": {"ratio": ratio, "low": ratio * 0.985, "high": ratio * 1.015,
                  "p_adjusted": 0.004, "spread_of": "repeats"},
        "judgement": judgement,
    })
}

/// Every judgement once, and names that want to be markup.
fn rich() -> Comparison {
    let mut cannot = row("bridge", 512, 240_000.0, 246_000.0, "cannot-tell");
    cannot["reason"] =
        json!("the numbers spread too much; about 9 repeats on each side would tell");
    let mut limited = row("bridge", 1024, 235_000.0, 300_000.0, "not-judged");
    limited["reason"] = json!("tester-limited now");
    limited["new"]["verdict"] = json!("tester-limited");
    let mut lost = row(NASTY, 1280, 230_000.0, 1.0, "not-judged");
    lost["reason"] = json!("failed now");
    lost["new"] = sample(None, 0, "failed");
    lost.as_object_mut().unwrap().remove("ratio");
    lost["lost"] = json!(true);
    let mut single = row("bridge", 1518, 1000.0, 3100.0, "cannot-tell");
    single["reason"] = json!("one repeat tells nothing about the spread; measure with repeats");
    single["ratio"] = json!({"ratio": 3.1});
    from(json!({
        "schema": 1,
        "old": {"runs": [{"source": "runs/before", "name": NASTY, "started": "2026-03-14T09:26:53Z"}]},
        "new": {"runs": [{"source": "runs/after", "name": "bridge", "started": "2026-03-15T09:26:53Z"},
                         {"source": "runs/after-2", "name": "bridge", "started": "2026-03-15T10:26:53Z"}]},
        "preset": "quick", "loss_goal": 0.0001, "confidence": 0.95, "margin": 0.03,
        "differences": [
            {"what": "kernel", "old": "6.18.5", "new": "6.19.0"},
            {"what": "mitigation <i>mds</i>", "old": "none", "new": NASTY},
        ],
        "cells": [
            row("bridge", 64, 245_000.0, 246_000.0, "same"),
            row("bridge", 128, 245_000.0, 225_400.0, "worse"),
            row("bridge", 256, 200_000.0, 230_000.0, "better"),
            cannot, limited, lost, single,
        ],
        "only_old": ["bridge/64/bi"], "only_new": [NASTY],
        "counts": {"better": 1, "same": 1, "worse": 1, "cannot_tell": 2, "not_judged": 2, "lost": 1},
        "notes": ["repeats of one run share the state of the machine"],
    }))
}

/// Nothing changed, nothing to say.
fn same() -> Comparison {
    let mut found = rich();
    found.cells.truncate(1);
    found.differences.clear();
    found.only_old.clear();
    found.only_new.clear();
    found.notes.clear();
    found.counts = Counts {
        same: 1,
        ..Counts::default()
    };
    found
}

/// Numbers that are none.
fn not_finite() -> Comparison {
    let mut found = rich();
    for row in &mut found.cells {
        row.old.mean = Some(f64::INFINITY);
        if let Some(ratio) = &mut row.ratio {
            ratio.ratio = f64::NAN;
            ratio.low = Some(0.0);
            ratio.high = Some(f64::INFINITY);
        }
    }
    found
}

/// As many rows as a large plan has cells.
fn many() -> Comparison {
    let mut found = rich();
    found.cells = found.cells.iter().cycle().take(3_780).cloned().collect();
    found
}

fn from(value: Value) -> Comparison {
    serde_json::from_value(value).unwrap()
}

fn check_all(name: &str, found: &Comparison) {
    for width in [20, 80, 160] {
        let text = terminal(found, width);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(usize::from(width)), "{name}: {text}");
        common::golden(&format!("{name}.{width}.txt"), &text);
    }
    common::golden(&format!("{name}.md"), &rendered(|out| markdown(found, out)));
    common::golden(
        &format!("{name}.json"),
        &rendered(|out| json::pretty("comparison", found, out)),
    );
    common::golden(&format!("{name}.html"), &rendered(|out| html(found, out)));
}

#[test]
fn rich_comparison() {
    check_all("compare-rich", &rich());
}

#[test]
fn comparison_without_changes() {
    check_all("compare-same", &same());
}

#[test]
fn pages_are_well_formed_whole_and_safe() {
    for (name, found) in [
        ("rich", rich()),
        ("same", same()),
        ("not finite", not_finite()),
    ] {
        let page = rendered(|out| html(&found, out));
        let document = Html::parse_document(&page);
        assert!(document.errors.is_empty(), "{name}: {:?}", document.errors);
        for forbidden in [
            "http://", "https://", " src=", "@import", "url(", "<d9>", "<i>",
        ] {
            assert!(!page.contains(forbidden), "{name}: {forbidden}");
        }
        let scripts = Selector::parse("script").unwrap();
        assert_eq!(document.select(&scripts).count(), 2, "{name}");
        let drawings = Selector::parse("svg").unwrap();
        assert_eq!(document.select(&drawings).count(), found.cells.len());
        for drawing in document.select(&drawings) {
            let drawn = drawing.html();
            assert!(
                !drawn.contains("NaN") && !drawn.contains("=\"inf"),
                "{drawn}"
            );
            assert!(!drawing.value().attr("aria-label").unwrap().is_empty());
        }
        let data = Selector::parse("#run-data").unwrap();
        let back = common::embedded(document.select(&data).next().unwrap());
        assert_eq!(back["cells"].as_array().unwrap().len(), found.cells.len());
    }
}

#[test]
fn a_large_page_stays_small_enough_to_open() {
    let page = rendered(|out| html(&many(), out));
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
}

#[test]
fn terminals_get_no_control_characters() {
    for colour in [false, true] {
        let options = Options { width: 80, colour };
        let text = rendered(|out| table(&rich(), out, options));
        let plain = text.replace("\u{1b}[0m", "").replace("\u{1b}[1m", "");
        let plain = ["31", "32", "33"].iter().fold(plain, |text, code| {
            text.replace(&format!("\u{1b}[{code}m"), "")
        });
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
    }
}

#[test]
fn markdown_hides_long_lists_of_what_did_not_change() {
    let mut found = rich();
    found.cells = (0..40)
        .map(|n| {
            let mut row = found.cells[usize::from(n == 7)].clone();
            row.cell = format!("bridge/{}/uni", 64 + n);
            row
        })
        .collect();
    let page = rendered(|out| markdown(&found, out));
    let shown = page.split("<details>").next().unwrap();
    assert!(shown.contains("bridge/71/uni") && !shown.contains("bridge/72/uni"));
    assert!(page.contains("<summary>39 rows more</summary>"));
}

#[test]
fn what_got_worse_is_said_first() {
    let text = terminal(&rich(), 160);
    let mut lines = text.lines();
    assert!(lines.next().unwrap().contains("had a result"));
    assert_eq!(
        lines.next(),
        Some("1 of 7 cells is worse, bridge/128/uni most: -8.0 % (-9.4 % to -6.6 %)")
    );
    assert_eq!(rich().cells[1].judgement, Judgement::Worse);
}
