//! irqbalance must leave alone what is placed by hand (T05).

use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T05",
    name: "irqbalance",
    checks: "irqbalance leaves placed interrupts alone",
    fires: "Fires when irqbalance runs and rule T04 places interrupts.",
    writes: None,
    gain: Gain::Medium,
    reasons: &[LEAVE],
    check,
};

const LEAVE: Reason = Reason {
    why: "irqbalance moves interrupts every 10 s and undoes the placement. It still does useful \
          work for the others.",
    source: "irqbalance(1), --banirq; github.com/Irqbalance/irqbalance issues 297 and 202: bans \
             need checking",
    cost: "irqbalance restarts once.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let services = &case.facts.services;
    let placed: Vec<u32> = report
        .changes()
        .filter_map(|change| match change.knob {
            Knob::IrqAffinity { irq } => Some(irq),
            _ => None,
        })
        .collect();
    let options = services.irqbalance_options.as_deref().unwrap_or_default();
    let arguments: Vec<&str> = options.split([' ', '"', '\'']).collect();
    let banned = |irq: &u32| arguments.contains(&format!("--banirq={irq}").as_str());
    let missing: Vec<String> = placed
        .iter()
        .filter(|irq| !banned(irq))
        .map(|irq| format!("--banirq={irq}"))
        .collect();
    if !services.irqbalance || missing.is_empty() {
        return;
    }
    let finding = report.find(
        "irqbalance",
        format!(
            "runs and may move {} interrupts that rule T04 places",
            missing.len()
        ),
        "ban these interrupts; keep the service running",
        &LEAVE,
    );
    finding.advice.push(format!(
        "Write IRQBALANCE_ARGS=\"{}\" in /etc/default/irqbalance, then restart irqbalance.",
        missing.join(" ")
    ));
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn only_interrupts_that_are_placed_are_banned() {
        let host = Host::new(2, 4)
            .nic("eth0", 10_000, 1)
            .irq(30, "eth0", &[0], 5);
        host.none("irqbalance");
        let runs = host.facts_with(|f| f.services.irqbalance = true);
        assert!(runs.one("irqbalance").advice[0].contains("\"--banirq=30\""));
        let with_options = |text: &'static str| {
            runs.clone()
                .facts_with(move |f| f.services.irqbalance_options = Some(text.to_owned()))
        };
        with_options("IRQBALANCE_ARGS=\"--banirq=30\"").none("irqbalance");
        assert_eq!(
            with_options("IRQBALANCE_ARGS=--banirq=300")
                .find("irqbalance")
                .len(),
            1
        );
        Host::new(1, 4)
            .facts_with(|f| f.services.irqbalance = true)
            .none("irqbalance");
    }
}
