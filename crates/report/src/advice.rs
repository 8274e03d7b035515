//! The plan of `nicety tune`: a table of findings, what can be done, what is undecided.

mod long;

use nicety_model::finding::{Advice, Effect, Finding, Goal, LookedAt, Risk};

use crate::Report;
use crate::document::table::Narrow;
use crate::document::{Badge, Block, Document, Medium, Table, Tone, columns};
use crate::error::ReportError;
use crate::number::plural;

pub use long::render as long;

/// The counts, a row for each finding, those that bring most first; then what to do.
impl Report for Advice {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "Plan");
        doc.answer = vec![answer(self, " (see -v)")];
        if self.findings.is_empty() {
            return Ok(doc);
        }
        let mut blocks = vec![Block::Table(table(self))];
        blocks.extend(next(self).into_iter().map(Block::Text));
        doc.main("findings", "Findings", blocks);
        Ok(doc)
    }
}

/// `3 findings for throughput: 2 safe, 1 risky.` Where there are none, `hint` says where to see why.
fn answer(advice: &Advice, hint: &str) -> Vec<String> {
    if advice.findings.is_empty() {
        return vec![nothing(advice, hint)];
    }
    let findings = plural(advice.findings.len(), "finding");
    let safe = advice.findings.iter().filter(|of| of.risk == Risk::Low);
    let safe = safe.count();
    let parts = [(safe, "safe"), (advice.findings.len() - safe, "risky")];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(n, word)| format!("{n} {word}")).collect();
    let mut sentences = vec![
        format!("{findings} for {}: {}.", advice.goal, parts.join(", ")),
        changes(advice),
    ];
    sentences.extend(riskier(advice));
    sentences
}

/// One line for a host that is as it should be: `Nothing to change for throughput: 40 rules looked at 8 CPUs,
/// 2 NICs and 3 guests, 2 are undecided (see -v).`
fn nothing(advice: &Advice, hint: &str) -> String {
    let mut line = format!("Nothing to change for {}", advice.goal);
    if advice.checked > 0 {
        let rules = plural(advice.checked, "rule");
        line += &match advice.looked_at {
            Some(all) => format!(": {rules} looked at {}", looked_at(all)),
            None => format!(": {rules} checked"),
        };
    }
    match undecided(advice).len() {
        0 => {}
        1 => line += &format!(", 1 is undecided{hint}"),
        more => line += &format!(", {more} are undecided{hint}"),
    }
    line.push('.');
    if let Some(riskier) = riskier(advice) {
        line += &format!(" {riskier}");
    }
    line
}

/// `8 CPUs, 2 NICs and 1 guest`.
fn looked_at(all: LookedAt) -> String {
    let (cpus, nics) = (plural(all.cpus, "CPU"), plural(all.nics, "NIC"));
    match all.guests {
        0 => format!("{cpus} and {nics}"),
        guests => format!("{cpus}, {nics} and {}", plural(guests, "guest")),
    }
}

/// What nicety can change, and what it cannot.
fn changes(advice: &Advice) -> String {
    let settings = advice.changes().len();
    if settings == 0 {
        return "All need you.".to_owned();
    }
    let settings = plural(settings, "setting");
    let by_hand = advice.findings.iter().filter(|of| of.changes.is_empty());
    match by_hand.count() {
        0 => format!("nicety can change {settings}."),
        1 => format!("nicety can change {settings}; 1 finding needs you."),
        more => format!("nicety can change {settings}; {more} findings need you."),
    }
}

fn riskier(advice: &Advice) -> Option<String> {
    match advice.riskier {
        0 => None,
        1 => Some("1 riskier finding is left out.".to_owned()),
        more => Some(format!("{more} riskier findings are left out.")),
    }
}

/// Rules that could not decide, each once.
fn undecided(advice: &Advice) -> Vec<&str> {
    let mut ids: Vec<&str> = advice.waiting.iter().map(|of| of.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// What to run now.
fn next(advice: &Advice) -> Vec<String> {
    let mut lines = Vec::new();
    let changes = |risk: fn(Risk) -> bool| {
        let mut all = advice.findings.iter();
        all.any(|of| risk(of.risk) && !of.changes.is_empty())
    };
    let goal = match advice.goal {
        Goal::Throughput => String::new(),
        goal => format!(" --goal {goal}"),
    };
    let safe = changes(|risk| risk == Risk::Low);
    match (safe, changes(|risk| risk != Risk::Low)) {
        (true, true) => lines.push(format!(
            "Change the safe ones: nicety tune apply{goal} --fix-risk low"
        )),
        (true, false) | (false, true) => {
            lines.push(format!("Change them: nicety tune apply{goal}"));
        }
        (false, false) => {}
    }
    lines.push("Reasons, sources and steps by hand: nicety tune plan -v".into());
    let ids = undecided(advice);
    if !ids.is_empty() {
        let rules = match ids.len() {
            1 => "1 rule is undecided".to_owned(),
            more => format!("{more} rules are undecided"),
        };
        let mut options: Vec<&str> = Vec::new();
        for option in advice.waiting.iter().filter_map(|of| of.option.as_deref()) {
            if !options.contains(&option) {
                options.push(option);
            }
        }
        lines.push(if options.is_empty() {
            format!("{rules}: {}", ids.join(", "))
        } else {
            format!(
                "{rules}: {}. Rerun under your real load with {}",
                ids.join(", "),
                options.join(" ")
            )
        });
    }
    lines
}

fn table(advice: &Advice) -> Table {
    Table::of(
        "findings",
        advice.ranked(),
        columns![|f|
            "id" Name: &f.id;
            "rule" Name: &f.rule;
            "subject" Wide: &f.subject;
            "is → should be" Wide: format!("{} → {}", f.is, f.should);
            "by" Tight: by(f);
            "takes effect" Tight: when(f.effect);
            "gain" Tight: f.gain.map(|gain| gain.to_string());
            "risk" Tight: Badge::from(f.risk);
        ],
    )
    .wrapped()
    .narrow(&[
        ("gain", Narrow::Named),
        ("rule", Narrow::Named),
        ("by", Narrow::Named),
    ])
}

/// Who changes it.
fn by(finding: &Finding) -> &'static str {
    match (finding.changes.is_empty(), finding.effect) {
        (_, Effect::Nothing | Effect::Never) => "–",
        (true, _) => "you",
        (false, _) => "nicety",
    }
}

fn when(effect: Effect) -> &'static str {
    match effect {
        Effect::Now => "now",
        Effect::Reboot => "next boot",
        Effect::VmRestart => "guest restart",
        Effect::ModuleReload => "module reload",
        Effect::Never => "never",
        Effect::Nothing => "–",
    }
}

