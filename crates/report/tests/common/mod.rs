//! Hand-made runs, written as JSON so that a field added to the model with a default needs no
//! change here.

use nicety_model::Run;
use nicety_model::history::Trend;
use nicety_report::{Options, Report, ReportError, html, table};
use scraper::{ElementRef, Html, Selector};
use serde_json::{Value, json};

/// A name as an attacker would choose it: HTML, Markdown, CSV and terminal escapes.
pub const NASTY: &str = "br<script>alert(1)</script>|\"x\",&\u{1b}[31m`";

/// What a renderer writes, as text.
pub fn rendered(render: impl FnOnce(&mut Vec<u8>) -> Result<(), ReportError>) -> String {
    let mut out = Vec::new();
    render(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The table on a terminal of this width without colours.
pub fn terminal(report: &impl Report, width: u16) -> String {
    let colour = false;
    rendered(|out| table(report, out, Options { width, colour }))
}

pub fn page(report: &impl Report) -> String {
    rendered(|out| html(report, out))
}

/// What a selector finds.
pub fn all<'a>(html: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    html.select(&Selector::parse(selector).unwrap()).collect()
}

/// The text of each element that a selector finds.
pub fn texts(html: &Html, selector: &str) -> Vec<String> {
    let all = all(html, selector).into_iter();
    all.map(|element| element.text().collect()).collect()
}

/// How many elements a selector finds.
pub fn count(html: &Html, selector: &str) -> usize {
    all(html, selector).len()
}

/// Bits of a frame on the wire, preamble and gap included.
fn l1_bits(size: u16) -> f64 {
    (f64::from(size) + 20.0) * 8.0
}

fn latency(share: f64, base: f64) -> Value {
    json!({
        "load_ratio": share, "min": base * 0.6, "mean": base * 1.1, "p50": base,
        "p90": base * 1.8, "p99": base * 3.4, "p999": base * 9.0, "max": base * 45.0,
        "samples": 2_205_000,
    })
}

fn cores() -> Value {
    json!([
        {"cpu": 0, "user": 0.0, "system": 0.93, "irq": 0.01, "softirq": 0.05, "steal": 0.0, "idle": 0.01},
        {"cpu": 1, "user": 0.18, "system": 0.33, "irq": 0.02, "softirq": 0.06, "steal": 0.03, "idle": 0.38},
    ])
}

fn cell(size: u16, direction: &str, repeat: u32, fps: f64) -> Value {
    let kind = "bridge";
    json!({
        "schema": 1,
        "cell": format!("{kind}/{size}/{direction}"),
        "repeat": repeat,
        "path": {"kind": kind},
        "frame_size_bytes": size, "direction": direction, "flows": 1,
        "engine": "af_packet (sendmmsg, rx ring v2)",
        "loss_goal": 0.0001,
        "throughput_fps": fps, "lower_fps": fps, "upper_fps": fps * 1.008,
        "throughput_l1_mbps": fps * l1_bits(size) / 1e6,
        "throughput_l2_mbps": fps * f64::from(size) * 8.0 / 1e6,
        "tester_limit_fps": 905_000.0 - 150.0 * f64::from(size),
        "confirm": {"load_fps": fps, "duration_s": 10.0, "loss_ratio": 0.00002, "met": true},
        "latency_us": latency(0.9, 14.0),
        "latency_by_load_us": [latency(0.1, 8.2), latency(0.5, 9.1), latency(0.9, 14.0)],
        "cpu": {
            "busy_ratio": [0.99, 0.62], "cores": cores(),
            "busiest": {"cpu": 0, "busy_ratio": 0.99, "who": "napi/d0"},
            "who": {"napi/d0": 0.95, "tester": 0.51, "softirq": 0.11}, "us_per_frame": 4.04,
        },
        "loss_ledger": [{"where": "d0 rx_dropped", "frames": 41}, {"where": "unexplained", "frames": 8}],
        "overload_ledger": [
            {"where": "d0 rx_dropped", "frames": 18_204},
            {"where": "cpu0 softnet dropped", "frames": 312},
            {"where": "unexplained", "frames": 3},
        ],
        "frames": {
            "intended": 2_450_000, "sent": 2_450_000, "received": 2_449_951, "lost": 49,
            "duplicate": 0, "reordered": 2, "corrupt": 0, "foreign": 5,
        },
        "trials": 14, "search_s": 21.7, "verdict": "ok",
        "notes": ["loss with 19 % idle: CPU 0 (napi/d0) is full"],
    })
}

fn trial(cell: &Value, index: u32, purpose: Value, factor: f64, loss: f64) -> Value {
    let load = cell["throughput_fps"].as_f64().unwrap() * factor;
    let duration = if purpose["kind"] == "confirm" {
        10.0
    } else {
        1.0
    };
    let sent = (load * duration) as u64;
    let lost = (sent as f64 * loss) as u64;
    json!({
        "schema": 1, "cell": cell["cell"], "repeat": cell["repeat"], "index": index,
        "purpose": purpose, "load_fps": load, "duration_s": duration,
        "wall_s": duration + 0.4, "started_unix_s": 1_790_000_000.0 + f64::from(index) * 2.0,
        "validity": {"is": "valid"},
        "frames": {"intended": sent, "sent": sent, "received": sent - lost, "lost": lost,
                   "duplicate": 0, "reordered": 0, "corrupt": 0, "foreign": 0},
        "loss_ratio": loss, "forwarding_fps": load * (1.0 - loss), "streams": [],
        "pacing": {"offered_fps": load, "sending_s": duration, "burst_max": 4, "slips": 0,
                   "slipped_s": 0.0, "slip_max_s": 0.0, "late_p99_us": 6.0,
                   "late_max_us": 80.0, "refused": 0},
        "loss_ledger": [], "notes": [],
    })
}

fn trials_of(cell: &Value) -> Vec<Value> {
    let search = json!({"kind": "search"});
    let mut all: Vec<Value> = [
        (1.9, 0.47),
        (0.95, 0.0),
        (1.42, 0.29),
        (1.18, 0.16),
        (1.06, 0.052),
        (1.0, 0.00004),
        (1.03, 0.021),
        (1.015, 0.0031),
        (1.008, 0.00062),
        (1.0, 0.0),
        (0.98, 0.00001),
    ]
    .iter()
    .enumerate()
    .map(|(i, (factor, loss))| trial(cell, i as u32 + 1, search.clone(), *factor, *loss))
    .collect();
    let mut late = trial(cell, 12, search.clone(), 1.7, 0.12);
    late["validity"] = json!({"is": "load_missed", "why": "offered 390,000 of 416,500 fps"});
    all.push(late);
    all.push(trial(cell, 13, json!({"kind": "confirm"}), 1.0, 0.00002));
    all.push(trial(
        cell,
        14,
        json!({"kind": "latency", "load_ratio": 0.5}),
        0.5,
        0.0,
    ));
    all
}

fn summary(cell: &str, values: &[f64], verdict: &str) -> Value {
    if values.is_empty() {
        return json!({"cell": cell, "throughput_fps": null, "verdict": verdict});
    }
    let n = values.len() as f64;
    let ave = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - ave).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let mut spread = json!({
        "ave": ave,
        "min": values.iter().copied().fold(f64::INFINITY, f64::min),
        "max": values.iter().copied().fold(0.0, f64::max),
        "n": values.len(),
    });
    if values.len() > 1 {
        spread["cv"] = json!(variance.sqrt() / ave);
    }
    json!({"cell": cell, "throughput_fps": ave, "spread_fps": spread, "verdict": verdict})
}

