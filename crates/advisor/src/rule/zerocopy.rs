//! Zero-copy transmission of vhost (T27): off unless it was measured.

use nicety_model::finding::{Certainty, Effect, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};

const OFF: Reason = Reason {
    why: "Zero-copy helps large frames to the outside only; between guests the frame is copied \
          later and a slow receiver holds the sender's memory.",
    source: "Linux drivers/vhost/net.c: experimental, 0 by default, read-only at run time; Red Hat \
             Virtualization Tuning and Optimization Guide 5.4.1",
    cost: "All guests with vhost stop while the module is loaded again.",
    risk: Risk::Medium,
    certainty: Certainty::Guess,
};

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
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
    finding.advice.push("options vhost_net experimental_zcopytx=0 in /etc/modprobe.d, then load it again without guests".to_owned());
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
