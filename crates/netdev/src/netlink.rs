//! Requests to the kernel over netlink, answered at once.
//!
//! Plain blocking sockets instead of an asynchronous runtime: every request here is answered
//! by the kernel before `recv` is called, and a socket stays in the namespace it was opened in,
//! so that no thread has to live there.

mod batch;

pub(crate) use batch::Done;

use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_ECHO, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};
use rustix::net::RecvFlags;

use crate::net_error::NetError;
use crate::netns::NetNs;
use crate::raw::{u16_at, u32_at};

/// Netlink messages begin with `nlmsghdr`: length, type, flags, sequence, sender.
const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// What a dump goes through has changed meanwhile (include/uapi/linux/netlink.h).
const NLM_F_DUMP_INTR: u16 = 0x10;
/// A dump comes in pieces as large as the reader's buffer, up to 32 KiB; a single answer, as that of
/// a NIC with many functions, may be longer than its 16-bit attributes.
const BUFFER: usize = 256 << 10;
/// Bytes that a brief channel's socket has room for: as few as the kernel allows, for the first piece of
/// a dump has 4 KiB only. One piece always fits (net/netlink/af_netlink.c, `netlink_dump`).
const LITTLE: libc::c_int = 0;
/// How often a dump is asked for again that others disturb.
const TRIES: usize = 3;

/// A netlink socket that lives in one network namespace, usable from any thread.
#[derive(Debug)]
pub(crate) struct Channel {
    state: Mutex<State>,
    port: u32,
    ns: NetNs,
    protocol: isize,
    /// Dumps are not read to their end.
    brief: bool,
}

#[derive(Debug)]
struct State {
    socket: Socket,
    sequence: u32,
    /// Kept from request to request; made when first needed.
    buffer: Vec<u8>,
    /// A thread that is in the namespace: none leaves the one it is in.
    inside: Option<ThreadId>,
}

/// One message of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// Type.
    pub(crate) kind: u16,
    /// What follows the netlink header.
    pub(crate) body: &'a [u8],
    /// With the netlink header.
    message: &'a [u8],
}

impl Channel {
    /// Opens a socket of `protocol` (`NETLINK_ROUTE`, …) inside `ns`.
    pub(crate) fn open(ns: &NetNs, protocol: isize) -> Result<Self, NetError> {
        let (socket, port) = open(ns, protocol)?;
        let state = State {
            socket,
            sequence: 0,
            buffer: Vec::new(),
            inside: None,
        };
        Ok(Self {
            state: Mutex::new(state),
            port,
            ns: ns.clone(),
            protocol,
            brief: false,
        })
    }

    /// The same for dumps that end when the reader has enough. The kernel goes on with a dump whenever
    /// a piece of it is taken, takes no other one before its end, and knows no other end than that of the
    /// socket: each request has one of its own, and looks at a piece before it takes it.
    pub(crate) fn brief(ns: &NetNs, protocol: isize) -> Result<Self, NetError> {
        Ok(Self {
            brief: true,
            ..Self::open(ns, protocol)?
        })
    }

    /// The number by which the kernel tells who has asked for a change (netlink(7), `nlmsg_pid`).
    pub(crate) fn port(&self) -> u32 {
        self.port
    }

    /// Sends `message` and waits for the kernel's verdict.
    pub(crate) fn change<I: NetlinkSerializable>(&self, message: I, flags: u16) -> io::Result<()> {
        self.exchange(message, flags | NLM_F_ACK, |_| {
            Ok(ControlFlow::Continue(()))
        })
        .map(drop)
    }

    /// Sends `message` and collects its answers: one, or all of them with [`NLM_F_DUMP`].
    pub(crate) fn query<I>(&self, message: I, flags: u16) -> io::Result<Vec<I>>
    where
        I: NetlinkSerializable + NetlinkDeserializable + Clone,
    {
        let mut answers = Vec::new();
        for _ in 0..TRIES {
            answers.clear();
            let disturbed = self.exchange(message.clone(), flags, |part| {
                let reply = NetlinkMessage::<I>::deserialize(part.message)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                if let NetlinkPayload::InnerMessage(answer) = reply.payload {
                    answers.push(answer);
                }
                Ok(ControlFlow::Continue(()))
            })?;
            if !disturbed {
                break;
            }
        }
        Ok(answers)
    }

