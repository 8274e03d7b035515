//! Receive flow steering (T07): to the CPU of the program that reads.

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T07",
    name: "rfs",
    checks: "Steered frames reach the CPU of their program",
    fires: "Fires when receive steering is on without flow tables and traffic ends on this host.",
    writes: Some("net.core.rps_sock_flow_entries: 32768; rps_flow_cnt of each steered queue"),
    gain: Gain::Small,
    reasons: &[FOLLOW],
    check,
};

const FOLLOW: Reason = Reason {
    why: "Steering by hash picks any CPU. With flow tables the CPU of the program does the \
          protocol work, with the data in its cache.",
    source: "Linux Documentation/networking/scaling.rst, RFS: 32768 entries for a busy server, \
             divided by the queues",
    cost: "A few hundred KiB of memory.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

const ENTRIES: u64 = 32_768;
const SYSCTL: &str = "net.core.rps_sock_flow_entries";

fn check(case: &Case<'_>, report: &mut Report) {
    let Some(entries) = case.facts.sysctl_number(SYSCTL) else {
        return;
    };
    if case.goal == Goal::Forwarding {
        return;
    }
    for net in case.nics().filter(|net| !case.forwards(net)) {
        let steered: Vec<_> = net
            .rx_steering
            .iter()
            .filter(|q| !q.cpus.is_empty())
            .collect();
        let unset: Vec<_> = steered
            .iter()
            .filter(|q| q.flow_entries == Some(0))
            .collect();
        if steered.is_empty() || (entries > 0 && unset.is_empty()) {
            continue;
        }
        let each = ENTRIES / steered.len() as u64;
        let finding = report.find(
            net.name(),
            format!(
                "steering by hash; {SYSCTL} = {entries}, {} queues without a table",
                unset.len()
            ),
            format!("{} entries, {each} per queue", entries.max(ENTRIES)),
            &FOLLOW,
        );
        finding.formula = Some(format!("{ENTRIES} / {} queues = {each}", steered.len()));
        if entries < ENTRIES {
            finding
                .changes
                .push(change(Knob::sysctl(SYSCTL), entries, ENTRIES));
        }
        for queue in unset {
            let path = format!(
                "class/net/{}/queues/rx-{}/rps_flow_cnt",
                net.name(),
                queue.queue
            );
            finding.changes.push(change(Knob::sys_file(path), 0, each));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn flow_tables_follow_steering() {
        let host = Host::new(1, 8)
            .nic("eth0", 10_000, 0)
            .queues(2, &[1, 2])
            .sysctl("net.core.rps_sock_flow_entries", "0");
        let finding = host.one("rfs");
        let to: Vec<&str> = finding.changes.iter().map(|c| c.to.as_str()).collect();
        assert_eq!(to, ["32768", "16384", "16384"]);
        host.clone().sysctl("net.ipv4.ip_forward", "1").none("rfs");
        host.queues(2, &[]).none("rfs");
    }
}
