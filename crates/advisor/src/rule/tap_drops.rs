//! Frames that a guest does not take (T46).

use nicety_model::facts::{InterfaceClass, NetFacts, VmFacts, VmNic, WindowFacts};
use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::number;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T46",
    name: "tap-drops",
    checks: "Guests take the frames that are sent to them",
    fires: "Fires when a guest's tap dropped 0.1 % or more of the frames to its guest in the window.",
    writes: None,
    gain: Gain::Large,
    reasons: &[FULL],
    check,
};

const FULL: Reason = Reason {
    why: "What is sent to a guest waits in its tap's ring. A full ring drops frames: the guest, its vhost \
          thread or QEMU empties it too slowly.",
    source: "Linux drivers/net/tun.c, tun_net_xmit; drivers/net/tap.c, tap_handle_frame; \
             drivers/vhost/net.c, handle_rx",
    cost: "More queues need CPUs and a restart of the guest. A longer ring adds waiting time.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

/// Share of the frames to the guest, and how many at least.
const SHARE: f64 = 0.001;
const LEAST: u64 = 10;
/// Drops since the tap was made that are worth a look.
const LEAST_EVER: u64 = 1000;
/// A vhost thread with less than this of its CPU waits for the guest.
const BUSY: f64 = 0.9;

fn check(case: &Case<'_>, report: &mut Report) {
    let taps = || {
        case.facts
            .interfaces
            .iter()
            .filter(|net| net.link.up && counters(net).is_some())
    };
    let Some(window) = &case.facts.window else {
        if taps().any(dropped_ever) {
            case.window(report, "frames that guests did not take");
        }
        return;
    };
    for net in taps() {
        let Some((dropped, sent)) = moved(window, net) else {
            continue;
        };
        let share = dropped as f64 / (dropped + sent) as f64;
        // One that took none is off, or its interface is down.
        if sent == 0 || dropped < LEAST || share < SHARE {
            continue;
        }
        tell(case, (net, window), (dropped, share), report);
    }
}

/// Counters of frames dropped and passed on to the guest; a macvtap counts them as received
/// (drivers/net/macvlan.c, `macvlan_dev_get_stats64`).
fn counters(net: &NetFacts) -> Option<(&'static str, &'static str)> {
    match net.class {
        InterfaceClass::Tap => Some(("tx_dropped", "tx_packets")),
        InterfaceClass::Macvtap => Some(("rx_dropped", "rx_packets")),
        // Of Xen.
        _ if net.link.driver.as_deref() == Some("vif") => Some(("tx_dropped", "tx_packets")),
        _ => None,
    }
}

fn moved(window: &WindowFacts, net: &NetFacts) -> Option<(u64, u64)> {
    let (dropped, passed) = counters(net)?;
    let of = |name| window.counter(net.name(), name);
    Some((of(dropped), of(passed)))
}

fn dropped_ever(net: &NetFacts) -> bool {
    let Some((dropped, passed)) = counters(net) else {
        return false;
    };
    let (dropped, passed) = (net.counter(dropped), net.counter(passed));
    dropped >= LEAST_EVER && dropped as f64 >= SHARE * (dropped + passed) as f64
}

fn tell(
    case: &Case<'_>,
    (net, window): (&NetFacts, &WindowFacts),
    (dropped, share): (u64, f64),
    report: &mut Report,
) {
    let guest = guest_of(case, net.name());
    let finding = report.find(
        net.name(),
        format!(
            "dropped {} frames to its guest {}, {} of them{}",
            number::count(dropped),
            in_seconds(window),
            number::share(share),
            guest
                .map(|(vm, nic)| drained(window, vm, nic))
                .unwrap_or_default()
        ),
        "the guest takes them all",
        &FULL,
    );
    finding.formula = Some(format!(
        "dropped / (dropped + passed) < {}",
        number::share(SHARE)
    ));
    finding
        .advice
        .push(format!("nicety drops {} names the reason.", net.name()));
    let queues = guest.and_then(|(_, nic)| nic.queues).unwrap_or(1);
    if queues <= 1 {
        finding
            .advice
            .push("Give the guest's NIC more queues, one per vCPU: queues=N, mq=on.".to_owned());
    }
    finding.advice.push(
        "Let more frames wait: rx_queue_size=1024 of the guest's virtio-net device.".to_owned(),
    );
    finding.advice.push(
        "Give its vhost threads CPUs of their own, and look whether the guest's CPUs are busy."
            .to_owned(),
    );
}

/// The guest whose NIC an interface is.
fn guest_of<'a>(case: &Case<'a>, interface: &str) -> Option<(&'a VmFacts, &'a VmNic)> {
    let mut nics = case.guest_nics();
    nics.find(|(_, nic)| nic.interface.as_deref() == Some(interface))
}

