//! OpenMetrics text, for Prometheus and what reads like it.
//!
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>, version 1.0. Units are base units,
//! as the specification asks. A number that was not measured has no sample.

use std::io::Write;

use nicety_model::{LimitKey, Run, Verdict};

use crate::error::{ReportError, write_text};
use crate::pick::{self, Group};

/// A metric family. The unit is the end of the name, as the format wants it.
struct Family {
    name: &'static str,
    kind: &'static str,
    unit: &'static str,
    help: &'static str,
}

/// Families that are gauges: name, unit and help, and the value for what the pattern names.
macro_rules! gauges {
    (|$of:ident| $($name:literal $unit:literal: $help:literal => $value:expr;)+) => {
        &[$((gauge($name, $unit, $help), |$of| $value)),+]
    };
}

type RunGauge = (Family, fn(&Run) -> Option<f64>);
type CellGauge = (Family, fn(&Group<'_>) -> Option<f64>);

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family {
        name,
        kind: "gauge",
        unit,
        help,
    }
}

const RUN: &[RunGauge] = gauges![|run|
    "nicety_run_elapsed_seconds" "seconds": "Wall time of the run." => Some(run.run.elapsed_s);
    "nicety_run_complete" "": "Whether every cell of the plan has a result."
        => Some(f64::from(u8::from(run.run.complete)));
    "nicety_run_loss_goal_ratio" "ratio": "Highest loss allowed." => Some(run.run.loss_goal);
    "nicety_cells_skipped" "": "Cells that this machine cannot build." => Some(run.skipped.len() as f64);
];

const CELLS: &[CellGauge] = gauges![|group|
    "nicety_throughput_frames_per_second" "frames_per_second":
        "Highest load within the loss goal, per direction: median of visits or mean of repeats."
        => group.throughput_fps();
    "nicety_throughput_l1_bits_per_second" "bits_per_second":
        "The same on the wire, preamble and gap included." => group.l1_mbps().map(|mbps| mbps * 1e6);
    "nicety_repeats" "": "Repeats behind the throughput." => Some(group.repeats.len() as f64);
    "nicety_confirm_loss_ratio" "ratio": "Share of frames lost in the confirm trial."
        => Some(group.shown.confirm?.loss_ratio.0);
    "nicety_cpu_per_frame_seconds" "seconds": "CPU time of the path for each frame received."
        => Some(group.shown.cpu.as_ref()?.us_per_frame? / 1e6);
    "nicety_cpu_busiest_ratio" "ratio": "Busy share of the CPU that had least left."
        => Some(group.shown.cpu.as_ref()?.busiest.as_ref()?.busy_ratio);
];

/// Older runs and empty ones have none of these.
const INTERVALS: &[CellGauge] = gauges![|group|
    "nicety_throughput_low_frames_per_second" "frames_per_second":
        "Lower end of the interval that the throughput is known to." => Some(group.interval()?.0);
    "nicety_throughput_high_frames_per_second" "frames_per_second":
        "Upper end of the interval that the throughput is known to." => Some(group.interval()?.1);
    "nicety_throughput_confidence_ratio" "ratio":
        "Probability with which the interval holds; none for an interval from a single visit."
        => group.estimate()?.confidence;
    "nicety_held_frames_per_second" "frames_per_second":
        "Load that met the goal for as long as the confirm trial, per direction."
        => group.estimate().and(group.held_fps());
    "nicety_capacity_frames_per_second" "frames_per_second":
        "Forwarding rate under overload, per direction, median of the visits." => group.capacity_fps();
];

/// Writes the run, ended as the format wants it.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let mut page = Page::default();
    about(&mut page, run);
    let known = |(_, value): &&CellGauge| groups.iter().any(|g| value(g).is_some());
    for (family, value) in CELLS.iter().chain(INTERVALS.iter().filter(known)) {
        page.family(family);
        for group in &groups {
            page.sample(family.name, &labels(group), value(group));
        }
    }
    latencies(&mut page, &groups);
    verdicts(&mut page, &groups);
    page.text.push_str("# EOF\n");
    write_text(out, "OpenMetrics", &page.text)
}

