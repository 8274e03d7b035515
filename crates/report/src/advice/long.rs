//! Findings with their reasons, for `nicety tune plan -v`.

use nicety_model::finding::{Advice, Certainty, Effect, Finding};

use crate::page::clean;

/// Indent of what belongs to a finding.
const INDENT: usize = 4;

/// The counts, every finding, then what could not be decided.
pub fn render(advice: &Advice, width: u16) -> String {
    let mut page = Page {
        text: String::new(),
        width: usize::from(width).clamp(40, 110),
    };
    let answer = super::answer(advice, "").join(" ");
    page.wrap(0, format_args!("{answer}"));
    for finding in advice.ranked() {
        page.text.push('\n');
        one(&mut page, finding);
    }
    if !advice.waiting.is_empty() {
        page.text.push('\n');
    }
    for waiting in &advice.waiting {
        page.wrap(
            0,
            format_args!(
                "{} {}: undecided. {}",
                waiting.id, waiting.rule, waiting.needs
            ),
        );
    }
    page.text
}

fn one(page: &mut Page, finding: &Finding) {
    page.wrap(
        0,
        format_args!(
            "{} {} {}: {}",
            finding.id, finding.rule, finding.subject, finding.is
        ),
    );
    page.wrap(INDENT, format_args!("should be: {}", finding.should));
    if let Some(formula) = &finding.formula {
        page.wrap(INDENT, format_args!("from: {formula}"));
    }
    page.wrap(
        INDENT,
        format_args!("why: {} ({})", finding.why, finding.source),
    );
    page.wrap(
        INDENT,
        format_args!(
            "cost: {} {}Risk {}, {}, {}.",
            finding.cost,
            finding
                .gain
                .map_or_else(String::new, |gain| format!("Gain {gain}. ")),
            finding.risk,
            certainty(finding.certainty),
            effect(finding.effect)
        ),
    );
    for conflict in &finding.conflicts {
        page.wrap(INDENT, format_args!("beware: {conflict}"));
    }
    for change in &finding.changes {
        page.wrap(
            INDENT,
            format_args!("change: {}: {} → {}", change.knob, change.from, change.to),
        );
    }
    for advice in &finding.advice {
        page.wrap(INDENT, format_args!("by hand: {advice}"));
    }
}

fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Guess => "a guess: measure it",
        Certainty::Likely => "likely to help",
        Certainty::Certain => "certain",
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Now => "takes effect at once",
        Effect::Reboot => "takes effect at the next boot",
        Effect::VmRestart => "takes effect when the guest restarts",
        Effect::ModuleReload => "takes effect when the module reloads",
        Effect::Never => "the kernel does not allow the change",
        Effect::Nothing => "nothing to change",
    }
}

/// Text wrapped at blanks.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// A paragraph; lines after the first stand two columns further in. Names come from outside:
    /// control characters are replaced.
    fn wrap(&mut self, indent: usize, text: std::fmt::Arguments<'_>) {
        let mut column = 0;
        for word in clean(&text.to_string()).split(' ') {
            let length = word.chars().count();
            if column == 0 {
                self.text.push_str(&" ".repeat(indent));
                column = indent;
            } else if column + 1 + length > self.width {
                self.text.push('\n');
                self.text.push_str(&" ".repeat(indent + 2));
                column = indent + 2;
            } else {
                self.text.push(' ');
                column += 1;
            }
            self.text.push_str(word);
            column += length;
        }
        self.text.push('\n');
    }
}
