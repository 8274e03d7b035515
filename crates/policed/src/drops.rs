//! Counts what the kernel drops of each tenant's packets, in a thread of its own: the loop never waits for it.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nicety_account::drops::{Dropped, Owners};
use nicety_fate::{Drops, PLACES, Refusal};
use nicety_model::drops::{DropOwner, DropOwnerKind, Towards};
use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;

/// How often the kernel's counts are taken.
const EVERY: Duration = Duration::from_secs(1);
/// Most reasons of all tenants that are kept apart; a kernel has about 120.
const MOST: usize = 10_000;
/// Where the kernel gives no reason, and where there are too many.
const OTHER: &str = "other";

/// Dropped packets of a tenant for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantDrops {
    /// The tenant.
    pub tenant: String,
    /// Whether it sent them or was to get them.
    pub towards: Towards,
    /// The kernel's reason.
    pub reason: String,
    /// Packets since they are counted.
    pub packets: u64,
}

impl TenantDrops {
    /// `sent` or `received`, seen from the tenant.
    pub fn direction(&self) -> &'static str {
        match self.towards {
            Towards::From => "sent",
            Towards::To => "received",
        }
    }
}

/// A thread that counts until this is dropped.
#[derive(Debug)]
pub struct Counter {
    shared: Arc<Mutex<Shared>>,
    told: bool,
    /// The thread ends with it.
    _ends: Sender<()>,
}

#[derive(Debug, Default)]
struct Shared {
    owners: Owners,
    totals: Totals,
    /// The first reading has come.
    counts: bool,
    trouble: Option<String>,
}

/// Packets by tenant, direction and reason.
#[derive(Debug, Default)]
struct Totals(BTreeMap<(String, Towards, String), u64>);

impl Totals {
    /// Adds what belongs to a tenant. Packets for others, which a bridge floods or a promiscuous interface takes, are no
    /// loss of his.
    fn add(&mut self, drops: &[Dropped], owners: &Owners) {
        for drop in drops.iter().filter(|drop| !drop.place.drops_others()) {
            let (owner, towards) = owners.of(&drop.place);
            let Some(towards) = towards else {
                continue;
            };
            let reason = drop.place.reason.as_deref().unwrap_or(OTHER);
            let full = self.0.len() >= MOST;
            let key = (owner.name, towards, reason.to_owned());
            let key = if full && !self.0.contains_key(&key) {
                (key.0, key.1, OTHER.to_owned())
            } else {
                key
            };
            *self.0.entry(key).or_default() += drop.packets;
        }
    }
}

impl Counter {
    /// Starts to count, in the calling process's network namespace.
    pub fn start() -> Self {
        let shared = Arc::<Mutex<Shared>>::default();
        let (ends, ended) = mpsc::channel::<()>();
        let of_thread = Arc::clone(&shared);
        let run = move || {
            let mut wait = || ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout);
            if let Err(why) = count(&of_thread, &mut wait) {
                let mut shared = locked(&of_thread);
                (shared.trouble, shared.counts) = (Some(why), false);
            }
        };
        let started = thread::Builder::new().name("drops".to_owned()).spawn(run);
        if let Err(error) = started {
            locked(&shared).trouble = Some(format!("its thread cannot be started: {error}"));
        }
        Self {
            shared,
            told: false,
            _ends: ends,
        }
    }

    /// Tells which interfaces of the namespace are of which tenant now.
    pub fn share(&self, namespace: u64, ports: Vec<(String, String)>) {
        let owner = |(interface, tenant): (String, String)| {
            let owner = DropOwner {
                kind: DropOwnerKind::Port,
                name: tenant,
                interface: Some(interface.clone()),
            };
            ((namespace, interface), owner)
        };
        let mut shared = locked(&self.shared);
        shared.owners.here = namespace;
        shared.owners.interfaces = ports.into_iter().map(owner).collect();
    }

    /// What was dropped so far; `None` where nothing is counted.
    pub fn totals(&self) -> Option<Vec<TenantDrops>> {
        let shared = locked(&self.shared);
        let all = shared
            .totals
            .0
            .iter()
            .map(|((tenant, towards, reason), packets)| TenantDrops {
                tenant: tenant.clone(),
                towards: *towards,
                reason: reason.clone(),
                packets: *packets,
            });
        shared.counts.then(|| all.collect())
    }

    /// Why nothing is counted; told once.
    pub fn trouble(&mut self) -> Option<String> {
        let trouble = locked(&self.shared).trouble.clone();
        let new = trouble.filter(|_| !self.told);
        self.told |= new.is_some();
        new
    }
}

fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts while `wait` says so; why it cannot.
fn count(shared: &Mutex<Shared>, wait: &mut dyn FnMut() -> bool) -> Result<(), String> {
    let mut drops = Drops::open(PLACES).map_err(said)?;
    let ns = NetNs::current().map_err(|error| error.to_string())?;
    let links = Links::open(&ns).map_err(|error| error.to_string())?;
    while wait() {
        let read = drops.read(false).map_err(said)?;
        let unknown = |drop: &Dropped| {
            let place = &drop.place;
            let here = place.netns == ns.inode() && place.received_at > 0;
            here.then_some(place.received_at)
        };
        let known = locked(shared).owners.names.clone();
        let mut received = read.drops.iter().filter_map(unknown);
        // Asked for only when there is a new one: a list of many interfaces takes some milliseconds.
        let names = if received.any(|index| !known.contains_key(&index)) {
            let all = links.list().map_err(|error| error.to_string())?;
            all.into_iter()
                .map(|link| (link.index, link.name))
                .collect()
        } else {
            known
        };
        let mut shared = locked(shared);
        let Shared { owners, totals, .. } = &mut *shared;
        owners.names = names;
        totals.add(&read.drops, owners);
        shared.counts = true;
    }
    Ok(())
}

fn said(why: Refusal) -> String {
    match why {
        Refusal::NotPermitted => {
            "add CAP_BPF and CAP_PERFMON, see examples/police-drops.conf; limits hold without"
                .to_owned()
        }
        Refusal::Kernel(why) => format!("the kernel refuses the program: {why}"),
        why => why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use nicety_account::drops::Place;

    use super::*;

    fn dropped(device: (u32, &str), received_at: u32, reason: Option<&str>) -> Dropped {
        Dropped {
            place: Place {
                netns: 1,
                index: device.0,
                device: Some(device.1.to_owned()),
                received_at,
                function: None,
                reason: reason.map(str::to_owned),
            },
            events: 1,
            packets: 5,
            ..Dropped::default()
        }
    }

    #[test]
    fn drops_are_counted_for_the_tenant_of_a_port() {
        let counter = Counter {
            shared: Arc::default(),
            told: false,
            _ends: mpsc::channel().0,
        };
        counter.share(1, vec![("tap0".to_owned(), "blue".to_owned())]);
        {
            let mut shared = locked(&counter.shared);
            shared.owners.names = [(3, "tap0".to_owned())].into();
            let drops = [
                dropped((3, "tap0"), 2, Some("FULL_RING")),
                dropped((9, "ifb0"), 3, Some("QDISC_DROP")),
                dropped((9, "ifb1"), 3, Some("QDISC_DROP")),
                dropped((3, "tap0"), 3, None),
                // A packet for others, of which this is a copy.
                dropped((3, "tap0"), 3, Some("OTHERHOST")),
                // Of nobody.
                dropped((2, "eth0"), 2, Some("NO_SOCKET")),
            ];
            let Shared { owners, totals, .. } = &mut *shared;
            totals.add(&drops, owners);
        }
        assert_eq!(counter.totals(), None);
        locked(&counter.shared).counts = true;
        let said: Vec<String> = counter
            .totals()
            .unwrap()
            .iter()
            .map(|of| {
                format!(
                    "{} {} {} {}",
                    of.tenant,
                    of.direction(),
                    of.reason,
                    of.packets
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                "blue sent QDISC_DROP 10",
                "blue sent other 5",
                "blue received FULL_RING 5"
            ]
        );
    }

    #[test]
    fn many_reasons_end_as_others() {
        let mut totals = Totals::default();
        let mut owners = Owners {
            here: 1,
            ..Owners::default()
        };
        let owner = DropOwner {
            kind: DropOwnerKind::Port,
            name: "blue".to_owned(),
            interface: None,
        };
        owners.interfaces.insert((1, "tap0".to_owned()), owner);
        for n in 0..2 * MOST {
            totals.add(&[dropped((3, "tap0"), 3, Some(&n.to_string()))], &owners);
        }
        assert_eq!(totals.0.len(), MOST + 1);
        let all: u64 = totals.0.values().sum();
        assert_eq!(all, 10 * MOST as u64);
    }

    #[test]
    fn trouble_is_told_once() {
        let mut counter = Counter {
            shared: Arc::default(),
            told: false,
            _ends: mpsc::channel().0,
        };
        assert_eq!(counter.trouble(), None);
        locked(&counter.shared).trouble = Some("no rights".to_owned());
        assert_eq!(counter.trouble().as_deref(), Some("no rights"));
        assert_eq!(counter.trouble(), None);
    }
}