fn host() -> Value {
    json!({
        "nicety": "0.1.0", "privileged": false, "kernel": "6.18.5", "os": "Debian GNU/Linux 12",
        "cmdline": "console=ttyS0 root=/dev/vda rw mitigations=auto <b>",
        "cpu_model": "AMD EPYC 7B13", "cpus": 2, "cpus_allowed": [0, 1], "sockets": 1,
        "numa": {"0": [0, 1]}, "smt": "on", "governor": {"0": "performance", "1": "performance"},
        "mitigations": {"meltdown": "Not affected", "retbleed": "Mitigation: untrained return thunk"},
        "isolated": [], "hypervisor": "kvm", "clocksource": "kvm-clock", "microcode": "0xa0011d5",
        "memory_mib": 7956, "hugepages": {"2048": 0},
        "sysctl": {"net.core.netdev_budget": "300", "net.core.netdev_max_backlog": "1000"},
        "interfaces": {
            "d0": {"driver": "veth", "driver_version": "1.0", "firmware": null, "bus": null,
                   "numa_node": null, "speed_mbps": 10_000, "mtu": 1500, "mac": "02:00:00:00:00:01",
                   "queues": "1 tx, 1 rx", "offloads": ["gro", "tx-checksum"]},
            "p0": {"driver": "veth", "driver_version": null, "firmware": null, "bus": null,
                   "numa_node": null, "speed_mbps": 10_000, "mtu": 1500, "mac": null,
                   "queues": null, "offloads": []},
        },
        "bios": "SeaBIOS 1.16",
    })
}

