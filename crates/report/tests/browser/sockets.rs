//! A run of socket workloads alone, with names that are markup.

use nicety_model::Run;
use nicety_model::sock::EndReport;
use serde_json::{Value, json};

use crate::common;

fn series(path: &str, test: &str, bytes: u32, parallel: u32) -> Value {
    let cell = format!("{path}/{test}/{bytes}/{parallel}");
    let streams = test.ends_with("stream");
    let rate = f64::from(20_000 + parallel * 100 + bytes);
    let mut result = json!({
        "schema": 1, "cell": cell, "path": path, "family": "ipv4", "test": test,
        "message_bytes": bytes, "parallel": parallel, "duration_ms": 2000, "repeat": 1,
        "ending": "complete", "elapsed_s": 2.0, "client": EndReport::default(),
        "service_demand": {"client_us_per_transaction": 14.2, "shared_host": true},
        "notes": ["both ends shared a CPU"],
    });
    result[if streams {
        "goodput_mbps"
    } else {
        "transactions_per_s"
    }] = json!(rate);
    if !streams {
        result["latency_us"] = json!({
            "min": 18.0, "mean": 42.0, "p50": 40.0, "p90": 55.0, "p99": 120.0, "p999": 410.0,
            "max": 1800.0, "samples": 40_000,
        });
    }
    json!({"name": cell, "results": [result]})
}

pub fn run() -> Run {
    let mut run = common::empty();
    let mut all = Vec::new();
    for path in ["bridge", common::NASTY] {
        for (bytes, parallel) in [(64, 1), (1024, 1), (16_384, 1), (64, 8), (64, 150)] {
            for test in ["tcp_rr", "udp_rr", "tcp_stream"] {
                all.push(series(path, test, bytes, parallel));
            }
        }
    }
    run.sockets = serde_json::from_value(Value::Array(all)).unwrap();
    run
}
