//! Rules that find what slows a host's network: functions from facts to findings.
//!
//! A rule is one file, named after its concept, with one entry in [`RULES`]. It looks at a
//! [`Case`] and adds findings, or says what it waits for. It reads nothing, changes nothing, and
//! never proposes less than what runs.

mod case;
pub mod catalogue;
mod draft;
#[cfg(test)]
mod fixture;
pub mod fleet;
mod home;
mod irq_place;
pub mod measured;
mod owners;
pub mod path_mtu;
pub mod persist;
mod picture;
mod place;
mod rule;
mod stacks;
pub mod transaction;

use nicety_model::HostFacts;
use nicety_model::finding::{Advice, Goal, LookedAt, Risk};

pub use case::{Case, Wishes};
pub use draft::{Reason, Report};
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
        checked: RULES.len(),
        looked_at: Some(LookedAt {
            cpus: facts.cpu.cpus.len(),
            nics: case.nics().count(),
            guests: facts.vms.len(),
        }),
        riskier: 0,
        findings,
        waiting,
    }
}

/// Keeps what the named rules say, by id or name; all of it when none is named.
pub fn keep_rules(advice: &mut Advice, rules: &[String]) {
    let wanted = |id: &str, rule: &str| {
        let named = |name: &String| id.eq_ignore_ascii_case(name) || rule == name;
        rules.is_empty() || rules.iter().any(named)
    };
    advice
        .findings
        .retain(|finding| wanted(&finding.id, &finding.rule));
    advice
        .waiting
        .retain(|waiting| wanted(&waiting.id, &waiting.rule));
    if advice.checked > 0 {
        let wanted = RULES.iter().filter(|rule| wanted(rule.id, rule.name));
        advice.checked = wanted.count();
    }
}

/// Keeps the findings of at most this risk, and counts the others.
pub fn keep_risk(advice: &mut Advice, most: Risk) {
    let before = advice.findings.len();
    advice.findings.retain(|finding| finding.risk <= most);
    advice.riskier += before - advice.findings.len();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_named_by_id_or_name() {
        let facts = fixture::Host::new(2, 4).nic("eth0", 10_000, 1).facts;
        let all = advise(&facts, Goal::Throughput, Wishes::default());
        let kept = |rules: &[&str]| {
            let mut advice = all.clone();
            let rules: Vec<String> = rules.iter().map(|&rule| rule.to_owned()).collect();
            keep_rules(&mut advice, &rules);
            advice
        };
        assert_eq!(kept(&[]), all);
        let Some(first) = all.waiting.first() else {
            panic!("rules about counters wait for them");
        };
        for name in [first.id.to_ascii_lowercase(), first.rule.clone()] {
            let kept = kept(&[&name]);
            assert!(!kept.waiting.is_empty(), "{name}");
            assert!(kept.waiting.iter().all(|waiting| waiting.id == first.id));
        }
        assert!(kept(&["none"]).findings.is_empty());
    }

    #[test]
    fn riskier_findings_are_left_out_and_counted() {
        let host = fixture::Host::new(2, 4).nic("eth0", 10_000, 1);
        let all = advise(&host.facts, Goal::Throughput, Wishes::default());
        let mut kept = all.clone();
        keep_risk(&mut kept, Risk::High);
        assert_eq!(kept, all);
        keep_risk(&mut kept, Risk::Low);
        let low = |finding: &&nicety_model::finding::Finding| finding.risk == Risk::Low;
        let low = all.findings.iter().filter(low).count();
        assert_eq!(kept.findings.len(), low);
        assert_eq!(kept.riskier, all.findings.len() - low);
        assert!(kept.riskier > 0, "the host has a risky finding: {all:?}");
    }
}
