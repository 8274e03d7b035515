//! Zero-copy transmission of vhost (T27): off unless it was measured.

use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T27",
    name: "zerocopy",
    checks: "vhost zero-copy is off unless it was measured",
    fires: "Fires when vhost_net runs with experimental_zcopytx = 1.",
    writes: None,
    gain: Gain::Small,
    reasons: &[OFF],
    check,
};

const OFF: Reason = Reason {
    why: "Zero-copy helps only large frames that leave the host. Between guests the frame is \
          copied later, and a slow receiver blocks the sender's memory.",
    source: "Linux drivers/vhost/net.c: experimental, 0 by default, read-only at run time; Red \
             Hat Virtualization Tuning and Optimization Guide 5.4.1",
    cost: "All guests with vhost stop while the module reloads.",
    risk: Risk::Medium,
    certainty: Certainty::Guess,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let value = case
        .facts
        .module_parameters
        .get("vhost_net.experimental_zcopytx");
    if value.is_none_or(|value| value == "0") {
        return;
    }
    let finding = report.find(
        "vhost_net",
        "experimental_zcopytx = 1",
        "0, unless a measurement showed a gain",
        &OFF,
    );
    finding.effect = Effect::ModuleReload;
    finding.advice.push("Write options vhost_net experimental_zcopytx=0 in /etc/modprobe.d. Reload the module while no guest runs.".to_owned());
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn zero_copy_is_questioned_where_it_is_on() {
        let with = |value: &str| {
            let value = value.to_owned();
            Host::new(1, 2).facts_with(|f| {
                drop(
                    f.module_parameters
                        .insert("vhost_net.experimental_zcopytx".to_owned(), value),
                )
            })
        };
        with("1").one("zerocopy");
        with("0").none("zerocopy");
    }
}
