//! Packets, the second resource: shared by the same controller as bits, in packets of `PACKET_BYTES` each.
//!
//! What limits a port drops and holds for both resources. Which of them was the reason is the one that the port used
//! the greater share of; to the other one it looks like a port that wants no more, and lends.

use std::time::Duration;

use nicety_model::BitRate;
use nicety_model::knob::PACKET_BYTES;

use crate::controller::{Controller, Decision, PortSetup, Seen};
use crate::drf::{Claim, divide};
use crate::driver::Steps;
use crate::meter::{Counters, FCS, Sample, WIRE_OVERHEAD};
use crate::policy::{Policy, Tenant};
use crate::report::{PacketsPort, PacketsState, PacketsTenant};
use crate::tuning::Tuning;

/// Bits that stand for a packet.
const UNIT: f64 = PACKET_BYTES as f64 * 8.0;
/// The least that a port is limited to, in packets a second.
const LEAST: f64 = 10.0;
/// How many times what it uses a tenant that is not held may grow in a period.
const GROWTH: f64 = 1.1;

impl Policy {
    /// Whether the packets of a tenant are limited.
    pub fn limits_packets(&self, tenant: usize) -> bool {
        let own = self.tenants.get(tenant).and_then(|tenant| tenant.max_pps);
        self.packets.is_some() || own.is_some()
    }
}

/// The limits of packets in one direction.
#[derive(Debug, Clone)]
pub struct Packets {
    controller: Controller,
    policy: Policy,
    ports: Vec<Port>,
    decision: Option<Decision>,
}

/// A port, as far as its packets go.
#[derive(Debug, Clone, Default)]
struct Port {
    limited: bool,
    tenant: usize,
    /// What it is limited to, as found.
    found: Option<u64>,
    /// What it should be.
    wanted: Option<u64>,
    last: Option<Sample>,
    /// Drops that each resource was the reason of.
    drops: [u64; 2],
    /// Bits and packets a second since the last sample.
    uses: [f64; 2],
    held: bool,
}

/// Ends a period of a direction, with its packets where the policy limits these.
pub fn step(packets: Option<&mut Packets>, bits: &mut Controller, seen: &[Seen]) -> Decision {
    match packets {
        Some(packets) => packets.step(bits, seen),
        None => bits.step(seen),
    }
}

/// The same tenants with packets in the place of bits.
fn turned(policy: &Policy) -> Policy {
    let rate = |packets: u64| BitRate::from_bps(packets as f64 * UNIT);
    let tenants: Vec<Tenant> = policy
        .tenants
        .iter()
        .map(|tenant| Tenant {
            guarantee: BitRate(0),
            cap: tenant.max_pps.map(rate),
            credit: None,
            total: None,
            guest: None,
            ..tenant.clone()
        })
        .collect();
    // Where nobody says what the host carries, each has its own.
    let sum: u64 = policy
        .tenants
        .iter()
        .filter_map(|tenant| tenant.max_pps)
        .sum();
    Policy {
        capacity: rate(policy.packets.unwrap_or(sum)),
        headroom: 0.0,
        idle_share: 1.0,
        cluster: None,
        tenants,
        ..policy.clone()
    }
}

impl Packets {
    /// Where a policy limits packets.
    pub fn of(policy: &Policy) -> Option<Self> {
        let limits = |tenant: usize| policy.limits_packets(tenant);
        (0..policy.tenants.len()).any(limits).then(|| {
            let turned = turned(policy);
            let setup = PortSetup {
                steps: Steps {
                    low: LEAST * UNIT,
                    step: UNIT,
                    top: 1e15,
                },
                counters: Counters {
                    overhead: 0.0,
                    ..Counters::kernel()
                },
                cap_bps: f64::INFINITY,
            };
            let port = |(tenant, _)| Port {
                limited: limits(tenant),
                tenant,
                ..Port::default()
            };
            let ports: Vec<Port> = policy.ports().map(port).collect();
            let setups = vec![setup; ports.len()];
            Self {
                controller: Controller::new(turned, &setups, Tuning::default()),
                policy: policy.clone(),
                ports,
                decision: None,
            }
        })
    }

    /// What a port's packets are limited to now.
    pub fn found(&mut self, port: usize, packets: Option<u64>) {
        if let Some(port) = self.ports.get_mut(port) {
            port.found = packets;
        }
    }

    /// What a port's packets should be limited to; none where they should not.
    pub fn limit(&self, port: usize) -> Option<u64> {
        self.ports.get(port)?.wanted
    }

