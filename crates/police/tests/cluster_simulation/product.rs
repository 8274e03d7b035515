//! The product's leader and hosts in step, with a store that hears everything at once: one report and one turn in each
//! period, so this shows what a period costs. How soon the product follows is seen where hosts are not in step.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nicety_model::BitRate;
use nicety_police::cluster::wire::Wire;
use nicety_police::cluster::{
    Change, Changes, Host, HostSettings, Leader, Lease, LocalDemand, Margin, Total, View,
};

use super::{Algorithm, Figures, Place, Scale, TOTAL};

const FOR_EVER: Duration = Duration::from_secs(1_000_000_000);

pub struct Product {
    hosts: Vec<Host>,
    /// Places of each host.
    of: Vec<Vec<(usize, String)>>,
    view: View,
    leader: Leader,
    /// What each host said last.
    said: Vec<BTreeMap<String, LocalDemand>>,
    periods: usize,
    writes: usize,
    grants: usize,
    bytes: usize,
    computing: Duration,
}

fn put(key: String, value: Vec<u8>, lease: i64) -> Change {
    Change::Put { key, value, lease }
}

impl Product {
    pub fn new(scale: &Scale, places: &[Place]) -> Self {
        let mut of: Vec<Vec<(usize, String)>> = vec![Vec::new(); scale.hosts];
        for (index, place) in places.iter().enumerate() {
            of[place.host].push((index, format!("tenant-{}", place.tenant)));
        }
        let total = Total {
            max: BitRate(TOTAL),
            guarantee: BitRate(TOTAL / 5),
            weight: 1,
        };
        let mut members = Vec::new();
        let hosts = of.iter().enumerate().map(|(number, of)| {
            let settings = HostSettings {
                name: format!("host-{number}"),
                machine: format!("{number:032x}"),
                margin: Margin::default(),
                hosts: None,
                safe_share: None,
                period: Duration::from_secs(1),
                tenants: of
                    .iter()
                    .map(|(_, tenant)| (tenant.clone(), total))
                    .collect(),
            };
            let lease = number as i64 + 1;
            let member = settings.member().encode();
            members.push(put(format!("member/{}", settings.name), member, lease));
            let mut host = Host::new(settings, None);
            host.take_lease(Lease::Renewed {
                lease,
                sent_at: Duration::ZERO,
                ttl: FOR_EVER,
            });
            host
        });
        let hosts = hosts.collect();
        let mut made = Self {
            hosts,
            of,
            view: View::default(),
            leader: Leader::default(),
            said: vec![BTreeMap::new(); scale.hosts],
            periods: 0,
            writes: 0,
            grants: 0,
            bytes: 0,
            computing: Duration::ZERO,
        };
        made.take(true, members);
        made
    }

    /// A host's report, as a change of the store.
    fn said(&mut self, number: usize) -> Change {
        let host = &self.hosts[number];
        let value = host.report(&self.said[number]).unwrap().encode();
        self.writes += 1;
        self.bytes += value.len();
        let key = format!("report/{}", host.settings().name);
        put(key, value, host.lease().unwrap())
    }

    /// One turn of the leader; gives the hosts whose grants have changed.
    fn turn(&mut self) -> Vec<usize> {
        let begin = Instant::now();
        let (batches, _) = self.leader.step(&self.view);
        let mut changed = Vec::new();
        for batch in &batches {
            assert_eq!(self.view.ledger(), Ok(batch.expects));
            self.writes += 1;
            let mut changes = vec![put("ledger".to_owned(), batch.ledger(), 0)];
            for (host, grant) in &batch.grants {
                let value = grant.encode();
                self.bytes += value.len();
                self.grants += 1;
                changes.push(put(format!("grant/{host}"), value, 0));
                changed.push(host.strip_prefix("host-").unwrap().parse().unwrap());
            }
            self.take(false, changes);
        }
        self.computing += begin.elapsed();
        changed
    }

    fn take(&mut self, all: bool, changes: Vec<Change>) {
        self.view.take(&Changes {
            revision: self.view.revision() + 1,
            all,
            changes,
        });
    }
}

impl Algorithm for Product {
    fn report(&mut self, demand: &[u64], limits: &mut [u64]) {
        self.periods += 1;
        for (said, of) in self.said.iter_mut().zip(&self.of) {
            let local = of.iter().map(|(index, tenant)| {
                let (wants, limit) = (demand[*index], limits[*index]);
                let held = wants > 0 && wants as f64 >= 0.99 * limit as f64;
                let local = LocalDemand {
                    used: BitRate(wants.min(limit)),
                    // As the controller of a host guesses it.
                    demand: (!held).then_some(BitRate(wants + wants / 20)),
                };
                (tenant.clone(), local)
            });
            *said = local.collect();
        }
        let changes: Vec<Change> = (0..self.hosts.len()).map(|of| self.said(of)).collect();
        let begin = Instant::now();
        self.take(false, changes);
        self.computing += begin.elapsed();
    }

    fn lead(&mut self, limits: &mut [u64]) {
        for number in self.turn() {
            let host = &mut self.hosts[number];
            let name = host.settings().name.clone();
            host.take(self.view.hosts().get(&name));
            let orders = host.orders(Duration::ZERO);
            for (index, tenant) in &self.of[number] {
                limits[*index] = orders.limits[tenant].max.0;
            }
            let set = (orders.limits.iter()).map(|(tenant, limit)| (tenant.clone(), limit.max));
            assert!(host.applied(&orders, &set.collect()).is_empty());
        }
    }

    fn cost(&self, figures: &mut Figures) {
        let periods = self.periods as f64;
        figures.writes = self.writes as f64 / periods;
        figures.grants = self.grants as f64 / periods;
        figures.bytes = self.bytes as f64 / periods;
        figures.leader_ms = self.computing.as_secs_f64() * 1000.0 / periods;
        let hosts = self.view.hosts().values();
        let stored: usize = hosts
            .map(|host| {
                let member = host.member().map_or(0, |value| value.encode().len());
                let report = host.report().map_or(0, |value| value.encode().len());
                member + report + host.grant().map_or(0, |value| value.encode().len())
            })
            .sum();
        figures.stored = stored as f64;
    }
}