fn about(page: &mut Page, run: &Run) {
    let head = &run.run;
    page.family(&Family {
        kind: "info",
        ..gauge("nicety_run", "", "The run and the machine.")
    });
    let labels = [
        ("name", head.name.as_str()),
        ("started", &head.started),
        ("preset", &head.preset),
        ("nicety", &head.host.nicety),
        ("kernel", &head.host.kernel),
        ("cpu_model", &head.host.cpu_model),
    ];
    page.sample("nicety_run_info", &labels.map(owned), Some(1.0));
    for (family, value) in RUN {
        page.family(family);
        page.sample(family.name, &[], value(run));
    }
    let family = gauge(
        "nicety_tester_limit_frames_per_second",
        "frames_per_second",
        "What the tester reaches without a path.",
    );
    page.family(&family);
    for (key, fps) in &run.tester_limit_fps {
        page.sample(family.name, &limit_labels(key), Some(*fps));
    }
}

fn latencies(page: &mut Page, groups: &[Group<'_>]) {
    let family = Family {
        kind: "summary",
        ..gauge(
            "nicety_latency_seconds",
            "seconds",
            "One-way latency at a share of the throughput.",
        )
    };
    page.family(&family);
    for group in groups {
        // A cell measured before shares were told has one latency only.
        let all = match group.shown.latency_by_load_us.as_slice() {
            [] => group.shown.latency_us.as_slice(),
            all => all,
        };
        for latency in all {
            let mut base = labels(group);
            if let Some(ratio) = latency.load_ratio {
                base.push(owned(("load_ratio", &ratio.to_string())));
            }
            for (quantile, value) in [
                ("0.5", latency.p50),
                ("0.9", latency.p90),
                ("0.99", latency.p99),
                ("0.999", latency.p999),
            ] {
                let labels = with(&base, ("quantile", quantile));
                page.sample(family.name, &labels, Some(value / 1e6));
            }
            let count = format!("{}_count", family.name);
            page.sample(&count, &base, Some(latency.samples as f64));
        }
    }
}

fn verdicts(page: &mut Page, groups: &[Group<'_>]) {
    let family = Family {
        kind: "stateset",
        ..gauge("nicety_verdict", "", "What the cell's numbers are worth.")
    };
    page.family(&family);
    for group in groups {
        for verdict in Verdict::ALL {
            let labels = with(&labels(group), (family.name, verdict.word()));
            let is = f64::from(u8::from(group.verdict() == verdict));
            page.sample(family.name, &labels, Some(is));
        }
    }
}

type Label = (&'static str, String);

fn labels(group: &Group<'_>) -> Vec<Label> {
    vec![
        owned(("cell", group.name)),
        owned(("path", &group.key.path_name())),
        owned(("frame_size_bytes", &group.key.frame_size_bytes.to_string())),
        owned(("direction", &group.key.direction.to_string())),
        owned(("flows", &group.key.flows.to_string())),
    ]
}

/// Of one of the tester's limits; no engine where all cells of the run have the same.
fn limit_labels(key: &LimitKey) -> Vec<Label> {
    let mut labels = vec![
        owned(("frame_size_bytes", &key.frame_size.to_string())),
        owned(("direction", &key.direction.to_string())),
    ];
    labels.extend(key.engine.map(|engine| owned(("engine", engine.word()))));
    labels
}

fn with(labels: &[Label], one_more: (&'static str, &str)) -> Vec<Label> {
    [labels, &[owned(one_more)]].concat()
}

fn owned((name, value): (&'static str, &str)) -> Label {
    (name, value.to_owned())
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, family: &Family) {
        let Family {
            name,
            kind,
            unit,
            help,
        } = family;
        self.text += &format!("# TYPE {name} {kind}\n");
        if !unit.is_empty() {
            self.text += &format!("# UNIT {name} {unit}\n");
        }
        self.text += &format!("# HELP {name} {help}\n");
    }

    fn sample(&mut self, name: &str, labels: &[Label], value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
            .collect();
        let labels = match labels.as_slice() {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(",")),
        };
        self.text.push_str(&format!("{name}{labels} {value}\n"));
    }
}

/// A label's value: backslash, quote and line feed are escaped, nothing else may be.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
