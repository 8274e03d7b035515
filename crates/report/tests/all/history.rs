//! The list of runs and a trend against golden files.
//!
//! `make golden` rewrites the files; read the difference before committing it.

use nicety_model::history::RunList;
use nicety_report::html;
use serde_json::{Value, json};

use crate::common::{self, NASTY, rendered, terminal, trend};

fn list() -> RunList {
    let run = |id: i64, name: &str, labels: Value| {
        json!({
            "id": id, "name": name, "started": format!("2026-03-{id:02}T01:00:00Z"),
            "preset": "quick", "loss_goal": 0.0001, "complete": id != 2, "cells": 7,
            "cells_ok": 6, "nicety": "0.1.0", "kernel": "6.18.5", "cpu_model": "EPYC",
            "labels": labels, "stored_bytes": 48_123,
        })
    };
    serde_json::from_value(json!({
        "schema": 1, "store": "runs/history.sqlite",
        "runs": [run(3, "nightly", json!(["release-1.4"])), run(2, NASTY, json!([])),
                 run(1, "nightly", json!([NASTY, "old"]))],
    }))
    .unwrap()
}

#[test]
fn a_trend_as_a_page() {
    let page = rendered(|out| html(&trend(), out));
    assert!(!page.contains("<script>alert"), "a name got through");
    common::golden("runs-trend.html", &page);
    let mut empty = trend();
    empty.points.clear();
    empty.changes.clear();
    let page = rendered(|out| html(&empty, out));
    assert!(page.contains("No run has a number."));
}

#[test]
fn lists_and_trends() {
    for width in [20, 80, 160] {
        for (name, text) in [
            ("runs-list", terminal(&list(), width)),
            ("runs-trend", terminal(&trend(), width)),
        ] {
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(usize::from(width)), "{name}: {text}");
            assert!(!text.contains('\u{1b}'), "{name}");
            common::golden(&format!("{name}.{width}.txt"), &text);
        }
    }
}
