//! A simulated link that several senders share: first come, first served, with a limiter for
//! each sender. Everything follows from the seed.

use fastrand::Rng;

/// One sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sender {
    /// Weight, above 0.
    pub weight: f64,
    /// Guarantee.
    pub guarantee: f64,
    /// Grows at most twofold in a period, as TCP does, instead of sending all it has at once.
    pub ramps: bool,
    /// What it has to send when it is on.
    pub wish: f64,
    /// Whether it is on.
    pub on: bool,
    /// What it sent in the last period.
    pub rate: f64,
    /// What passed altogether.
    pub total: f64,
}

/// The link and its senders.
#[derive(Debug, Clone)]
pub struct Uplink {
    /// Rate.
    pub capacity: f64,
    /// Senders.
    pub senders: Vec<Sender>,
    rng: Rng,
    /// Chance of a sender to switch on or off in a period.
    switching: f64,
}

/// Least rate that a sender which ramps starts with, as a share of the link.
const START: f64 = 0.05;

impl Uplink {
    /// `count` senders with weights of 1 to 4, every other one with a guarantee, all guarantees
    /// together at most 60 % of the link. A sender is on two thirds of the time; what it then has
    /// to send is anything up to the rate of the link.
    pub fn random(count: usize, capacity: f64, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let senders = (0..count).map(|index| {
            let guaranteed = index % 2 == 0;
            let share = 1.2 * rng.f64() / count as f64;
            Sender {
                weight: rng.u32(1..=4).into(),
                guarantee: if guaranteed { share * capacity } else { 0.0 },
                ramps: rng.bool(),
                wish: 0.0,
                on: false,
                rate: 0.0,
                total: 0.0,
            }
        });
        let senders = senders.collect();
        let mut uplink = Self {
            capacity,
            senders,
            rng,
            switching: 0.015,
        };
        for index in 0..count {
            uplink.toggle(index);
        }
        uplink
    }

    fn toggle(&mut self, index: usize) {
        let wish = self.rng.f64() * self.capacity;
        let sender = &mut self.senders[index];
        sender.on = !sender.on;
        sender.wish = if sender.on { wish } else { 0.0 };
    }

    /// Lets time pass between two periods; returns whether anybody switched on or off.
    pub fn change(&mut self) -> bool {
        let mut changed = false;
        for index in 0..self.senders.len() {
            let chance = if self.senders[index].on {
                self.switching
            } else {
                2.0 * self.switching
            };
            if self.rng.f64() < chance {
                self.toggle(index);
                changed = true;
            }
        }
        changed
    }

    /// One period of length 1 under `limits`.
    pub fn period(&mut self, limits: &[f64]) {
        let start = START * self.capacity;
        let offered: Vec<f64> = (self.senders.iter().zip(limits))
            .map(|(sender, limit)| {
                let able = if sender.ramps {
                    (2.0 * sender.rate).max(start)
                } else {
                    f64::INFINITY
                };
                sender.wish.min(*limit).min(able)
            })
            .collect();
        let all: f64 = offered.iter().sum();
        let passes = (self.capacity / all).min(1.0);
        for (sender, offered) in self.senders.iter_mut().zip(offered) {
            sender.rate = offered * passes;
            sender.total += sender.rate;
        }
    }

    /// Demands of this period.
    pub fn wishes(&self) -> Vec<f64> {
        self.senders.iter().map(|sender| sender.wish).collect()
    }

    /// Rates of the last period.
    pub fn rates(&self) -> Vec<f64> {
        self.senders.iter().map(|sender| sender.rate).collect()
    }
}
