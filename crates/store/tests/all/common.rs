//! Values to store.

use nicety_model::Note;
use nicety_model::cell::SkippedCell;
use nicety_model::pacing::PacingReport;
use nicety_model::{
    CellKey, CellResult, Direction, Fingerprint, FrameCounts, FrameSize, LossRatio, PathSpec, Plan,
    ProblemCode, Purpose, SCHEMA, SearchBounds, TrialRecord, Validity, Verdict,
};
use nicety_store::{RunDir, RunMeta, StoreError};

pub fn meta() -> RunMeta {
    RunMeta {
        schema: SCHEMA,
        name: "bridge".to_owned(),
        started: "2026-03-14T15:09:26Z".to_owned(),
        seed: 7,
        preset: "quick".to_owned(),
        estimator: None,
        loss_goal: 0.0001,
        command: "nicety bench".to_owned(),
        elapsed_s: 0.0,
        complete: false,
        stopped_by: None,
        notes: Vec::new(),
        skipped: vec![SkippedCell {
            cell: "ovs/64/uni".to_owned(),
            code: Some(ProblemCode::KernelLacks),
            reason: "no datapath".to_owned(),
            remedy: "load it".to_owned(),
        }],
        left_out: Vec::new(),
    }
}

pub fn trial(index: u32) -> TrialRecord {
    TrialRecord {
        schema: SCHEMA,
        cell: "bridge/64/uni".to_owned(),
        repeat: 1,
        control: None,
        index,
        purpose: Purpose::Search,
        load_fps: 1000.0 + f64::from(index) / 3.0,
        duration_s: 1.0,
        wall_s: 1.2,
        started_unix_s: 1_773_500_966.25,
        validity: Validity::Broken {
            why: "a \"quoted\" } brace\nand a line".to_owned(),
        },
        frames: FrameCounts {
            sent: 1000,
            received: 999,
            lost: 1,
            ..FrameCounts::default()
        },
        loss_ratio: LossRatio(0.001),
        stalls: None,
        windows: None,
        cache_line_ns: None,
        hardware_latency: None,
        fate: None,
        forwarding_fps: 999.0,
        guests: Vec::new(),
        sizes: Vec::new(),
        streams: Vec::new(),
        pacing: PacingReport::default(),
        latency_us: None,
        cpu: None,
        loss_ledger: Vec::new(),
        step: None,
        outage: None,
        passed: Vec::new(),
        notes: vec![Note::Recorded("日本".to_owned())],
    }
}

pub fn cell(repeat: u32) -> CellResult {
    let key = CellKey {
        path: PathSpec::Bridge,
        frame_size_bytes: FrameSize::new(64).unwrap(),
        direction: Direction::Uni,
        flows: 1,
        shape: nicety_model::Shape::default(),
    };
    CellResult {
        schema: SCHEMA,
        cell: key.name(),
        repeat,
        control: None,
        key,
        engine: "af_packet".to_owned(),
        loss_goal: 0.0001,
        throughput_fps: Some(245_000.0),
        goals: Vec::new(),
        curve: Vec::new(),
        back_to_back: None,
        recovery: None,
        reset: None,
        bounds: SearchBounds::default(),
        estimate: None,
        capacity_fps: None,
        window_s: None,
        throughput_l1_mbps: None,
        throughput_l2_mbps: None,
        tester_limit_fps: None,
        confirm: None,
        held: None,
        latency_us: None,
        latency_by_load_us: Vec::new(),
        hardware_latency: Vec::new(),
        cpu: None,
        loss_ledger: Vec::new(),
        overload_ledger: Vec::new(),
        fates: Vec::new(),
        built: None,
        frames: None,
        guests: Vec::new(),
        sizes: Vec::new(),
        disturbance: None,
        cache_line_ns: None,
        trials: 16,
        search_s: 24.3,
        verdict: Verdict::Ok,
        notes: Vec::new(),
    }
}

pub fn create(path: &std::path::Path) -> Result<RunDir, StoreError> {
    let plan = Plan::default_bridge().to_toml().unwrap();
    RunDir::create(path, &plan, &meta(), &Fingerprint::default())
}

/// Runs the test's own program again with one of its tests under `command` and an environment
/// variable, for what must happen in a process of its own.
pub fn again(
    command: &[impl AsRef<std::ffi::OsStr>],
    test: &str,
    variable: (&str, &str),
) -> std::process::Output {
    std::process::Command::new(&command[0])
        .args(&command[1..])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(variable.0, variable.1)
        .output()
        .unwrap()
}
