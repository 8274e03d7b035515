//! The program on a sending port that makes test frames of pktgen's.

use aya::programs::links::LinkOrder;
use aya::programs::tc::{TcAttachOptions, TcAttachType};
use aya::programs::{ProgramError, SchedClassifier};
use aya::{Ebpf, EbpfLoader};
use nicety_packet::stamp::STAMP_BYTES;
use nicety_packet::{Template, ethernet, ipv4, udp, vlan};

use super::cannot_send;
use crate::error::PortError;
use crate::lack::{Lack, Why};
use crate::xdp::maps::StreamMaps;
use crate::xdp::object::{self, program};
use crate::xdp::unsupported::{Unsupported, errno, refused};

/// `PAYLOAD_MAX` of `bpf/pktgen.bpf.c`.
const PAYLOAD_BYTES: usize = 9024;
/// Name of the program.
const STAMP: &str = "stamp";

/// The loaded program of one port, and its maps.
pub(super) struct Stamper {
    // The program and its link live as long as this does.
    loaded: Ebpf,
    pub(super) maps: StreamMaps,
}

impl Stamper {
    /// Loads the program for frames like those of `template`.
    pub(super) fn load(template: &Template) -> Result<Self, Unsupported> {
        let bytes = object::PKTGEN.ok_or(Unsupported::NotBuilt(object::MISSING))?;
        let tag = template.spec().vlan.map_or(0, |_| vlan::TAG_BYTES);
        let at =
            ethernet::HEADER_BYTES + tag + ipv4::HEADER_BYTES + udp::HEADER_BYTES + STAMP_BYTES;
        let payload = template.bytes().get(at..).unwrap_or_default();
        let mut fill = [0; PAYLOAD_BYTES];
        // The largest frame has less.
        fill[..payload.len()].copy_from_slice(payload);
        let (at, length) = (at as u32, payload.len() as u32);
        let mut loaded = EbpfLoader::new()
            .override_global("payload_at", &at, true)
            .override_global("payload_bytes", &length, true)
            .override_global("payload", &fill[..], true)
            .load(bytes)
            .map_err(|error| refused(&error))?;
        let stamp: &mut SchedClassifier = program(&mut loaded, STAMP)?;
        stamp.load().map_err(|error| refused(&error))?;
        let maps = StreamMaps::take(&mut loaded)?;
        Ok(Self { loaded, maps })
    }

    /// Puts the program behind all others on the way out of `interface`, in the calling thread's
    /// namespace, by a link that goes with the process.
    pub(super) fn attach(&mut self, interface: &str) -> Result<(), PortError> {
        let last = TcAttachOptions::TcxOrder(LinkOrder::last());
        let attached = program::<SchedClassifier>(&mut self.loaded, STAMP)
            .map_err(|source| PortError::new(interface, source))?
            .attach_with_options(interface, TcAttachType::Egress, last);
        attached
            .map(drop)
            .map_err(|error| unattached(interface, &error))
    }
}

fn unattached(interface: &str, error: &ProgramError) -> PortError {
    match errno(error) {
        // BPF_TCX_EGRESS is unknown.
        Some(libc::EINVAL) => cannot_send(
            interface,
            Why::lacks(
                Lack::Linux("6.6"),
                "its frames cannot be stamped: that needs programs by tcx links, Linux 6.6",
            ),
        ),
        _ => PortError::new(interface, refused(error)),
    }
}

impl std::fmt::Debug for Stamper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stamper").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
