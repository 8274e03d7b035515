//! Writes a [`Plan`] back to its file.

use toml::Spanned;

use crate::fate::FateMode;
use crate::path::Cpus;
use crate::plan::file::{
    Confidence, Dscp, LossShare, Name, NewFlows, OverloadTime, PlanFile, PopularityText,
    SearchFile, SockFile, TagsText, TrafficFile,
};
use crate::plan::path::{Interface, PathKind};
use crate::plan::{HowOften, PathParams, PathPlan, Plan, SockClient, SockPlan};
use crate::source::{List, Time};

/// A value of the file that has no place in one.
fn placeless<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// Tables of the file.
fn placeless_all<'p, T, F: From<&'p T>>(tables: &'p [T]) -> Vec<Spanned<F>> {
    tables
        .iter()
        .map(|table| placeless(F::from(table)))
        .collect()
}

/// A list of the file; none for an empty one.
fn list<T: Clone, F: From<T>>(values: &[T]) -> Option<List<F>> {
    (!values.is_empty()).then(|| values.iter().cloned().map(F::from).collect())
}

impl From<&Plan> for PlanFile {
    fn from(plan: &Plan) -> Self {
        let (traffic, search) = (&plan.traffic, &plan.search);
        let frames = !traffic.is_none();
        let shape = traffic.shape;
        let sizes = traffic.frame_sizes.iter();
        let sizes: Vec<u32> = sizes.map(|size| u32::from(size.bytes())).collect();
        let traffic = TrafficFile {
            frame_sizes: list(&sizes),
            directions: list(&traffic.directions),
            flows: list(&traffic.flows),
            imix: list(&traffic.mixes),
            popularity: shape
                .popularity
                .map(|popularity| placeless(PopularityText(popularity))),
            new_flows_per_s: shape.new_flows_per_s.map(NewFlows),
            family: shape.family.map(placeless),
            protocol: shape.protocol.map(placeless),
            dscp: shape.dscp.map(|dscp| Dscp(dscp.into())),
            vlan: shape.vlan.map(|tags| placeless(TagsText(tags))),
        };
        let search = SearchFile {
            preset: search.preset,
            loss_ratio: search.loss_ratio.map(LossShare),
            goals: list(&search.goals),
            latency_load: list(&search.latency_load),
            bursts: search.bursts.then_some(true),
            recovery: Some(search.recovery)
                .filter(|time| !time.is_zero())
                .map(OverloadTime),
            reset: search.reset.then_some(true),
            repeats: Some(search.repeats.into()),
            confirm: search.confirm.map(Time),
            fate: (search.fate != FateMode::default()).then_some(search.fate),
        };
        Self {
            name: Some(Name(plan.name.clone())),
            traffic: frames.then_some(traffic),
            search: frames.then_some(search),
            path: placeless_all(&plan.paths),
            sockets: placeless_all(&plan.sockets),
        }
    }
}

impl From<&PathPlan> for PathParams {
    fn from(path: &PathPlan) -> Self {
        let end = |name: &String| Some(placeless(Interface(name.clone())));
        let params = match path {
            PathPlan::Ports { a, b } => Self {
                a: end(a),
                b: end(b),
                ..Self::default()
            },
            PathPlan::Switch { params, .. } | PathPlan::Vm { params } => params.clone(),
            PathPlan::Bridge => Self::default(),
        };
        Self {
            kind: PathKind::of(path.kind()).map(placeless),
            ..params
        }
    }
}

impl From<&SockPlan> for SockFile {
    fn from(plan: &SockPlan) -> Self {
        let pins = |pins: &[Vec<u32>]| pins.iter().cloned().map(Cpus).collect();
        let (repeats, confidence, saturate) = match plan.how_often {
            HowOften::Times(times) => (Some(times), None, None),
            HowOften::Until {
                level_percent,
                width_percent,
                most,
            } => {
                let confidence = Confidence(level_percent, width_percent);
                (Some(most), Some(confidence), None)
            }
            HowOften::Saturate(_) => (None, None, Some(placeless(true))),
        };
        Self {
            test: list(&plan.tests),
            message_bytes: list(&plan.message_bytes),
            parallel: list(&plan.parallel),
            rate: list(&plan.rates),
            family: list(&plan.families),
            neighbours: list(&plan.neighbours),
            client: list(&plan.clients).filter(|_| plan.clients != [SockClient::Host]),
            pin: pins(&plan.pins),
            server_pin: pins(&plan.server_pins),
            time: Some(placeless(Time(plan.time))),
            repeats: repeats.map(|times| placeless(times.into())),
            confidence,
            saturate,
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
