//! What must hold for every burst credit, whatever a tenant sends and the clock does.

use std::time::Duration;

use nicety_model::BitRate;
use nicety_police::credit::{Account, Credit};
use nicety_police::{Controller, Policy, Sample, Seen, Tuning};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn credit() -> impl Strategy<Value = Credit> {
    (1_000u64..20_000, 1.01..8.0, 0.001..=1.0).prop_map(|(lasts, factor, refill)| Credit {
        lasts: Duration::from_millis(lasts),
        factor,
        refill,
    })
}

/// Sums of all windows: of what was sent, what is above the maximum.
fn most_above(sent: &[f64], max: f64) -> f64 {
    // The greatest sum of consecutive differences.
    let (mut best, mut here) = (0.0f64, 0.0f64);
    for bits in sent {
        here = (here + bits - max).max(0.0);
        best = best.max(here);
    }
    best
}

proptest! {
    /// Over any window of whole periods a tenant sends at most its credit and its maximum.
    #[test]
    fn no_window_has_more_than_credit_and_maximum(
        terms in credit(),
        max in 1e5..1e9,
        wants in prop::collection::vec(0.0..10.0, 1..200),
    ) {
        let mut account = Account::new(terms, max);
        account.sent(Duration::ZERO, 0.0);
        let mut sent = Vec::new();
        for (number, wants) in wants.iter().enumerate() {
            let ceiling = account.ceiling(SECOND);
            prop_assert!(ceiling >= max && ceiling <= max * terms.factor * (1.0 + 1e-12));
            let bits = (wants * max).min(ceiling);
            account.sent(SECOND * (number as u32 + 1), bits);
            prop_assert!(account.credit() >= -1e-6 * max, "owes {}", account.credit());
            sent.push(bits);
        }
        let full = account.full();
        prop_assert!(most_above(&sent, max) <= full + 1e-6 * max);
        // It began with nothing: all in all it had no more than it saved.
        let saved: f64 = sent.iter().map(|bits| (max - bits).clamp(0.0, terms.refill * max)).sum();
        let above: f64 = sent.iter().map(|bits| (bits - max).max(0.0)).sum();
        prop_assert!(above <= saved + 1e-6 * max, "{above} of {saved}");
    }

    /// A clock that goes back, stands or leaps, and any count, leave it between empty and full, and what comes in
    /// a time that really went on is no more than the refill.
    #[test]
    fn a_clock_that_steps_gives_nobody_more(
        terms in credit(),
        steps in prop::collection::vec((0u64..100_000, 0.0..1e9), 1..100),
    ) {
        let max = 1e6;
        let mut account = Account::new(terms, max);
        let (mut newest, mut last) = (None::<u64>, 0.0);
        for (at, bits) in steps {
            account.sent(Duration::from_millis(at), bits);
            let gone = newest.map_or(0, |newest| at.saturating_sub(newest));
            newest = newest.max(Some(at));
            let refill = terms.refill * max * gone as f64 / 1e3;
            let credit = account.credit();
            prop_assert!(credit <= last + refill + 1e-3, "{last} + {refill}: {credit}");
            prop_assert!((-account.full()..=account.full()).contains(&credit));
            let ceiling = account.ceiling(SECOND);
            prop_assert!((max..=max * terms.factor * (1.0 + 1e-12)).contains(&ceiling));
            last = credit;
        }
    }

    /// The controller: two ports of a tenant with credit beside a guarantee that wants its own. Together they never
    /// send more than credit and maximum, and the guarantee's limit is never below it.
    #[test]
    fn ports_together_keep_to_the_account_and_guarantees_hold(
        wants in prop::collection::vec((0.0..60.0, 0.0..60.0, 0.0..120.0), 1..80),
    ) {
        const MBIT: f64 = 1e6;
        let text = "[link]\ncapacity = \"100mbit\"\n\
            [[tenant]]\nname = \"a\"\ncap = \"20mbit\"\nburst = \"3s at 3x, refilled at 0.3x\"\nports = [\"a0\", \"a1\"]\n\
            [[tenant]]\nname = \"b\"\nguarantee = \"60mbit\"\nports = \"b0\"\n";
        let policy = Policy::parse("p.toml", text).unwrap();
        let mut controller = Controller::new(policy, &[], Tuning::default());
        let mut limits: [Option<BitRate>; 3] = [None; 3];
        let mut bytes = [0u64; 3];
        let mut sent = Vec::new();
        for (second, wants) in wants.iter().enumerate() {
            let wants: [f64; 3] = [wants.0, wants.1, wants.2];
            let mut all = 0.0;
            let seen: Vec<Seen> = (0..3).map(|port| {
                let limit = limits[port].map_or(0.0, BitRate::bps);
                // Frames of any size: on the wire, with what the counter leaves out.
                let bits = (wants[port] * MBIT).min(limit);
                let now = (bits / 8.0) as u64;
                bytes[port] += now;
                if port < 2 {
                    all += 8.0 * now as f64;
                }
                Seen::counted(Sample::passed(SECOND * (second as u32 + 1), bytes[port], 0))
            }).collect();
            sent.push(all);
            let decision = controller.step(&seen);
            prop_assert!(decision.ports[2].limit.bps() >= 60.0 * MBIT);
            let ceiling = decision.tenants[0].ceiling_bps();
            for index in &decision.writes {
                limits[*index] = Some(decision.ports[*index].limit);
                controller.wrote(*index, decision.ports[*index].limit);
            }
            let set: f64 = limits[..2].iter().map(|limit| limit.unwrap().bps()).sum();
            prop_assert!(set <= ceiling + 1.0, "{set} of {ceiling}");
        }
        // 120 Mbit of credit above 20 Mbit/s.
        prop_assert!(most_above(&sent, 20.0 * MBIT) <= 120.0 * MBIT + 1.0);
    }
}
