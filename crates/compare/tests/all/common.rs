//! Runs made of numbers.

use nicety_compare::Input;
use nicety_model::Run;
use serde_json::{Value, json};

/// Bits of noise: a value of the normal distribution (Box and Muller 1958).
pub fn normal(random: &mut fastrand::Rng) -> f64 {
    let (u, v) = (1.0 - random.f64(), random.f64());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A rate around `mean` with the coefficient of variation `cv`, log-normal.
pub fn rate(random: &mut fastrand::Rng, mean: f64, cv: f64) -> f64 {
    mean * (cv * normal(random)).exp()
}

/// One repeat of a cell whose search ended 2 % apart.
pub fn cell(name: &str, repeat: usize, fps: f64) -> Value {
    let mut parts = name.split('/');
    let (path, size, direction) = (parts.next(), parts.next(), parts.next());
    json!({
        "schema": 1, "cell": name, "repeat": repeat + 1, "path": {"kind": path},
        "frame_size_bytes": size.unwrap().parse::<u16>().unwrap(), "direction": direction,
        "flows": 1, "engine": "af_packet", "loss_goal": 0.0001, "throughput_fps": fps,
        "lower_fps": fps, "upper_fps": fps * 1.02,
        "trials": 9, "search_s": 20.0, "verdict": "ok", "notes": [],
    })
}

/// A run of cells with the numbers of their repeats.
pub fn run(cells: &[(&str, &[f64])]) -> Run {
    let results: Vec<Value> = cells
        .iter()
        .flat_map(|(name, values)| {
            values
                .iter()
                .enumerate()
                .map(|(repeat, fps)| cell(name, repeat, *fps))
        })
        .collect();
    serde_json::from_value(json!({
        "schema": 1,
        "run": {
            "name": "made", "started": "2026-03-14T09:26:53Z", "elapsed_s": 100.0, "seed": 1,
            "preset": "quick", "loss_goal": 0.0001, "command": "nicety bench", "complete": true,
            "host": {
                "nicety": "0.1.0", "privileged": true, "kernel": "6.18.5", "cmdline": "quiet",
                "os": "Debian", "cpu_model": "EPYC", "cpus": 2, "cpus_allowed": [0, 1],
                "sockets": 1, "numa": {}, "smt": "on", "governor": {}, "mitigations": {},
                "isolated": [], "hypervisor": null, "clocksource": "tsc", "microcode": "0x1",
                "memory_mib": 8000, "hugepages": {}, "sysctl": {}, "interfaces": {}, "bios": null,
            },
            "notes": [],
        },
        "tester_limit_fps": {"64": 900_000.0}, "visits": results, "cells": [],
    }))
    .unwrap()
}

/// The run under a name; every name is another run.
pub fn input(source: &str, mut run: Run) -> Input {
    run.run.seed = source.bytes().map(u64::from).sum();
    Input {
        source: source.to_owned(),
        run,
    }
}

/// A run of socket workloads: name, and the figures of the repeats.
pub fn socket_run(cells: &[(&str, &[f64])]) -> Run {
    let mut run = run(&[]);
    let series = cells.iter().map(|(name, values)| {
        let results: Vec<Value> = values
            .iter()
            .enumerate()
            .map(|(repeat, value)| socket(name, repeat, *value))
            .collect();
        serde_json::from_value(json!({"name": name, "results": results})).unwrap()
    });
    run.sockets = series.collect();
    run
}

/// One repeat of a socket workload: transactions/s or Mbit/s.
pub fn socket(name: &str, repeat: usize, value: f64) -> Value {
    let parts: Vec<&str> = name.split('/').collect();
    let transactions = parts[1].ends_with("rr");
    let end = json!({
        "threads": 1, "active_s": 1.0, "transactions": 0, "sent_bytes": 0, "received_bytes": 0,
    });
    let mut result = json!({
        "schema": 1, "cell": name, "path": parts[0], "family": "ipv4", "test": parts[1],
        "message_bytes": parts[2].parse::<u32>().unwrap(), "parallel": 1, "duration_ms": 1000,
        "repeat": repeat + 1, "ending": "complete", "elapsed_s": 1.0, "client": end,
        "server": end, "notes": [],
    });
    let (rate, demand) = if transactions {
        ("transactions_per_s", "client_us_per_transaction")
    } else {
        ("goodput_mbps", "client_us_per_kb")
    };
    result[rate] = json!(value);
    result["service_demand"] = json!({demand: 1e5 / value, "shared_host": true});
    if transactions {
        let us = 1e6 / value;
        result["latency_us"] = json!({
            "min": us / 2.0, "mean": us, "p50": us, "p90": us, "p99": 2.0 * us, "p999": 3.0 * us,
            "max": 9.0 * us, "samples": 1000,
        });
    }
    result
}
