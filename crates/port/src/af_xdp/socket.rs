//! An AF_XDP socket that only sends, its memory and its rings.
#![allow(unsafe_code)] // edge: the C library's socket calls

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use super::ring::{Memory, Ring};

/// Frames that may be under way at once, a power of two. Where the driver copies, a frame is
/// under way until the last hop of the path has freed its buffer: more than a path of veths and
/// bridges holds in its rings.
pub(super) const FRAMES: u32 = 4096;
/// Frames lent to a zero-copy driver to receive into, a power of two. Its queue receives nothing
/// without them; the receive program gives them back.
const FILL: u32 = 2048;
/// Bytes the socket may have in flight where the driver copies.
const SEND_BUFFER_BYTES: libc::c_int = 128 << 20;
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
        // SAFETY: no pointers; the result is checked before it becomes an OwnedFd.
        let raw = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if raw < 0 {
            return Err(("open an AF_XDP socket", io::Error::last_os_error()));
        }
        // SAFETY: `raw` is a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        let bytes = (FRAMES + FILL) as usize * chunk as usize;
        let memory = Memory::new(bytes).map_err(|error| ("allocate frames", error))?;
        let region = libc::xdp_umem_reg {
            addr: memory.address(),
            len: bytes as u64,
            chunk_size: chunk,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set(&fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &region)
            .map_err(|error| ("share memory with the kernel", error))?;
        for (ring, entries) in [
            (libc::XDP_UMEM_FILL_RING, FILL),
            (libc::XDP_UMEM_COMPLETION_RING, FRAMES),
            (libc::XDP_TX_RING, FRAMES),
        ] {
            set(&fd, libc::SOL_XDP, ring, &entries).map_err(|error| ("make a ring", error))?;
        }
        // Beyond wmem_max only with CAP_NET_ADMIN on the host; without it fewer frames can be
        // under way.
        let (force, size) = (libc::SO_SNDBUFFORCE, SEND_BUFFER_BYTES);
        set(&fd, libc::SOL_SOCKET, force, &size)
            .or_else(|_| set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUF, &size))
            .map_err(|error| ("enlarge the send buffer", error))?;
        let layout: libc::xdp_mmap_offsets = get(&fd, libc::XDP_MMAP_OFFSETS)
            .map_err(|error| ("ask for the layout of the rings", error))?;
        let unmapped = |error| ("map a ring", error);
        let tx_at = libc::XDP_PGOFF_TX_RING as u64;
        let tx = Ring::map(fd.as_fd(), tx_at, &layout.tx, FRAMES).map_err(unmapped)?;
        let done_at = libc::XDP_UMEM_PGOFF_COMPLETION_RING;
        let completed = Ring::map(fd.as_fd(), done_at, &layout.cr, FRAMES).map_err(unmapped)?;
        let fill_at = libc::XDP_UMEM_PGOFF_FILL_RING;
        let mut fill = Ring::map(fd.as_fd(), fill_at, &layout.fr, FILL).map_err(unmapped)?;
        for n in 0..FILL {
            fill.write(n, u64::from(FRAMES + n) * u64::from(chunk));
        }
        // A zero-copy driver takes them when it is bound; a copying one never looks.
        fill.produce(FILL);
        bind(&fd, index).map_err(|error| ("bind an AF_XDP socket", error))?;
        let options: libc::xdp_options =
            get(&fd, libc::XDP_OPTIONS).map_err(|error| ("ask how frames are sent", error))?;
        Ok(Self {
            fd,
            memory,
            tx,
            completed,
            zero_copy: options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0,
        })
    }

    /// Has the kernel look at the ring.
    pub(super) fn wake(&self) -> io::Result<()> {
        // SAFETY: no buffer is given.
        let done = unsafe {
            libc::sendto(
                self.fd.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Entries of the ring that the kernel has thrown away, since the socket was opened.
    pub(super) fn invalid(&self) -> io::Result<u64> {
        let statistics: libc::xdp_statistics_v1 = get(&self.fd, libc::XDP_STATISTICS)?;
        Ok(statistics.tx_invalid_descs)
    }
}

/// Binds to the interface. With neither XDP_COPY nor XDP_ZEROCOPY the kernel takes zero-copy
/// where the driver has it (`xp_assign_dev` in net/xdp/xsk_buff_pool.c).
fn bind(fd: &OwnedFd, index: u32) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: index,
        sxdp_queue_id: QUEUE,
        sxdp_shared_umem_fd: 0,
    };
    // SAFETY: the address lives for the call and its size is given.
    let done = unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn set<T>(fd: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` is a plain C value that lives for the call, its size is given.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Reads an option of level `SOL_XDP` into a zeroed `T`.
fn get<T: Copy>(fd: &OwnedFd, option: libc::c_int) -> io::Result<T> {
    // SAFETY: only used with plain C structs, for which zero is valid.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: value and length live for the call; the kernel writes at most `length` bytes.
    let done = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_XDP,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value)
}