    /// That is what they are limited to now.
    pub fn wrote(&mut self, index: usize) {
        let Some(port) = self.ports.get_mut(index).filter(|port| port.limited) else {
            return;
        };
        port.found = port.wanted;
        let rate = port.wanted.map_or(0.0, |packets| packets as f64 * UNIT);
        self.controller.wrote(index, BitRate::from_bps(rate));
    }

    /// What they are limited to is not known.
    pub fn failed(&mut self, index: usize) {
        if let Some(port) = self.ports.get_mut(index) {
            port.found = None;
            self.controller.failed(index);
        }
    }

    /// Ends a period of both resources; the decision is that of `bits`, with ports to write for either.
    pub fn step(&mut self, bits: &mut Controller, seen: &[Seen]) -> Decision {
        let both: Vec<[Seen; 2]> = (self.ports.iter_mut().zip(seen))
            .map(|(port, seen)| port.part(*seen))
            .collect();
        self.share_dominant(bits);
        let of = |at: usize| both.iter().map(|both| both[at]).collect::<Vec<Seen>>();
        let packets = self.controller.step(&of(1));
        for (index, (port, decided)) in self.ports.iter_mut().zip(&packets.ports).enumerate() {
            let limited = port.limited && decided.present;
            if limited {
                port.wanted = Some((decided.limit.bps() / UNIT).round().max(1.0) as u64);
            }
            let most = port.wanted.map(|packets| packets as f64 * UNIT - 8.0);
            bits.bind(index, most.unwrap_or(f64::INFINITY));
        }
        let mut decision = bits.step(&of(0));
        for index in &packets.writes {
            let there = decision.ports.get(*index).is_some_and(|port| port.present);
            if there && !decision.writes.contains(index) {
                decision.writes.push(*index);
            }
        }
        self.decision = Some(packets);
        decision
    }

    /// Where the host's packets are shared: each tenant gets at most its part of what it uses most.
    fn share_dominant(&mut self, bits: &mut Controller) {
        let Some(capacity) = self.policy.packets else {
            return;
        };
        let capacity = [self.policy.shared_bps(), capacity as f64];
        let tenants = self.policy.tenants.iter().enumerate();
        let claims: Vec<Claim> = tenants
            .map(|(number, tenant)| {
                let ports = || self.ports.iter().filter(|port| port.tenant == number);
                let uses = [0, 1].map(|at| ports().map(|port| port.uses[at]).sum::<f64>());
                let caps = [
                    tenant.cap.map(|_| bits.hard(number).bps()),
                    tenant.max_pps.map(|n| n as f64),
                ];
                let cap = [0, 1].map(|at| caps[at].map_or(f64::INFINITY, |cap| cap / uses[at]));
                let wants = if ports().any(|port| port.held) {
                    f64::INFINITY
                } else {
                    GROWTH
                };
                Claim {
                    weight: tenant.weight,
                    uses,
                    most: wants.min(cap[0]).min(cap[1]),
                    floor: if uses[0] > 0.0 {
                        tenant.guarantee.bps() / uses[0]
                    } else {
                        0.0
                    },
                }
            })
            .collect();
        let division = divide(capacity, &claims);
        for (tenant, claim) in claims.iter().enumerate() {
            let (times, at) = (division.times[tenant], division.dominant[tenant]);
            // One that sends little may begin: the level alone limits it.
            let least = self.policy.tenants[tenant].weight / self.weights();
            let most = (claim.uses[at] * times).max(least * capacity[at]);
            let held = division.full && times < claim.most;
            let most = |resource: usize| {
                if held && at == resource {
                    most
                } else {
                    f64::INFINITY
                }
            };
            bits.share_dominant(tenant, most(0));
            self.controller.share_dominant(tenant, most(1) * UNIT);
        }
    }

    fn weights(&self) -> f64 {
        self.policy.tenants.iter().map(|tenant| tenant.weight).sum()
    }

    /// What the last period says; none before the first.
    pub fn state(&self) -> Option<PacketsState> {
        let decision = self.decision.as_ref()?;
        let limited = |tenant: usize| self.policy.limits_packets(tenant);
        let tenants = self
            .policy
            .tenants
            .iter()
            .zip(&decision.tenants)
            .enumerate();
        let tenants = tenants.filter(|(tenant, _)| limited(*tenant));
        let tenants = tenants.map(|(_, (tenant, decided))| PacketsTenant {
            tenant: tenant.name.clone(),
            max_pps: tenant.max_pps,
            rate_pps: decided.rate_bps / UNIT,
            limit_pps: (decided.limit_bps / UNIT).round(),
        });
        let ports = decision.ports.iter().zip(&self.ports);
        let ports = ports.filter(|(_, port)| port.limited);
        let ports = ports.map(|(decided, port)| PacketsPort {
            port: decided.port.to_string(),
            rate_pps: decided.rate_bps.map(|rate| rate / UNIT),
            limit_pps: port.wanted.filter(|_| decided.present),
        });
        Some(PacketsState {
            tenants: tenants.collect(),
            ports: ports.collect(),
        })
    }
}