/// Takes these keys, a word each, out of an object.
fn remove(object: &mut Value, keys: &str) {
    let object = object.as_object_mut().unwrap();
    for key in keys.split(' ') {
        object.remove(key);
    }
}

/// Everything that a run can hold: repeats, two directions, every verdict, nasty names,
/// missing optionals, skipped and left-out cells, control drift, trials of every validity.
pub fn rich() -> Run {
    let uni = [
        (64, 245_000.0),
        (128, 244_000.0),
        (256, 241_500.0),
        (512, 233_000.0),
        (1024, 214_000.0),
        (1280, 205_000.0),
        (1518, 196_000.0),
    ];
    let mut cells = Vec::new();
    let mut trials = Vec::new();
    let mut summaries = Vec::new();
    for (size, fps) in uni {
        let repeats = [fps, fps * 1.006, fps * 0.985];
        for (i, value) in repeats.iter().enumerate() {
            let mut one = cell(size, "uni", i as u32 + 1, *value);
            if size == 512 {
                one["verdict"] = json!("unstable");
                one["confirm"]["met"] = json!(false);
                one["confirm"]["loss_ratio"] = json!(0.0031);
                one["held"] = json!({"load_fps": 0.7 * one["throughput_fps"].as_f64().unwrap(), "duration_s": 10.0, "loss_ratio": 0.0, "met": true});
                one["notes"] = json!(["the confirm trial lost 0.31 %, the search 0.004 %"]);
            }
            if i == 0 {
                trials.extend(trials_of(&one));
            }
            cells.push(one);
        }
        let verdict = if size == 512 { "unstable" } else { "ok" };
        summaries.push(summary(&format!("bridge/{size}/uni"), &repeats, verdict));
    }
    for (size, fps, verdict) in [
        (64, 131_000.0, "tester-limited"),
        (256, 130_200.0, "late"),
        (1024, 121_000.0, "coupled"),
        (1518, 117_000.0, "noisy"),
    ] {
        let mut one = cell(size, "bi", 1, fps);
        one["verdict"] = json!(verdict);
        // Missing optionals: the upper bound, latency, CPU and the ledger.
        let optional = "upper_fps latency_us latency_by_load_us cpu loss_ledger";
        remove(&mut one, optional);
        trials.extend(trials_of(&one));
        summaries.push(summary(&format!("bridge/{size}/bi"), &[fps], verdict));
        cells.push(one);
    }
    let mut failed = cell(64, "uni", 1, 0.0);
    failed["path"] = json!({"kind": NASTY, "nic": "e1000"});
    failed["cell"] = json!(format!("{NASTY},nic=e1000/64/uni"));
    remove(
        &mut failed,
        "throughput_fps lower_fps upper_fps throughput_l1_mbps throughput_l2_mbps tester_limit_fps confirm latency_us \
         latency_by_load_us cpu loss_ledger overload_ledger frames",
    );
    failed["verdict"] = json!("failed");
    failed["trials"] = json!(0);
    failed["notes"] = json!([format!("port <d9> went down | gone {NASTY}")]);
    summaries.push(summary(failed["cell"].as_str().unwrap(), &[], "failed"));
    cells.push(failed);
    let mut control = cell(64, "uni", 1, 243_100.0);
    control["control"] = json!(2);
    cells.push(control);

    from(json!({
        "schema": 1,
        "run": {
            "name": "guest-drivers <nightly>", "started": "2025-03-14T09:26:53Z",
            "elapsed_s": 1834.2, "seed": 271_828, "preset": "quick", "loss_goal": 0.0001,
            "command": "nicety bench plans/guest-drivers.toml --preset quick --seed 271828",
            "complete": false, "host": host(),
            "notes": ["ordinary user: IRQ affinity and CPU frequency were left as they are"],
        },
        "tester_limit_fps": {"64": 895_400.0, "128": 885_800.0, "256": 866_600.0,
                             "512": 828_200.0, "1024": 751_400.0, "1280": 713_000.0,
                             "1518": 677_300.0},
        "visits": cells,
        "control": {"cell": "bridge/64/uni", "throughput_fps": [245_000.0, 243_100.0, 248_200.0],
                    "drift": 0.021, "drift_limit": 0.05},
        "cells": summaries,
        "skipped": [{"cell": "vm,nic=sriov/64/uni", "reason": "no SR-IOV NIC in this machine",
                     "remedy": "run it with `nicety lab run`"}],
        "left_out": ["bridge/128/bi", "bridge/512/bi", "bridge/1280/bi"],
        "trials": trials,
    }))
}

