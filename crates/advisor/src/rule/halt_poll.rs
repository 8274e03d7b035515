//! A halted vCPU looks around before it sleeps (T30).

use nicety_model::facts::VmKind;
use nicety_model::finding::{Certainty, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};

const LONGER: Reason = Reason {
    why: "A frame that comes while KVM still polls finds its vCPU awake; later it pays for the \
          host's scheduler.",
    source: "Linux Documentation/virt/kvm/halt-polling.rst",
    cost: "Idle vCPUs use host CPU time; measure before and after. Guests that set their own limit \
           ignore it.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

const KEY: &str = "kvm.halt_poll_ns";
const WANTED_NS: u64 = 400_000;

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
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
    let Some(now) = now.filter(|now| *now < WANTED_NS) else {
        return;
    };
    if case.goal != Goal::Latency || !guests {
        return;
    }
    let finding = report.find(
        "kvm",
        format!("halt_poll_ns = {now}"),
        format!("up to {WANTED_NS}"),
        &LONGER,
    );
    let knob = Knob::sys_file("module/kvm/parameters/halt_poll_ns");
    finding.changes.push(change(knob, now, WANTED_NS));
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
    }
}
