//! The rules of `nicety tune`: explained, and as the page of the documentation.

use std::fmt::Write;

use nicety_model::finding::{Risk, RuleReason, RuleReport};

/// What stands where nicety changes nothing.
const BY_HAND: &str = "nothing; act by hand";

/// All that is known of a rule, a line for each part.
pub fn lines(rule: &RuleReport) -> String {
    let line = |(term, meaning): (String, String)| {
        let (first, rest) = term.split_at(1);
        format!("{}{rest}: {meaning}\n", first.to_uppercase())
    };
    let undo = ("undo".to_owned(), rule.undo.clone());
    parts(rule).into_iter().chain([undo]).map(line).collect()
}

/// The page of the documentation, in Markdown.
pub fn page(rules: &[RuleReport]) -> String {
    let mut text = "# Tuning rules\n\nEvery rule of `nicety tune plan`. `nicety explain ID` prints \
                    the same.\nThis page is generated. Introduction: \
                    [Tune a Linux/KVM host](../guide/tune.md). Formulas: [Tune](../methodology/tune.md).\n\n\
                    `nicety tune undo` restores what a rule has changed. \
                    `nicety tune persist --remove` deletes what was kept for the next boot.\n"
        .to_owned();
    for rule in rules {
        // A String takes everything.
        let _ = writeln!(text, "\n## {} {}\n", rule.id, rule.name);
        for (term, meaning) in parts(rule) {
            let meaning = meaning.replace('<', "\\<").replace('*', "\\*");
            let meaning = meaning.replace('_', "\\_").replace('|', "\\|");
            let _ = writeln!(text, "- **{term}**: {meaning}");
        }
    }
    text
}

/// What there is to say of a rule, each with its heading, but for how it is undone.
fn parts(rule: &RuleReport) -> Vec<(String, String)> {
    let fires = rule.fires.strip_prefix("Fires ").unwrap_or(&rule.fires);
    let mut parts = vec![
        ("expects".to_owned(), format!("{}.", rule.checks)),
        ("fires".to_owned(), fires.to_owned()),
        (
            "changes".to_owned(),
            format!("{}.", rule.writes.as_deref().unwrap_or(BY_HAND)),
        ),
    ];
    let several = rule.reasons.len() > 1;
    for (at, reason) in rule.reasons.iter().enumerate() {
        let number = if several {
            format!(" {}", at + 1)
        } else {
            String::new()
        };
        parts.push((format!("why{number}"), reason.why.clone()));
        parts.push((
            format!("cost{number}"),
            format!("{} Risk: {}.", reason.cost, risk(reason)),
        ));
        parts.push((format!("source{number}"), format!("{}.", reason.source)));
    }
    parts.push(("usual gain".to_owned(), format!("{}.", rule.gain)));
    parts
}

fn risk(reason: &RuleReason) -> &'static str {
    match reason.risk {
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "high",
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Gain;

    use super::*;

    #[test]
    fn a_rule_is_explained_in_full() {
        let reason = |risk| RuleReason {
            why: "A frame waits.".to_owned(),
            source: "Linux Documentation/networking/scaling.rst".to_owned(),
            cost: "None.".to_owned(),
            risk,
        };
        let rule = RuleReport {
            id: "T04".to_owned(),
            name: "irq-affinity".to_owned(),
            checks: "each queue has a CPU of its own near the NIC".to_owned(),
            fires: "Fires when two queues share a CPU.".to_owned(),
            writes: Some("/proc/irq/N/smp_affinity_list".to_owned()),
            gain: Gain::Large,
            reasons: vec![reason(Risk::Low), reason(Risk::High)],
            undo: "nicety tune undo.".to_owned(),
        };
        let text = lines(&rule);
        for part in ["Why 2: A frame", "Risk: high.", "Undo: "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let page = page(&[rule]);
        assert!(page.contains("\n## T04 irq-affinity\n"), "{page}");
        assert!(page.contains("smp\\_affinity\\_list"), "{page}");
    }
}
