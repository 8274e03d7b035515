//! CPUs that carry frames sleep lightly (T24).

use nicety_model::cpu_list::name_cpus;
use nicety_model::facts::IdleState;
use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;
use crate::rule::governor::data_cpus;

pub(super) const RULE: Rule = Rule {
    id: "T24",
    name: "cstate",
    checks: "CPUs that carry frames wake up fast",
    fires: "Fires for latency when such a CPU uses an idle state that takes over 10 µs to leave.",
    writes: Some("pm_qos_resume_latency_us of these CPUs: 10"),
    gain: Gain::Medium,
    reasons: &[LIGHT],
    check,
};

const LIGHT: Reason = Reason {
    why: "A CPU in a deep idle state takes long to wake up. A frame that arrives then waits.",
    source: "Linux Documentation/admin-guide/pm/cpuidle.rst; \
             Documentation/ABI/testing/sysfs-devices-power, pm_qos_resume_latency_us",
    cost: "More heat. The other thread of the core loses some turbo speed.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Longest wake-up that is allowed, in µs.
const LIMIT_US: u32 = 10;

fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal != Goal::Latency {
        return;
    }
    let data = data_cpus(case, report);
    let deep: Vec<_> = case
        .facts
        .cpu
        .idle
        .iter()
        .filter(|idle| data.contains(&idle.cpu))
        .filter(|idle| idle.latency_limit_us.is_none_or(|limit| limit > LIMIT_US))
        .filter(|idle| {
            let mut states = idle.states.iter();
            states.any(|s| s.latency_us > LIMIT_US && !s.disabled && entered(case, idle.cpu, s))
        })
        .collect();
    let Some(worst) = deep
        .iter()
        .flat_map(|idle| &idle.states)
        .max_by_key(|s| s.latency_us)
    else {
        return;
    };
    let cpus: Vec<u32> = deep.iter().map(|idle| idle.cpu).collect();
    let finding = report.find(
        "host",
        format!(
            "idle states down to {} ({} µs) on {}, where frames are handled",
            worst.name,
            worst.latency_us,
            name_cpus(&cpus)
        ),
        format!("wake up within {LIMIT_US} µs"),
        &LIGHT,
    );
    finding.changes = deep
        .iter()
        .map(|idle| {
            let path = format!(
                "devices/system/cpu/cpu{}/power/pm_qos_resume_latency_us",
                idle.cpu
            );
            change(
                Knob::sys_file(path),
                idle.latency_limit_us.unwrap_or(0),
                LIMIT_US,
            )
        })
        .collect();
}

/// Whether a CPU has used a state: while somebody looked on, or else since boot.
fn entered(case: &Case<'_>, cpu: u32, state: &IdleState) -> bool {
    match &case.facts.window {
        // A recording of an older version tells of no sleep at all.
        Some(window) if !window.slept.is_empty() => window
            .slept
            .get(&cpu)
            .is_some_and(|states| states.contains_key(&state.name)),
        _ => state.usage != Some(0),
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::{CpuIdle, IdleState};
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    #[test]
    fn deep_sleep_is_forbidden_where_frames_come() {
        let idle = |latency_us, limit| CpuIdle {
            cpu: 2,
            states: vec![IdleState {
                name: "C6".to_owned(),
                latency_us,
                disabled: false,
                usage: Some(4),
            }],
            latency_limit_us: limit,
        };
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .irq(30, "eth0", &[2], 5)
            .goal(Goal::Latency);
        let with = |idle: CpuIdle| host.clone().facts_with(move |f| f.cpu.idle = vec![idle]);
        assert_eq!(with(idle(133, None)).one("cstate").changes[0].to, "10");
        with(idle(2, None)).none("cstate");
        with(idle(133, Some(5))).none("cstate");
        with(idle(133, None)).goal(Goal::Throughput).none("cstate");
        // Deep since boot is one thing, deep under the load that matters another.
        let watched = |cpu, name: &str| {
            let slept = [(cpu, [(name.to_owned(), 3)].into())].into();
            with(idle(133, None)).window(5.0, |window| window.slept = slept)
        };
        watched(2, "C6").one("cstate");
        watched(2, "C1").none("cstate");
        watched(0, "C6").none("cstate");
    }
}
