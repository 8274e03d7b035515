//! The program on a sending port that makes test frames of pktgen's.

use std::sync::{Mutex, PoisonError};

use aya::maps::{Array, MapData};
use aya::programs::links::LinkOrder;
use aya::programs::tc::{TcAttachOptions, TcAttachType};
use aya::programs::{ProgramError, SchedClassifier};
use aya::{Ebpf, EbpfLoader};
use nicety_packet::stamp::STAMP_BYTES;
use nicety_packet::{Template, ethernet, ipv4, udp, vlan};

use crate::error::PortError;
use crate::lack::{Lack, Why};
use crate::marks::Marks;
use crate::xdp::abi::{LATENESS_WORDS, MARK_WORDS, Sent, StreamWords};
use crate::xdp::object::{self, lacks, map, program};
use crate::xdp::transmit::halves;
use crate::xdp::unsupported::{Unsupported, errno, refused};

/// `PAYLOAD_MAX` of `bpf/pktgen.bpf.c`.
const PAYLOAD_BYTES: usize = 9024;
/// Name of the program.
const STAMP: &str = "stamp";

/// The loaded program of one port, and its maps.
pub(super) struct Stamper {
    // The program and its link live as long as this does.
    loaded: Ebpf,
    streams: Array<MapData, StreamWords>,
    gate: Mutex<Array<MapData, u64>>,
    lateness: Array<MapData, [u64; LATENESS_WORDS]>,
    marks: Array<MapData, [u64; MARK_WORDS]>,
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
        let mut take = |name| loaded.take_map(name).ok_or_else(|| lacks(name));
        Ok(Self {
            streams: map(take("streams")?)?,
            gate: Mutex::new(map(take("gate")?)?),
            lateness: map(take("lateness")?)?,
            marks: map(take("marks")?)?,
            loaded,
        })
    }

    /// Puts the program behind all others on the way out of `interface`, in the calling thread's
    /// namespace, by a link that goes with the process.
    pub(super) fn attach(&mut self, interface: &str) -> Result<(), PortError> {
        let last = TcAttachOptions::TcxOrder(LinkOrder::last());
        let attached = program::<SchedClassifier>(&mut self.loaded, STAMP)
            .map_err(|source| PortError::xdp(interface, source))?
            .attach_with_options(interface, TcAttachType::Egress, last);
        attached
            .map(drop)
            .map_err(|error| unattached(interface, &error))
    }

    /// Sets up a trial. Nothing is stamped before [`Self::open_gate`].
    pub(super) fn prepare(&mut self, words: &StreamWords) -> Result<(), Unsupported> {
        let set = |error| refused(&error);
        self.set_gate(0)?;
        self.streams.set(0, words, 0).map_err(set)?;
        self.lateness.set(0, [0; LATENESS_WORDS], 0).map_err(set)?;
        self.marks.set(0, [0; MARK_WORDS], 0).map_err(set)
    }

    /// Lets the trial begin with pktgen's next frame.
    pub(super) fn open_gate(&self) -> Result<(), Unsupported> {
        self.set_gate(1)
    }

    fn set_gate(&self, open: u64) -> Result<(), Unsupported> {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        gate.set(0, open, 0).map_err(|error| refused(&error))
    }

    /// What has become of the trial so far.
    pub(super) fn sent(&self) -> Result<Sent, Unsupported> {
        let words = self.streams.get(&0, 0).map_err(|error| refused(&error))?;
        Ok(Sent::read(&words))
    }

    /// Lateness histogram.
    pub(super) fn lateness(&self) -> Result<Vec<u32>, Unsupported> {
        let words = self.lateness.get(&0, 0).map_err(|error| refused(&error))?;
        Ok(halves(&words))
    }

    /// Which frames were made when.
    pub(super) fn marks(&self) -> Result<Marks, Unsupported> {
        let words = self.marks.get(&0, 0).map_err(|error| refused(&error))?;
        Ok(Marks::of(halves(&words)))
    }
}

fn unattached(interface: &str, error: &ProgramError) -> PortError {
    match errno(error) {
        // BPF_TCX_EGRESS is unknown.
        Some(libc::EINVAL) => PortError::pktgen(
            interface,
            Why::lacks(
                Lack::Linux("6.6"),
                "its frames cannot be stamped: that needs programs by tcx links, Linux 6.6",
            ),
        ),
        _ => PortError::xdp(interface, refused(error)),
    }
}

impl std::fmt::Debug for Stamper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stamper").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
