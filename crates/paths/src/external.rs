//! A path that is there already, between two existing interfaces. Changes nothing on them.

use nicety_model::FrameSize;
use nicety_model::note::PathNote;
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::{Link, Links, check_name};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;

use crate::counters::{InterfaceCounters, PathCounters};
use crate::error::PathError;
use crate::path::{Coupling, Path, PathFacts, PathPort};

/// Two interfaces of the caller's own namespace, and whatever lies between them.
#[derive(Debug)]
pub struct ExternalPath {
    links: Links,
    facts: PathFacts,
}

impl ExternalPath {
    /// Checks that both interfaces can serve as ports for frames up to `largest_frame`.
    ///
    /// # Errors
    /// One [`PathError`] per thing that can be wrong with a port.
    pub fn open(a: &str, b: &str, largest_frame: FrameSize) -> Result<Self, PathError> {
        check_name(a)?;
        check_name(b)?;
        let ns = NetNs::current()?;
        let links = Links::open(&ns)?;
        let ethtool = Ethtool::open(&ns)?;
        let there = links.list()?;
        let (a, b) = check(a, b, &there, largest_frame)?;
        let mut notes = Vec::new();
        let port = |link: &Link| PathPort {
            ns: ns.clone(),
            name: link.name.clone(),
            index: link.index,
            mac: link.mac.unwrap_or_default(),
            mtu: link.mtu,
            speed_mbps: ethtool.speed_mbps(&link.name).unwrap_or(None),
        };
        for link in [a, b] {
            if let Some(bridge) = there.iter().find(|l| Some(l.index) == link.master) {
                let note = PathNote::PortInBridge {
                    port: link.name.clone(),
                    bridge: bridge.name.clone(),
                };
                notes.push(note.into());
            }
        }
        Ok(Self {
            facts: PathFacts {
                notes,
                existing_ports: true,
                own_stations: true,
                ..PathFacts::new("ports", [port(a), port(b)], Coupling::Unknown)
            },
            links,
        })
    }
}

/// Finds both ports among the interfaces that are there, and judges them.
fn check<'a>(
    a: &str,
    b: &str,
    there: &'a [Link],
    largest_frame: FrameSize,
) -> Result<(&'a Link, &'a Link), PathError> {
    if a == b {
        return Err(PathError::SamePort { name: a.to_owned() });
    }
    let find = |name: &str| {
        there
            .iter()
            .find(|link| link.name == name)
            .ok_or_else(|| PathError::NoSuchPort {
                name: name.to_owned(),
                near: near_names(name, there),
            })
    };
    let (first, second) = (find(a)?, find(b)?);
    for (port, other) in [(first, second), (second, first)] {
        usable(port, largest_frame)?;
        if port.master == Some(other.index) {
            return Err(PathError::Unusable {
                name: port.name.clone(),
                why: format!(
                    "it is a member of the other port {}, there is no path between them",
                    other.name
                ),
            });
        }
    }
    Ok((first, second))
}

fn usable(port: &Link, largest_frame: FrameSize) -> Result<(), PathError> {
    let name = port.name.clone();
    if port.loopback || port.mac.is_none() {
        return Err(PathError::Unusable {
            name,
            why: "it is not an Ethernet interface".to_owned(),
        });
    }
    if !port.up {
        return Err(PathError::Down { name });
    }
    if !port.is_running() {
        return Err(PathError::NoCarrier { name });
    }
    let needed = largest_frame.mtu_needed();
    if port.mtu < needed {
        let (_, most) = port.mtu_range;
        let remedy = if most == 0 || most >= needed {
            format!("ip link set {name} mtu {needed}, or smaller frames")
        } else {
            format!("its driver allows {most} at most, take smaller frames")
        };
        return Err(PathError::MtuTooSmall {
            name,
            mtu: port.mtu,
            frame_size: largest_frame.bytes(),
            needed,
            remedy,
        });
    }
    Ok(())
}

/// Names at most two edits away, nearest first; every name but the loopback's when there are
/// none.
fn near_names(name: &str, there: &[Link]) -> Vec<String> {
    let mut near: Vec<_> = there
        .iter()
        .filter(|link| !link.loopback)
        .map(|link| (strsim::levenshtein(name, &link.name), link.name.clone()))
        .collect();
    near.sort();
    if near.first().is_some_and(|(distance, _)| *distance <= 2) {
        near.retain(|(distance, _)| *distance <= 2);
    }
    near.into_iter().map(|(_, name)| name).take(8).collect()
}

impl Path for ExternalPath {
    fn facts(&self) -> &PathFacts {
        &self.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let ports = self.facts.ports.iter().map(|port| {
            let counters = self.links.get(&port.name)?.counters;
            Ok(InterfaceCounters::port(&port.name, counters))
        });
        Ok(ports.collect::<Result<Vec<_>, _>>()?.into())
    }
}

#[cfg(test)]
pub(crate) mod tests;