impl Port {
    /// What is seen, for bits and for packets.
    fn part(&mut self, seen: Seen) -> [Seen; 2] {
        let none = if self.limited { seen } else { Seen::default() };
        let Some(sample) = seen.sample.filter(|_| self.limited && seen.present) else {
            (self.last, self.uses, self.held) = (None, [0.0; 2], false);
            return [seen, none];
        };
        self.look(sample, seen.limit);
        let waits = |at: usize| {
            if self.uses_most(seen.limit) == at {
                sample.backlog
            } else {
                sample.backlog.map(|_| 0)
            }
        };
        let counted = |at: usize| Sample {
            drops: sample.drops.map(|_| self.drops[at]),
            backlog: waits(at),
            ..sample
        };
        let limit = seen.limit.map(|bits| match (bits, self.found) {
            (BitRate(0), _) | (_, None) => BitRate(0),
            (_, Some(packets)) => BitRate::from_bps(packets as f64 * UNIT),
        });
        let packets = Sample {
            bytes: sample.frames.saturating_mul(u64::from(PACKET_BYTES)),
            frames: 0,
            ..counted(1)
        };
        [
            Seen {
                sample: Some(counted(0)),
                ..seen
            },
            Seen {
                sample: Some(packets),
                limit,
                longest: 0,
                ..seen
            },
        ]
    }

    /// Takes the counters since the last period.
    fn look(&mut self, sample: Sample, limit: Option<BitRate>) {
        let Some(last) = self.last.replace(sample) else {
            return;
        };
        let time = sample.at.saturating_sub(last.at);
        if time == Duration::ZERO {
            return;
        }
        let grown = |now: u64, was: u64| now.saturating_sub(was) as f64 / time.as_secs_f64();
        let frames = grown(sample.frames, last.frames);
        let bytes = grown(sample.bytes, last.bytes) + (WIRE_OVERHEAD + FCS) * frames;
        self.uses = [8.0 * bytes, frames];
        let dropped = sample.dropped_since(&last);
        self.held = dropped > 0 || sample.waits();
        let at = self.uses_most(limit);
        self.drops[at] = self.drops[at].saturating_add(dropped);
    }

