//! A slot that carries what the NIC's port does (T40).

use nicety_model::facts::{NetFacts, PcieLink};
use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T40",
    name: "pcie-link",
    checks: "The slot carries what the NIC's port does",
    fires: "Fires when the PCIe link carries less than the port's speed. Fires when ports of one card \
            fill their link in the window.",
    writes: None,
    gain: Gain::Large,
    reasons: &[NARROW, SHARED],
    check,
};

const NARROW: Reason = Reason {
    why: "Frames cross the PCIe link to memory. A slot with too few lanes, or one that trained at a lower \
          speed, is slower than the wire.",
    source: "Linux drivers/pci/pci.h, PCIE_SPEED2MBS_ENC; drivers/pci/pci-sysfs.c, current_link_speed and \
             current_link_width",
    cost: "The host is switched off and opened, or its firmware settings change. Headers of PCIe packets \
           take some 10 % more.",
    risk: Risk::Medium,
    certainty: Certainty::Certain,
};

const SHARED: Reason = Reason {
    why: "All ports of a card share its PCIe link, and that was full.",
    source: NARROW.source,
    cost: NARROW.cost,
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

/// Share of a link that is filled by frames, their packets' headers left out, from which on it is full.
const FULL: f64 = 0.8;

fn check(case: &Case<'_>, report: &mut Report) {
    let mut cards: Vec<&str> = Vec::new();
    for net in case.nics() {
        let Some(link) = link(net) else { continue };
        let carries = mbps(link.speed_gts, link.width);
        if net
            .link
            .speed_mbps
            .is_some_and(|speed| f64::from(speed) > carries)
        {
            narrow(net, &link, report);
        } else if let Some(card) = card(net).filter(|card| !cards.contains(card)) {
            cards.push(card);
            shared(case, card, &link, report);
        }
    }
}

/// The link, of a card that has one of its own: what a guest's NIC says of its link is made up.
fn link(net: &NetFacts) -> Option<PcieLink> {
    net.pcie.filter(|_| !net.is_vf && !net.is_paravirtual())
}

/// Address of the card, without the function: `0000:12:00`.
fn card(net: &NetFacts) -> Option<&str> {
    Some(net.link.bus.as_deref()?.rsplit_once('.')?.0)
}

/// What a link carries in Mbit/s: of 5 GT/s and less 8 bits in 10, above 128 in 130, from 64 on all.
fn mbps(gts: f64, width: u32) -> f64 {
    gts * 1e3 * encoding(gts).1 * f64::from(width)
}

fn encoding(gts: f64) -> (&'static str, f64) {
    match gts {
        gts if gts <= 5.0 => ("8/10", 8.0 / 10.0),
        gts if gts < 64.0 => ("128/130", 128.0 / 130.0),
        _ => ("1/1", 1.0),
    }
}

/// `63` of 63015 Mbit/s, `7.9` of 7877.
fn gigabits(mbps: f64) -> String {
    match mbps / 1e3 {
        fast if fast >= 20.0 => format!("{fast:.0}"),
        slow => format!("{}", (slow * 10.0).round() / 10.0),
    }
}

fn formula(link: &PcieLink) -> String {
    let PcieLink {
        speed_gts, width, ..
    } = link;
    format!(
        "{width} lanes × {speed_gts} GT/s × {} = {} Gbit/s",
        encoding(*speed_gts).0,
        gigabits(mbps(*speed_gts, *width))
    )
}

fn narrow(net: &NetFacts, link: &PcieLink, report: &mut Report) {
    let needed = f64::from(net.link.speed_mbps.unwrap_or(0));
    let finding = report.find(
        net.name(),
        format!(
            "the slot gives {} Gbit/s of {}: {} GT/s, {} lanes",
            gigabits(mbps(link.speed_gts, link.width)),
            gigabits(needed),
            link.speed_gts,
            link.width
        ),
        format!("a link of {} Gbit/s or more", gigabits(needed)),
        &NARROW,
    );
    finding.formula = Some(format!("{} < {} Gbit/s", formula(link), gigabits(needed)));
    finding.effect = Effect::Reboot;
    finding.advice.extend(remedies(net, link));
}

/// What a person can do, by what the card could.
fn remedies(net: &NetFacts, link: &PcieLink) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(most) = link.max_width.filter(|most| *most > link.width) {
        lines.push(format!(
            "The card has {most} lanes, the slot gives {}. Put it into a slot wired for more; check \
             riser and bifurcation.",
            link.width
        ));
    }
    if let Some(most) = link.max_speed_gts.filter(|most| *most > link.speed_gts) {
        lines.push(format!(
            "The card can {most} GT/s, the link runs at {}. Check the slot's generation, its firmware \
             setting and the riser.",
            link.speed_gts
        ));
    }
    if lines.is_empty() {
        lines.push("The card itself can no more: use another one.".to_owned());
    }
    let bus = net.link.bus.as_deref().unwrap_or(net.name());
    lines.push(format!("lspci -vv -s {bus} shows LnkCap and LnkSta."));
    lines
}

