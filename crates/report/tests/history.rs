//! The list of runs and a trend against golden files.
//!
//! `NICETY_UPDATE_GOLDEN=1 cargo test -p nicety-report` rewrites the files; read the
//! difference before committing it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::NASTY;
use nicety_model::history::{RunList, Trend};
use nicety_report::{ReportError, history, table};
use serde_json::{Value, json};

fn rendered(render: impl FnOnce(&mut Vec<u8>) -> Result<(), ReportError>) -> String {
    let mut out = Vec::new();
    render(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

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

fn trend() -> Trend {
    let points: Vec<Value> = (1..=10)
        .map(|id| {
            let value = if id < 6 { 100_000.0 } else { 91_000.0 } + f64::from(id);
            let mut point = json!({
                "id": id, "started": format!("2026-03-{id:02}T01:00:00Z"), "value": value,
                "min": value, "max": value, "repeats": 3, "verdict": "ok",
                "labels": if id == 3 { json!([NASTY]) } else { json!([]) },
            });
            if id == 8 {
                point["verdict"] = json!("noisy");
            }
            if id == 9 {
                point["verdict"] = json!("failed");
                point.as_object_mut().unwrap().remove("value");
            }
            point
        })
        .collect();
    serde_json::from_value(json!({
        "schema": 1, "cell": "bridge/64/uni", "metric": "throughput", "preset": "quick",
        "loss_goal": 0.0001, "points": points,
        "changes": [{"id": 6, "started": "2026-03-06T01:00:00Z", "before": 1e5, "after": 9.1e4,
                     "ratio": 0.91, "p": 0.004, "differences": [
                        {"what": "kernel", "old": "6.18.5", "new": "6.19.0"},
                        {"what": "SMT", "old": "on", "new": "off"},
                        {"what": "sysctl x", "old": NASTY, "new": "1"},
                        {"what": "firmware", "old": "1", "new": "2"}]}],
        "left_out": 1, "notes": ["left out: 1 of other presets or loss goals"],
    }))
    .unwrap()
}

#[test]
fn lists_and_trends() {
    for width in [20, 80, 160] {
        let options = table::Options {
            width,
            colour: false,
        };
        for (name, text) in [
            (
                "runs-list",
                rendered(|out| history::list(&list(), out, options)),
            ),
            (
                "runs-trend",
                rendered(|out| history::trend(&trend(), out, options)),
            ),
        ] {
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(usize::from(width)), "{name}: {text}");
            assert!(!text.contains('\u{1b}'), "{name}");
            common::golden(&format!("{name}.{width}.txt"), &text);
        }
    }
}
