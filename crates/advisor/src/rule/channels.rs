//! As many channels as the goal needs (T10).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::{Knob, Side};

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T10",
    name: "channels",
    checks: "The NIC has as many channels as the goal needs",
    fires: "Fires when a NIC has more channels than nearby cores, or too few for the goal.",
    writes: Some("Combined channels of the NIC (ethtool -L): at most the cores of its node"),
    gain: Gain::Medium,
    reasons: &[FIT],
    check,
};

const FIT: Reason = Reason {
    why: "Each channel adds an interrupt. More channels than nearby cores add only interrupts; a \
          single channel limits receive work to one core.",
    source: "Linux Documentation/networking/scaling.rst, RSS: as few queues as do not overflow, \
             not more than physical cores",
    cost: "The link drops for a moment. Interrupts, steering and the RSS table are reset.",
    risk: Risk::Medium,
    certainty: Certainty::Guess,
};

/// Share of one CPU above which a single queue is too few.
const CROWDED: f64 = 0.8;

fn check(case: &Case<'_>, report: &mut Report) {
    for net in case.nics() {
        let queues = &net.link.queues;
        let (Some(now), Some(max)) = (queues.combined, queues.combined_max) else {
            continue;
        };
        let cores = case.local_cores(net) as u32;
        if cores == 0 || max < 2 {
            continue;
        }
        let most = cores.min(max);
        let crowded = case
            .busiest_receiver_of(net)
            .is_some_and(|(_, share)| share > CROWDED);
        let wanted = match case.goal {
            Goal::Latency => most,
            _ if now > cores => most,
            _ if crowded && now < most => now.saturating_mul(2).min(most),
            _ => now,
        };
        // Never fewer than run for a goal that wants many.
        if wanted == now || (case.goal == Goal::Latency && now > wanted && now <= cores) {
            continue;
        }
        let finding = report.find(
            net.name(),
            format!("{now} of {max} channels, {cores} nearby cores"),
            format!("{wanted} channels"),
            &FIT,
        );
        finding.formula = Some(match case.goal {
            Goal::Latency => format!("min({cores} cores, {max}) = {most}"),
            _ if now > cores => format!("at most {cores} physical cores"),
            _ => {
                format!(
                    "one CPU receives most frames: 2 × {now}, at most min({cores} cores, {max})"
                )
            }
        });
        if let Some(vfs) = net.vfs.as_ref().filter(|vfs| vfs.count > 0) {
            finding.risk = Risk::High;
            finding.cost = format!(
                "{} Its {} virtual functions are reset too.",
                FIT.cost, vfs.count
            );
        }
        let knob = Knob::Channels {
            interface: net.link.name.clone(),
            side: Side::Combined,
        };
        finding.changes.push(change(knob, now, wanted));
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    fn to(host: &Host) -> Option<String> {
        host.find("channels")
            .first()
            .map(|f| f.changes[0].to.clone())
    }

    #[test]
    fn channels_follow_goal_and_cores() {
        let host = Host::new(2, 8).nic("eth0", 10_000, 0);
        for (now, goal, busy, wanted) in [
            (4, Goal::Throughput, false, None),
            (16, Goal::Throughput, false, Some("8")),
            (2, Goal::Throughput, true, Some("4")),
            (2, Goal::Forwarding, false, None),
            (2, Goal::Latency, false, Some("8")),
            (8, Goal::Latency, false, None),
        ] {
            let frames: &[u64] = if busy {
                &[2_000_000, 1]
            } else {
                &[1_000_000, 1_000_000]
            };
            let host = host.clone().combined(now, 64).goal(goal).processed(frames);
            assert_eq!(to(&host).as_deref(), wanted, "{now} {goal} {busy}");
        }
        let formula = |host: Host| host.one("channels").formula.unwrap();
        let many = formula(host.clone().combined(16, 64));
        assert_eq!(many, "at most 8 physical cores");
        let busy = formula(host.clone().combined(2, 64).processed(&[2_000_000, 1]));
        assert!(
            busy.starts_with("one CPU receives most frames: 2 × 2"),
            "{busy}"
        );
        host.combined(1, 1).goal(Goal::Latency).none("channels");
    }
}
