//! The page of a table of connections: two fills, and goodput on few and many.

use nicety_model::stateful::StatefulReport;
use serde_json::{Value, json};

pub fn report() -> StatefulReport {
    let figure = |median: f64| json!({ "median": median, "low": median * 0.97, "high": median * 1.02, "n": 3, "confidence": 0.75 });
    let counts = |count: u64| json!({ "sent": count, "responder": count, "kernel": count, "listed": count, "answered": count });
    let filling = |connections: u64, held: bool| {
        let point = |n: u64| json!({ "s": n as f64 * 0.05, "entries": n * 6553 });
        json!({ "connections": connections, "held": held, "points": (0..=40).map(point).collect::<Vec<Value>>() })
    };
    let goodput = |state: &str, entries: u64, fps: f64| {
        json!({
            "entries": entries, "state": state, "fps": figure(fps), "payload_mbps": fps * 18.0 * 8e-6, "verdict": "ok",
            "stopped_by": "lost", "counts": counts(entries), "kernel_after": entries, "trials": 30, "spoiled": 2,
        })
    };
    let report = json!({
        "schema": 1, "started": "2026-01-01T00:00:00Z", "path": "routed,nat=snat", "frame_size_bytes": 64,
        "trial_s": 1.0, "host": nicety_model::run::Fingerprint::default(),
        "table": { "max": 262_144, "buckets": 262_144, "entry_bytes": 256, "timeout_s": 86_400, "hosts": 1,
                   "addresses": 1, "destination_ports": 5 },
        "setup": { "per_s": figure(182_000.0), "verdict": "ok", "stopped_by": "lost", "counts": counts(182_000),
                   "trials": 31, "spoiled": 3 },
        "capacity": { "entries": 262_144, "overflowed": 262_145, "verdict": "ok", "stopped_by": "table-full",
                      "thrown_out": 1, "counts": counts(262_144), "fills": 2 },
        "filling": [filling(262_144, true), filling(262_145, false)],
        "teardown": [{ "entries": 235_929, "per_s": figure(1.9e6), "seconds": figure(0.124), "left": 0, "verdict": "ok" }],
        "goodput": [goodput("unreplied", 235, 3.1e5), goodput("unreplied", 235_929, 2.2e5),
                    goodput("replied", 235, 4.4e5), goodput("replied", 235_929, 2.9e5)],
        "complete": true,
    });
    serde_json::from_value(report).unwrap()
}
