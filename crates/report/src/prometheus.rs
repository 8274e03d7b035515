//! A run as metrics for Prometheus, in base units. A number that was not measured has no sample.

use nicety_model::goal::OfGoal;
use nicety_model::{LatencySummary, LimitKey, Run, Verdict};

use crate::metric::{Family, Label};
use crate::pick::{self, Group};

/// Name, help, and the value for what the pattern names.
macro_rules! gauges {
    (|$of:ident| $($name:literal: $help:literal => $value:expr;)+) => {
        &[$(($name, $help, |$of| $value)),+]
    };
}

type RunGauge = (&'static str, &'static str, fn(&Run) -> Option<f64>);
type CellGauge = (&'static str, &'static str, fn(&Group<'_>) -> Option<f64>);

const RUN: &[RunGauge] = gauges![|run|
    "nicety_run_elapsed_seconds": "Wall time of the run." => Some(run.run.elapsed_s);
    "nicety_run_complete": "1 when every cell of the plan has a result, else 0."
        => Some(f64::from(u8::from(run.run.complete)));
    "nicety_cells_skipped": "Cells that this machine cannot build." => Some(run.skipped.len() as f64);
];

/// What a search finds for each of its loss goals.
const GOALS: &[CellGauge] = gauges![|group|
    "nicety_throughput_frames_per_second":
        "Highest load within the loss goal, per direction: median of visits or mean of repeats."
        => group.throughput_fps();
    "nicety_throughput_l1_bytes_per_second": "The same on the wire, with preamble and gap."
        => group.l1_mbps().map(|mbps| mbps * 1e6 / 8.0);
    "nicety_throughput_low_frames_per_second": "Lower end of the interval of the throughput."
        => Some(group.interval()?.0);
    "nicety_throughput_high_frames_per_second": "Upper end of the interval of the throughput."
        => Some(group.interval()?.1);
    "nicety_throughput_confidence_ratio":
        "Probability with which the interval holds; absent for an interval from a single visit."
        => group.estimate()?.confidence;
];

/// What is measured once, for the strictest goal.
const CELLS: &[CellGauge] = gauges![|group|
    "nicety_held_frames_per_second":
        "Load that met the goal for as long as the confirm trial, per direction."
        => group.estimate().and(group.held_fps());
    "nicety_capacity_frames_per_second":
        "Forwarding rate under overload, per direction: median of the visits." => group.capacity_fps();
    "nicety_repeats": "Repeats behind the throughput." => Some(group.repeats.len() as f64);
    "nicety_confirm_loss_ratio": "Share of frames lost in the confirm trial."
        => Some(group.shown.confirm?.loss_ratio.0);
    "nicety_cpu_per_frame_seconds": "CPU time of the path for each frame received."
        => Some(group.shown.cpu.as_ref()?.us_per_frame? / 1e6);
    "nicety_cpu_busiest_ratio": "Busy share of the busiest CPU."
        => Some(group.shown.cpu.as_ref()?.busiest.as_ref()?.busy_ratio);
];

/// All metrics of a run; none has samples that were not measured. Where the search had several loss goals, what it found
/// for each has the label `goal`.
pub fn families(run: &Run) -> Vec<Family> {
    let groups = pick::groups(run);
    let by_goal = run.by_goal();
    let of_goals = by_goal.as_ref().map(pick::groups);
    let of_goals = of_goals.as_ref().unwrap_or(&groups);
    let mut all = about(run);
    all.push(loss_goals(run));
    all.extend(GOALS.iter().map(|(name, help, value)| {
        let samples = of_goals
            .iter()
            .filter_map(|g| Some((goal_labels(g), value(g)?)));
        Family::gauge(name, help, samples)
    }));
    all.extend(CELLS.iter().map(|(name, help, value)| {
        let samples = groups.iter().filter_map(|g| Some((labels(g), value(g)?)));
        Family::gauge(name, help, samples)
    }));
    all.extend(latencies(&groups));
    all.push(verdicts(of_goals));
    all
}

/// The goals of the run, each once, with their names where there are several.
fn loss_goals(run: &Run) -> Family {
    let mut goals: Vec<(Vec<Label>, f64)> = Vec::new();
    for goal in run.cells.iter().flat_map(|summary| &summary.goals) {
        let one = (vec![("goal", goal.goal.clone())], goal.loss_goal);
        if !goals.contains(&one) {
            goals.push(one);
        }
    }
    if goals.len() < 2 {
        goals = vec![(Vec::new(), run.run.loss_goal)];
    }
    Family::gauge(
        "nicety_run_loss_goal_ratio",
        "Highest loss that a load may have to count as carried.",
        goals,
    )
}

fn about(run: &Run) -> Vec<Family> {
    let head = &run.run;
    let labels = [
        ("name", head.name.as_str()),
        ("started", &head.started),
        ("preset", &head.preset),
        ("nicety", &head.host.nicety),
        ("kernel", &head.host.kernel),
        ("cpu_model", &head.host.cpu_model),
    ];
    let info = (labels.map(owned).to_vec(), 1.0);
    let mut all = vec![Family::gauge(
        "nicety_run_info",
        "The run and its machine in labels; the value is 1.",
        [info],
    )];
    all.extend(RUN.iter().map(|(name, help, value)| {
        Family::gauge(name, help, value(run).map(|value| (Vec::new(), value)))
    }));
    let limits = run.tester_limit_fps.iter();
    all.push(Family::gauge(
        "nicety_tester_limit_frames_per_second",
        "What the tester reaches without a path.",
        limits.map(|(key, fps)| (limit_labels(key), *fps)),
    ));
    all
}

/// Gauges, not a summary: the quantiles are those of one measurement, and nothing adds to them.
fn latencies(groups: &[Group<'_>]) -> [Family; 2] {
    let all = || {
        groups.iter().flat_map(|group| {
            // A cell measured before shares were told has one latency only.
            let all = match group.shown.latency_by_load_us.as_slice() {
                [] => group.shown.latency_us.as_slice(),
                all => all,
            };
            all.iter()
                .map(|latency| (load_labels(group, latency), latency))
        })
    };
    let percentiles = all().flat_map(|(base, latency)| {
        let values = [
            ("50", latency.p50),
            ("90", latency.p90),
            ("99", latency.p99),
            ("99.9", latency.p999),
        ];
        values.map(|(percentile, us)| (with(&base, ("percentile", percentile)), us / 1e6))
    });
    [
        Family::gauge(
            "nicety_latency_seconds",
            "One-way latency at a share of the throughput.",
            percentiles,
        ),
        Family::gauge(
            "nicety_latency_samples",
            "Frames behind the latency.",
            all().map(|(labels, latency)| (labels, latency.samples as f64)),
        ),
    ]
}

fn load_labels(group: &Group<'_>, latency: &LatencySummary) -> Vec<Label> {
    let mut labels = labels(group);
    let ratio = latency.load_ratio;
    labels.extend(ratio.map(|ratio| ("load_ratio", ratio.to_string())));
    labels
}

fn verdicts(groups: &[Group<'_>]) -> Family {
    let samples = groups.iter().flat_map(|group| {
        Verdict::ALL.map(|verdict| {
            let is = f64::from(u8::from(group.verdict() == verdict));
            (with(&goal_labels(group), ("verdict", verdict.word())), is)
        })
    });
    Family::gauge(
        "nicety_verdict",
        "1 for the verdict of the cell, 0 for all others.",
        samples,
    )
}

fn labels(group: &Group<'_>) -> Vec<Label> {
    let traffic = group.key.traffic_words();
    let unusual = (!traffic.is_empty()).then_some(("traffic", traffic));
    let usual = [
        owned(("cell", group.name)),
        ("path", group.key.path_name()),
        ("frame_size_bytes", group.key.frame_size_bytes.to_string()),
        ("direction", group.key.direction.to_string()),
        ("flows", group.key.flows.to_string()),
    ];
    usual.into_iter().chain(unusual).collect()
}

/// The labels of a cell, and the goal where there are several.
fn goal_labels(group: &Group<'_>) -> Vec<Label> {
    let mut labels = labels(group);
    let of_goal = OfGoal::read(group.name);
    let goals = group.summary.map_or(&[][..], |summary| &summary.goals);
    let strictest = || goals.first().map(|goal| goal.goal.clone());
    if let Some(of) = &of_goal {
        labels[0].1 = of.cell.to_owned();
    }
    let goal = of_goal.map(|of| of.goal).or_else(strictest);
    labels.extend(goal.map(|goal| ("goal", goal)));
    labels
}

/// Of one of the tester's limits; no engine where all cells of the run have the same.
fn limit_labels(key: &LimitKey) -> Vec<Label> {
    let mut labels = vec![
        ("frame_size_bytes", key.frame_size.to_string()),
        ("direction", key.direction.to_string()),
    ];
    if !key.shape.is_plain() {
        let mix = key.shape.imix.map(|_| key.size_name());
        let words: Vec<String> = mix.into_iter().chain(key.shape.words()).collect();
        labels.push(("traffic", words.join(", ")));
    }
    labels.extend(key.engine.map(|engine| owned(("engine", engine.word()))));
    labels
}

fn with(labels: &[Label], one_more: (&'static str, &str)) -> Vec<Label> {
    [labels, &[owned(one_more)]].concat()
}

fn owned((name, value): (&'static str, &str)) -> Label {
    (name, value.to_owned())
}
