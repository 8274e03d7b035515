//! TCP sizes its receive buffers itself (T18).

use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T18",
    name: "moderate-rcvbuf",
    checks: "TCP sizes its receive buffers itself",
    fires: "Fires when net.ipv4.tcp_moderate_rcvbuf is 0.",
    writes: Some("net.ipv4.tcp_moderate_rcvbuf: 1"),
    gain: Gain::Large,
    reasons: &[ON],
    check,
};

const ON: Reason = Reason {
    why: "Without it every connection keeps the default window, whatever the maximum allows.",
    source: "Linux Documentation/networking/ip-sysctl.rst; Oracle VM 3 10GbE network performance \
             tuning (2013), figure 1",
    cost: "None: 1 is the kernel's default.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

const SYSCTL: &str = "net.ipv4.tcp_moderate_rcvbuf";

fn check(case: &Case<'_>, report: &mut Report) {
    if case.facts.sysctl_number(SYSCTL) != Some(0) {
        return;
    }
    let finding = report.find("host", format!("{SYSCTL} = 0"), "1", &ON);
    finding.changes.push(change(Knob::sysctl(SYSCTL), 0, 1));
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn automatic_buffers_come_on() {
        let with = |value| Host::new(1, 2).sysctl("net.ipv4.tcp_moderate_rcvbuf", value);
        assert_eq!(with("0").one("moderate-rcvbuf").changes[0].to, "1");
        with("1").none("moderate-rcvbuf");
        Host::new(1, 2).none("moderate-rcvbuf");
    }
}
