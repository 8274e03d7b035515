//! A plan as it stands in a file: what [`Plan::to_toml`] writes and `plan.schema.json`
//! describes.

use schemars::JsonSchema;
use serde::Serialize;

use crate::frame::{Direction, FrameSize};
use crate::plan::{
    HowOften, PathParams, PathPlan, Plan, Preset, SockClient, SockPlan, format_duration,
};
use crate::sock::{Family, SockTest};

/// A plan file. Every list multiplies the matrix; a single value may stand for a list of one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlanFile {
    /// Name of the run; the file's name without `.toml` when absent.
    name: Option<String>,
    traffic: Option<TrafficFile>,
    search: Option<SearchFile>,
    path: Vec<PathFile>,
    /// Socket workloads over every path. A plan with them and without `traffic` and `search`
    /// measures nothing else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    sockets: Vec<SockFile>,
}

/// What is sent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TrafficFile {
    /// Frame sizes in bytes with FCS, 64 to 9018.
    frame_sizes: Option<OneOrMany<FrameSize>>,
    /// Directions.
    directions: Option<OneOrMany<Direction>>,
    /// Flows per direction, 1 to 1048576.
    flows: Option<OneOrMany<u32>>,
}

/// How the throughput is searched.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SearchFile {
    /// Named search.
    preset: Option<Preset>,
    /// Highest share of frames that may be lost, 0 up to but without 1.
    loss_ratio: Option<f64>,
    /// Repeats of every cell.
    repeats: Option<u32>,
    /// Length of the confirm trial with its unit (ms, s, m, h), as in `30s`; `0s` for none.
    confirm: Option<String>,
}

/// What is measured.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct PathFile {
    /// `bridge`, `ports`, `vlan-bridge`, `ovs`, `ovs-dpdk`, `testpmd` or `vm`.
    kind: String,
    #[serde(flatten)]
    params: PathParams,
}

/// Socket workloads: every list multiplies.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SockFile {
    /// `tcp_rr`, `udp_rr`, `tcp_crr`, `tcp_stream`, `tcp_maerts` or `udp_stream`.
    test: OneOrMany<SockTest>,
    /// Bytes of a request, response, write or datagram; each test's own when absent.
    message_bytes: Option<OneOrMany<u32>>,
    /// Flows at once, 1 to 20000; with `saturate` the most that are tried.
    parallel: Option<OneOrMany<u32>>,
    /// Transactions or datagrams per second over all flows (open loop).
    rate: Option<OneOrMany<u32>>,
    /// IP versions.
    family: Option<OneOrMany<Family>>,
    /// Pairs that flood the same switch meanwhile, 0 to 64.
    neighbours: Option<OneOrMany<u32>>,
    /// Where the client runs: `host`, in a namespace (when absent), or `guest`, in a guest beside
    /// the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<OneOrMany<SockClient>>,
    /// CPUs of the client's workers in turn, a list per placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<Vec<Vec<u32>>>,
    /// The same of the server's workers, where the server is not in a guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_pin: Option<Vec<Vec<u32>>>,
    /// Length of one test with its unit, as in `5s`.
    time: Option<String>,
    /// How often every test is run; with `confidence` the most of it.
    repeats: Option<u32>,
    /// Repeat until the interval of LEVEL per cent (90, 95, 99) is WIDTH per cent of the mean
    /// wide: `95,2`.
    confidence: Option<String>,
    /// Raise the number of flows until the rate stops growing.
    saturate: Option<bool>,
}

impl From<&SockPlan> for SockFile {
    fn from(plan: &SockPlan) -> Self {
        fn some<T: Clone>(list: &Vec<T>) -> Option<OneOrMany<T>> {
            (!list.is_empty()).then(|| list.into())
        }
        let (repeats, confidence, saturate) = match plan.how_often {
            HowOften::Times(times) => (Some(times), None, None),
            HowOften::Until {
                level_percent,
                width_percent,
                most,
            } => (
                Some(most),
                Some(format!("{level_percent},{width_percent}")),
                None,
            ),
            HowOften::Saturate(_) => (None, None, Some(true)),
        };
        Self {
            test: (&plan.tests).into(),
            message_bytes: some(&plan.message_bytes),
            parallel: some(&plan.parallel),
            rate: some(&plan.rates),
            family: some(&plan.families),
            neighbours: some(&plan.neighbours),
            client: some(&plan.clients).filter(|_| plan.clients != [SockClient::Host]),
            pin: (!plan.pins.is_empty()).then(|| plan.pins.clone()),
            server_pin: (!plan.server_pins.is_empty()).then(|| plan.server_pins.clone()),
            time: Some(format_duration(plan.time)),
            repeats,
            confidence,
            saturate,
        }
    }
}

/// One value or a list of them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum OneOrMany<T> {
    /// A single value.
    One(T),
    /// A list.
    Many(Vec<T>),
}

impl<T: Clone> From<&Vec<T>> for OneOrMany<T> {
    fn from(values: &Vec<T>) -> Self {
        match values.as_slice() {
            [value] => Self::One(value.clone()),
            _ => Self::Many(values.clone()),
        }
    }
}

impl From<&Plan> for PlanFile {
    fn from(plan: &Plan) -> Self {
        let frames = !plan.traffic.frame_sizes.is_empty();
        Self {
            name: Some(plan.name.clone()),
            traffic: frames.then(|| TrafficFile {
                frame_sizes: Some((&plan.traffic.frame_sizes).into()),
                directions: Some((&plan.traffic.directions).into()),
                flows: Some((&plan.traffic.flows).into()),
            }),
            search: frames.then(|| SearchFile {
                preset: plan.search.preset,
                loss_ratio: plan.search.loss_ratio,
                repeats: Some(plan.search.repeats),
                confirm: plan.search.confirm.map(format_duration),
            }),
            path: plan.paths.iter().map(PathFile::from).collect(),
            sockets: plan.sockets.iter().map(SockFile::from).collect(),
        }
    }
}

impl From<&PathPlan> for PathFile {
    fn from(path: &PathPlan) -> Self {
        let params = match path {
            PathPlan::Ports { a, b } => PathParams {
                a: Some(a.clone()),
                b: Some(b.clone()),
                ..PathParams::default()
            },
            PathPlan::Switch { params, .. } | PathPlan::Vm { params } => params.clone(),
            PathPlan::Bridge => PathParams::default(),
        };
        Self {
            kind: path.kind().to_owned(),
            params,
        }
    }
}

impl Plan {
    /// The plan as TOML; [`Plan::parse`] reads the same plan back.
    ///
    /// # Errors
    /// None for a plan that [`Plan::parse`] or the builders made; TOML has no form for some
    /// values a plan could be given by hand.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(&PlanFile::from(self))
    }
}
