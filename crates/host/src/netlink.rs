//! Requests to the kernel over netlink, answered at once.
//!
//! Plain blocking sockets instead of an asynchronous runtime: every request here is answered
//! by the kernel before `recv` is called, and a socket stays in the namespace it was opened in,
//! so that no thread has to live there.

use std::io;
use std::sync::{Mutex, PoisonError};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

use crate::net_error::NetError;
use crate::netns::NetNs;

/// A netlink socket that lives in one network namespace, usable from any thread.
#[derive(Debug)]
pub(crate) struct Channel(Mutex<State>);

#[derive(Debug)]
struct State {
    socket: Socket,
    sequence: u32,
}

impl Channel {
    /// Opens a socket of `protocol` (`NETLINK_ROUTE`, …) inside `ns`.
    pub(crate) fn open(ns: &NetNs, protocol: isize) -> Result<Self, NetError> {
        let socket = ns
            .run(|| {
                let mut socket = Socket::new(protocol)?;
                socket.bind_auto()?;
                socket.connect(&SocketAddr::new(0, 0))?;
                Ok(socket)
            })?
            .map_err(|e: io::Error| NetError::new("open netlink socket in namespace", ns, e))?;
        Ok(Self(Mutex::new(State {
            socket,
            sequence: 0,
        })))
    }

    /// Sends `message` and waits for the kernel's verdict.
    pub(crate) fn change<I>(&self, message: I, flags: u16) -> io::Result<()>
    where
        I: NetlinkSerializable + NetlinkDeserializable,
    {
        self.exchange(message, flags | NLM_F_ACK).map(drop)
    }

    /// Sends `message` and collects its answers: one, or all of them with [`NLM_F_DUMP`].
    pub(crate) fn ask<I>(&self, message: I, flags: u16) -> io::Result<Vec<I>>
    where
        I: NetlinkSerializable + NetlinkDeserializable,
    {
        self.exchange(message, flags)
    }

    fn exchange<I>(&self, message: I, flags: u16) -> io::Result<Vec<I>>
    where
        I: NetlinkSerializable + NetlinkDeserializable,
    {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.sequence = state.sequence.wrapping_add(1);
        let sequence = state.sequence;
        let payload = NetlinkPayload::InnerMessage(message);
        let mut request = NetlinkMessage::new(NetlinkHeader::default(), payload);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = sequence;
        request.finalize();
        let mut buffer = vec![0; request.buffer_len()];
        request.serialize(&mut buffer);
        state.socket.send(&buffer, 0)?;

        let (dump, acknowledged) = (flags & NLM_F_DUMP == NLM_F_DUMP, flags & NLM_F_ACK != 0);
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = state.socket.recv_from_full()?;
            let mut rest = datagram.as_slice();
            while !rest.is_empty() {
                let reply = NetlinkMessage::<I>::deserialize(rest)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                // Netlink messages are aligned to 4 bytes (NLMSG_ALIGN).
                let length = (reply.header.length as usize).next_multiple_of(4);
                rest = rest.get(length.max(16)..).unwrap_or_default();
                if reply.header.sequence_number != sequence {
                    continue; // the rest of a request that was given up
                }
                match reply.payload {
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::InnerMessage(answer) => {
                        answers.push(answer);
                        if !dump && !acknowledged {
                            return Ok(answers);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
