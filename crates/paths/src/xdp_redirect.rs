//! Two namespaces between which an XDP program hands every frame from one interface to the other, by a devmap.
//!
//! ```text
//!  namespace A      namespace DUT        namespace B
//!      a -------- d0 - XDP redirect - d1 -------- b
//! ```
//!
//! The program runs in the driver, before the kernel makes a socket buffer. Into a veth frames go that way only where
//! the other end has a ring for them (`veth_xdp_xmit` in drivers/net/veth.c), so `a` and `b` have GRO on here.

use aya::Ebpf;
use aya::maps::xdp::DevMapHash;
use aya::programs::{Xdp, XdpMode};
use nicety_model::{FrameSize, Remedy};
use nicety_netdev::napi;
use nicety_netdev::net_error::NetError;
use nicety_netdev::privilege::{Privilege, privilege};

use crate::counters::PathCounters;
use crate::error::PathError;
use crate::path::{Path, PathFacts};
use crate::rig::{Rig, RigSpec};

include!(concat!(env!("OUT_DIR"), "/bpf.rs"));

/// Largest frame in bytes with FCS: it is in a page, with room before it for XDP and behind it for the kernel
/// (`veth_xdp_set`).
const LARGEST: u16 = 3_500;

/// The path; gone when dropped.
#[derive(Debug)]
pub struct XdpRedirectPath {
    // The program leaves the interfaces with it.
    _program: Ebpf,
    rig: Rig,
}

impl XdpRedirectPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// [`PathError::FrameTooLarge`]; [`PathError::Guest`] for an ordinary user, and where the program was not built in.
    pub fn check(largest: FrameSize) -> Result<(), PathError> {
        loadable(largest)?;
        if REDIRECT.is_none() {
            return Err(PathError::Guest {
                why: format!("the XDP program is not built in: {MISSING}"),
                remedy: Remedy::here("build nicety with clang and libbpf-dev"),
            });
        }
        Ok(())
    }

    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// Those of [`BridgePath::build`](crate::BridgePath::build), those of [`Self::check`], and
    /// [`PathError::Program`] with what the kernel says to the program.
    pub fn build(spec: &RigSpec) -> Result<Self, PathError> {
        Self::check(spec.largest_frame)?;
        let mut rig = Rig::build("xdp-redirect", spec)?;
        for (site, name) in [(&rig.a, "a"), (&rig.b, "b")] {
            site.ethtool.set_features(name, &napi::RECEIVER_FEATURES)?;
        }
        let indices = [
            rig.dut.links.get("d0")?.index,
            rig.dut.links.get("d1")?.index,
        ];
        // Numbers of interfaces are those of the caller's namespace.
        let program = rig.dut.ns.run(move || load(indices))??;
        // The program sees what arrives as it is, as a switch in user space does.
        rig.joined(true);
        Ok(Self {
            _program: program,
            rig,
        })
    }
}

/// Refuses an ordinary user, and frames that no XDP program of a veth sees.
pub(crate) fn loadable(largest: FrameSize) -> Result<(), PathError> {
    if largest.bytes() > LARGEST {
        return Err(PathError::FrameTooLarge {
            what: "XDP programs of a veth",
            frame_size: largest.bytes(),
            largest: LARGEST,
        });
    }
    match privilege() {
        Ok(Privilege::Privileged) => Ok(()),
        _ => Err(PathError::Guest {
            why: "only root may load XDP programs".to_owned(),
            remedy: Remedy::here("measure as root"),
        }),
    }
}

/// Loads the program and puts it on both interfaces.
fn load([d0, d1]: [u32; 2]) -> Result<Ebpf, PathError> {
    let bytes = REDIRECT.unwrap_or_default();
    let mut loaded = Ebpf::load(bytes).map_err(|e| refused(&e))?;
    let others = loaded.map_mut("others").ok_or_else(|| lacks("map"))?;
    let mut others = DevMapHash::try_from(others).map_err(|e| refused(&e))?;
    for (from, to) in [(d0, d1), (d1, d0)] {
        others.insert(from, to, None, 0).map_err(|e| refused(&e))?;
    }
    let program = loaded.program_mut("redirect");
    let program = program.ok_or_else(|| lacks("program"))?;
    let program: &mut Xdp = program.try_into().map_err(|e| refused(&e))?;
    program.load().map_err(|e| refused(&e))?;
    for index in [d0, d1] {
        program
            .attach_to_if_index(index, XdpMode::Driver)
            .map_err(|e| refused(&e))?;
    }
    Ok(loaded)
}

fn lacks(what: &str) -> PathError {
    PathError::Program {
        program: "XDP redirect",
        what: format!("the object has no {what}"),
        last: String::new(),
    }
}

fn refused(error: &dyn std::error::Error) -> PathError {
    // The system's answer is the last of the chain.
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    PathError::Program {
        program: "XDP redirect",
        what: error.to_string(),
        last: last.to_string(),
    }
}

impl Path for XdpRedirectPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        self.rig.counters(&[])
    }
}
