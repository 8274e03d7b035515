//! Frames of several sizes and headers. What is sent and received of one size of IPv4 and UDP does not
//! come here: both sides ask once per batch which of the two it is.

use nicety_packet::{
    Expect, FlowRange, MacAddr, MixedExpect, MixedSpec, MixedTemplate, PacketError, Side, Stamp,
};

use super::tx::{BATCH, Sent, TxSocket};
use super::{PortSpec, TrafficSpec, learning};
use crate::error::PortError;
use crate::sending::LEARNING_FRAMES;
use crate::stamped::Stamped;

/// A port's sending half.
#[derive(Debug)]
pub(crate) enum Out {
    /// Frames of one size of IPv4 and UDP.
    Plain(Stamped<TxSocket>),
    /// All others.
    Mixed(Mixed),
}

/// What a receiver expects.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// Frames of one size of IPv4 and UDP.
    Plain(Expect),
    /// All others.
    Mixed(MixedExpect),
}

/// A socket with a buffer for every frame size at each place of a batch.
#[derive(Debug)]
pub(crate) struct Mixed {
    socket: TxSocket,
    template: MixedTemplate,
    stream: u8,
}

impl Out {
    /// Stream that it sends.
    pub(crate) fn stream(&self) -> u8 {
        match self {
            Self::Plain(out) => out.stream,
            Self::Mixed(out) => out.stream,
        }
    }

    /// Fails when the interface went down.
    pub(crate) fn check_up(&self) -> Result<(), PortError> {
        match self {
            Self::Plain(out) => out.socket.check_up(),
            Self::Mixed(out) => out.socket.check_up(),
        }
    }

    /// Sends learning frames.
    pub(crate) fn learn(&mut self) -> Result<(), PortError> {
        match self {
            Self::Plain(out) => out.learn(),
            Self::Mixed(out) => out.learn(),
        }
    }

    /// A frame as it is sent, in a buffer of its own.
    pub(crate) fn made(&self, stamp: &Stamp) -> Result<Vec<u8>, PortError> {
        match self {
            Self::Plain(out) => out.made(stamp),
            Self::Mixed(out) => out.made(stamp),
        }
    }

    /// Sends the next `count` frames, those from number `first` on, as made at `tx_ns`.
    pub(crate) fn send(
        &mut self,
        count: usize,
        first: u64,
        trial: u8,
        tx_ns: u64,
    ) -> Result<Sent, PortError> {
        match self {
            Self::Plain(out) => {
                out.stamp_all(count, first, trial, tx_ns)?;
                out.socket.send(count)
            }
            Self::Mixed(out) => {
                for n in 0..count.min(BATCH) {
                    let stamp = Stamp {
                        stream: out.stream,
                        trial,
                        // The stamp carries the low 32 bits; the receiver extends them.
                        sequence: (first + n as u64) as u32,
                        tx_ns,
                    };
                    out.stamp(n, &stamp)?;
                }
                out.socket.send(count)
            }
        }
    }
}

impl Mixed {
    /// Puts every frame size into the buffers, so that only the stamp changes later.
    pub(crate) fn new(
        mut socket: TxSocket,
        template: MixedTemplate,
        stream: u8,
    ) -> Result<Self, PortError> {
        let lengths: Vec<usize> = template.frame_bytes().collect();
        socket.several(&lengths);
        for n in 0..BATCH {
            for place in 0..lengths.len() {
                let prepared = template.prepare(place, socket.choose(n, place));
                prepared.map_err(|source| packet_error(&socket, source))?;
            }
        }
        Ok(Self {
            socket,
            template,
            stream,
        })
    }

    /// What the receiver expects.
    pub(crate) fn expect(&self) -> MixedExpect {
        self.template.expect()
    }

    /// Stamps frame `n` of those that are sent next, of the size that its number has.
    fn stamp(&mut self, n: usize, stamp: &Stamp) -> Result<(), PortError> {
        let place = self.template.place(stamp.sequence);
        match self.template.stamp(self.socket.choose(n, place), stamp) {
            Ok(_) => Ok(()),
            Err(source) => Err(packet_error(&self.socket, source)),
        }
    }

    fn made(&self, stamp: &Stamp) -> Result<Vec<u8>, PortError> {
        let place = self.template.place(stamp.sequence);
        let bytes = self.template.frame_bytes().nth(place).unwrap_or(0);
        let mut bytes = vec![0; bytes];
        let made = self.template.prepare(place, &mut bytes);
        let made = made.and_then(|_| self.template.stamp(&mut bytes, stamp));
        match made {
            Ok(_) => Ok(bytes),
            Err(source) => Err(packet_error(&self.socket, source)),
        }
    }

    fn learn(&mut self) -> Result<(), PortError> {
        for station in 0..self.template.spec().flows.stations() {
            self.stamp(0, &learning(station))?;
            // One refused learning frame is made good by the next.
            for _ in 0..LEARNING_FRAMES {
                self.socket.send(1)?;
            }
        }
        Ok(())
    }
}

fn packet_error(socket: &TxSocket, source: PacketError) -> PortError {
    PortError::new(crate::stamped::Frames::interface(socket), source)
}

/// The frames that `from` sends to `to`.
pub(super) fn template(
    from: &PortSpec,
    to: MacAddr,
    traffic: TrafficSpec,
    side: Side,
) -> Result<MixedTemplate, PortError> {
    FlowRange::new(traffic.flows, side)
        .and_then(|flows| flows.between(traffic.stations))
        .and_then(|flows| {
            MixedTemplate::new(MixedSpec {
                frame_size: traffic.frame_size,
                shape: traffic.shape,
                path_tag: traffic.vlan,
                source_mac: from.mac,
                destination_mac: to,
                flows,
            })
        })
        .map_err(|source| PortError::new(&from.interface, source))
}