/// A run of five visits: numbers with intervals, a wide one, and a cell without a number.
pub fn visits() -> Run {
    serde_json::from_str(include_str!("../runs/visits.json")).unwrap()
}

/// The same without a number that is finite in what only such runs have.
pub fn not_finite_visits() -> Run {
    let mut run = visits();
    for (i, cell) in run.visits.iter_mut().enumerate() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][i % 3];
        cell.window_s = Some(bad);
        cell.capacity_fps = Some(bad);
        if let Some(confirm) = &mut cell.confirm {
            confirm.load_fps = bad;
            confirm.duration_s = bad;
            confirm.bad_windows = Some(bad);
        }
    }
    for (i, summary) in run.cells.iter_mut().enumerate() {
        summary.capacity_fps = Some(f64::NAN);
        // One of them keeps its interval, so that the run is shown as one that has any.
        if let Some(estimate) = summary.estimate.as_mut().filter(|_| i > 0) {
            estimate.low_fps = f64::NEG_INFINITY;
            estimate.confidence = Some(f64::NAN);
        }
        if let Some(disturbance) = &mut summary.disturbance {
            disturbance.stalls_ms_per_s = Some(f64::NAN);
            for program in &mut disturbance.programs {
                program.cpus = f64::INFINITY;
            }
        }
    }
    run
}