/// Ports of one card that are faster together than its link, while somebody looked on.
fn shared(case: &Case<'_>, address: &str, link: &PcieLink, report: &mut Report) {
    let ports: Vec<&NetFacts> = case
        .nics()
        .filter(|net| card(net) == Some(address))
        .collect();
    let carries = mbps(link.speed_gts, link.width);
    let speeds: u32 = ports.iter().filter_map(|net| net.link.speed_mbps).sum();
    let Some(window) = case
        .facts
        .window
        .as_ref()
        .filter(|_| f64::from(speeds) > carries)
    else {
        return;
    };
    let moved = |name: &str| {
        let bytes: u64 = ports
            .iter()
            .map(|net| window.counter(net.name(), name))
            .sum();
        bytes as f64 * 8.0 / window.seconds / 1e6
    };
    let busy = moved("rx_bytes").max(moved("tx_bytes"));
    if busy < FULL * carries {
        return;
    }
    let names: Vec<&str> = ports.iter().map(|net| net.name()).collect();
    let finding = report.find(
        &names.join(" "),
        format!(
            "one slot of {} Gbit/s carried {} {}; the ports have {}",
            gigabits(carries),
            gigabits(busy),
            in_seconds(window),
            gigabits(f64::from(speeds))
        ),
        format!("a link of {} Gbit/s or more", gigabits(f64::from(speeds))),
        &SHARED,
    );
    finding.formula = Some(format!(
        "{}; {} > {FULL} of it",
        formula(link),
        gigabits(busy)
    ));
    finding.effect = Effect::Reboot;
    finding.advice.extend(remedies(ports[0], link));
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::PcieLink;

    use crate::fixture::Host;

    fn host(speed_mbps: u32, speed_gts: f64, width: u32) -> Host {
        let link = PcieLink {
            speed_gts,
            width,
            max_speed_gts: Some(16.0),
            max_width: Some(16),
        };
        let host = Host::new(1, 4).nic("eth0", speed_mbps, 0);
        host.nic_with(|net| {
            net.pcie = Some(link);
            net.link.bus = Some("0000:12:00.0".to_owned());
        })
    }

    #[test]
    fn a_slot_below_the_port_is_found() {
        let finding = host(100_000, 8.0, 8).one("pcie-link");
        assert!(
            finding.is.starts_with("the slot gives 63 Gbit/s of 100"),
            "{}",
            finding.is
        );
        let formula = finding.formula.unwrap();
        assert_eq!(
            formula,
            "8 lanes × 8 GT/s × 128/130 = 63 Gbit/s < 100 Gbit/s"
        );
        assert!(finding.changes.is_empty() && finding.advice.len() == 3);
        for (speed, gts, width, fires) in [
            (10_000, 5.0, 2, true),
            (10_000, 5.0, 4, false),
            (2_500, 2.5, 1, true),
            (1_000, 2.5, 1, false),
            (100_000, 8.0, 16, false),
            (25_000, 8.0, 4, false),
            (400_000, 32.0, 16, false),
            (400_000, 64.0, 8, false),
        ] {
            let found = host(speed, gts, width).find("pcie-link").len();
            assert_eq!(found, usize::from(fires), "{speed} {gts} {width}");
        }
    }

    #[test]
    fn links_that_nobody_knows_are_left_alone() {
        let narrow = host(100_000, 8.0, 8);
        narrow
            .clone()
            .nic_with(|net| net.pcie = None)
            .none("pcie-link");
        narrow
            .clone()
            .nic_with(|net| net.is_vf = true)
            .none("pcie-link");
        narrow
            .clone()
            .nic_with(|net| net.link.speed_mbps = None)
            .none("pcie-link");
        narrow
            .clone()
            .nic_with(|net| net.link.up = false)
            .none("pcie-link");
        let virtio = Some("virtio_net".to_owned());
        narrow
            .nic_with(|net| net.link.driver = virtio)
            .none("pcie-link");
    }

    #[test]
    fn ports_of_one_card_share_a_slot_under_load() {
        let two = |gbytes: u64| {
            let host = host(25_000, 8.0, 4);
            let host = host.facts_with(|facts| {
                let mut second = facts.interfaces[0].clone();
                second.link.name = "eth1".to_owned();
                second.link.bus = Some("0000:12:00.1".to_owned());
                facts.interfaces.push(second);
            });
            host.window(1.0, |window| {
                for name in ["eth0", "eth1"] {
                    let bytes = [("rx_bytes".to_owned(), gbytes * 1_000_000_000)].into();
                    window.counters.insert(name.to_owned(), bytes);
                }
            })
        };
        // Two times 16 of 31.5 Gbit/s, and two times 8.
        assert_eq!(two(2).one("pcie-link").subject, "eth0 eth1");
        two(1).none("pcie-link");
        two(2)
            .facts_with(|facts| facts.window = None)
            .none("pcie-link");
    }
}
