//! Two namespaces joined by a tunnel over a wire of its own.
//!
//! ```text
//!  namespace A               namespace DUT                   namespace B
//!      a ---- d0 - br0 - t0 ..............t1 - br1 - d1 --------- b
//!                        u0 ------------- u1
//!                                         namespace FAR
//! ```
//!
//! `t0` packs frames and sends them over `u0`. `t1` was made in the namespace of `u1`, so that is where it receives,
//! and then moved. The wire's ends receive in NAPI threads as `d0` and `d1` do, and its MTU has room for what the
//! tunnel adds. Where the tunnel carries IP alone, routes take the places of the bridges.

mod routed;

use std::net::Ipv4Addr;

use nicety_model::note::PathNote;
use nicety_model::path::{Encapsulation, TunnelParams};
use nicety_netdev::link::{Between, LinkChange, Mac};
use nicety_netdev::net_error::NetError;
use nicety_netdev::{napi, qdisc};

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::error::PathError;
use crate::interface::{CARRIER_LIMIT, up};
use crate::path::{Coupling, Path, PathFacts};
use crate::receive_threads;
use crate::rig::{Rig, RigSpec};
use crate::site::Site;
use crate::veth::{self, End};

/// Bytes that the largest of the encapsulations adds, with room: WireGuard over IPv4 takes 60, VXLAN 50.
const OVERHEAD: u32 = 128;
/// The wire's addresses (TEST-NET-2, RFC 5737).
const NEAR: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const BITS: u8 = 30;
/// Network identifier of VXLAN and Geneve.
const ID: u32 = 100;
const MAC_U0: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0xe0]);
const MAC_U1: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0xe1]);
/// Lets a receiving end merge datagrams of a flow, and of packets that are sent on.
const MERGING: [(&str, bool); 2] = [("rx-gro", true), ("rx-udp-gro-forwarding", true)];
/// What was merged is taken apart before it leaves for the tester, with a checksum in each of the parts.
const APART: [(&str, bool); 3] = [
    ("tx-gso-list", false),
    ("tx-udp-segmentation", false),
    ("tx-checksum-ip-generic", false),
];

/// A tunnel between the tester's ports.
#[derive(Debug, Clone)]
pub struct TunnelSpec {
    /// The two ways to it.
    pub rig: RigSpec,
    /// What it is like.
    pub ask: TunnelParams,
    /// The tester's stations at ports A and B.
    pub stations: [Mac; 2],
    /// Whether frames are of IPv6.
    pub ipv6: bool,
}

/// The path; gone when dropped.
#[derive(Debug)]
pub struct TunnelPath {
    rig: Rig,
    far: Site,
}

impl TunnelPath {
    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// Those of [`BridgePath::build`](crate::BridgePath::build); [`PathError::NoKernelSupport`] for a kernel without
    /// such tunnels.
    pub fn build(spec: &TunnelSpec) -> Result<Self, PathError> {
        let mut rig = Rig::build("tunnel", &spec.rig)?;
        let mut notes = Vec::new();
        let far = Site::create("FAR", &mut notes)?;
        rig.facts.notes.extend(notes);
        let inner_mtu = rig.facts.ports[0].mtu;
        wire(&mut rig, &far, &spec.rig, inner_mtu + OVERHEAD)?;
        let encapsulation = spec.ask.encapsulation();
        ends(&rig, &far, encapsulation).map_err(|error| lacking(error, encapsulation))?;
        let mtu = LinkChange {
            mtu: Some(inner_mtu),
            ..up(None)
        };
        for name in ["t0", "t1"] {
            rig.dut.links.change(name, &mtu)?;
        }
        if encapsulation.is_routed() {
            routed::connect(&rig, spec)?;
            routed::wait_ready(&rig.dut)?;
            // Its queue of work is a per-CPU one of the kernel's (`wg-crypt`, drivers/net/wireguard/device.c),
            // which nobody can place.
            let what = "WireGuard".to_owned();
            rig.facts
                .notes
                .push(PathNote::WorksOnEveryCpu { what }.into());
        } else {
            bridges(&rig)?;
        }
        if spec.ask.gro() {
            rig.dut.ethtool.set_features("u0", &MERGING)?;
            far.ethtool.set_features("u1", &MERGING)?;
            for name in ["d0", "d1"] {
                rig.dut.ethtool.set_features(name, &APART)?;
            }
        }
        rig.joined(false);
        Ok(Self { rig, far })
    }
}

