//! Frames of connections: of IPv4 and UDP, or of the other headers that there are.

use nicety_model::Shape;
use nicety_packet::parse::flow_of;
use nicety_packet::{
    CheckCorruption, Expect, Flow, MixedExpect, MixedTemplate, PacketError, Seen, Side, Stamp,
    Template,
};

use super::super::{PortSpec, TrafficSpec, mixed, template};
use crate::error::PortError;

/// What a side sends: one frame, with another flow each time.
#[derive(Debug)]
pub(super) enum Made {
    /// Of IPv4 and UDP.
    Plain(Template),
    /// Of other headers.
    Mixed(MixedTemplate),
}

/// What a side expects of the other.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    Plain(Expect),
    Mixed(MixedExpect),
}

impl Made {
    /// The frames of both ports, sent to each other.
    pub(super) fn both(
        [a, b]: [&PortSpec; 2],
        traffic: TrafficSpec,
    ) -> Result<[Self; 2], PortError> {
        let made = |from: &PortSpec, to: &PortSpec, side| {
            if traffic.shape == Shape::default() {
                template(from, to.mac, traffic, side).map(Self::Plain)
            } else {
                mixed::template(from, to.mac, traffic, side).map(Self::Mixed)
            }
        };
        Ok([made(a, b, Side::A)?, made(b, a, Side::B)?])
    }

    /// What the other side expects of them.
    pub(super) fn wanted(&self) -> Wanted {
        match self {
            Self::Plain(frames) => Wanted::Plain(frames.expect()),
            Self::Mixed(frames) => Wanted::Mixed(frames.expect()),
        }
    }

    /// Fills a buffer with what never changes.
    pub(super) fn prepare(&self, buffer: &mut [u8]) -> Result<usize, PacketError> {
        match self {
            Self::Plain(frames) => frames.prepare(buffer),
            // There is one size.
            Self::Mixed(frames) => frames.prepare(0, buffer),
        }
    }

    /// Gives a filled buffer its stamp and flow.
    pub(super) fn stamp(
        &self,
        buffer: &mut [u8],
        stamp: &Stamp,
        flow: Flow,
    ) -> Result<usize, PacketError> {
        match self {
            Self::Plain(frames) => frames.stamp_flow(buffer, stamp, flow),
            Self::Mixed(frames) => frames.stamp_flow(buffer, stamp, flow),
        }
    }
}

impl Wanted {
    /// The stamp and the flow of a whole frame of ours.
    pub(super) fn seen(&self, frame: &[u8]) -> Option<(Stamp, Flow)> {
        let check = CheckCorruption::Full;
        let (seen, flow) = match self {
            Self::Plain(expect) => (expect.classify(frame, check), flow_of(frame)),
            Self::Mixed(expect) => (expect.classify(frame, check), expect.flow_of(frame)),
        };
        match seen {
            Seen::Ours(stamp) => Some((stamp, flow?)),
            _ => None,
        }
    }
}
