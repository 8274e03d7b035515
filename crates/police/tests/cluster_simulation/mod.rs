//! Tenants over many hosts, without faults: how their totals are used, how soon a shift of demand
//! is followed, and what it costs. The leader, the hosts and the values of the store are the
//! product's; the store is a view that hears everything at once.

#![allow(
    dead_code,
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_types,
    reason = "shared by a test and a benchmark"
)]

pub mod daemons;
pub mod doorman;
pub mod figures;
pub mod product;
pub mod scenes;

pub use figures::Figures;
use nicety_testkit::random::Rng;

/// Total of each tenant over all hosts, in bits per second.
pub const TOTAL: u64 = 10_000_000_000;
/// Periods between two shifts of a tenant's demand.
pub const SHIFT: usize = 20;

/// How large it is.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub hosts: usize,
    pub tenants: usize,
    /// Hosts of each tenant.
    pub spread: usize,
    pub periods: usize,
    pub seed: u64,
    pub shifts: Shifts,
}

/// What a shift of demand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shifts {
    /// One host wants everything, and from the shift on another one does.
    Move,
    /// Any part of the hosts up to a half wants something, together a third of the total to twice
    /// of it.
    Mix,
}

/// Where a tenant has machines.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub host: usize,
    pub tenant: usize,
}

/// Who decides: limits for each place, twice in a period.
pub trait Algorithm {
    /// The period's end: hosts say what they send and want.
    fn report(&mut self, demand: &[u64], limits: &mut [u64]);
    /// The middle of a period.
    fn lead(&mut self, _limits: &mut [u64]) {}
    /// What it has cost.
    fn cost(&self, _figures: &mut Figures) {}
}

/// To each host an equal part for ever.
pub struct Static(pub Vec<u64>);

impl Static {
    pub fn new(scale: &Scale, places: &[Place]) -> Self {
        Self(vec![TOTAL / scale.spread as u64; places.len()])
    }
}

impl Algorithm for Static {
    fn report(&mut self, _: &[u64], limits: &mut [u64]) {
        limits.copy_from_slice(&self.0);
    }
}

/// Places of all tenants, by host.
pub fn places(scale: &Scale) -> Vec<Place> {
    let mut rng = Rng::new(scale.seed);
    let mut places = Vec::new();
    for tenant in 0..scale.tenants {
        let mut hosts: Vec<usize> = (0..scale.hosts).collect();
        for chosen in 0..scale.spread.min(scale.hosts) {
            let other = chosen + (rng.next() as usize) % (scale.hosts - chosen);
            hosts.swap(chosen, other);
            let host = hosts[chosen];
            places.push(Place { host, tenant });
        }
    }
    places.sort_by_key(|place| (place.host, place.tenant));
    places
}

/// Runs an algorithm, and gives its figures. Holds the sum of the limits against every total.
pub fn run(scale: &Scale, places: &[Place], algorithm: &mut dyn Algorithm) -> Figures {
    let mut rng = Rng::new(scale.seed ^ 0x5eed);
    let mut demand = vec![0; places.len()];
    let mut limits = vec![0; places.len()];
    let mut of: Vec<Vec<usize>> = vec![Vec::new(); scale.tenants];
    for (index, place) in places.iter().enumerate() {
        of[place.tenant].push(index);
    }
    let mut record = figures::Record::new(scale.tenants);
    // Hosts join and are admitted before anything is measured.
    for _ in 0..4 {
        algorithm.report(&demand, &mut limits);
        algorithm.lead(&mut limits);
    }
    for period in 0..scale.periods {
        for (tenant, of) in of.iter().enumerate() {
            if (period + tenant) % SHIFT == 0 {
                shift(&mut rng, scale.shifts, of, &mut demand);
                record.shifted(tenant);
            }
        }
        // The first half of the period has the limits of the last; the leader acts in the middle.
        for half in 0..2 {
            if half == 1 {
                algorithm.lead(&mut limits);
            }
            for (tenant, of) in of.iter().enumerate() {
                let sum: u64 = of.iter().map(|index| limits[*index]).sum();
                assert!(sum <= TOTAL, "tenant {tenant} may send {sum}");
                let used = of
                    .iter()
                    .map(|index| demand[*index].min(limits[*index]))
                    .sum();
                let wanted: u64 = of.iter().map(|index| demand[*index]).sum();
                record.add(tenant, used, wanted.min(TOTAL));
            }
        }
        algorithm.report(&demand, &mut limits);
    }
    let mut figures = record.figures(scale.periods);
    algorithm.cost(&mut figures);
    figures
}

/// Draws another demand.
fn shift(rng: &mut Rng, shifts: Shifts, of: &[usize], demand: &mut [u64]) {
    for index in of {
        demand[*index] = 0;
    }
    if shifts == Shifts::Move {
        demand[of[(rng.next() as usize) % of.len()]] = 2 * TOTAL;
        return;
    }
    let active = 1 + (rng.next() as usize) % (of.len() / 2).max(1);
    let together = TOTAL / 3 + rng.next() % (TOTAL / 3 * 5);
    for _ in 0..active {
        let index = of[(rng.next() as usize) % of.len()];
        let part = together / active as u64;
        demand[index] = part / 2 + rng.next() % part.max(1);
    }
}
