//! Tenants that may send above their maximum while they have credit: their cap is raised and lowered from period to
//! period. All else follows from the cap: level, shares among ports, the hold on several limits together.

use std::time::Duration;

use nicety_model::BitRate;

use super::{Controller, Seen};
use crate::credit::{Account, BurstState};
use crate::meter::{Counters, Sample};
use crate::policy::Policy;
use crate::totals::grown;

/// More than this many times the link in a period is no count of what was sent.
const BEYOND: f64 = 2.0;

/// What a tenant with credit has counted.
#[derive(Debug, Clone)]
pub(super) struct Bursting {
    account: Account,
    /// The last sample of each of its ports.
    counted: Vec<Option<Sample>>,
    news: bool,
}

impl Bursting {
    /// One for each tenant of a policy that has a credit.
    pub(super) fn of(policy: &Policy) -> Vec<Option<Self>> {
        let tenants = policy.tenants.iter();
        let each = tenants.map(|tenant| {
            let (credit, cap) = tenant.credit.zip(tenant.cap)?;
            Some(Self {
                account: Account::new(credit, cap.bps()),
                counted: vec![None; tenant.ports.len()],
                news: false,
            })
        });
        each.collect()
    }

    /// Takes the counters of the tenant's ports. Where a port is not counted, the kernel is silent, or the driver has not
    /// refreshed its counters, nobody knows what was sent: the account stays as it is, and is told of the whole time once
    /// it is known.
    fn take(&mut self, ports: &[(Seen, Counters)], link_bps: f64, period: Duration) {
        let unknown =
            |(seen, _): &(Seen, Counters)| seen.silent || (seen.present && seen.sample.is_none());
        let mut each = ports.iter().zip(&self.counted);
        if ports.iter().any(unknown) || each.any(|(port, last)| is_stale(port, last.as_ref())) {
            return;
        }
        let (mut newest, mut bits) = (None, 0.0);
        for ((seen, counters), last) in ports.iter().zip(&mut self.counted) {
            let Some(sample) = seen.sample.filter(|_| seen.present) else {
                *last = None;
                continue;
            };
            newest = newest.max(Some(sample.at));
            let is_newer = last.is_none_or(|last| sample.at > last.at);
            if !is_newer {
                continue;
            }
            if let Some(last) = last.replace(sample) {
                let time = (sample.at - last.at).as_secs_f64();
                bits += sent(&last, &sample, counters).min(BEYOND * link_bps * time);
            }
        }
        if let Some(at) = newest {
            self.account.sent(at, bits);
            self.news |= self.account.is_news(period);
        }
    }
}

/// The driver may not have refreshed the counters yet.
fn is_stale((seen, counters): &(Seen, Counters), last: Option<&Sample>) -> bool {
    let both = seen.sample.zip(last);
    both.is_some_and(|(now, last)| {
        let same = (now.bytes, now.frames) == (last.bytes, last.frames);
        same && now.at.saturating_sub(last.at) <= counters.staleness.mul_f64(1.5)
            && !counters.staleness.is_zero()
    })
}

/// Bits on the wire between two samples. A counter that went back has begun anew.
fn sent(last: &Sample, now: &Sample, counters: &Counters) -> f64 {
    let bytes = grown(last.bytes, now.bytes, counters.byte_bits) as f64;
    let frames = grown(last.frames, now.frames, counters.frame_bits) as f64;
    8.0 * (bytes + counters.overhead * frames)
}

impl Controller {
    /// What was sent since the last period is paid for or saved, and caps are what the credit is for.
    pub(super) fn settle_bursts(&mut self, seen: &[Seen]) {
        let period = self.policy.period;
        for (tenant, bursting) in self.bursts.iter_mut().enumerate() {
            let (Some(bursting), Some(range)) = (bursting, self.ranges.get(tenant)) else {
                continue;
            };
            let ports: Vec<(Seen, Counters)> = range
                .clone()
                .map(|index| {
                    let seen = seen.get(index).copied().unwrap_or_default();
                    (seen, self.ports[index].counters())
                })
                .collect();
            bursting.take(&ports, self.policy.capacity.bps(), period);
            let cap = BitRate(bursting.account.ceiling(period) as u64);
            self.policy.tenants[tenant].cap = Some(cap);
            for port in &mut self.ports[range.clone()] {
                port.limit_to(cap);
            }
        }
    }

