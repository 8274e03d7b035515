//! Ports of which the kernel says nothing.

use super::*;

impl Rig {
    /// A second in which the kernel says nothing of a port; what the others send as in [`Self::second`].
    fn without(&mut self, silent: usize, wants: &[Option<f64>]) -> Decision {
        self.second += 1;
        let seen = wants.iter().enumerate().map(|(index, want)| {
            if index == silent {
                return Seen::silent();
            }
            let limit = self.limits[index].map_or(f64::INFINITY, BitRate::bps);
            self.bytes[index] += ((want.unwrap_or(0.0) * MBIT).min(limit) / 8.0) as u64;
            Seen {
                present: want.is_some(),
                sample: want.map(|_| Sample {
                    at: Duration::from_secs(self.second),
                    bytes: self.bytes[index],
                    frames: 0,
                    drops: None,
                    backlog: None,
                }),
                ..Seen::default()
            }
        });
        let seen: Vec<Seen> = seen.collect();
        let decision = self.controller.step(&seen);
        for index in &decision.writes {
            self.limits[*index] = Some(decision.ports[*index].limit);
            self.controller.wrote(*index, decision.ports[*index].limit);
        }
        decision
    }
}

#[test]
fn what_a_silent_port_may_send_is_kept_for_it() {
    let mut rig = Rig::new(THREE);
    let wants = [Some(400.0), Some(400.0), Some(10.0)];
    for _ in 0..6 {
        rig.second(&wants);
    }
    let kept = rig.limit(0);
    assert!((kept - 89.6).abs() < 0.5, "{kept}");
    let other = rig.limit(1);
    for _ in 0..8 {
        let decision = rig.without(0, &[None, Some(400.0), Some(10.0)]);
        // Nobody notices, and all limits together are no more than is shared.
        assert!(decision.writes.is_empty(), "{decision:?}");
        assert_eq!(decision.ports[0].limit.bps(), kept * MBIT);
        assert_eq!(decision.tenants[0].limit_bps, kept * MBIT);
        assert!(decision.ports[0].rate_bps.is_none() && decision.ports[0].present);
        assert_eq!(rig.limit(1), other);
    }
    // The third grows into its cap: the second gives way as far as it would beside one that can.
    for _ in 0..8 {
        rig.without(0, &[None, Some(400.0), Some(50.0)]);
    }
    assert_eq!(rig.limit(2), 50.0);
    assert!((rig.limit(1) - 70.0).abs() < 0.5, "{}", rig.limit(1));
    // It is back, with the limit it had, and gives way too.
    for _ in 0..3 {
        rig.second(&[Some(400.0), Some(400.0), Some(50.0)]);
    }
    assert!((rig.limit(0) - 70.0).abs() < 0.5, "{}", rig.limit(0));
    assert_eq!(rig.limit(0), rig.limit(1));
}

#[test]
fn a_silent_port_that_has_borrowed_takes_no_share_from_the_others() {
    let mut rig = Rig::new(THREE);
    for _ in 0..6 {
        rig.second(&[Some(400.0), Some(0.0), Some(0.0)]);
    }
    let kept = rig.limit(0);
    assert!(kept > 180.0, "{kept}");
    for _ in 0..8 {
        let decision = rig.without(0, &[None, Some(400.0), Some(400.0)]);
        assert!(!decision.writes.contains(&0));
    }
    // A third of the link by weight, the guarantee at least, and the silent one counts as wanting its own.
    assert!((rig.limit(1) - 70.0).abs() < 0.5, "{}", rig.limit(1));
    assert_eq!(rig.limit(2), 50.0);
    assert_eq!(rig.limit(0), kept);
}

#[test]
fn a_tenant_shares_what_its_silent_port_leaves_of_its_cap() {
    let mut rig = Rig::new(
        "[link]\ncapacity = \"200mbit\"\n[[tenant]]\nname = \"a\"\nports = [\"a\", \"b\"]\ncap = \"100mbit\"\n",
    );
    for _ in 0..12 {
        rig.second(&[Some(400.0), Some(20.0)]);
    }
    let kept = rig.limit(0);
    assert!(kept > 60.0, "{kept}");
    for _ in 0..6 {
        let decision = rig.without(0, &[None, Some(400.0)]);
        assert_eq!(decision.tenants[0].limit_bps, 100.0 * MBIT);
    }
    assert!(
        (rig.limit(1) - (100.0 - kept)).abs() < 1.5,
        "{}",
        rig.limit(1)
    );
}
