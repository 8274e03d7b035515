//! What every host wants of each tenant, and when: the same for nicety and for those it is compared with.

use nicety_testkit::random::Rng;

use crate::{HOSTS, PERIOD_S, REAL, TENANTS, TOTAL};

/// Periods between two shifts of a tenant.
const SHIFT: f64 = 8.0;
/// The tenant of all scenes but the last, and that of the last.
pub const BLUE: usize = 0;
pub const GREEN: usize = 1;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scene {
    /// Half of the hosts want nine times as much at once.
    Crowd,
    /// Nobody wants anything, then everybody does.
    All,
    /// One host wants everything, the others a little.
    Hog,
    /// One host wants everything, and from the shift on another one does.
    Move,
    /// Any part of the hosts up to a half wants something, together a third of the total to twice of it.
    Several,
}

impl Scene {
    pub const EACH: [Self; 5] = [Self::Crowd, Self::All, Self::Hog, Self::Move, Self::Several];

    pub fn word(self) -> &'static str {
        match self {
            Self::Crowd => "flash crowd",
            Self::All => "all idle, all want",
            Self::Hog => "one hog",
            Self::Move => "demand moves",
            Self::Several => "several at once",
        }
    }
}

/// Another demand of a tenant.
#[derive(Debug, Clone)]
pub struct Change {
    /// Seconds since the begin.
    pub at: f64,
    pub tenant: usize,
    pub scene: Scene,
    /// In bits per second on the wire, by host.
    pub demand: Vec<f64>,
}

/// All changes, in order of time.
#[derive(Debug, Clone)]
pub struct Trace {
    pub changes: Vec<Change>,
    /// Seconds.
    pub end: f64,
}

impl Trace {
    /// With so many shifts of each kind.
    pub fn new(seed: u64, shifts: usize) -> Self {
        let mut rng = Rng::new(seed);
        let mut changes = Vec::new();
        let equal = TOTAL / HOSTS as f64;
        let mut add = |at: f64, tenant, scene, demand| {
            let at = at * PERIOD_S;
            changes.push(Change {
                at,
                tenant,
                scene,
                demand,
            });
        };
        let every = |rate: f64| vec![rate; HOSTS];
        let only = |host: usize, rate: f64, others: f64| {
            let mut demand = every(others);
            demand[host] = rate;
            demand
        };
        add(0.0, GREEN, Scene::Several, every(0.0));
        add(0.0, BLUE, Scene::Crowd, every(equal / 3.0));
        let mut crowd = every(equal / 3.0);
        for host in some(&mut rng, HOSTS / 2) {
            crowd[host] = 3.0 * equal;
        }
        add(5.0 + rng.part(), BLUE, Scene::Crowd, crowd);
        add(16.0, BLUE, Scene::All, every(0.0));
        add(24.0 + rng.part(), BLUE, Scene::All, every(2.0 * equal));
        let hogs = [rng.below(REAL), REAL + rng.below(HOSTS - REAL)];
        for (at, hog) in [36.0, 48.0].into_iter().zip(hogs) {
            let demand = only(hog, 1.1 * TOTAL, equal / 3.0);
            add(at + rng.part(), BLUE, Scene::Hog, demand);
        }
        let begin = 60.0;
        let mut last = HOSTS;
        // The first only begins it.
        for shift in 0..=shifts {
            let base = begin + SHIFT * shift as f64;
            // Every other one is to a real host.
            let to = loop {
                let to = match shift % 2 {
                    0 => rng.below(REAL),
                    _ => REAL + rng.below(HOSTS - REAL),
                };
                if to != last {
                    break to;
                }
            };
            last = to;
            let demand = only(to, 1.1 * TOTAL, 0.0);
            // Anywhere in a period.
            add(base + rng.part(), BLUE, Scene::Move, demand);
            let green = several(&mut rng);
            add(
                base + SHIFT / 2.0 + rng.part(),
                GREEN,
                Scene::Several,
                green,
            );
        }
        let end = (begin + SHIFT * (shifts as f64 + 1.5)) * PERIOD_S;
        changes.sort_by(|a, b| a.at.total_cmp(&b.at));
        Self { changes, end }
    }

    /// Changes of a tenant, each with when the next one comes.
    pub fn spans(&self, tenant: usize) -> Vec<(&Change, f64)> {
        let of = self.changes.iter().filter(|change| change.tenant == tenant);
        let of: Vec<&Change> = of.collect();
        let next = of.iter().skip(1).map(|change| change.at);
        let ends: Vec<f64> = next.chain([self.end]).collect();
        of.into_iter().zip(ends).collect()
    }

    /// Changes after which something has to be followed: not the first of a scene, which only begins it, and none
    /// after which nobody wants anything.
    pub fn is_shift(&self, change: &Change) -> bool {
        let of = self
            .changes
            .iter()
            .filter(|of| of.tenant == change.tenant && of.scene == change.scene);
        let first = of.map(|of| of.at).fold(f64::INFINITY, f64::min);
        let begins = change.at <= first && change.scene != Scene::Hog;
        !begins && change.demand.iter().any(|demand| *demand > 0.0)
    }
}

/// So many hosts, real ones and simulated ones as there are.
fn some(rng: &mut Rng, count: usize) -> Vec<usize> {
    let mut hosts: Vec<usize> = (0..HOSTS).collect();
    for chosen in 0..count {
        let other = chosen + rng.below(HOSTS - chosen);
        hosts.swap(chosen, other);
    }
    hosts.truncate(count);
    hosts
}

fn several(rng: &mut Rng) -> Vec<f64> {
    let active = 1 + rng.below(HOSTS / 2);
    let together = TOTAL / 3.0 + rng.part() * TOTAL * 5.0 / 3.0;
    let part = together / active as f64;
    let mut demand = vec![0.0; HOSTS];
    for host in some(rng, active) {
        demand[host] = (part * (0.5 + rng.part())).min(1.1 * TOTAL);
    }
    demand
}

const _: () = assert!(TENANTS.len() == 2 && REAL < HOSTS);
