//! The rules as they are explained.

use nicety_model::finding::{RuleReason, RuleReport};

use crate::rule::{RULES, Rule};

/// How changes of a rule are undone.
const UNDO: &str = "nicety tune undo restores the old values; nicety tune persist --remove deletes \
                    what was kept for the next boot.";
/// The same where nicety changes nothing.
const UNDO_BY_HAND: &str = "nicety changes nothing here. Undo by hand what you changed.";

/// All rules, by id.
pub fn rules() -> Vec<RuleReport> {
    RULES.iter().map(report).collect()
}

/// Whether a rule is meant by a word: its id or name.
pub fn is_named(rule: &Rule, word: &str) -> bool {
    rule.id.eq_ignore_ascii_case(word) || rule.name.eq_ignore_ascii_case(word)
}

fn report(rule: &Rule) -> RuleReport {
    let reasons = rule.reasons.iter().map(|reason| RuleReason {
        why: reason.why.to_owned(),
        source: reason.source.to_owned(),
        cost: reason.cost.to_owned(),
        risk: reason.risk,
    });
    RuleReport {
        id: rule.id.to_owned(),
        name: rule.name.to_owned(),
        checks: rule.checks.to_owned(),
        fires: rule.fires.to_owned(),
        writes: rule.writes.map(str::to_owned),
        gain: rule.gain,
        reasons: reasons.collect(),
        undo: match rule.writes {
            Some(_) => UNDO,
            None => UNDO_BY_HAND,
        }
        .to_owned(),
    }
}