/// What empties its ring, where that is known.
fn drained(window: &WindowFacts, vm: &VmFacts, nic: &VmNic) -> String {
    let busy = vm.vhost.iter().filter_map(|thread| {
        let share = window.vhost_busy.get(&thread.tid)?;
        Some((thread.name.as_str(), *share))
    });
    match busy.max_by(|a, b| a.1.total_cmp(&b.1)) {
        _ if nic.vhost == Some(false) => "; QEMU itself moves them, without vhost".to_owned(),
        Some((name, share)) if share >= BUSY => {
            format!(
                "; {name} used {} of a CPU, all it can",
                number::share(share)
            )
        }
        Some((name, share)) => {
            format!(
                "; {name} used {} of a CPU and waited for the guest",
                number::share(share)
            )
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::{InterfaceClass, VmNic};

    use crate::fixture::{Host, thread};

    fn host(class: InterfaceClass) -> Host {
        Host::new(1, 4)
            .nic("tap0", 10, 0)
            .nic_with(|net| net.class = class)
    }

    fn counted(host: Host, dropped: u64, passed: u64) -> Host {
        host.window(10.0, |window| {
            let counters = [("tx_dropped", dropped), ("tx_packets", passed)];
            let counters = counters.map(|(name, value)| (name.to_owned(), value));
            window.counters.insert("tap0".to_owned(), counters.into());
        })
    }

    #[test]
    fn a_tap_that_drops_is_told_with_what_empties_it() {
        let host = host(InterfaceClass::Tap);
        let finding = counted(host.clone(), 50_000, 100_000).one("tap-drops");
        assert!(
            finding
                .is
                .starts_with("dropped 50,000 frames to its guest in 10 s, 33"),
            "{}",
            finding.is
        );
        assert!(
            finding
                .advice
                .iter()
                .any(|line| line.contains("nicety drops tap0"))
        );
        let guest = |busy: f64, vhost: bool| {
            let host = host.clone().vm("a", &[&[1], &[2]]).facts_with(|facts| {
                facts.vms[0].vhost = vec![thread(7, "vhost-900", &[1])];
                facts.vms[0].nics = vec![VmNic {
                    interface: Some("tap0".to_owned()),
                    vhost: Some(vhost),
                    queues: Some(2),
                    ..VmNic::default()
                }];
            });
            let mut host = counted(host, 500, 100_000);
            if let Some(window) = &mut host.facts.window {
                window.vhost_busy.insert(7, busy);
            }
            host.one("tap-drops")
        };
        let full = guest(0.99, true);
        assert!(
            full.is.contains("vhost-900 used 99") && full.is.ends_with("all it can"),
            "{}",
            full.is
        );
        assert!(!full.advice.iter().any(|line| line.contains("more queues")));
        assert!(guest(0.1, true).is.ends_with("waited for the guest"));
        assert!(guest(0.1, false).is.ends_with("without vhost"));
    }

    #[test]
    fn a_few_drops_and_a_guest_that_is_off_are_not() {
        let host = host(InterfaceClass::Tap);
        counted(host.clone(), 50, 100_000).none("tap-drops");
        counted(host.clone(), 5, 10).none("tap-drops");
        counted(host.clone(), 50_000, 0).none("tap-drops");
        counted(host.clone(), 0, 100_000).none("tap-drops");
        counted(
            host.clone().nic_with(|net| net.link.up = false),
            50_000,
            100_000,
        )
        .none("tap-drops");
        counted(self::host(InterfaceClass::Veth), 50_000, 100_000).none("tap-drops");
        // Without a window what it dropped long ago says little.
        assert_eq!(host.waits("tap-drops"), "");
        let old = host
            .counter("tx_dropped", 900_000)
            .counter("tx_packets", 1_000_000);
        assert!(old.waits("tap-drops").contains("--window 10s"));
        old.none("tap-drops");
    }
}