/// The wire between the tunnel's ends.
fn wire(rig: &mut Rig, far: &Site, spec: &RigSpec, mtu: u32) -> Result<(), NetError> {
    let end = |site, name, mac| End { site, name, mac };
    veth::connect(
        end(&rig.dut, "u0", MAC_U0),
        end(far, "u1", MAC_U1),
        mtu,
        spec.queues.max(1),
    )?;
    // The pair is the far side of itself: the other direction needs the switches too.
    far.ethtool.set_features("u1", &napi::SENDER_FEATURES)?;
    rig.dut
        .ethtool
        .set_features("u0", &napi::RECEIVER_FEATURES)?;
    let first = spec.path_cpus.first().copied();
    let second = spec.path_cpus.get(1).copied().or(first);
    let mut threads = Vec::new();
    // What comes from A is received by `d0` on the first CPU, so its other half is for the second.
    for (site, name, address, cpu) in [(&rig.dut, "u0", NEAR, first), (far, "u1", FAR, second)] {
        site.set_up(name)?;
        site.links.add_address(name, address.into(), BITS)?;
        let notes = &mut rig.facts.notes;
        threads.extend(receive_threads::start(site, name, &|_| cpu, notes)?);
    }
    receive_threads::note_unpinned(&threads, &mut rig.facts.notes);
    if Coupling::of(&threads, ["u0", "u1"]) != Coupling::Decoupled {
        rig.facts.coupling = Coupling::SenderContext;
    }
    rig.facts.threads.extend(threads);
    for (site, name) in [(&rig.dut, "u0"), (far, "u1")] {
        site.links.wait_carrier(name, CARRIER_LIMIT)?;
    }
    Ok(())
}

/// Makes `t0` and `t1`, both in the namespace in the middle, each sending over its own end of the wire.
fn ends(rig: &Rig, far: &Site, encapsulation: Encapsulation) -> Result<(), NetError> {
    let sites = [(&rig.dut, "t0", NEAR, FAR), (far, "t1", FAR, NEAR)];
    for (site, name, local, remote) in sites {
        let between = Between { local, remote };
        match encapsulation {
            Encapsulation::Vxlan => site.links.add_vxlan(name, ID, between)?,
            Encapsulation::Geneve => site.links.add_geneve(name, ID, remote)?,
            Encapsulation::Gre => site.links.add_gretap(name, between)?,
            Encapsulation::Wireguard => site.links.add_wireguard(name)?,
        }
    }
    if encapsulation.is_routed() {
        routed::keys(&rig.dut, far)?;
    }
    far.links.move_to("t1", &rig.dut.ns, "t1")
}

/// A bridge at either end, which learns as those of hosts do.
fn bridges(rig: &Rig) -> Result<(), NetError> {
    let links = &rig.dut.links;
    for (bridge, members) in [("br0", ["d0", "t0"]), ("br1", ["t1", "d1"])] {
        links.add_bridge(bridge)?;
        rig.enslave(members, links.get(bridge)?.index)?;
        rig.dut.set_up(bridge)?;
        links.wait_carrier(bridge, CARRIER_LIMIT)?;
    }
    Ok(())
}

fn lacking(error: NetError, encapsulation: Encapsulation) -> PathError {
    let absent = error.is_unsupported() || matches!(error, NetError::NotFound { .. });
    if !absent {
        return error.into();
    }
    let (what, module) = match encapsulation {
        Encapsulation::Vxlan => ("VXLAN (CONFIG_VXLAN)", "vxlan"),
        Encapsulation::Geneve => ("Geneve (CONFIG_GENEVE)", "geneve"),
        Encapsulation::Gre => ("GRE (CONFIG_NET_IPGRE)", "ip_gre"),
        Encapsulation::Wireguard => ("WireGuard (CONFIG_WIREGUARD)", "wireguard"),
    };
    PathError::no_module(what, module)
}

impl Path for TunnelPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.rig.counters(&[
            ("br0", Role::Bridge),
            // What an end drops is not sent over the wire.
            ("t0", Role::Inner),
            ("u0", Role::Inner),
            ("t1", Role::Inner),
            ("br1", Role::Bridge),
        ])?;
        let link = self.far.links.get("u1")?;
        let qdiscs = qdisc::list(&self.far.ns)?;
        let place = InterfaceCounters::of_link(&link, Role::Inner, &qdiscs);
        let places = &mut counters.interfaces;
        let after = places.iter().position(|place| place.interface == "u0");
        places.insert(after.map_or(0, |at| at + 1), place);
        Ok(counters)
    }
}
