//! Files that will lower a better running value (T20).

use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T20",
    name: "never-lower",
    checks: "No file lowers a better running value",
    fires: "Fires when a file sets a network limit below the value that runs now.",
    writes: None,
    gain: Gain::Small,
    reasons: &[LOWER],
    check,
};

const LOWER: Reason = Reason {
    why: "Kernel defaults have grown. A value from an old guide makes things worse at the next \
          boot.",
    source: "Linux net/ipv4/tcp.c, defaults by memory size; tuned's network-throughput profile \
             sets tcp_rmem to 16 MiB where Linux 6.18 has 32 MiB",
    cost: "None.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Settings of which more is better or harmless.
const GROWING: [&str; 7] = [
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.core.optmem_max",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

fn check(case: &Case<'_>, report: &mut Report) {
    for owner in &case.facts.owners {
        if !GROWING.contains(&owner.key.as_str()) {
            continue;
        }
        let Some(runs) = case.facts.sysctl_last(&owner.key) else {
            continue;
        };
        let last = owner.sets(&runs.to_string()).and_then(|value| {
            let word = value.split_whitespace().last()?;
            word.parse::<u64>().ok()
        });
        let Some(set) = last else { continue };
        if set >= runs {
            continue;
        }
        let finding = report.find(
            &owner.file,
            format!("sets {} = {}, but {runs} runs now", owner.key, owner.value),
            "remove the line, keep the running value",
            &LOWER,
        );
        finding.effect = Effect::Reboot;
        finding.advice.push(if owner.file.starts_with("/usr/lib/tuned/") {
            format!(
                "Make a profile of your own that includes this one and drops {}: the package would bring the \
                 line back.",
                owner.key
            )
        } else {
            format!("Remove {} from {}.", owner.key, owner.file)
        });
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::OwnerKind;

    use crate::fixture::Host;

    #[test]
    fn a_profile_that_halves_a_default_is_named() {
        let host = Host::new(1, 2).sysctl("net.ipv4.tcp_rmem", "4096 131072 33554432");
        let set = |value| {
            host.clone()
                .owner("/usr/lib/tuned/a/tuned.conf", "net.ipv4.tcp_rmem", value)
        };
        assert!(
            set("4096 131072 16777216")
                .one("never-lower")
                .is
                .contains("33554432 runs")
        );
        set("4096 131072 33554432").none("never-lower");
        let bound = |value| {
            let host = Host::new(1, 2).sysctl("net.core.rmem_max", "212992");
            let host = host.owner("/etc/tuned/a/tuned.conf", "net.core.rmem_max", value);
            host.facts_with(|facts| facts.owners[0].kind = OwnerKind::Tuned)
        };
        // At least, and at most.
        bound(">65536").none("never-lower");
        bound(">16777216").none("never-lower");
        bound("<65536").one("never-lower");
        bound("<16777216").none("never-lower");
        host.owner("/etc/sysctl.d/x.conf", "net.ipv4.ip_forward", "0")
            .none("never-lower");
    }
}
