//! A tunnel that carries IP: WireGuard's keys, and the routes into it and out of it.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use nicety_netdev::net_error::NetError;
use nicety_netdev::route::{Prefix, Table};
use nicety_netdev::wireguard::{Key, Peer, Wireguard};

use super::{FAR, NEAR, TunnelSpec};
use crate::error::PathError;
use crate::networks::{self, sides};
use crate::rig::Rig;
use crate::site::Site;

/// Port of both ends, WireGuard's usual one.
const PORT: u16 = 51820;
/// Seconds between two packets that keep the tunnel ready.
const KEEPALIVE_S: u16 = 25;
/// Longest wait for the two ends to agree on keys. A handshake that got lost is tried again after five seconds
/// (REKEY_TIMEOUT, drivers/net/wireguard/messages.h).
const READY: Duration = Duration::from_secs(12);
/// Tables of routes for what comes from A and from B: into the tunnel, where the main one leads out of it.
const INTO: [u8; 2] = [100, 101];

/// Gives both ends keys, and each the other for its peer.
pub(super) fn keys(near: &Site, far: &Site) -> Result<(), NetError> {
    let ends = [Wireguard::open(&near.ns)?, Wireguard::open(&far.ns)?];
    let names = ["t0", "t1"];
    let mut public = [Key::default(); 2];
    for ((end, name), key) in ends.iter().zip(names).zip(&mut public) {
        *key = end.set_key(name, &private()?, PORT)?;
    }
    let peers = [(public[1], FAR), (public[0], NEAR)];
    for ((end, name), (public_key, address)) in ends.iter().zip(names).zip(peers) {
        let peer = Peer {
            public_key,
            endpoint: SocketAddrV4::new(address, PORT),
            networks: everything(),
            // One end begins: two at once may have to begin anew, seconds later.
            keepalive_s: (name == "t0").then_some(KEEPALIVE_S),
        };
        end.add_peer(name, &peer)?;
    }
    Ok(())
}

/// Waits until packets go through at once: until then the first ones are kept, and more are dropped.
pub(super) fn wait_ready(dut: &Site) -> Result<(), NetError> {
    let ends = Wireguard::open(&dut.ns)?;
    ["t0", "t1"]
        .into_iter()
        .try_for_each(|name| ends.wait_ready(name, READY))
}

fn everything() -> Vec<Prefix> {
    let four = Prefix {
        address: Ipv4Addr::UNSPECIFIED.into(),
        bits: 0,
    };
    let six = Prefix {
        address: std::net::Ipv6Addr::UNSPECIFIED.into(),
        bits: 0,
    };
    vec![four, six]
}

/// A key that nobody else has. The kernel clears and sets the bits that a key of Curve25519 has not at random.
fn private() -> Result<Key, NetError> {
    let mut key = Key::default();
    rustix::rand::getrandom(&mut key[..], rustix::rand::GetRandomFlags::empty())
        .map_err(|e| NetError::new("make", "a random key", io::Error::from(e)))?;
    Ok(key)
}

/// Routes what comes from the tester into the tunnel, and what comes out of it to the tester.
pub(super) fn connect(rig: &Rig, spec: &TunnelSpec) -> Result<(), PathError> {
    let routes = networks::connect(&rig.dut, spec.stations, spec.ipv6)?;
    let [a, b] = sides(spec.ipv6);
    for ((from, to, end), table) in [(a, b, "t0"), (b, a, "t1")].into_iter().zip(INTO) {
        let end = rig.dut.links.get(end)?.index;
        routes.add(to.network, end, None, Table::Own(table))?;
        routes.from(from.interface, to.network.address, table)?;
    }
    Ok(())
}