    /// The account of a tenant with burst credit.
    pub(super) fn burst(&self, tenant: usize) -> Option<BurstState> {
        let bursting = self.bursts.get(tenant)?.as_ref()?;
        Some(bursting.account.state(self.policy.period))
    }

    /// The hard limit of a tenant without what credit adds, in bits per second.
    pub(super) fn hard_bps(&self, tenant: usize) -> f64 {
        let bursting = self.bursts.get(tenant).and_then(Option::as_ref);
        bursting.map_or_else(|| self.hard(tenant).bps(), |of| of.account.max())
    }

    /// Tenants that had rested and whose credit has been spent since this was asked last.
    pub fn spent(&mut self) -> Vec<usize> {
        let bursts = self.bursts.iter_mut().enumerate();
        let news = bursts.filter_map(|(tenant, bursting)| {
            let news = &mut bursting.as_mut()?.news;
            std::mem::take(news).then_some(tenant)
        });
        news.collect()
    }

    /// Goes on with the credit that tenants of these names had under another policy. `ports` has for each port of the
    /// new policy the number that it had in the old one.
    pub fn inherit_credit(&mut self, before: &Self, ports: &[Option<usize>]) {
        let old = |port: usize| {
            let place = |range: &std::ops::Range<usize>| range.contains(&port);
            let tenant = before.ranges.iter().position(place)?;
            let bursting = before.bursts.get(tenant)?.as_ref()?;
            *bursting.counted.get(port - before.ranges[tenant].start)?
        };
        let tenants = self.policy.tenants.iter();
        for ((tenant, bursting), range) in tenants.zip(&mut self.bursts).zip(&self.ranges) {
            let Some(bursting) = bursting else { continue };
            let mut olds = before.policy.tenants.iter().zip(&before.bursts);
            let had = olds.find_map(|(was, of)| of.as_ref().filter(|_| was.name == tenant.name));
            let Some(had) = had else { continue };
            bursting.account.inherit(&had.account);
            for (counted, port) in bursting.counted.iter_mut().zip(range.clone()) {
                *counted = ports.get(port).copied().flatten().and_then(old);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::tests::Rig;
    use crate::tuning::Tuning;

    const MBIT: f64 = 1e6;

    const TWO: &str = "[link]\ncapacity = \"100mbit\"\nheadroom = 0.0\n\
        [[tenant]]\nname = \"a\"\ncap = \"10mbit\"\nburst = \"2s at 2x, refilled at 0.5x\"\nports = [\"a0\", \"a1\"]\n\
        [[tenant]]\nname = \"b\"\nguarantee = \"85mbit\"\nports = \"b0\"\n";

    fn policy(text: &str) -> Policy {
        Policy::parse("p.toml", text).unwrap_or_else(|error| panic!("{error}"))
    }

    impl Rig {
        /// Seconds; returns what both ports of the first tenant sent in each, in Mbit/s.
        fn seconds(&mut self, count: usize, wants: [f64; 3]) -> Vec<f64> {
            let each = (0..count).map(|_| {
                let most =
                    |port: usize| self.limits[port].map_or(f64::INFINITY, |of| of.bps() / MBIT);
                let sent = wants[0].min(most(0)) + wants[1].min(most(1));
                self.second(&wants.map(Some));
                sent
            });
            each.collect()
        }
    }

    #[test]
    fn a_tenant_that_has_rested_sends_twice_its_cap_for_as_long_as_its_credit() {
        let mut rig = Rig::new(TWO);
        rig.seconds(1, [0.0; 3]);
        // Nothing is saved yet.
        let begin = rig.seconds(3, [50.0, 50.0, 0.0]);
        assert!(begin.iter().all(|rate| *rate <= 10.0), "{begin:?}");
        rig.seconds(5, [0.0; 3]);
        let burst = rig.seconds(6, [50.0, 50.0, 0.0]);
        // 20 Mbit above 10 Mbit/s.
        let above: f64 = burst.iter().map(|rate| rate - 10.0).sum();
        assert!(burst[0] > 19.0 && burst[1] > 19.0, "{burst:?}");
        assert!(
            burst[4] <= 10.0 && above > 18.0 && above <= 20.0,
            "{burst:?}"
        );
        assert_eq!(rig.controller.spent(), [0]);
        assert_eq!(rig.controller.spent(), [0; 0]);
    }

    #[test]
    fn a_burst_takes_nothing_from_a_guarantee_and_pays_only_for_what_it_sent() {
        let mut rig = Rig::new(TWO);
        rig.seconds(6, [0.0, 0.0, 90.0]);
        let both = rig.seconds(8, [50.0, 50.0, 90.0]);
        // Once b is seen to want it, it keeps its 85 of 100, and a has 15: 20 Mbit last a second longer.
        assert_eq!(both[..5], [20.0, 15.0, 15.0, 10.0, 10.0]);
        let limit = rig.limits[2].map_or(0.0, BitRate::bps);
        assert!(limit >= 85.0 * MBIT, "{limit}");
    }

    #[test]
    fn the_account_is_told_beside_the_cap() {
        let mut rig = Rig::new(TWO);
        rig.seconds(1, [0.0; 3]);
        let decision = rig.controller.step(&[Seen::default(); 3]);
        assert_eq!(decision.tenants[0].cap_bps, 10.0 * MBIT);
        assert_eq!(
            decision.tenants[0].burst.map(|of| of.most_bps),
            Some(20.0 * MBIT)
        );
        assert_eq!(decision.tenants[1].burst, None);
    }

    #[test]
    fn while_nobody_knows_what_is_sent_nothing_is_saved() {
        let mut rig = Rig::new(TWO);
        rig.seconds(1, [0.0; 3]);
        let uncounted = Seen {
            present: true,
            ..Seen::default()
        };
        for unknown in [Seen::silent(), uncounted] {
            for _ in 0..9 {
                rig.controller.step(&[unknown, uncounted, uncounted]);
            }
            assert_eq!(rig.controller.burst(0).map(|of| of.credit_bits), Some(0.0));
        }
        // It is known again: all of the time counts, with all that was sent in it.
        rig.second += 4;
        rig.bytes[0] += 4_000_000;
        rig.second(&[Some(0.0); 3]);
        let credit = rig
            .controller
            .burst(0)
            .map_or(f64::NAN, |of| of.credit_bits);
        // 50 Mbit in 5 s of 10 Mbit/s, but for a little: 32 were sent.
        assert!((credit - 18.0 * MBIT).abs() < 1.0, "{credit}");
    }

    #[test]
    fn counters_that_are_refreshed_seldom_cost_nothing() {
        let mut bursting = Bursting::of(&policy(TWO))
            .swap_remove(0)
            .unwrap_or_else(|| panic!());
        let counters = Counters {
            overhead: 0.0,
            staleness: Duration::from_secs(1),
            ..Counters::kernel()
        };
        // 10 Mbit/s, its maximum; the driver tells it every other second.
        for second in 0..20 {
            let bytes = second / 2 * 2 * 1_250_000;
            let at = Duration::from_secs(second);
            let seen = Seen::counted(Sample::passed(at, bytes, 0));
            let none = (Seen::default(), counters);
            bursting.take(
                &[(seen, counters), none],
                100.0 * MBIT,
                Duration::from_secs(1),
            );
            assert_eq!(bursting.account.credit(), 0.0, "{second}");
        }
    }

    #[test]
    fn a_reload_keeps_the_credit_of_a_tenant_and_cuts_it() {
        let mut rig = Rig::new(TWO);
        rig.seconds(9, [0.0; 3]);
        let text = "[link]\ncapacity = \"100mbit\"\n\
            [[tenant]]\nname = \"b\"\nguarantee = \"85mbit\"\nports = \"b0\"\n\
            [[tenant]]\nname = \"a\"\ncap = \"10mbit\"\nburst = \"1s at 2x, refilled at 0.5x\"\nports = [\"a1\", \"a2\"]\n";
        let mut next = Controller::new(policy(text), &[], Tuning::default());
        next.inherit_credit(&rig.controller, &[Some(2), Some(1), None]);
        assert_eq!(next.burst(1).map(|of| of.credit_bits), Some(10.0 * MBIT));
        let kept = next.bursts[1].as_ref().map(|of| of.counted.clone());
        let kept = kept.unwrap_or_default();
        assert_eq!(
            kept[0].map(|sample| sample.at),
            Some(Duration::from_secs(9))
        );
        assert_eq!(kept[1], None);
    }
}