    /// The resource of whose limit it uses the greater share.
    fn uses_most(&self, limit: Option<BitRate>) -> usize {
        let limit = limit.filter(|limit| limit.0 > 0).map(BitRate::bps);
        let [bits, packets] = self.uses;
        let bits = limit.map_or(0.0, |limit| bits / limit);
        let packets = self.found.map_or(0.0, |limit| packets / limit as f64);
        usize::from(packets > bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host on which a port sends frames of some size as fast as its limits let it, for some periods: what it
    /// sends at the end, in bit/s on the wire and packets/s.
    struct Rig {
        bits: Controller,
        packets: Packets,
        counts: Vec<(u64, u64, u64)>,
        limits: Vec<(Option<BitRate>, Option<u64>)>,
        second: u64,
    }

    impl Rig {
        fn new(text: &str) -> Self {
            let policy = Policy::parse("p.toml", text).unwrap_or_else(|error| panic!("{error}"));
            let count = policy.ports().count();
            Self {
                packets: Packets::of(&policy).unwrap_or_else(|| panic!("limits no packets")),
                bits: Controller::new(policy, &[], Tuning::default()),
                counts: vec![(0, 0, 0); count],
                limits: vec![(None, None); count],
                second: 0,
            }
        }

        /// Frames of these sizes, without FCS; 0 for a port that sends nothing. Returns bit/s and packets/s of each.
        fn second(&mut self, sizes: &[f64], wanted: f64) -> Vec<(f64, f64)> {
            self.second += 1;
            let mut rates = Vec::new();
            let mut seen = Vec::new();
            for (index, size) in sizes.iter().enumerate() {
                let wire = (size + 24.0) * 8.0;
                let (bits, packets) = self.limits[index];
                let most = bits.map_or(f64::INFINITY, |bits| bits.bps() / wire);
                let frames = wanted
                    .min(most)
                    .min(packets.map_or(f64::INFINITY, |p| p as f64));
                let frames = if *size > 0.0 { frames.floor() } else { 0.0 };
                let count = &mut self.counts[index];
                count.0 += (frames * size) as u64;
                count.1 += frames as u64;
                count.2 += u64::from(frames < wanted.floor() && *size > 0.0);
                rates.push((frames * wire, frames));
                let sample = Sample {
                    drops: Some(count.2),
                    backlog: Some(0),
                    ..Sample::passed(Duration::from_secs(self.second), count.0, count.1)
                };
                seen.push(Seen {
                    limit: Some(bits.unwrap_or_default()),
                    ..Seen::counted(sample)
                });
                self.packets.found(index, packets);
            }
            let decision = self.packets.step(&mut self.bits, &seen);
            for index in decision.writes {
                let limit = decision.ports[index].limit;
                self.limits[index] = (Some(limit), self.packets.limit(index));
                self.bits.wrote(index, limit);
                self.packets.wrote(index);
            }
            rates
        }
    }

    const LINK: &str = "[link]\ncapacity = \"1gbit\"\nheadroom = 0.0\n";

    #[test]
    fn a_flood_of_small_packets_is_held_by_its_packets_and_lends_its_bits() {
        let text = format!(
            "{LINK}[[tenant]]\nname = \"a\"\nmax_pps = 20000\nports = \"a0\"\n[[tenant]]\nname = \"b\"\nports = \"b0\"\n"
        );
        let mut rig = Rig::new(&text);
        for _ in 0..6 {
            rig.second(&[60.0, 1514.0], 1e6);
        }
        let rates = rig.second(&[60.0, 1514.0], 1e6);
        assert_eq!(rates[0].1, 20_000.0);
        // b has all but the 13 Mbit/s that a can use.
        assert!(rates[1].0 > 0.95e9, "{rates:?}");
        assert_eq!(rig.packets.limit(1), None);
        let state = rig.packets.state().unwrap_or_else(|| panic!());
        assert_eq!((state.tenants.len(), state.ports.len()), (1, 1));
        assert_eq!(state.ports[0].limit_pps, Some(20_000));
    }

    #[test]
    fn a_limit_of_packets_is_for_all_ports_of_a_tenant() {
        let text =
            format!("{LINK}[[tenant]]\nname = \"a\"\nmax_pps = 20000\nports = [\"a0\", \"a1\"]\n");
        let mut rig = Rig::new(&text);
        for second in 0..12 {
            let rates = rig.second(&[60.0, if second < 6 { 60.0 } else { 0.0 }], 1e6);
            let sum: f64 = rates.iter().map(|rate| rate.1).sum();
            assert!(second == 0 || sum <= 20_000.0, "{second}: {rates:?}");
            // The other one's part, when it is still.
            assert!(second < 9 || rates[0].1 > 18_000.0, "{second}: {rates:?}");
        }
    }

    #[test]
    fn bits_are_never_more_than_full_frames_in_the_packets() {
        let text = format!("{LINK}[[tenant]]\nname = \"a\"\nmax_pps = 1000\nports = \"a0\"\n");
        let mut rig = Rig::new(&text);
        rig.second(&[1514.0], 1e6);
        let (bits, packets) = rig.limits[0];
        let peak = packets.unwrap_or(0) * u64::from(PACKET_BYTES);
        assert!(
            bits.unwrap_or_default().0 / 8 < peak,
            "{bits:?} {packets:?}"
        );
    }

    #[test]
    fn two_resources_are_divided_by_the_dominant_one() {
        let text = "[link]\ncapacity = \"1gbit\"\nheadroom = 0.0\nmax_pps = 200000\n\
            [[tenant]]\nname = \"small\"\nports = \"a0\"\n[[tenant]]\nname = \"large\"\nports = \"b0\"\n";
        let mut rig = Rig::new(text);
        for _ in 0..30 {
            rig.second(&[60.0, 1514.0], 1e6);
        }
        let rates = rig.second(&[60.0, 1514.0], 1e6);
        let shares = [rates[0].1 / 200e3, rates[1].0 / 1e9];
        // One resource is used up, and both have the same share of what they use most.
        assert!((shares[0] - shares[1]).abs() < 0.05, "{shares:?}");
        let used = [rates[0].1 + rates[1].1, rates[0].0 + rates[1].0];
        assert!(used[0] <= 200e3 * 1.01 && used[1] <= 1e9 * 1.01, "{used:?}");
        assert!(used[0] > 190e3 || used[1] > 0.95e9, "{used:?}");
    }
}
