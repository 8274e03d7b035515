//! What the controller is compared with.

use nicety_testkit::uplink::Uplink;

use super::{CAPACITY, Control, HEADROOM};

/// Limits that never change.
pub struct Fixed(Vec<f64>);

impl Fixed {
    /// None.
    pub fn open(uplink: &Uplink) -> Self {
        Self(vec![CAPACITY; uplink.senders.len()])
    }

    /// To each the guarantee and a share by weight of the rest.
    pub fn shares(uplink: &Uplink) -> Self {
        let shares: Vec<_> = (uplink.senders.iter())
            .map(|sender| nicety_police::Share {
                weight: sender.weight,
                guarantee: sender.guarantee,
                demand: f64::INFINITY,
            })
            .collect();
        Self(nicety_police::level::level(CAPACITY * (1.0 - HEADROOM), &shares).given)
    }
}

impl Control for Fixed {
    fn limits(&mut self, _: &[f64]) -> (Vec<f64>, usize) {
        (self.0.clone(), 0)
    }
}

/// Knows what everybody wants as soon as they do, one period before the limits count: what the
/// ramps of the senders leave to any controller.
pub struct Oracle {
    uplink: Uplink,
}

impl Oracle {
    pub fn new(uplink: &Uplink) -> Self {
        Self {
            uplink: uplink.clone(),
        }
    }
}

impl Control for Oracle {
    fn limits(&mut self, rates: &[f64]) -> (Vec<f64>, usize) {
        // The copy draws the same changes as the link that is controlled.
        self.uplink.change();
        let shares: Vec<_> = (self.uplink.senders.iter())
            .map(|sender| nicety_police::Share {
                weight: sender.weight,
                guarantee: sender.guarantee,
                demand: sender.wish,
            })
            .collect();
        let ideal = nicety_police::level::level(CAPACITY * (1.0 - HEADROOM), &shares).given;
        (ideal, rates.len())
    }
}

/// Additive increase by weight while the link has room, multiplicative decrease down to the
/// guarantee when it is full. Of increases of 1 to 5 % and factors of 0.7 to 0.9 the pair below
/// has the least error on this link.
pub struct Aimd {
    limits: Vec<f64>,
    weights: Vec<f64>,
    guarantees: Vec<f64>,
}

/// Increase of a weight of 1 in a period, as a share of the link.
const INCREASE: f64 = 0.05;
/// Factor of a decrease.
const DECREASE: f64 = 0.85;

impl Aimd {
    pub fn new(uplink: &Uplink) -> Self {
        Self {
            limits: vec![CAPACITY; uplink.senders.len()],
            weights: uplink.senders.iter().map(|s| s.weight).collect(),
            guarantees: uplink.senders.iter().map(|s| s.guarantee).collect(),
        }
    }
}

impl Control for Aimd {
    fn limits(&mut self, rates: &[f64]) -> (Vec<f64>, usize) {
        let full = rates.iter().sum::<f64>() >= (1.0 - HEADROOM / 2.0) * CAPACITY;
        let mut writes = 0;
        for (index, limit) in self.limits.iter_mut().enumerate() {
            let rate = rates[index];
            let used = rate >= 0.95 * *limit;
            let next = match (full, used) {
                (true, true) => DECREASE * *limit,
                // FIFO gives less than the limit on a full link: the rate is what is lowered.
                (true, false) => (DECREASE * *limit).max(rate.min(*limit)),
                (false, true) => *limit + INCREASE * self.weights[index] * CAPACITY,
                (false, false) => *limit,
            };
            let floor = self.guarantees[index].max(INCREASE * self.weights[index] * CAPACITY);
            let next = next.clamp(floor, CAPACITY);
            if (next - *limit).abs() > 0.01 * *limit {
                *limit = next;
                writes += 1;
            }
        }
        (self.limits.clone(), writes)
    }
}