    /// Sends `message`, and gives its one answer to `take` where it stands. The kernel says also when
    /// there is none, and echoes what it would else tell listeners only, which is how
    /// net/sched/sch_api.c answers to `RTM_GETQDISC`.
    pub(crate) fn one<I, T>(&self, message: I, take: impl Fn(Part<'_>) -> T) -> io::Result<T>
    where
        I: NetlinkSerializable,
    {
        let mut answer = None;
        self.exchange(message, NLM_F_ECHO | NLM_F_ACK, |part| {
            answer = Some(take(part));
            Ok(ControlFlow::Continue(()))
        })?;
        answer.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Dumps, and gives what comes to `fill` where it stands, without a copy. `fill` begins with
    /// what `begin` gives, anew when others have disturbed the dump.
    pub(crate) fn dump<I, T>(
        &self,
        message: I,
        begin: impl Fn() -> T,
        fill: impl Fn(&mut T, Part<'_>),
    ) -> io::Result<T>
    where
        I: NetlinkSerializable + Clone,
    {
        self.dump_until(message, begin, |value, part| {
            fill(value, part);
            ControlFlow::Continue(())
        })
    }

    /// As [`Self::dump`], until `fill` has enough; of a brief channel.
    pub(crate) fn dump_until<I, T>(
        &self,
        message: I,
        begin: impl Fn() -> T,
        fill: impl Fn(&mut T, Part<'_>) -> ControlFlow<()>,
    ) -> io::Result<T>
    where
        I: NetlinkSerializable + Clone,
    {
        let mut tries = 0;
        loop {
            let mut value = begin();
            let disturbed = self.exchange(message.clone(), NLM_F_DUMP, |part| {
                Ok(fill(&mut value, part))
            })?;
            tries += 1;
            if !disturbed || tries == TRIES {
                return Ok(value);
            }
        }
    }

    /// Whether a dump was disturbed.
    fn exchange<I: NetlinkSerializable>(
        &self,
        message: I,
        flags: u16,
        mut take: impl FnMut(Part<'_>) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<bool> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State {
            socket,
            sequence,
            buffer,
            inside,
        } = &mut *state;
        if self.brief {
            *socket = self.fresh(inside).map_err(io::Error::other)?;
        }
        *sequence = sequence.wrapping_add(1);
        let payload = NetlinkPayload::InnerMessage(message);
        let mut request = NetlinkMessage::new(NetlinkHeader::default(), payload);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = *sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        socket.send(&bytes, 0)?;

        let (dump, acknowledged) = (flags & NLM_F_DUMP == NLM_F_DUMP, flags & NLM_F_ACK != 0);
        if buffer.is_empty() {
            *buffer = vec![0; BUFFER];
        }
        let mut disturbed = false;
        let look = if self.brief {
            RecvFlags::TRUNC | RecvFlags::PEEK
        } else {
            RecvFlags::TRUNC
        };
        loop {
            let (length, full_length) = rustix::net::recv(&*socket, &mut buffer[..], look)?;
            if full_length > length {
                let what = format!("an answer of {full_length} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            let mut rest = &buffer[..length];
            while let Some((header, part)) = Part::first(rest) {
                // Netlink messages are aligned to 4 bytes (NLMSG_ALIGN).
                rest = rest
                    .get(header.length.next_multiple_of(4)..)
                    .unwrap_or_default();
                if header.sequence != *sequence {
                    continue; // the rest of a request that was given up
                }
                disturbed |= dump && header.flags & NLM_F_DUMP_INTR != 0;
                match part.kind {
                    // The end of a dump may tell an error too.
                    NLMSG_ERROR | NLMSG_DONE => return verdict(part.body).map(|()| disturbed),
                    _ => {
                        let enough = take(part)?.is_break();
                        if enough || !dump && !acknowledged {
                            return Ok(disturbed);
                        }
                    }
                }
            }
            if self.brief {
                rustix::net::recv(&*socket, &mut buffer[..0], RecvFlags::TRUNC)?;
            }
        }
    }

    /// A socket for one request.
    fn fresh(&self, inside: &mut Option<ThreadId>) -> Result<Socket, NetError> {
        let here = std::thread::current().id();
        let (socket, _) = if *inside == Some(here) {
            make(self.protocol).map_err(|e| self.error(e))?
        } else {
            *inside = NetNs::current()?.is_same(&self.ns).then_some(here);
            open(&self.ns, self.protocol)?
        };
        // Less than one piece of a dump: while one is only looked at, the next is not made.
        socket.set_rx_buf_sz(LITTLE).map_err(|e| self.error(e))?;
        Ok(socket)
    }

    fn error(&self, source: io::Error) -> NetError {
        opening(&self.ns, source)
    }
}

/// A socket inside `ns`, and its number.
fn open(ns: &NetNs, protocol: isize) -> Result<(Socket, u32), NetError> {
    let made = if NetNs::current()?.is_same(ns) {
        make(protocol)
    } else {
        ns.run(|| make(protocol))?
    };
    made.map_err(|error| opening(ns, error))
}

/// A socket where the calling thread is, and its number.
fn make(protocol: isize) -> io::Result<(Socket, u32)> {
    let mut socket = Socket::new(protocol)?;
    let port = socket.bind_auto()?.port_number();
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok((socket, port))
}

fn opening(ns: &NetNs, source: io::Error) -> NetError {
    NetError::new("open netlink socket in namespace", ns, source)
}

struct Header {
    length: usize,
    flags: u16,
    sequence: u32,
}

impl<'a> Part<'a> {
    /// The first message of a datagram; none at its end and where it is cut off.
    fn first(datagram: &'a [u8]) -> Option<(Header, Self)> {
        let length = u32_at(datagram, 0)? as usize;
        let message = datagram.get(..length).filter(|_| length >= HEADER)?;
        let header = Header {
            length,
            flags: u16_at(message, 6)?,
            sequence: u32_at(message, 8)?,
        };
        let part = Self {
            kind: u16_at(message, 4)?,
            body: &message[HEADER..],
            message,
        };
        Some((header, part))
    }
}

/// The negative error number that `NLMSG_ERROR` and `NLMSG_DONE` begin with; 0 or none is success.
fn verdict(body: &[u8]) -> io::Result<()> {
    match u32_at(body, 0).unwrap_or(0) as i32 {
        code if code < 0 => Err(io::Error::from_raw_os_error(-code)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_cut_into_messages() {
        let mut datagram = Vec::new();
        for (kind, body) in [(20u16, &[1u8, 2, 3, 4][..]), (21, &[])] {
            datagram.extend_from_slice(&(16 + body.len() as u32).to_ne_bytes());
            datagram.extend_from_slice(&kind.to_ne_bytes());
            datagram.extend_from_slice(&[0x12, 0]);
            datagram.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 0]);
            datagram.extend_from_slice(body);
        }
        let (header, part) = Part::first(&datagram).unwrap();
        assert_eq!(
            (header.length, header.flags, header.sequence),
            (20, 0x12, 7)
        );
        assert_eq!((part.kind, part.body), (20, &[1, 2, 3, 4][..]));
        let (_, part) = Part::first(&datagram[20..]).unwrap();
        assert_eq!((part.kind, part.body.len()), (21, 0));
        for cut in [0, 3, 15, 19] {
            assert!(Part::first(&datagram[..cut]).is_none(), "{cut}");
        }
        assert!(Part::first(&[8, 0, 0, 0, 0, 0, 0, 0]).is_none());
    }

    #[test]
    fn an_error_number_is_an_error() {
        assert!(verdict(&[]).is_ok());
        assert!(verdict(&0i32.to_ne_bytes()).is_ok());
        let error = verdict(&(-19i32).to_ne_bytes()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(19));
    }
}