/// Two guests on one path, one of which loses more than its share; beside them a guest alone.
pub fn guests() -> Run {
    let guest = |number: u32, directions: u64, sent: u64, received: u64| {
        let lost = sent - received;
        json!({
            "guest": format!("guest{number}"), "sent": sent, "received": received, "lost": lost,
            "loss_ratio": lost as f64 / sent as f64, "forwarding_fps": received as f64 / 10.0 / directions as f64,
        })
    };
    let of_guest = |name: &str, busy: f64| {
        json!({"guest": name, "cores": [{
            "cpu": 0, "user": 0.0, "system": 0.01, "irq": 0.0, "softirq": busy - 0.01, "steal": 0.0,
            "idle": 1.0 - busy,
        }]})
    };
    let mut cells = Vec::new();
    let mut summaries = Vec::new();
    for (vms, direction, fps) in [
        ("1", "uni", 24_000.0),
        ("2", "uni", 31_000.0),
        ("2", "bi", 18_500.0),
    ] {
        let mut one = cell(64, direction, 1, fps);
        let name = format!("vm,nic=virtio-net,vms={vms}/64/{direction}");
        one["cell"] = json!(name);
        one["path"] = json!({"kind": "vm", "nic": "virtio-net", "vms": vms});
        one["notes"] = json!([]);
        if vms == "1" {
            one["cpu"]["guests"] = json!([of_guest("guest", 0.98)]);
        } else {
            let directions = if direction == "bi" { 2 } else { 1 };
            let half = (fps * 5.0) as u64 * directions;
            one["guests"] = json!([
                guest(0, directions, half, half),
                guest(1, directions, half, half - 1240)
            ]);
            one["cpu"]["guests"] = json!([of_guest("guest0", 0.71), of_guest("guest1", 0.99)]);
        }
        summaries.push(summary(&name, &[fps], "ok"));
        cells.push(one);
    }
    let mut run = empty();
    run.run.name = "guests".to_owned();
    run.run.complete = true;
    run.visits = serde_json::from_value(Value::Array(cells)).unwrap();
    run.cells = serde_json::from_value(Value::Array(summaries)).unwrap();
    run
}

/// A cell for [`measured`].
pub struct Asked<'a> {
    /// Parameters with their values, the kind first.
    pub path: &'a [(&'a str, &'a str)],
    pub size: u16,
    pub direction: &'a str,
    pub flows: u32,
    /// Average, minimum and maximum over three repeats, in frames/s per direction.
    pub fps: [f64; 3],
    pub verdict: &'a str,
}