impl From<Risk> for Badge {
    fn from(risk: Risk) -> Self {
        match risk {
            Risk::Low => Self::new("low", Tone::Good),
            Risk::Medium => Self::new("medium", Tone::Warn),
            Risk::High => Self::new("high", Tone::Fail),
        }
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::{Certainty, Gain, Waiting};

    use super::*;
    use crate::document::terminal::shown;

    fn finding(id: &str, risk: Risk, gain: Gain) -> Finding {
        Finding {
            id: id.to_owned(),
            rule: "irq-affinity".to_owned(),
            subject: "eth0".to_owned(),
            is: "IRQ 120-123 are all on CPU 0, which also runs the guests".to_owned(),
            should: "one each on CPUs 1-4".to_owned(),
            formula: None,
            why: "W.".to_owned(),
            source: "S".to_owned(),
            cost: "C.".to_owned(),
            risk,
            certainty: Certainty::Likely,
            gain: Some(gain),
            effect: Effect::Now,
            changes: Vec::new(),
            advice: Vec::new(),
            conflicts: Vec::new(),
        }
    }

    fn advice(findings: Vec<Finding>) -> Advice {
        let waiting = |id: &str, option: &str| Waiting {
            id: id.to_owned(),
            rule: "ring".to_owned(),
            needs: "Rerun.".to_owned(),
            option: Some(option.to_owned()),
        };
        Advice {
            schema: 1,
            goal: Goal::Throughput,
            boot_id: None,
            peer: None,
            checked: 34,
            looked_at: Some(LookedAt {
                cpus: 8,
                nics: 1,
                guests: 0,
            }),
            riskier: 0,
            findings,
            waiting: vec![
                waiting("T09", "--window 10s"),
                waiting("T09", "--window 10s"),
                waiting("T19", "--rtt TIME"),
            ],
        }
    }

    #[test]
    fn what_brings_most_stands_first_and_fits_any_width() {
        let all = advice(vec![
            finding("T01", Risk::High, Gain::Small),
            finding("T02", Risk::High, Gain::Large),
            finding("T03", Risk::Low, Gain::Large),
        ]);
        for width in [20, 40, 60, 80, 120, 200] {
            let text = shown(&all, width, false);
            let at = |id: &str| text.find(id).unwrap();
            assert!(at("T03") < at("T02") && at("T02") < at("T01"), "{text}");
            assert!(text.starts_with("3 findings"), "{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= width.into(), "{width}: {line}");
            }
        }
        let text = shown(&all, 80, false);
        assert!(text.contains("1 safe, 2 risky."), "{text}");
        assert!(
            text.contains("T09, T19. Rerun under your real load"),
            "{text}"
        );
    }

    #[test]
    fn the_risk_has_a_colour_on_the_first_line_of_its_row() {
        let all = advice(vec![finding("T01", Risk::High, Gain::Small)]);
        let text = shown(&all, 80, true);
        assert!(text.contains("\u{1b}[31mhigh\u{1b}[0m"), "{text}");
        assert!(!shown(&all, 80, false).contains('\u{1b}'));
    }

    #[test]
    fn a_host_that_is_right_has_one_line() {
        let mut all = advice(Vec::new());
        let begin = "Nothing to change for throughput: 34 rules looked at 8 CPUs and 1 NIC";
        let text = |all: &Advice| shown(all, 120, false);
        assert_eq!(text(&all), format!("{begin}, 2 are undecided (see -v).\n"));
        all.waiting.clear();
        assert_eq!(text(&all), format!("{begin}.\n"));
        all.riskier = 1;
        assert!(text(&all).contains("1 riskier finding is left out."));
        all.looked_at = None;
        assert!(text(&all).starts_with("Nothing to change for throughput: 34 rules checked."));
    }
}
