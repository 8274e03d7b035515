//! Several changes at once.

use std::io;
use std::sync::PoisonError;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use rustix::net::RecvFlags;

use super::{BUFFER, Channel, NLMSG_ERROR, Part, State, verdict};
use crate::raw::RawMessage;

/// What came of a change, and what the kernel has said of it.
pub(crate) type Done = io::Result<Option<RawMessage>>;

impl Channel {
    /// Sends several changes in one datagram: the kernel takes one after the other before the call returns, whatever
    /// becomes of the caller meanwhile. One that fails does not keep it from the next. Returns what came of each, and
    /// what the kernel says of those with `NLM_F_ECHO`.
    pub(crate) fn batch(&self, changes: Vec<(RawMessage, u16)>) -> io::Result<Vec<Done>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State {
            socket,
            sequence,
            buffer,
            ..
        } = &mut *state;
        let first = sequence.wrapping_add(1);
        let mut datagram = Vec::new();
        let count = changes.len();
        for (message, flags) in changes {
            *sequence = sequence.wrapping_add(1);
            let payload = NetlinkPayload::InnerMessage(message);
            let mut request = NetlinkMessage::new(NetlinkHeader::default(), payload);
            request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
            request.header.sequence_number = *sequence;
            request.finalize();
            let begin = datagram.len();
            datagram.resize(begin + request.buffer_len().next_multiple_of(4), 0);
            request.serialize(&mut datagram[begin..]);
        }
        socket.send(&datagram, 0)?;
        if buffer.is_empty() {
            *buffer = vec![0; BUFFER];
        }
        let mut said: Vec<Option<RawMessage>> = vec![None; count];
        let mut verdicts: Vec<Option<io::Result<()>>> = (0..count).map(|_| None).collect();
        while verdicts.iter().any(Option::is_none) {
            let (length, _) = rustix::net::recv(&*socket, &mut buffer[..], RecvFlags::TRUNC)?;
            let mut rest = &buffer[..length];
            while let Some((header, part)) = Part::first(rest) {
                rest = rest
                    .get(header.length.next_multiple_of(4)..)
                    .unwrap_or_default();
                let at = header.sequence.wrapping_sub(first) as usize;
                match (part.kind, verdicts.get_mut(at)) {
                    (_, None) => {}
                    (NLMSG_ERROR, Some(place)) => *place = Some(verdict(part.body)),
                    (kind, Some(_)) => said[at] = Some(RawMessage::new(kind, part.body)),
                }
            }
        }
        let verdicts = verdicts.into_iter().flatten();
        Ok(verdicts
            .zip(said)
            .map(|(verdict, said)| verdict.map(|()| said))
            .collect())
    }
}
