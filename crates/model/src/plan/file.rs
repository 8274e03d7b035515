//! A plan as it stands in a file: what [`Plan::to_toml`] writes and `plan.schema.json`
//! describes.

use schemars::JsonSchema;
use serde::Serialize;

use crate::frame::{Direction, FrameSize};
use crate::plan::{PathParams, PathPlan, Plan, Preset, format_duration};

/// A plan file. Every list multiplies the matrix; a single value may stand for a list of one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlanFile {
    /// Name of the run; the file's name without `.toml` when absent.
    name: Option<String>,
    traffic: Option<TrafficFile>,
    search: Option<SearchFile>,
    path: Vec<PathFile>,
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
    /// Interface A of `kind = "ports"`.
    a: Option<String>,
    /// Interface B of `kind = "ports"`.
    b: Option<String>,
    #[serde(flatten)]
    params: PathParams,
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
        Self {
            name: Some(plan.name.clone()),
            traffic: Some(TrafficFile {
                frame_sizes: Some((&plan.traffic.frame_sizes).into()),
                directions: Some((&plan.traffic.directions).into()),
                flows: Some((&plan.traffic.flows).into()),
            }),
            search: Some(SearchFile {
                preset: Some(plan.search.preset),
                loss_ratio: plan.search.loss_ratio,
                repeats: Some(plan.search.repeats),
                confirm: plan.search.confirm.map(format_duration),
            }),
            path: plan.paths.iter().map(PathFile::from).collect(),
        }
    }
}

impl From<&PathPlan> for PathFile {
    fn from(path: &PathPlan) -> Self {
        let (a, b) = match path {
            PathPlan::Ports { a, b } => (Some(a.clone()), Some(b.clone())),
            _ => (None, None),
        };
        let params = match path {
            PathPlan::Switch { params, .. }
            | PathPlan::Vm { params }
            | PathPlan::Unavailable { params, .. } => params.clone(),
            _ => PathParams::default(),
        };
        Self {
            kind: path.kind().to_owned(),
            a,
            b,
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
