//! Rules that find what slows a host's network: functions from facts to findings.
//!
//! A rule is one file, named after its concept, with one entry in [`RULES`]. It looks at a
//! [`Case`] and adds findings, or says what it waits for. It reads nothing, changes nothing, and
//! never proposes less than what runs.

mod case;
mod draft;
#[cfg(test)]
mod fixture;
pub mod measured;
mod owners;
pub mod path_mtu;
pub mod persist;
mod picture;
mod place;
mod rule;
mod stacks;

use nicety_model::HostFacts;
use nicety_model::finding::{Advice, Goal};

pub use case::{Case, Wishes};
pub use draft::Report;
pub use picture::picture;
pub use rule::{RULES, Rule};

/// What the rules say about a host.
pub fn advise(facts: &HostFacts, goal: Goal, wishes: Wishes) -> Advice {
    let case = Case::new(facts, goal, wishes);
    let mut report = Report::default();
    for rule in RULES {
        report.enter(rule);
        (rule.check)(&case, &mut report);
    }
    let (mut findings, waiting) = report.into_parts();
    owners::add_conflicts(facts, &mut findings);
    Advice {
        schema: nicety_model::SCHEMA,
        goal,
        boot_id: None,
        peer: wishes.peer.map(|probe| probe.peer),
        findings,
        waiting,
    }
}
