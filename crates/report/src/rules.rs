//! The rules of `nicety tune`: listed, explained, and as the page of the documentation.

use std::fmt::Write;

use nicety_model::finding::{Risk, RuleReason, RuleReport, RuleReports};

use crate::Report;
use crate::document::table::Narrow;
use crate::document::{Block, Document, Medium, Table, columns};
use crate::error::ReportError;
use crate::number::plural;

/// What stands where nicety changes nothing.
const BY_HAND: &str = "nothing; act by hand";

/// A row for each rule.
pub struct Listed<'a>(pub &'a RuleReports);

/// All that is known of each rule.
pub struct Explained<'a>(pub &'a RuleReports);

impl Report for Listed<'_> {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "Rules");
        doc.answer = vec![vec![format!(
            "{}; {} change settings. nicety tune explain ID explains one.",
            plural(ids(&self.0.rules, |_| true), "rule"),
            ids(&self.0.rules, |rule| rule.writes.is_some()),
        )]];
        let table = Table::of(
            "rules",
            &self.0.rules,
            columns![|rule|
                "id" Name: &rule.id;
                "rule" Name: &rule.name;
                "expects" Wide: &rule.checks;
                "changes" Wide: rule.writes.as_deref().unwrap_or(BY_HAND);
                "gain" Tight: rule.gain.to_string();
                "source" Wide: sources(rule).join("; ");
            ],
        );
        let table = table.wrapped().narrow(&[
            ("source", Narrow::Named),
            ("gain", Narrow::Named),
            ("changes", Narrow::Named),
        ]);
        doc.main("rules", "Rules", vec![Block::Table(table)]);
        Ok(doc)
    }
}

impl Report for Explained<'_> {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "Rules");
        for rule in &self.0.rules {
            let terms = parts(rule)
                .into_iter()
                .map(|(term, text)| (term.into(), text));
            let title = format!("Rule {} {}", rule.id, rule.name);
            doc.section("rule", title, vec![Block::Terms(terms.collect())]);
        }
        Ok(doc)
    }
}

/// How many ids the wanted rules have: some share one.
fn ids(rules: &[RuleReport], wanted: fn(&RuleReport) -> bool) -> usize {
    let wanted = rules.iter().filter(|rule| wanted(rule));
    let ids: std::collections::BTreeSet<&str> = wanted.map(|rule| rule.id.as_str()).collect();
    ids.len()
}

/// The page of the documentation, in Markdown.
pub fn page(rules: &RuleReports) -> String {
    let mut text = "# Tuning rules\n\nEvery rule of `nicety tune plan`. `nicety tune explain ID` prints \
                    the same.\nThis page is generated. Introduction: \
                    [Tune a Linux/KVM host](../guide/tune.md). Formulas: [Tune](../methodology/tune.md).\n"
        .to_owned();
    for rule in &rules.rules {
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

/// What there is to say of a rule, each with its heading.
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
        let number = match several {
            true => format!(" {}", at + 1),
            false => String::new(),
        };
        parts.push((format!("why{number}"), reason.why.clone()));
        parts.push((
            format!("cost{number}"),
            format!("{} Risk: {}.", reason.cost, risk(reason)),
        ));
        parts.push((format!("source{number}"), format!("{}.", reason.source)));
    }
    parts.push(("usual gain".to_owned(), format!("{}.", rule.gain)));
    parts.push(("undo".to_owned(), rule.undo.clone()));
    parts
}

fn risk(reason: &RuleReason) -> &'static str {
    match reason.risk {
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "high",
    }
}

/// Where its reasons are written, each once.
fn sources(rule: &RuleReport) -> Vec<&str> {
    let mut sources: Vec<&str> = Vec::new();
    for reason in &rule.reasons {
        if !sources.contains(&reason.source.as_str()) {
            sources.push(&reason.source);
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Gain;

    use super::*;

    fn rules() -> RuleReports {
        let reason = |risk| RuleReason {
            why: "A frame waits.".to_owned(),
            source: "Linux Documentation/networking/scaling.rst".to_owned(),
            cost: "None.".to_owned(),
            risk,
        };
        let rule = |id: &str, writes: Option<&str>| RuleReport {
            id: id.to_owned(),
            name: "irq-affinity".to_owned(),
            checks: "each queue has a CPU of its own near the NIC".to_owned(),
            fires: "Two queues share a CPU.".to_owned(),
            writes: writes.map(str::to_owned),
            gain: Gain::Large,
            reasons: vec![reason(Risk::Low), reason(Risk::High)],
            undo: "nicety tune rollback.".to_owned(),
        };
        RuleReports {
            schema: 1,
            rules: vec![
                rule("T04", Some("/proc/irq/N/smp_affinity_list")),
                rule("T05", None),
            ],
        }
    }

    fn shown(report: &impl Report, width: u16) -> String {
        crate::document::terminal::shown(report, width, false)
    }

    #[test]
    fn rules_fit_any_width() {
        let rules = rules();
        for width in [20, 40, 80, 160] {
            let text = shown(&Listed(&rules), width);
            assert!(text.contains("T05"), "{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= width.into(), "{width}: {line}");
            }
        }
        let text = shown(&Listed(&rules), 160);
        assert!(text.starts_with("2 rules; 1 change"), "{text}");
        // Both reasons have the same source.
        assert_eq!(text.matches("scaling.rst").count(), 2, "{text}");
    }

    #[test]
    fn one_rule_is_explained_in_full() {
        let rules = rules();
        let text = shown(&Explained(&rules), 80);
        for part in [
            "rule T04 irq-affinity",
            "why 2: A frame",
            "Risk: high.",
            "undo: ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let page = page(&rules);
        assert!(page.contains("\n## T05 irq-affinity\n"), "{page}");
        assert!(page.contains("smp\\_affinity\\_list"), "{page}");
    }
}
