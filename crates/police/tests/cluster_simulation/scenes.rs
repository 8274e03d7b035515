//! Scenes of hosts that are not in step, and what is measured of them.

use std::time::Duration;

use super::Rng;
use super::daemons::{Daemons, PERIOD};

/// Share of what could be sent from which on a shift is followed.
const FOLLOWED: f64 = 0.95;
/// What is sent is measured over so long.
const WINDOW: Duration = Duration::from_millis(250);
/// Periods between two shifts.
const SHIFT: u32 = 8;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scene {
    /// Half of the hosts want nine times as much at once.
    Crowd,
    /// One host wants everything, the others a little.
    Hog,
    /// One host wants everything, and from the shift on another one does.
    Move,
    /// Any part of the hosts up to a half wants something, together a third of the total to twice of it.
    Several,
}

impl Scene {
    pub const EACH: [Self; 4] = [Self::Crowd, Self::Hog, Self::Move, Self::Several];
}

/// Figures of a scene.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// What was sent over what is possible, from 3 periods after a shift on.
    pub settled: f64,
    /// Periods until 95 % of what is possible was sent, sorted.
    pub followed: Vec<f64>,
    /// Most of what all limits came to, over the total.
    pub most: f64,
    /// Transactions and watch events for each host and period.
    pub writes: f64,
    pub events: f64,
}

impl Figures {
    pub fn rank(&self, share: f64) -> f64 {
        let last = self.followed.len().saturating_sub(1);
        self.followed[(share * last as f64).round() as usize]
    }
}

/// Plays a scene with so many shifts.
pub fn play(scene: Scene, hosts: usize, total: u64, shifts: u32, seed: u64) -> Figures {
    let mut rng = Rng::new(seed);
    let mut daemons = Daemons::new(hosts, total, seed);
    let (total, equal) = (total as f64, total as f64 / hosts as f64);
    let mut figures = Figures::default();
    let (mut sent, mut possible) = (0.0, 0.0);
    let calm = match scene {
        Scene::Crowd | Scene::Hog => equal / 3.0,
        Scene::Move | Scene::Several => 0.0,
    };
    daemons.wants.fill(calm);
    while daemons.now() < PERIOD * SHIFT {
        daemons.tick();
    }
    let before = (daemons.now(), daemons.writes, daemons.events);
    let mut last = hosts;
    for shift in 0..shifts {
        let at = PERIOD * SHIFT * (shift + 1) + PERIOD.mul_f64((rng.next() % 1000) as f64 / 1000.0);
        let end = PERIOD * SHIFT * (shift + 2);
        while daemons.now() < at {
            daemons.tick();
        }
        let mut any = || (rng.next() % hosts as u64) as usize;
        daemons.wants.fill(calm);
        match scene {
            Scene::Crowd if shift % 2 == 1 => {}
            Scene::Crowd => {
                for _ in 0..hosts / 2 {
                    daemons.wants[any()] = 3.0 * equal;
                }
            }
            Scene::Hog | Scene::Move => {
                let to = loop {
                    let to = any();
                    if to != last {
                        break to;
                    }
                };
                last = to;
                daemons.wants[to] = 1.1 * total;
            }
            Scene::Several => {
                let active = 1 + any() % (hosts / 2);
                let together = total / 3.0 * (1.0 + any() as f64 / hosts as f64 * 5.0);
                for _ in 0..active {
                    let part = together / active as f64;
                    daemons.wants[any()] = part * (0.5 + any() as f64 / hosts as f64);
                }
            }
        }
        let can = daemons.wants.iter().sum::<f64>().min(total);
        let mut is_followed = false;
        let begun = daemons.now();
        while daemons.now() < end {
            let passed: f64 = daemons.passed().iter().sum();
            let from = daemons.now();
            while daemons.now() < from + WINDOW {
                daemons.tick();
                let limits: f64 = daemons.limits().iter().sum();
                figures.most = figures.most.max(limits / total);
            }
            let rate = (daemons.passed().iter().sum::<f64>() - passed) / WINDOW.as_secs_f64();
            let periods = (daemons.now() - begun).as_secs_f64() / PERIOD.as_secs_f64();
            if rate >= FOLLOWED * can && !is_followed {
                is_followed = true;
                figures.followed.push(periods - 0.25);
            }
            if periods >= 3.0 && can >= 0.999 * total {
                sent += rate;
                possible += can;
            }
        }
        if !is_followed {
            figures.followed.push(f64::from(SHIFT));
        }
    }
    let periods = (daemons.now() - before.0).as_secs_f64() / PERIOD.as_secs_f64() * hosts as f64;
    figures.writes = (daemons.writes - before.1) as f64 / periods;
    figures.events = (daemons.events - before.2) as f64 / periods;
    figures.settled = sent / possible.max(1.0);
    figures.followed.sort_by(f64::total_cmp);
    figures
}
