//! A port's sending half: frames that are made once, and stamped when they are sent.

use nicety_packet::{PacketError, Stamp, Template};

use crate::error::PortError;

/// What has buffers for frames and sends them.
pub(crate) trait Frames {
    /// Buffers that there are.
    const COUNT: usize;

    /// Buffer of frame `n` of those that are sent next.
    fn frame(&mut self, n: usize) -> &mut [u8];

    /// Name of the interface.
    fn interface(&self) -> &str;
}

/// A socket whose buffers hold the frames of a stream.
#[derive(Debug)]
pub(crate) struct Stamped<S> {
    pub(crate) socket: S,
    template: Template,
    pub(crate) stream: u8,
}

impl<S: Frames> Stamped<S> {
    /// Puts the template into every buffer, so that only the stamp changes later.
    pub(crate) fn new(socket: S, template: Template, stream: u8) -> Result<Self, PortError> {
        let mut stamped = Self {
            socket,
            template,
            stream,
        };
        for n in 0..S::COUNT {
            let prepared = stamped.template.prepare(stamped.socket.frame(n));
            prepared.map_err(|source| stamped.packet_error(source))?;
        }
        Ok(stamped)
    }

    /// Stations that its frames come from in turn.
    pub(crate) fn stations(&self) -> u32 {
        self.template.spec().flows.stations()
    }

    /// Stamps frame `n` of those that are sent next.
    pub(crate) fn stamp(&mut self, n: usize, stamp: &Stamp) -> Result<(), PortError> {
        match self.template.stamp(self.socket.frame(n), stamp) {
            Ok(_) => Ok(()),
            Err(source) => Err(self.packet_error(source)),
        }
    }

    /// Stamps the next `count` frames as made at `tx_ns`, those from number `first` on.
    pub(crate) fn stamp_all(
        &mut self,
        count: usize,
        first: u64,
        trial: u8,
        tx_ns: u64,
    ) -> Result<(), PortError> {
        for n in 0..count {
            let stamp = Stamp {
                stream: self.stream,
                trial,
                // The stamp carries the low 32 bits; the receiver extends them.
                sequence: (first + n as u64) as u32,
                tx_ns,
            };
            self.stamp(n, &stamp)?;
        }
        Ok(())
    }

    /// A frame as it is sent, in a buffer of its own.
    pub(crate) fn made(&self, stamp: &Stamp) -> Result<Vec<u8>, PortError> {
        let mut bytes = vec![0; self.template.frame_bytes()];
        match self.template.write(&mut bytes, stamp) {
            Ok(_) => Ok(bytes),
            Err(source) => Err(self.packet_error(source)),
        }
    }

    fn packet_error(&self, source: PacketError) -> PortError {
        PortError::new(self.socket.interface(), source)
    }
}
