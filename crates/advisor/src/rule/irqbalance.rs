//! irqbalance must leave alone what is placed by hand (T05).

use nicety_model::finding::{Certainty, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report};

const LEAVE: Reason = Reason {
    why: "irqbalance looks at all interrupts every 10 s and moves them where it likes; it goes on \
          doing good work for the others.",
    source: "irqbalance(1), --banirq; github.com/Irqbalance/irqbalance issues 297 and 202: bans \
             need checking",
    cost: "irqbalance restarts once.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
    let services = &case.facts.services;
    let placed: Vec<u32> = report
        .so_far()
        .iter()
        .flat_map(|finding| &finding.changes)
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
            "runs and may move {} interrupts placed by rule T04",
            missing.len()
        ),
        "told to leave exactly these alone; the service stays on",
        &LEAVE,
    );
    finding.advice.push(format!(
        "in /etc/default/irqbalance: IRQBALANCE_ARGS=\"{}\", then restart irqbalance",
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
