//! A virtual machine stays within what its cloud allows (T38).

use nicety_model::driver::{Meaning, Tally};
use nicety_model::finding::{Certainty, Gain, Risk};

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T38",
    name: "cloud-allowances",
    checks: "The cloud's allowances are enough",
    fires: "Fires when the NIC's driver counts frames beyond the machine's allowance in the window.",
    writes: None,
    gain: Gain::Large,
    reasons: &[BEYOND],
    check,
};

const BEYOND: Reason = Reason {
    why: "The cloud queues or drops what is beyond the allowance of this type of machine. No setting \
          of the guest changes that.",
    source: "Amazon EC2 User Guide, Monitor network performance for ENA settings; Linux \
             drivers/net/ethernet/amazon/ena/ena_ethtool.c",
    cost: "A larger type of machine costs more.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

/// Fewer in a window are a short burst.
const FEWEST: u64 = 10;

fn check(case: &Case<'_>, report: &mut Report) {
    let kinds = [Meaning::Allowance];
    let Some(window) = case.window_of(report, &kinds, "frames beyond the cloud's allowances")
    else {
        return;
    };
    for net in case.nics() {
        let mut beyond = window.tallies(net, Meaning::Allowance);
        beyond.retain(|tally| tally.count >= FEWEST);
        if beyond.is_empty() {
            continue;
        }
        let words: Vec<String> = beyond.iter().map(words).collect();
        let finding = report.find(
            net.name(),
            format!(
                "beyond its allowance {}: {}",
                in_seconds(window),
                words.join(", ")
            ),
            "less traffic, or a larger type of machine",
            &BEYOND,
        );
        finding.advice.extend(beyond.iter().map(advice));
    }
}

/// `900 frames by pps_allowance_exceeded`.
fn words(tally: &Tally) -> String {
    format!("{} frames by {}", tally.count, tally.counter)
}

/// What helps with one allowance.
fn advice(tally: &Tally) -> String {
    let name = tally.counter.as_str();
    if name.starts_with("bw_") {
        "Bandwidth: send less at once, spread peaks, or take a type with more bandwidth."
    } else if name.starts_with("pps_") {
        "Packets a second: use larger packets (TSO, GRO, a larger MTU), or a larger type."
    } else if name.starts_with("conntrack_") {
        "Tracked connections: allow all in the security groups of busy ports, or keep connections open."
    } else if name.starts_with("linklocal_") {
        "Local services: cache DNS answers in the guest, and ask metadata and time less often."
    } else {
        "See the cloud's page on this allowance."
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    fn ena(counters: &[(&str, u64)]) -> Host {
        let counters = counters
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        let counters = counters.collect();
        Host::new(1, 4)
            .nic("ens5", 10_000, 0)
            .nic_with(|net| net.link.driver = Some("ena".to_owned()))
            .window(10.0, |window| {
                window.driver_drops.insert("ens5".to_owned(), counters);
            })
    }

    #[test]
    fn every_allowance_is_told() {
        let host = ena(&[
            ("bw_in_allowance_exceeded", 40),
            ("pps_allowance_exceeded", 900),
        ]);
        let finding = host.one("cloud-allowances");
        assert_eq!(
            finding.is,
            "beyond its allowance in 10 s: 900 frames by pps_allowance_exceeded, 40 frames by \
             bw_in_allowance_exceeded"
        );
        assert!(finding.changes.is_empty() && finding.advice.len() == 2);
        host.none("ring");
    }

    #[test]
    fn what_is_left_and_what_was_are_no_finding() {
        ena(&[("conntrack_allowance_available", 136_812)]).none("cloud-allowances");
        ena(&[("pps_allowance_exceeded", 3)]).none("cloud-allowances");
        let past = Host::new(1, 4).nic("ens5", 10_000, 0);
        assert_eq!(past.waits("cloud-allowances"), "");
        let past = past.nic_with(|net| {
            net.link.driver_drops = [("pps_allowance_exceeded".to_owned(), 70)].into();
        });
        past.none("cloud-allowances");
        assert!(past.waits("cloud-allowances").contains("--window"));
    }
}
