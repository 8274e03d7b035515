//! The rules as they are listed and explained.

use std::collections::BTreeSet;

use nicety_model::SCHEMA;
use nicety_model::finding::{RuleReason, RuleReport, RuleReports};

use crate::rule::{RULES, Rule};

/// How changes of a rule are undone.
const UNDO: &str = "nicety tune rollback restores the old values; nicety tune persist --remove deletes \
                    what was kept for the next boot.";
/// The same where nicety changes nothing.
const UNDO_BY_HAND: &str = "nicety changes nothing here. Undo by hand what you changed.";

/// Ids of the rules that are `wanted`, each once.
pub fn ids(wanted: impl Fn(&Rule) -> bool) -> BTreeSet<&'static str> {
    let wanted = RULES.iter().filter(|rule| wanted(rule));
    wanted.map(|rule| rule.id).collect()
}

/// The rules with this id or name, or all of them.
pub fn rules(only: Option<&str>) -> RuleReports {
    let wanted = |rule: &&Rule| only.is_none_or(|word| is_named(rule, word));
    RuleReports {
        schema: SCHEMA,
        rules: RULES.iter().filter(wanted).map(report).collect(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_found_by_id_or_name() {
        for word in ["t04", "T04", "irq-affinity"] {
            let found = rules(Some(word)).rules;
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].name, "irq-affinity");
        }
        assert_eq!(rules(Some("T10")).rules.len(), 2);
        assert!(rules(Some("none")).rules.is_empty());
        assert_eq!(rules(None).rules.len(), RULES.len());
        assert_eq!(ids(|_| true).len(), 34);
    }
}
