//! CPUs that carry frames at full speed (T23).

use std::collections::BTreeSet;

use nicety_model::cpu_list::name_cpus;
use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T23",
    name: "governor",
    checks: "CPUs that carry frames run at full speed",
    fires: "Fires when such a CPU uses a governor other than performance.",
    writes: Some("scaling_governor of these CPUs: performance"),
    gain: Gain::Medium,
    reasons: &[FAST],
    check,
};

const FAST: Reason = Reason {
    why: "Bursts of frames are shorter than the governor's interval. The CPU is still slow when \
          the burst is over.",
    source: "Linux Documentation/admin-guide/pm/cpufreq.rst",
    cost: "More power and heat on these CPUs.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// CPUs that carry frames: of queue interrupts, now and as proposed, and of pinned guests.
pub(super) fn data_cpus(case: &Case<'_>, report: &Report) -> BTreeSet<u32> {
    let now = case.nics().flat_map(|net| case.queue_irqs(net));
    let now = now.flat_map(|irq| irq.effective.iter().copied());
    let proposed = report.changes().filter_map(|c| match c.knob {
        Knob::IrqAffinity { .. } | Knob::ThreadCpus { .. } => c.to.parse().ok(),
        _ => None,
    });
    now.chain(proposed).chain(case.pinned_cpus()).collect()
}

fn check(case: &Case<'_>, report: &mut Report) {
    let cpu = &case.facts.cpu;
    let slow: Vec<u32> = data_cpus(case, report)
        .into_iter()
        .filter(|number| {
            let fast = cpu
                .governor
                .get(number)
                .is_none_or(|governor| governor == "performance");
            // With hardware-managed states the preference decides, not the governor.
            let preferred = cpu
                .energy_preference
                .get(number)
                .is_some_and(|p| p == "performance");
            !fast && !preferred
        })
        .collect();
    let Some(governor) = slow.first().and_then(|number| cpu.governor.get(number)) else {
        return;
    };
    let finding = report.find(
        "host",
        format!(
            "governor {governor} on {}, where frames are handled",
            name_cpus(&slow)
        ),
        "performance",
        &FAST,
    );
    finding.changes = slow
        .iter()
        .filter_map(|number| {
            let path = format!("devices/system/cpu/cpu{number}/cpufreq/scaling_governor");
            Some(change(
                Knob::sys_file(path),
                cpu.governor.get(number)?,
                "performance",
            ))
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn only_cpus_that_carry_frames_run_at_full_speed() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .irq(30, "eth0", &[2], 5);
        host.none("governor");
        let slow = host
            .facts_with(|f| f.cpu.governor = (0..4).map(|c| (c, "powersave".to_owned())).collect());
        let finding = slow.one("governor");
        assert_eq!(finding.changes.len(), 1);
        assert!(finding.changes[0].knob.to_string().contains("cpu2/"));
        slow.facts_with(|f| f.cpu.energy_preference = [(2, "performance".to_owned())].into())
            .none("governor");
    }
}