/// A run of cells of which only the numbers over their repeats matter.
pub fn measured(asked: &[Asked<'_>]) -> Run {
    let mut run = empty();
    for one in asked {
        let [ave, min, max] = one.fps;
        let mut made = cell(one.size, one.direction, 1, ave);
        made["path"] = one.path.iter().copied().collect();
        made["flows"] = json!(one.flows);
        made["verdict"] = json!(one.verdict);
        let mut cell: nicety_model::CellResult = serde_json::from_value(made).unwrap();
        cell.cell = cell.key.name();
        let summary = json!({
            "cell": cell.cell, "verdict": one.verdict,
            "throughput_fps": ave, "spread_fps": {"ave": ave, "min": min, "max": max, "n": 3},
        });
        run.cells.push(serde_json::from_value(summary).unwrap());
        run.visits.push(cell);
    }
    run
}

/// A run that ended before its first cell on a machine that tells nothing.
pub fn empty() -> Run {
    from(json!({
        "schema": 1,
        "run": {
            "name": "empty", "started": "2025-03-14T09:26:53Z", "elapsed_s": 0.0, "seed": 0,
            "preset": "quick", "loss_goal": 0.0001, "command": "nicety bench", "complete": false,
            "host": {
                "nicety": "0.1.0", "privileged": false, "kernel": "", "cmdline": "", "os": null,
                "cpu_model": "", "cpus": 0, "cpus_allowed": [], "sockets": null, "numa": {},
                "smt": null, "governor": {}, "mitigations": {}, "isolated": [],
                "hypervisor": null, "clocksource": null, "microcode": null, "memory_mib": null,
                "hugepages": {}, "sysctl": {}, "interfaces": {}, "bios": null,
            },
            "notes": [],
        },
        "tester_limit_fps": {}, "visits": [], "cells": [],
    }))
}

/// Only failures, no numbers at all.
pub fn failures() -> Run {
    let mut run = rich();
    run.visits.retain(|cell| cell.throughput_fps.is_none());
    run.cells.retain(|cell| cell.throughput_fps.is_none());
    run.trials.clear();
    run.control = None;
    run
}

/// Not a single number that is finite.
pub fn not_finite() -> Run {
    let mut run = rich();
    run.run.elapsed_s = f64::NAN;
    run.run.loss_goal = f64::NAN;
    for limit in run.tester_limit_fps.values_mut() {
        *limit = f64::INFINITY;
    }
    for (i, cell) in run.visits.iter_mut().enumerate() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][i % 3];
        cell.loss_goal = bad;
        cell.throughput_fps = Some(bad);
        cell.throughput_l1_mbps = Some(bad);
        cell.bounds.lower_fps = Some(bad);
        cell.bounds.upper_fps = Some(bad);
        cell.tester_limit_fps = Some(bad);
        cell.search_s = bad;
        for latency in cell
            .latency_by_load_us
            .iter_mut()
            .chain(&mut cell.latency_us)
        {
            latency.load_ratio = Some(bad);
            latency.p50 = bad;
            latency.p99 = bad;
            latency.max = bad;
        }
        if let Some(confirm) = &mut cell.confirm {
            confirm.load_fps = bad;
            confirm.loss_ratio.0 = bad;
        }
        if let Some(cpu) = &mut cell.cpu {
            cpu.us_per_frame = Some(bad);
            for core in &mut cpu.cores {
                core.system = bad;
                core.idle = bad;
            }
            if let Some(busiest) = &mut cpu.busiest {
                busiest.busy_ratio = bad;
            }
        }
    }
    for (i, trial) in run.trials.iter_mut().enumerate() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][i % 3];
        trial.load_fps = bad;
        trial.loss_ratio.0 = bad;
    }
    for summary in &mut run.cells {
        summary.throughput_fps = summary.throughput_fps.map(|_| f64::NAN);
        if let Some(spread) = &mut summary.spread_fps {
            spread.ave = f64::NAN;
            spread.min = f64::NAN;
            spread.max = f64::INFINITY;
            spread.cv = Some(f64::NAN);
        }
    }
    if let Some(control) = &mut run.control {
        control.throughput_fps = vec![f64::NAN, f64::INFINITY];
        control.drift = f64::NAN;
        control.drift_limit = f64::INFINITY;
    }
    run
}

/// `n` cells over many paths, each with its trials.
pub fn many(n: usize) -> Run {
    let mut run = rich();
    let sizes = [64_u16, 128, 256, 512, 1024, 1280, 1518];
    let mut cells = Vec::new();
    let mut trials = Vec::new();
    let mut summaries = Vec::new();
    for i in 0..n {
        let size = sizes[i % sizes.len()];
        let name = format!("vm,vcpus={}/{size}/uni", i / sizes.len());
        let mut one = cell(size, "uni", 1, 100_000.0 + i as f64);
        one["cell"] = json!(name);
        one["path"] = json!({"kind": "vm", "vcpus": (i / sizes.len()).to_string()});
        trials.extend(trials_of(&one));
        summaries.push(summary(&name, &[100_000.0 + i as f64], "ok"));
        cells.push(one);
    }
    run.visits = serde_json::from_value(Value::Array(cells)).unwrap();
    run.trials = serde_json::from_value(Value::Array(trials)).unwrap();
    run.cells = serde_json::from_value(Value::Array(summaries)).unwrap();
    run.skipped.clear();
    run
}

fn from(value: Value) -> Run {
    serde_json::from_value(value).unwrap()
}

