//! An AF_XDP socket that only sends, its memory and its rings.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::sockopt as options;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING,
    XDP_UMEM_PGOFF_FILL_RING, XdpOptionsFlags, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, send, socket_with};

use super::ring::Ring;
use crate::memory::Memory;
use crate::sockopt;

/// Frames that may be under way at once, a power of two. Where the driver copies, a frame is
/// under way until the last hop of the path has freed its buffer: more than a path of veths and
/// bridges holds in its rings.
pub(super) const FRAMES: u32 = 4096;
/// Frames lent to a zero-copy driver to receive into, a power of two. Its queue receives nothing
/// without them; the receive program gives them back.
const FILL: u32 = 2048;
/// Bytes the socket may have in flight where the driver copies.
const SEND_BUFFER_BYTES: usize = 128 << 20;
/// Only one queue is sent to: one thread fills it.
const QUEUE: u32 = 0;

/// What failed, and how.
pub(super) type Failure = (&'static str, io::Error);

/// The socket, bound.
#[derive(Debug)]
pub(super) struct XdpSocket {
    fd: OwnedFd,
    /// Of chunks; the first [`FRAMES`] are for sending.
    pub(super) memory: Memory,
    /// Frames to be sent.
    pub(super) tx: Ring<libc::xdp_desc>,
    /// Frames that the kernel needs no more.
    pub(super) completed: Ring<u64>,
    /// Whether the driver reads the frames where they are.
    pub(super) zero_copy: bool,
}

impl XdpSocket {
    /// Opens and binds a socket to interface number `index` of the calling thread's namespace,
    /// with frames in chunks of `chunk` bytes, a power of two up to a page. Zero-copy where the
    /// driver has it.
    pub(super) fn open(index: u32, chunk: u32) -> Result<Self, Failure> {
        let failed = |operation| move |error: Errno| (operation, error.into());
        let flags = SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::XDP, SocketType::RAW, flags, None)
            .map_err(failed("open an AF_XDP socket"))?;
        let bytes = (FRAMES + FILL) as usize * chunk as usize;
        let memory = Memory::new(bytes).map_err(|error| ("allocate frames", error))?;
        let region = XdpUmemReg {
            addr: memory.start().as_ptr() as u64,
            len: bytes as u64,
            chunk_size: chunk,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        options::set_xdp_umem_reg(&fd, region).map_err(failed("share memory with the kernel"))?;
        options::set_xdp_umem_fill_ring_size(&fd, FILL)
            .and_then(|()| options::set_xdp_umem_completion_ring_size(&fd, FRAMES))
            .and_then(|()| options::set_xdp_tx_ring_size(&fd, FRAMES))
            .map_err(failed("make a ring"))?;
        // With less, fewer frames can be under way.
        sockopt::enlarge_send_buffer(&fd, SEND_BUFFER_BYTES)
            .map_err(failed("enlarge the send buffer"))?;
        let layout =
            options::xdp_mmap_offsets(&fd).map_err(failed("ask for the layout of the rings"))?;
        let unmapped = |error| ("map a ring", error);
        let at = fd.as_fd();
        let tx = Ring::map(at, XDP_PGOFF_TX_RING, &layout.tx, FRAMES).map_err(unmapped)?;
        let completed = Ring::map(at, XDP_UMEM_PGOFF_COMPLETION_RING, &layout.cr, FRAMES);
        let completed = completed.map_err(unmapped)?;
        let fill = Ring::map(at, XDP_UMEM_PGOFF_FILL_RING, &layout.fr, FILL);
        let mut fill = fill.map_err(unmapped)?;
        for n in 0..FILL {
            fill.write(n, u64::from(FRAMES + n) * u64::from(chunk));
        }
        // A zero-copy driver takes them when it is bound; a copying one never looks.
        fill.produce(FILL);
        // With neither XDP_COPY nor XDP_ZEROCOPY the kernel takes zero-copy where the driver has it
        // (`xp_assign_dev` in net/xdp/xsk_buff_pool.c).
        let flags = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
        bind(&fd, &SocketAddrXdp::new(flags, index, QUEUE))
            .map_err(failed("bind an AF_XDP socket"))?;
        let modes = options::xdp_options(&fd).map_err(failed("ask how frames are sent"))?;
        Ok(Self {
            fd,
            memory,
            tx,
            completed,
            zero_copy: modes.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY),
        })
    }

    /// Has the kernel look at the ring.
    pub(super) fn wake(&self) -> Result<(), Errno> {
        send(&self.fd, &[], SendFlags::DONTWAIT).map(drop)
    }

    /// Entries of the ring that the kernel has thrown away, since the socket was opened.
    pub(super) fn invalid(&self) -> io::Result<u64> {
        let statistics: libc::xdp_statistics_v1 =
            sockopt::get(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS)?;
        Ok(statistics.tx_invalid_descs)
    }
}
