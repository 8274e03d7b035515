//! FAIR_SHARE of doorman (youtube/doorman, `go/server/doorman/algorithm.go`): one server that
//! remembers what each client has and wants, asked by each client once a period. Here every client
//! knows its demand; a client of the product only sees that its limit holds it.

use super::{Algorithm, Figures, Place, Rng, Scale, TOTAL};

#[derive(Debug, Clone, Copy, Default)]
struct Lease {
    has: u64,
    wants: u64,
}

pub struct Doorman {
    /// Places of each tenant.
    of: Vec<Vec<usize>>,
    places: Vec<Place>,
    leases: Vec<Lease>,
    /// What the leases of a tenant have together.
    sums: Vec<u64>,
    rng: Rng,
    demand: Vec<u64>,
    order: Vec<usize>,
    hosts: usize,
}

impl Doorman {
    pub fn new(scale: &Scale, places: &[Place]) -> Self {
        let mut of = vec![Vec::new(); scale.tenants];
        for (index, place) in places.iter().enumerate() {
            of[place.tenant].push(index);
        }
        Self {
            of,
            places: places.to_vec(),
            leases: vec![Lease::default(); places.len()],
            sums: vec![0; scale.tenants],
            rng: Rng::new(scale.seed ^ 0xd00d),
            demand: vec![0; places.len()],
            order: (0..places.len()).collect(),
            hosts: scale.hosts,
        }
    }

    /// One client refreshes its lease.
    fn ask(&mut self, index: usize) -> u64 {
        let tenant = self.places[index].tenant;
        let clients = &self.of[tenant];
        let wants = self.demand[index];
        let old = self.leases[index].has;
        let free = TOTAL - self.sums[tenant] + old;
        let equal = TOTAL as f64 / clients.len() as f64;
        let asked = wants as f64;
        let mut deserved = equal;
        // Twice: what others leave of their share is shared among those that want more.
        for _ in 0..2 {
            if asked <= deserved {
                break;
            }
            let (mut left, mut eager) = (0.0, 1.0);
            for other in clients.iter().filter(|other| **other != index) {
                let wants = self.leases[*other].wants as f64;
                if wants < deserved {
                    left += if deserved > equal && wants <= equal {
                        0.0
                    } else {
                        deserved - wants
                    };
                } else if wants > deserved {
                    eager += 1.0;
                }
            }
            deserved += left / eager;
        }
        let gets = (asked.min(deserved) as u64).min(free);
        self.leases[index] = Lease { has: gets, wants };
        self.sums[tenant] = self.sums[tenant] - old + gets;
        gets
    }

    fn ask_some(&mut self, limits: &mut [u64], half: usize) {
        let count = self.order.len();
        for at in (half * count / 2)..((half + 1) * count / 2) {
            let index = self.order[at];
            limits[index] = self.ask(index);
        }
    }
}

impl Algorithm for Doorman {
    fn report(&mut self, demand: &[u64], limits: &mut [u64]) {
        self.demand.copy_from_slice(demand);
        // Each client has its own time in the period.
        if self.rng.next() != 0 && self.leases.iter().all(|lease| lease.wants == 0) {
            for at in (1..self.order.len()).rev() {
                let other = (self.rng.next() as usize) % (at + 1);
                self.order.swap(at, other);
            }
        }
        self.ask_some(limits, 0);
    }

    fn lead(&mut self, limits: &mut [u64]) {
        self.ask_some(limits, 1);
    }

    fn cost(&self, figures: &mut Figures) {
        // Nothing is stored: each host asks once a period.
        figures.writes = self.hosts as f64;
    }
}
