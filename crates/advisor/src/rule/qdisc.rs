//! Queueing disciplines that pace (T22).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T22",
    name: "qdisc",
    checks: "Queueing disciplines pace long paths",
    fires: "Fires for throughput over 1 ms of round trip with pfifo_fast.",
    writes: None,
    gain: Gain::Small,
    reasons: &[PACED],
    check,
};

const PACED: Reason = Reason {
    why: "On a long path a whole window leaves as one burst and overflows a switch queue. fq \
          spreads it over the round trip.",
    source: "tc-fq(8); Linux Documentation/admin-guide/sysctl/net.rst, default_qdisc",
    cost: "A little CPU time per frame. The sysctl affects new interfaces only; set existing ones \
           with tc.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

/// Round trips above this make bursts worth pacing, in ms.
const FAR_MS: f64 = 1.0;
const SYSCTL: &str = "net.core.default_qdisc";

fn check(case: &Case<'_>, report: &mut Report) {
    let default = case.facts.sysctl.get(SYSCTL).map(String::as_str);
    let far = case.rtt_ms().is_some_and(|rtt| rtt > FAR_MS);
    if case.goal == Goal::Throughput && far && default == Some("pfifo_fast") {
        let plain: Vec<&str> = case
            .nics()
            .filter(|net| net.link.qdiscs.iter().any(|q| q.kind == "pfifo_fast"))
            .map(|net| net.name())
            .collect();
        let finding = report.find("host", format!("{SYSCTL} = pfifo_fast"), "fq", &PACED);
        finding
            .advice
            .push(format!("modprobe sch_fq && sysctl -w {SYSCTL}=fq"));
        for name in plain {
            finding
                .advice
                .push(format!("tc qdisc replace dev {name} root fq"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn far_senders_are_paced() {
        let host = Host::new(1, 2)
            .nic("eth0", 10_000, 0)
            .sysctl("net.core.default_qdisc", "pfifo_fast");
        host.none("qdisc");
        assert!(
            host.clone()
                .wish(|w| w.rtt_ms = Some(20.0))
                .one("qdisc")
                .changes
                .is_empty()
        );
        host.wish(|w| w.rtt_ms = Some(20.0))
            .sysctl("net.core.default_qdisc", "fq_codel")
            .none("qdisc");
    }
}
