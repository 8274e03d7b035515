//! Findings as rules write them.

use nicety_model::finding::{Certainty, Effect, Finding, Gain, Risk, Waiting};
use nicety_model::knob::{Change, Knob};

use crate::rule::Rule;

/// What the rules have said so far.
#[derive(Debug, Default)]
pub struct Report {
    rule: (&'static str, &'static str),
    gain: Option<Gain>,
    findings: Vec<Finding>,
    waiting: Vec<Waiting>,
}

/// Why something should be otherwise, and what that costs: the part of a finding that does not
/// depend on numbers.
#[derive(Debug, Clone, Copy)]
pub struct Reason {
    /// Why.
    pub why: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// What it costs and whom it may hit.
    pub cost: &'static str,
    /// How much can go wrong.
    pub risk: Risk,
    /// How sure the rule is that it helps.
    pub certainty: Certainty,
}

impl Report {
    /// What follows is said by this rule.
    pub(crate) fn enter(&mut self, rule: &Rule) {
        self.rule = (rule.id, rule.name);
        self.gain = Some(rule.gain);
    }

    /// Adds a finding without changes, that takes effect at once; returns it to be completed.
    pub(crate) fn find(
        &mut self,
        subject: &str,
        is: impl Into<String>,
        should: impl Into<String>,
        reason: &Reason,
    ) -> &mut Finding {
        self.findings.push(Finding {
            id: self.rule.0.to_owned(),
            rule: self.rule.1.to_owned(),
            subject: subject.to_owned(),
            is: is.into(),
            should: should.into(),
            formula: None,
            why: reason.why.to_owned(),
            source: reason.source.to_owned(),
            cost: reason.cost.to_owned(),
            risk: reason.risk,
            certainty: reason.certainty,
            gain: self.gain,
            effect: Effect::Now,
            changes: Vec::new(),
            advice: Vec::new(),
            conflicts: Vec::new(),
        });
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    /// Says why the rule cannot decide and what to do; `option` is the one of `nicety tune plan` that
    /// helps, if any.
    pub(crate) fn undecided(&mut self, needs: &str, option: Option<&str>) {
        self.waiting.push(Waiting {
            id: self.rule.0.to_owned(),
            rule: self.rule.1.to_owned(),
            needs: needs.to_owned(),
            option: option.map(str::to_owned),
        });
    }

    /// What earlier rules found.
    pub(crate) fn so_far(&self) -> &[Finding] {
        &self.findings
    }

    /// Changes that earlier rules found.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Change> {
        self.findings.iter().flat_map(|finding| &finding.changes)
    }

    pub(crate) fn into_parts(self) -> (Vec<Finding>, Vec<Waiting>) {
        (self.findings, self.waiting)
    }
}

/// A change, as a rule writes it.
pub(crate) fn change(knob: Knob, from: impl ToString, to: impl ToString) -> Change {
    Change {
        knob,
        from: from.to_string(),
        to: to.to_string(),
    }
}
