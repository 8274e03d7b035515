//! What the rules say: of the host now, or in a plan that was written before.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use nicety_advisor::{Wishes, advise, keep_risk, keep_rules};
use nicety_host::facts::{Source, read_after};
use nicety_model::HostFacts;
use nicety_model::finding::{Advice, Goal, Risk};
use nicety_model::path_mtu::PathProbe;

use crate::json_file::{self, Expected, bad};
use crate::{Listener, TuneError, TuneEvent, path_mtu};

/// What the rules are asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AdviceRequest {
    /// What the host is to be good at.
    pub goal: Goal,
    /// What the user knows; of the peer it is found out.
    pub wishes: Wishes,
    /// A host at the far end of the path.
    pub peer: Option<IpAddr>,
    /// How long counters are watched first.
    pub window: Option<Duration>,
    /// Ids or names of rules; all when empty.
    pub only: Vec<String>,
    /// Highest risk of a finding that is kept; any when absent.
    pub risk: Option<Risk>,
}

impl AdviceRequest {
    /// Keeps the findings that were asked for.
    fn keep(&self, advice: &mut Advice) {
        keep_rules(advice, &self.only);
        if let Some(most) = self.risk {
            keep_risk(advice, most);
        }
    }
}

/// What the rules say about a source, as far as it was asked.
///
/// # Errors
/// When the peer cannot be asked.
pub fn ask(
    source: &Source,
    request: &AdviceRequest,
    listener: Listener<'_>,
) -> Result<Advice, TuneError> {
    // A recorded host cannot ask anybody.
    let peer = request.peer.filter(|_| source.is_live());
    let probe = peer.map(path_mtu::now).transpose()?;
    let mut advice = of_facts(&facts(source, request, listener), request, probe);
    advice.boot_id = source
        .roots
        .proc
        .text("sys/kernel/random/boot_id")
        .filter(|_| source.is_live());
    Ok(advice)
}

/// The facts that the rules are asked about.
pub(crate) fn facts(source: &Source, request: &AdviceRequest, listener: Listener<'_>) -> HostFacts {
    if let Some(window) = request.window.filter(|_| source.is_live()) {
        listener(TuneEvent::Counting(window));
    }
    read_after(source, request.window)
}

/// What the rules say about facts, as far as it was asked.
pub(crate) fn of_facts(
    facts: &HostFacts,
    request: &AdviceRequest,
    peer: Option<PathProbe>,
) -> Advice {
    let wishes = Wishes {
        peer,
        ..request.wishes
    };
    let mut advice = advise(facts, request.goal, wishes);
    request.keep(&mut advice);
    advice
}

const PLAN: Expected = Expected {
    too_large: |error| format!("is not a plan: {error}"),
    other: |error| format!("is not a plan ({error}); make one with nicety tune plan --json"),
    newer: "was written by a newer nicety; make a new plan",
};

/// What was asked for of a plan that `nicety tune plan --json` wrote, in this boot where one is given.
///
/// # Errors
/// When it is none, or not for this.
pub fn read_plan(
    path: &Path,
    request: &AdviceRequest,
    boot_id: Option<&str>,
) -> Result<Advice, TuneError> {
    let mut advice = json_file::read(path, &PLAN, |advice: &Advice| advice.schema)?;
    if boot_id.is_some() && advice.boot_id.as_deref() != boot_id {
        return Err(bad(
            path,
            "was made on another host or before the last boot; make a new plan",
        ));
    }
    if let Some(change) = advice.changes().iter().find(|c| c.knob.outlives_boot()) {
        let why = format!(
            "changes the file {}, which no plan may do; make a new plan",
            change.knob
        );
        return Err(bad(path, why));
    }
    request.keep(&mut advice);
    Ok(advice)
}