/// Compares a text with its golden file, or rewrites the file.
#[allow(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "tests may read files and fail"
)]
pub fn golden(file: &str, text: &str) {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    if std::env::var_os("NICETY_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
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

/// A trend over ten runs, with a change and names that want escaping.
pub fn trend() -> Trend {
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

/// The data that a page carries, compressed or not.
pub fn embedded(script: scraper::ElementRef<'_>) -> Value {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use std::io::Read;
    let text: String = script.text().collect();
    match script.value().attr("type") {
        Some("application/gzip") => {
            let packed = STANDARD.decode(text).unwrap();
            let mut plain = String::new();
            let mut decoder = flate2::read::GzDecoder::new(packed.as_slice());
            decoder.read_to_string(&mut plain).unwrap();
            serde_json::from_str(&plain).unwrap()
        }
        _ => serde_json::from_str(&text).unwrap(),
    }
}

/// A recorded run of the police: four minutes in which `b` comes and goes, and a tenant that sets
/// itself a limit. `periods` of them, one each second.
pub fn policed(periods: usize) -> nicety_model::policed::Policed {
    let tenant = |name: &str, weight: f64, guarantee: f64, cap: Option<f64>| {
        let mut tenant = json!({"name": name, "weight": weight, "guarantee_bps": guarantee});
        if let Some(cap) = cap {
            tenant["cap_bps"] = json!(cap);
        }
        tenant
    };
    let moment = |at: usize| {
        let here = (60..180).contains(&at);
        let (a, b) = if here { (320e6, 640e6) } else { (970e6, 0.0) };
        let soft = at >= 120;
        let c = if soft { 5e6 } else { 10e6 };
        let mut third = json!({
            "rate_bps": c, "demand_bps": c * 1.1, "hard_bps": 50e6, "limit_bps": if soft { 5e6 } else { 50e6 },
        });
        if soft {
            third["soft_bps"] = json!(5e6);
        }
        let mut period = json!({
            "schema": 1, "at_s": at as f64 + 1.0, "total_bps": a + b + c,
            "tenants": [
                {"rate_bps": a, "hard_bps": 1e9, "limit_bps": a},
                {"rate_bps": b, "demand_bps": b, "hard_bps": 1e9, "limit_bps": if here { b } else { 1e9 }},
                third,
            ],
            "ports": [
                {"rate_bps": a, "limit_bps": a, "present": true},
                {"demand_bps": 0.0, "limit_bps": 0.0, "present": false},
                {"rate_bps": c, "demand_bps": c, "limit_bps": 50e6, "present": true},
            ],
        });
        if here {
            period["level_bps"] = json!(320e6);
            period["tenants"][1]["demand_bps"] = json!(900e6);
        }
        period
    };
    let periods: Vec<Value> = (0..periods).map(moment).collect();
    let summary = |tenant: &str, mean: f64, most: f64, limits: [f64; 2], held: f64| {
        json!({
            "tenant": tenant, "mean_bps": mean, "max_bps": most, "limit_min_bps": limits[0],
            "limit_max_bps": limits[1], "held_ratio": held,
        })
    };
    let summaries = if periods.is_empty() {
        Vec::new()
    } else {
        vec![
            summary("a", 645e6, 970e6, [320e6, 970e6], 0.98),
            summary(NASTY, 320e6, 640e6, [640e6, 1e9], 0.49),
            summary("c", 7.5e6, 10e6, [5e6, 50e6], 0.0),
        ]
    };
    let run = json!({
        "schema": 1,
        "run": {
            "schema": 1, "policy": "policy.toml", "started": "2026-03-14T15:09:26Z",
            "command": "nicety police run policy.toml --out friday", "period_s": 1.0,
            "capacity_bps": 1e9, "shared_bps": 970e6,
            "tenants": [
                tenant("a", 1.0, 0.0, None), tenant(NASTY, 2.0, 200e6, None), tenant("c", 1.0, 0.0, Some(50e6)),
            ],
            "ports": [
                {"name": "tap0", "tenant": 0}, {"name": "eth0/vf1", "tenant": 1}, {"name": "veth3", "tenant": 2},
            ],
        },
        "host": rich().run.host, "summary": summaries,
        "notes": ["periods.jsonl: the last line was torn (12 bytes), as when a run is killed; it is left out"],
        "periods": periods,
    });
    serde_json::from_value(run).unwrap()
}
