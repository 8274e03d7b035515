//! Puts an XDP program on an interface by a BPF link: the kernel takes it off when the last
//! descriptor closes, however the process ends. Nothing is pinned anywhere.
#![allow(unsafe_code)] // edge: bpf(2)

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use aya::programs::{loaded_links, loaded_programs};
use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, LinkXdp};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use crate::error::{PortError, PortFault};

// linux/bpf.h
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_LINK_UPDATE: libc::c_int = 29;
const BPF_XDP: u32 = 37;
// linux/if_link.h
const XDP_FLAGS_UPDATE_IF_NOEXIST: u32 = 1;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
// linux/netlink.h: nlmsghdr and nlmsgerr, which holds the request's header.
const EXT_ACK_AT: usize = 16 + 4 + 16;
const NLMSGERR_ATTR_MSG: u16 = 1;

/// Where the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel makes a socket buffer.
    Native,
    /// In the network stack: slower, on every interface.
    Generic,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Generic => "generic",
        })
    }
}

/// Attaches `program` to interface number `index` of the calling thread's network namespace,
/// unless another program is there.
///
/// # Errors
/// EBUSY or EEXIST when another program is there; otherwise what the driver says.
pub(crate) fn attach(program: BorrowedFd<'_>, index: u32, mode: Mode) -> io::Result<OwnedFd> {
    let flags = match mode {
        Mode::Native => XDP_FLAGS_DRV_MODE,
        Mode::Generic => XDP_FLAGS_SKB_MODE,
    };
    let fd = bpf(
        BPF_LINK_CREATE,
        [program.as_raw_fd() as u32, index, BPF_XDP, flags],
    )?;
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Replaces the link's program by another of ours, without a frame between them.
pub(crate) fn replace(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let (link, program) = (link.as_raw_fd() as u32, program.as_raw_fd() as u32);
    bpf(BPF_LINK_UPDATE, [link, program, 0, 0]).map(drop)
}

/// Both commands take four words: BPF_LINK_CREATE the program, the interface, the kind and
/// flags; BPF_LINK_UPDATE the link, the program and flags.
fn bpf(command: libc::c_int, words: [u32; 4]) -> io::Result<libc::c_int> {
    // SAFETY: the words live for the call and their size is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            words.as_ptr(),
            size_of_val(&words) as libc::c_uint,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as libc::c_int)
}

/// The error for a port that carries a program already.
pub(crate) fn busy(interface: &str, index: u32) -> PortError {
    let (mut id, mut program) = (0, "unknown".to_owned());
    if let Ok(Some(carried)) = program_id(index) {
        id = carried;
        let info = loaded_programs().flatten().find(|info| info.id() == id);
        if let Some(name) = info.as_ref().and_then(|info| info.name_as_str()) {
            program = name.to_owned();
        }
    }
    let held = loaded_links().flatten().any(|link| link.program_id() == id);
    let remedy = if held {
        "stop the process that holds it (bpftool link), or use another port".to_owned()
    } else {
        format!("remove it with `ip link set dev {interface} xdp off`, or use another port")
    };
    let fault = PortFault::XdpBusy {
        program,
        id,
        remedy,
    };
    PortError::new(interface, fault)
}

/// The program that interface number `index` carries.
fn program_id(index: u32) -> io::Result<Option<u32>> {
    let mut request = LinkMessage::default();
    request.header.index = index;
    let answer = rtnetlink(RouteNetlinkMessage::GetLink(request), NLM_F_REQUEST)?;
    let reply = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) = reply.payload else {
        return Ok(None);
    };
    let xdp = link
        .attributes
        .into_iter()
        .filter_map(|attribute| match attribute {
            LinkAttribute::Xdp(xdp) => Some(xdp),
            _ => None,
        });
    Ok(xdp.flatten().find_map(|attribute| match attribute {
        LinkXdp::ProgId(id)
        | LinkXdp::DrvProgId(id)
        | LinkXdp::SkbProgId(id)
        | LinkXdp::HwProgId(id) => Some(id),
        _ => None,
    }))
}

/// What the driver says to `program` in native mode. A link's refusal is a bare number; the words
/// come over netlink only. Asked after a refusal, so it is refused again; should it be taken this
/// time, it is taken off at once.
pub(crate) fn driver_words(program: BorrowedFd<'_>, index: u32) -> Option<String> {
    let set = |fd| {
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.attributes = vec![LinkAttribute::Xdp(vec![
            LinkXdp::Fd(fd),
            LinkXdp::Flags(XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST),
        ])];
        rtnetlink(
            RouteNetlinkMessage::SetLink(request),
            NLM_F_REQUEST | NLM_F_ACK,
        )
    };
    let answer = set(program.as_raw_fd()).ok()?;
    if answer.get(16..20)? == [0; 4] {
        let _ = set(-1);
        return None;
    }
    extended(answer.get(EXT_ACK_AT..)?)
}

/// The text among the attributes behind a refusal.
fn extended(mut attributes: &[u8]) -> Option<String> {
    while let Some((header, rest)) = attributes.split_first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]);
        let value = rest.get(..length.checked_sub(4)?)?;
        if kind == NLMSGERR_ATTR_MSG {
            let text = value.split(|byte| *byte == 0).next()?;
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// One request to rtnetlink in the calling thread's network namespace, and its answer.
fn rtnetlink(message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<u8>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.set_ext_ack(true)?;
    socket.set_cap_ack(true)?;
    let mut request = NetlinkMessage::from(message);
    request.header.flags = flags;
    request.finalize();
    let mut buffer = vec![0; request.buffer_len()];
    request.serialize(&mut buffer);
    socket.send(&buffer, 0)?;
    Ok(socket.recv_from_full()?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_behind_a_refusal_are_found() {
        // NLMSGERR_ATTR_OFFS (2) first, then the message, padded.
        let mut bytes = [
            &8_u16.to_ne_bytes()[..],
            &2_u16.to_ne_bytes(),
            &[9, 0, 0, 0],
        ]
        .concat();
        bytes.extend([&8_u16.to_ne_bytes()[..], &1_u16.to_ne_bytes(), b"no!\0"].concat());
        assert_eq!(extended(&bytes).as_deref(), Some("no!"));
        assert_eq!(extended(&bytes[..8]), None);
        assert_eq!(extended(&[1, 0, 0, 0]), None);
    }
}
