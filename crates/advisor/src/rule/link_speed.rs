//! A link as fast as the NIC (T42).

use nicety_model::facts::NetFacts;
use nicety_model::finding::{Certainty, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T42",
    name: "link-speed",
    checks: "No link has fallen back to 100 Mbit/s or to half duplex",
    fires: "Fires when a NIC for 1 Gbit/s or more has a link of at most 100 Mbit/s, or a link is half duplex.",
    writes: None,
    gain: Gain::Large,
    reasons: &[SLOW, HALF],
    check,
};

const SLOW: Reason = Reason {
    why: "Gigabit Ethernet needs all four pairs of the cable. With one broken both ends agree on 100 Mbit/s.",
    source: "IEEE 802.3 clauses 28 and 40; ethtool(8), Speed; Linux Documentation/networking/phy.rst",
    cost: "The link is down while the cable is changed.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

const HALF: Reason = Reason {
    why: "One end is fixed to a mode, the other negotiates, hears no answer and takes half duplex. Each \
          then sees collisions of the other.",
    source: "IEEE 802.3 clause 28, parallel detection; ethtool(8), Duplex",
    cost: "The link is down for a moment.",
    risk: Risk::Medium,
    certainty: Certainty::Certain,
};

/// Drivers of NICs for 1 Gbit/s or more, for hosts whose record does not tell the modes they support. Some
/// of them drive a few chips for 100 Mbit/s, which only the modes tell.
const FAST: &str = "atlantic be2net bnx2 bnx2x bnxt_en cxgb3 cxgb4 e1000 e1000e enic fm10k hinic hns3 i40e \
    ice idpf igb igc ionic ixgb ixgbe mlx4_en mlx5_core mvpp2 myri10ge netxen_nic nfp ngbe \
    octeontx2-nicpf qede qlcnic r8125 r8126 r8168 r8169 sfc tg3 txgbe";
/// In Mbit/s.
const SLOW_MBPS: u32 = 100;

fn check(case: &Case<'_>, report: &mut Report) {
    // tuned lowers idle ports on purpose.
    let lowered = report
        .so_far()
        .iter()
        .any(|finding| finding.rule == "tuned-dynamic");
    // Of guests' NICs speed and duplex are made up.
    let real = |net: &&NetFacts| net.link.carrier && !net.is_vf && !net.is_paravirtual();
    for net in case.nics().filter(real) {
        let speed = net.link.speed_mbps;
        if net.duplex.as_deref() == Some("half") {
            let speed = speed.map_or("unknown speed".to_owned(), |mbps| format!("{mbps} Mbit/s"));
            let finding = report.find(
                net.name(),
                format!("{speed}, half duplex"),
                "full duplex",
                &HALF,
            );
            finding.advice.push(format!(
                "Let both ends negotiate: ethtool -s {} autoneg on, and no fixed mode at the switch's port.",
                net.name()
            ));
        } else if let Some(mbps) =
            speed.filter(|mbps| *mbps <= SLOW_MBPS && !lowered && is_fast(net))
        {
            slow(net, mbps, report);
        }
    }
}

/// Whether the NIC can more than 100 Mbit/s: by its modes, else by its driver.
fn is_fast(net: &NetFacts) -> bool {
    let driver = net.link.driver.as_deref();
    match net.link.speed_max_mbps {
        Some(most) => most > SLOW_MBPS,
        None => driver.is_some_and(|driver| FAST.split(' ').any(|fast| fast == driver)),
    }
}

fn slow(net: &NetFacts, mbps: u32, report: &mut Report) {
    let could = net.link.speed_max_mbps;
    let could = could.map_or("1000 Mbit/s or more".to_owned(), |most| {
        format!("{most} Mbit/s")
    });
    let finding = report.find(net.name(), format!("{mbps} Mbit/s"), could, &SLOW);
    finding.advice.push(format!(
        "ethtool {} shows what both ends offer. Where the far end offers more: change the cable, clean \
         the plug, try another port of the switch.",
        net.name()
    ));
    finding.advice.push(format!(
        "Where this end offers no more, somebody has limited it: ethtool -s {} autoneg on.",
        net.name()
    ));
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    fn host(driver: &str, speed: u32) -> Host {
        let driver = Some(driver.to_owned());
        Host::new(1, 2).nic("eth0", speed, 0).nic_with(|net| {
            net.link.driver = driver;
            net.link.carrier = true;
        })
    }

    #[test]
    fn a_gigabit_nic_at_100_is_found() {
        assert_eq!(host("igb", 100).one("link-speed").is, "100 Mbit/s");
        host("tg3", 10).one("link-speed");
        for (driver, speed) in [
            ("igb", 1_000),
            ("ixgbe", 1_000),
            // A chip for 100 Mbit/s, and what nobody knows.
            ("8139too", 100),
            ("asix", 100),
            ("virtio_net", 100),
        ] {
            host(driver, speed).none("link-speed");
        }
        host("igb", 100)
            .nic_with(|net| net.link.carrier = false)
            .none("link-speed");
    }

    #[test]
    fn modes_tell_more_than_the_drivers_name() {
        let most =
            |driver, mbps| host(driver, 100).nic_with(|net| net.link.speed_max_mbps = Some(mbps));
        most("r8169", 100).none("link-speed");
        assert_eq!(most("r8152", 1_000).one("link-speed").should, "1000 Mbit/s");
    }

    #[test]
    fn half_duplex_is_found_on_what_has_a_wire() {
        let half = |driver, word: &str| {
            let word = Some(word.to_owned());
            host(driver, 100).nic_with(|net| net.duplex = word)
        };
        assert_eq!(
            half("8139too", "half").one("link-speed").is,
            "100 Mbit/s, half duplex"
        );
        half("8139too", "full").none("link-speed");
        half("virtio_net", "half").none("link-speed");
        half("8139too", "half")
            .nic_with(|net| net.is_vf = true)
            .none("link-speed");
    }

    #[test]
    fn what_tuned_lowers_is_said_once() {
        let host = host("igb", 100).facts_with(|facts| {
            facts.services.tuned = true;
            facts.services.tuned_dynamic = Some(true);
        });
        host.one("tuned-dynamic");
        host.none("link-speed");
    }
}
