//! Whose packets the kernel drops: its counts by place, joined with who owns which interface.

use std::collections::BTreeMap;

use nicety_model::SCHEMA;
use nicety_model::drops::{DropOwner, DropsReport, OwnerDrops, PlaceDrops, Towards, Unseen};

/// The reason for which frames to the address of another host are dropped: most often copies that nobody waits for.
pub const OTHERHOST: &str = "OTHERHOST";
/// From so many frames on, nearly all to one address, these are no copies.
const ONE_FLOW: u64 = 10;

/// A place where packets were dropped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Inode of the interface's network namespace; 0 where the packet had no interface.
    pub netns: u64,
    /// Number of the interface there.
    pub index: u32,
    /// Its name.
    pub device: Option<String>,
    /// Number of the interface that received the packet, in the same namespace; 0 for none.
    pub received_at: u32,
    /// Function of the kernel.
    pub function: Option<String>,
    /// The kernel's reason.
    pub reason: Option<String>,
}

impl Place {
    /// Whether frames for other hosts are dropped there. Without reasons, before Linux 5.17, there is no telling.
    pub fn drops_others(&self) -> bool {
        self.reason.as_deref() == Some(OTHERHOST)
    }
}

/// What was dropped at a place in a time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dropped {
    /// The place.
    pub place: Place,
    /// Times.
    pub events: u64,
    /// Packets, those inside merged ones too.
    pub packets: u64,
    /// Of frames for other hosts: how often one had another address than the one before.
    pub turns: u64,
}

impl Dropped {
    /// Whether only copies were dropped that nobody waits for: frames for many other hosts, which a switch floods or a
    /// promiscuous interface sees. Whoever sends all to one address has a stale one of a host that is gone or has moved.
    pub fn are_copies(&self) -> bool {
        let one_flow = self.events >= ONE_FLOW && self.turns.saturating_mul(10) <= self.events;
        self.place.drops_others() && !one_flow
    }
}

/// Who owns which interface at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owners {
    /// Inode of the network namespace of the host.
    pub here: u64,
    /// Names of its interfaces, by their number.
    pub names: BTreeMap<u32, String>,
    /// Owners of interfaces, by inode of the namespace and name.
    pub interfaces: BTreeMap<(u64, String), DropOwner>,
    /// Owners of all that is in other namespaces.
    pub namespaces: BTreeMap<u64, DropOwner>,
}

impl Owners {
    /// Name of an interface of the host by its number.
    fn name(&self, netns: u64, index: u32) -> Option<&String> {
        let here = netns == self.here && index > 0;
        here.then(|| self.names.get(&index)).flatten()
    }

    /// Whether an interface of the host or an owner has this name.
    pub fn knows(&self, name: &str) -> bool {
        let owners = self.interfaces.values().chain(self.namespaces.values());
        let mut called = owners.flat_map(|owner| [Some(&owner.name), owner.interface.as_ref()]);
        name == DropOwner::host().name
            || self.names.values().any(|known| known == name)
            || called.any(|known| known.is_some_and(|known| known == name))
    }

    fn of_interface(&self, netns: u64, name: &str) -> Option<&DropOwner> {
        self.interfaces.get(&(netns, name.to_owned()))
    }

    /// Whose packets are dropped at a place, and whether these sent them or were to get them.
    pub fn of(&self, place: &Place) -> (DropOwner, Option<Towards>) {
        let netns = place.netns;
        let at = place.device.as_deref();
        let own = at.and_then(|name| self.of_interface(netns, name));
        if let Some(owner) = own {
            let towards = if place.received_at == place.index {
                Towards::From
            } else {
                Towards::To
            };
            return (owner.clone(), Some(towards));
        }
        let sender = self.name(netns, place.received_at);
        if let Some(owner) = sender.and_then(|name| self.of_interface(netns, name)) {
            return (owner.clone(), Some(Towards::From));
        }
        match self.namespaces.get(&netns) {
            Some(owner) => (owner.clone(), None),
            None => (DropOwner::host(), None),
        }
    }
}

/// What is known of a time beside the counts by place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Watched {
    /// Its length in seconds.
    pub seconds: f64,
    /// Packets at places without room in the table.
    pub uncounted: u64,
    /// What the counts do not hold.
    pub unseen: Vec<Unseen>,
}

/// Adds up what was dropped, by owner and place; `only` names an interface or an owner.
pub fn report(
    drops: &[Dropped],
    owners: &Owners,
    watched: Watched,
    only: Option<&str>,
) -> DropsReport {
    let mut by_owner: BTreeMap<DropOwner, Vec<PlaceDrops>> = BTreeMap::new();
    let mut copies = 0;
    for drop in drops.iter().filter(|drop| drop.events > 0) {
        let place = &drop.place;
        let (owner, towards) = owners.of(place);
        let received_at = owners.name(place.netns, place.received_at).cloned();
        let line = PlaceDrops {
            packets: drop.packets,
            events: drop.events,
            device: place.device.clone(),
            received_at,
            towards,
            function: place.function.clone(),
            reason: place.reason.clone(),
        };
        if only.is_some_and(|only| !concerns(&owner, &line, only)) {
            continue;
        }
        if drop.are_copies() {
            copies += drop.packets;
            continue;
        }
        let lines = by_owner.entry(owner).or_default();
        // Two places of one function are one line.
        match lines.iter_mut().find(|of| is_same(of, &line)) {
            Some(of) => {
                of.packets += line.packets;
                of.events += line.events;
            }
            None => lines.push(line),
        }
    }
    let mut owners: Vec<OwnerDrops> = by_owner.into_iter().map(of_owner).collect();
    owners.sort_by(|a, b| {
        let names = || a.owner.cmp(&b.owner);
        b.packets.cmp(&a.packets).then_with(names)
    });
    let events = |of: &OwnerDrops| of.places.iter().map(|place| place.events).sum::<u64>();
    DropsReport {
        schema: SCHEMA,
        seconds: watched.seconds,
        packets: owners.iter().map(|of| of.packets).sum(),
        events: owners.iter().map(events).sum(),
        owners,
        copies,
        uncounted: watched.uncounted,
        unseen: watched.unseen,
    }
}

fn of_owner((owner, mut places): (DropOwner, Vec<PlaceDrops>)) -> OwnerDrops {
    places.sort_by(|a, b| {
        let names = |place: &PlaceDrops| (place.device.clone(), place.function.clone());
        b.packets
            .cmp(&a.packets)
            .then_with(|| names(a).cmp(&names(b)))
    });
    OwnerDrops {
        owner,
        packets: places.iter().map(|place| place.packets).sum(),
        places,
    }
}

/// Whether two lines differ in their counts only.
fn is_same(a: &PlaceDrops, b: &PlaceDrops) -> bool {
    let counts = (a.packets, a.events);
    let b = PlaceDrops {
        packets: counts.0,
        events: counts.1,
        ..b.clone()
    };
    *a == b
}

fn concerns(owner: &DropOwner, line: &PlaceDrops, only: &str) -> bool {
    let interfaces = [&owner.interface, &line.device, &line.received_at];
    owner.name == only || interfaces.into_iter().flatten().any(|name| name == only)
}

#[cfg(test)]
mod tests;
