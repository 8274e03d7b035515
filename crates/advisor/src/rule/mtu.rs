//! Frames of 9000 bytes where the whole path takes them (T14).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;
use nicety_model::path_mtu::Carried;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T14",
    name: "mtu",
    checks: "The MTU is 9000 where the whole path takes it",
    fires: "Fires for throughput when a link of 10 Gbit/s or more has an MTU below 9000.",
    writes: Some(
        "MTU of the NIC and what is stacked on it: 9000, only with --peer or --jumbo-path",
    ),
    gain: Gain::Medium,
    reasons: &[JUMBO],
    check,
};

const JUMBO: Reason = Reason {
    why: "Each frame costs the same work. At 10 Gbit/s a 1500-byte frame arrives every 1.2 µs, a \
          9000-byte frame every 7.2 µs.",
    source: "Oracle VM 3 10GbE network performance tuning (2013), jumbo frames",
    cost: "A switch, router, peer or guest that cannot take them drops large frames silently. \
           Test with ping -M do -s 8972, both ways.",
    risk: Risk::High,
    certainty: Certainty::Guess,
};

const WANTED: u32 = 9000;
/// Below this speed a core keeps up with small frames.
const FAST_MBPS: u32 = 10_000;

fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal != Goal::Throughput {
        return;
    }
    for net in case.nics() {
        let fast = net.link.speed_mbps.is_some_and(|speed| speed >= FAST_MBPS);
        let takes = net.link.mtu_max.is_none_or(|most| most >= WANTED);
        if !fast || !takes || net.link.mtu >= WANTED || net.is_vf {
            continue;
        }
        let stack = case.stack(net);
        let small: Vec<_> = stack.iter().filter(|hop| hop.link.mtu < WANTED).collect();
        let names: Vec<&str> = small.iter().map(|hop| hop.name()).collect();
        let finding = report.find(
            net.name(),
            format!(
                "MTU {} at {} Mbit/s",
                net.link.mtu,
                net.link.speed_mbps.unwrap_or(0)
            ),
            format!("{WANTED} on every hop, here {}", names.join(", ")),
            &JUMBO,
        );
        finding.advice.push(
            "Set net.ipv4.tcp_mtu_probing = 1 as a safety net. Give the guests the same MTU."
                .to_owned(),
        );
        let tried = tried(case);
        finding.advice.extend(tried.advice);
        if !tried.may_change {
            continue;
        }
        // A bridge takes the smallest MTU of its ports: ports first, in the order of the stack.
        finding.changes = small
            .iter()
            .map(|hop| {
                let knob = Knob::Mtu {
                    interface: hop.link.name.clone(),
                };
                change(knob, hop.link.mtu, WANTED)
            })
            .collect();
    }
}

/// Whether the MTU may be changed, and why.
struct Tried {
    may_change: bool,
    advice: Option<String>,
}

/// The user has tried the path, or there is somebody at its end with whom apply can.
fn tried(case: &Case<'_>) -> Tried {
    let (may_change, advice) = match case.wishes.peer {
        Some(probe) if probe.carried == Carried::Yes => (
            true,
            Some(format!(
                "{probe}. nicety tune apply tries {WANTED} with it, and undoes the change if they do \
                 not arrive."
            )),
        ),
        Some(probe) => (
            false,
            Some(format!(
                "{probe}, so the path cannot be tested. nicety changes nothing."
            )),
        ),
        None if case.wishes.jumbo_path => (true, None),
        None => (
            false,
            Some(
                "nicety changes nothing yet. Test the path with --peer ADDRESS, or pass --jumbo-path if \
                 you have tested it."
                    .to_owned(),
            ),
        ),
    };
    Tried { may_change, advice }
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Goal;
    use nicety_model::path_mtu::{Carried, PathProbe};

    use crate::fixture::Host;

    #[test]
    fn jumbo_frames_are_proposed_with_a_warning_and_done_only_when_tried() {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0).bridged();
        let finding = host.one("mtu");
        assert!(finding.cost.contains("ping -M do") && finding.changes.is_empty());
        assert!(finding.should.ends_with(" here eth0, br0"));
        let mut half = host.clone();
        half.facts.interfaces[1].link.mtu = 9000;
        assert!(half.one("mtu").should.ends_with(" here eth0"));
        let tried = host.clone().wish(|w| w.jumbo_path = true).one("mtu");
        let knobs: Vec<String> = tried.changes.iter().map(|c| c.knob.to_string()).collect();
        assert_eq!(knobs, ["eth0 MTU", "br0 MTU"]);
        let peer = |carried| PathProbe {
            peer: [192, 0, 2, 1].into(),
            bytes: 1500,
            carried,
        };
        let near = host.clone().wish(|w| w.peer = Some(peer(Carried::Yes)));
        let near = near.one("mtu");
        assert_eq!(near.changes.len(), 2);
        assert!(near.advice.iter().any(|a| a.contains("apply tries 9000")));
        let mute = host.clone().wish(|w| {
            w.jumbo_path = true;
            w.peer = Some(peer(Carried::Silent));
        });
        let mute = mute.one("mtu");
        assert!(mute.changes.is_empty());
        assert!(mute.advice.iter().any(|a| a.contains("cannot be tested")));
        host.goal(Goal::Latency).none("mtu");
        Host::new(1, 4).nic("eth0", 1_000, 0).none("mtu");
        Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .nic_with(|n| n.link.mtu = 9216)
            .none("mtu");
        Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .nic_with(|n| n.link.mtu_max = Some(1500))
            .none("mtu");
    }
}
