//! Sending through an AF_XDP socket, and what became of the frames.

use std::io;

use rustix::io::Errno;

use super::BY;
use super::socket::{FRAMES, Failure, XdpSocket};
use crate::af_packet::socket::Socket;
use crate::error::PortError;
use crate::lack::{Lack, Why};
use crate::stamped::Frames;

/// Frames handed over per system call. The kernel takes 32 per call (`TX_BATCH_SIZE` in
/// net/xdp/xsk.c), and every frame of a batch carries the time at which it was filled.
pub(crate) const BATCH: usize = 16;
/// Kept free in a chunk: what a driver puts before a frame it receives (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;
/// Chunks are a page at most (`xdp_umem_reg` in net/xdp/xdp_umem.c).
const CHUNKS: [usize; 2] = [2048, 4096];

/// Largest frame without FCS.
pub(crate) const FRAME_BYTES_MAX: usize = CHUNKS[CHUNKS.len() - 1] - HEADROOM;

/// A sending socket with its frames, all of one size.
#[derive(Debug)]
pub(crate) struct TxSocket {
    interface: String,
    xdp: XdpSocket,
    chunk: usize,
    frame_bytes: usize,
    /// Chunks that nobody uses; those that came back last are taken first, they are in the cache.
    free: Vec<u32>,
    /// Entries put into the ring so far, modulo 2^32.
    produced: u32,
    invalid: u64,
}

impl TxSocket {
    /// Opens a socket on the interface of `port` for frames of `frame_bytes` bytes (without FCS),
    /// at most [`FRAME_BYTES_MAX`]. Must be called in the interface's network namespace.
    pub(crate) fn open(port: &Socket, frame_bytes: usize) -> Result<Self, PortError> {
        let interface = port.interface();
        let fits = |chunk: &&usize| frame_bytes + HEADROOM <= **chunk;
        let chunk = CHUNKS.iter().find(fits).copied().unwrap_or(CHUNKS[0]);
        let xdp = XdpSocket::open(port.index(), chunk as u32)
            .map_err(|failure| unusable(interface, failure))?;
        let invalid = xdp.invalid().unwrap_or(0);
        Ok(Self {
            interface: interface.to_owned(),
            xdp,
            chunk,
            frame_bytes,
            free: (0..FRAMES).rev().collect(),
            produced: 0,
            invalid,
        })
    }

    /// Whether the driver reads the frames where they are.
    pub(crate) fn zero_copy(&self) -> bool {
        self.xdp.zero_copy
    }

    /// Frames that may be handed over now. What the driver has not taken yet counts against it.
    pub(crate) fn room(&mut self) -> usize {
        self.reap();
        let waiting = self.waiting() as usize;
        self.free.len().min(BATCH.saturating_sub(waiting))
    }

    /// Puts the first `count` frames into the ring.
    pub(crate) fn hand_over(&mut self, count: usize) {
        for _ in 0..count {
            let Some(chunk) = self.free.pop() else {
                break;
            };
            let entry = libc::xdp_desc {
                addr: u64::from(chunk) * self.chunk as u64,
                len: self.frame_bytes as u32,
                options: 0,
            };
            self.xdp.tx.write(self.produced, entry);
            self.produced = self.produced.wrapping_add(1);
        }
        self.xdp.tx.produce(self.produced);
    }

    /// Has the kernel send what is in the ring. Returns how many frames it took and lost.
    ///
    /// Where it copies (`xsk_generic_xmit` in net/xdp/xsk.c), the call goes through the ring
    /// frame by frame and ends at the first that is refused: with EBUSY when the frame is gone
    /// (NET_XMIT_DROP), with EAGAIN when it stays in the ring (NETDEV_TX_BUSY). So every EBUSY is
    /// one frame, and no refusal is hidden behind another.
    pub(crate) fn send(&mut self) -> Result<u64, PortError> {
        let mut refused = 0;
        loop {
            let waiting = self.waiting();
            if waiting == 0 || !self.xdp.tx.needs_wakeup() {
                return Ok(refused);
            }
            let answer = self.xdp.wake().err().map(Errno::raw_os_error);
            match answer {
                Some(libc::EBUSY) if !self.xdp.zero_copy => refused += 1,
                Some(libc::EINTR) => {}
                None | Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS) => {
                    if self.xdp.zero_copy || self.waiting() == waiting {
                        return Ok(refused);
                    }
                }
                Some(code) => {
                    let error = io::Error::from_raw_os_error(code);
                    return Err(PortError::system(&self.interface, "send", error));
                }
            }
        }
    }

    /// Frames in the ring that the driver has not taken.
    pub(crate) fn waiting(&self) -> u32 {
        self.produced.wrapping_sub(self.xdp.tx.consumed())
    }

    /// Frames that somebody still uses: in the ring, in the driver, or, where it copies, anywhere
    /// in the path.
    #[cfg(test)]
    pub(crate) fn under_way(&mut self) -> usize {
        self.reap();
        FRAMES as usize - self.free.len()
    }

    /// Frames that the kernel found impossible to send since this was last asked.
    pub(crate) fn take_invalid(&mut self) -> Result<u64, PortError> {
        let total = self.xdp.invalid().map_err(|error| {
            PortError::system(&self.interface, "read the socket's statistics", error)
        })?;
        Ok(total - std::mem::replace(&mut self.invalid, total))
    }

    /// Takes back what the kernel needs no more.
    fn reap(&mut self) {
        let ring = &self.xdp.completed;
        let (end, mut at) = (ring.produced(), ring.consumed());
        if at == end {
            return;
        }
        while at != end {
            self.free.push((ring.read(at) / self.chunk as u64) as u32);
            at = at.wrapping_add(1);
        }
        ring.consume(at);
    }
}

impl Frames for TxSocket {
    const COUNT: usize = FRAMES as usize;

    /// The frame to be handed over as number `n`, below [`Self::room`]; empty beyond all frames.
    fn frame(&mut self, n: usize) -> &mut [u8] {
        let chunk = self.free.len().checked_sub(n + 1);
        match chunk.and_then(|at| self.free.get(at)) {
            Some(chunk) => {
                let offset = *chunk as usize * self.chunk;
                self.xdp.memory.slice(offset, self.frame_bytes)
            }
            None => &mut [],
        }
    }

    fn interface(&self) -> &str {
        &self.interface
    }
}

/// Why there is no socket.
fn unusable(interface: &str, (operation, source): Failure) -> PortError {
    let why: Why = match source.raw_os_error() {
        Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
            return PortError::system(interface, operation, source);
        }
        Some(libc::EAFNOSUPPORT) => "the kernel is built without AF_XDP".into(),
        Some(libc::EPERM | libc::EACCES) => {
            let words = format!("cannot {operation}: run as root, or with CAP_NET_RAW");
            Why::lacks(Lack::Root, words)
        }
        Some(libc::EBUSY) => format!(
            "queue 0 has an AF_XDP socket of another process: stop it (ss --xdp), or use another \
             port; {source}"
        )
        .into(),
        Some(libc::ENOBUFS | libc::ENOMEM) => {
            format!("cannot {operation}: raise the limit of locked memory (ulimit -l); {source}")
                .into()
        }
        _ => format!("cannot {operation}: {source}").into(),
    };
    PortError::send(interface, BY, why)
}
