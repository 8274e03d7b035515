//! A halted vCPU looks around before it sleeps (T30).

use nicety_model::facts::VmKind;
use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T30",
    name: "halt-poll",
    checks: "KVM polls as long as the host can afford",
    fires: "Fires for latency when halt_poll_ns is below 400000, or when polling takes time on a \
            host over 80 % busy.",
    writes: Some("halt_poll_ns of the kvm module: 400000, or 50000 on a busy host"),
    gain: Gain::Small,
    reasons: &[LONGER, SHORTER],
    check,
};

const LONGER: Reason = Reason {
    why: "KVM polls before it puts a halted vCPU to sleep. A frame that arrives meanwhile needs \
          no wake-up.",
    source: "Linux Documentation/virt/kvm/halt-polling.rst",
    cost: "Idle vCPUs use host CPU time: measure before and after. Guests with a limit of their \
           own ignore it.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

const SHORTER: Reason = Reason {
    why: "Halted vCPUs poll and take CPU time from running ones. This host has none to spare.",
    source: "Linux Documentation/virt/kvm/halt-polling.rst; design rule: host busier than 80 %",
    cost: "A frame for a halted vCPU waits for the scheduler more often. Guests with a limit of \
           their own ignore it.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

/// A host busier than this has no time to poll with.
const BUSY: f64 = 0.8;
const LITTLE_NS: u64 = 50_000;
const KEY: &str = "kvm.halt_poll_ns";
const WANTED_NS: u64 = 400_000;

fn check(case: &Case<'_>, report: &mut Report) {
    let guests = case
        .facts
        .vms
        .iter()
        .any(|vm| vm.kind == VmKind::Qemu && vm.kvm == Some(true));
    let now = case
        .facts
        .module_parameters
        .get(KEY)
        .and_then(|text| text.parse::<u64>().ok());
    let Some(now) = now.filter(|_| guests) else {
        return;
    };
    let watched = case.facts.window.as_ref();
    let busy = watched.filter(|window| window.host_busy() > BUSY);
    let (is, wanted, reason) = match busy {
        Some(window) if now > LITTLE_NS => {
            let share = 100.0 * window.host_busy();
            let is = format!(
                "halt_poll_ns = {now}, the host's CPUs {share:.0} % busy {}",
                in_seconds(window)
            );
            (is, LITTLE_NS, &SHORTER)
        }
        None if case.goal == Goal::Latency && now < WANTED_NS => {
            (format!("halt_poll_ns = {now}"), WANTED_NS, &LONGER)
        }
        _ => return,
    };
    let finding = report.find("kvm", is, format!("up to {wanted}"), reason);
    let knob = Knob::sys_file("module/kvm/parameters/halt_poll_ns");
    finding.changes.push(change(knob, now, wanted));
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    #[test]
    fn polling_grows_for_latency_with_guests() {
        let host = |value: &str| {
            let value = value.to_owned();
            Host::new(1, 4).vm("a", &[&[1]]).facts_with(|f| {
                drop(
                    f.module_parameters
                        .insert("kvm.halt_poll_ns".to_owned(), value),
                )
            })
        };
        assert_eq!(
            host("200000").goal(Goal::Latency).one("halt-poll").changes[0].to,
            "400000"
        );
        host("200000").none("halt-poll");
        host("800000").goal(Goal::Latency).none("halt-poll");
        host("200000")
            .facts_with(|f| f.vms.clear())
            .goal(Goal::Latency)
            .none("halt-poll");
        // A host that is busy all over polls less, whatever the goal.
        let busy = |value, share: f64| {
            let shares = (0..4).map(|cpu| (cpu, share)).collect();
            host(value).window(5.0, |window| window.busy = shares)
        };
        let finding = busy("200000", 0.9).one("halt-poll");
        assert_eq!(finding.changes[0].to, "50000");
        assert!(finding.is.ends_with("90 % busy in 5 s"), "{}", finding.is);
        let finding = busy("200000", 0.9).goal(Goal::Latency).one("halt-poll");
        assert_eq!(finding.changes[0].to, "50000");
        busy("50000", 0.9).none("halt-poll");
        busy("50000", 0.9).goal(Goal::Latency).none("halt-poll");
        busy("200000", 0.3).none("halt-poll");
        let finding = busy("200000", 0.3).goal(Goal::Latency).one("halt-poll");
        assert_eq!(finding.changes[0].to, "400000");
    }
}
