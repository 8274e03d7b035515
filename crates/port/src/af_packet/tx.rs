//! Sending in batches: one system call for up to sixteen frames, past the queueing discipline.
#![allow(unsafe_code)] // edge: sendmmsg takes raw pointers into our buffers

use std::io;

use super::learning;
use super::socket::{ON, Socket};
use crate::error::PortError;
use crate::sending::LEARNING_FRAMES;
use crate::sockopt;
use crate::stamped::{Frames, Stamped};

/// Frames per system call. More gains little (1.13 to 1.24 M frames/s from 1 to 32 on a veth),
/// and every frame of a batch carries the time at which the batch was filled.
pub(crate) const BATCH: usize = 16;
/// Bytes the sending socket may have in flight. A veth ring holds 256 frames, and the kernel
/// charges each with its whole buffer.
const SEND_BUFFER_BYTES: usize = 16 << 20;

/// What a refusal (ENOBUFS) of the interface means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The interface is a veth: the ring of its far end, the path's first, was full. The frame
    /// was sent and is lost.
    LostInPath,
    /// The interface's own transmit ring was full: the frame was not sent yet.
    NotSent,
}

/// Frames of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// On the wire.
    pub(crate) accepted: usize,
    /// Refused by the path's first ring.
    pub(crate) refused: usize,
}

/// A sending socket with its batch of frame buffers.
pub(crate) struct TxSocket {
    socket: Socket,
    refusal: Refusal,
    frame_bytes: usize,
    frames: Box<[u8]>,
    messages: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    /// Where frames have several sizes.
    several: Option<Several>,
}

/// A buffer for each of several frame sizes at every place of a batch.
#[derive(Debug)]
struct Several {
    /// Bytes of the frames of each size.
    lengths: Vec<usize>,
    /// Which of them is sent next at each place.
    chosen: [usize; BATCH],
}

// SAFETY: all raw pointers are made anew before they are used and point into boxes of this value.
unsafe impl Send for TxSocket {}

impl TxSocket {
    /// Opens a socket on `interface` for frames of exactly `frame_bytes` (without FCS). Must be
    /// called in the interface's network namespace.
    pub(crate) fn open(
        interface: &str,
        frame_bytes: usize,
        refusal: Refusal,
    ) -> Result<Self, PortError> {
        let socket = Socket::open(interface)?;
        socket.set(libc::PACKET_QDISC_BYPASS, &ON, "bypass the qdisc")?;
        // With less, a full socket makes the call wait.
        sockopt::enlarge_send_buffer(&socket, SEND_BUFFER_BYTES)
            .map_err(|error| PortError::system(interface, "enlarge the send buffer", error))?;
        socket.bind(0)?;
        let vector = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: frame_bytes,
        };
        // SAFETY: an all-zero mmsghdr is valid.
        let message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Ok(Self {
            socket,
            refusal,
            frame_bytes,
            frames: vec![0; BATCH * frame_bytes].into_boxed_slice(),
            messages: vec![message; BATCH].into_boxed_slice(),
            vectors: vec![vector; BATCH].into_boxed_slice(),
            several: None,
        })
    }

    /// Makes room for frames of these lengths, none of them longer than what the socket was opened for, at
    /// every place of a batch.
    pub(crate) fn several(&mut self, lengths: &[usize]) {
        self.frames = vec![0; BATCH * lengths.len() * self.frame_bytes].into_boxed_slice();
        self.several = Some(Several {
            lengths: lengths.to_vec(),
            chosen: [0; BATCH],
        });
    }

    /// Has the frame at place `n` be the one of size number `size`; its buffer.
    pub(crate) fn choose(&mut self, n: usize, size: usize) -> &mut [u8] {
        let Some(several) = &mut self.several else {
            return Frames::frame(self, n);
        };
        several.chosen[n] = size;
        let start = (n * several.lengths.len() + size) * self.frame_bytes;
        &mut self.frames[start..start + self.frame_bytes]
    }

    /// Points the messages at the frames. Done for each batch: whoever filled a frame has borrowed all of
    /// them since, and pointers made before that are not valid any more.
    fn point(&mut self, count: usize) {
        let vectors = self.vectors.as_mut_ptr();
        if let Some(several) = &self.several {
            let sizes = several.lengths.len();
            let frames = self.frames.chunks_exact_mut(self.frame_bytes * sizes);
            let chosen = several.chosen.iter();
            let batch = frames.zip(chosen).zip(&mut self.messages).take(count);
            for (n, ((frames, size), message)) in batch.enumerate() {
                let frame = &mut frames[size * self.frame_bytes..][..several.lengths[*size]];
                // SAFETY: there are as many vectors as messages, and nobody else holds one.
                unsafe {
                    let vector = vectors.add(n);
                    (*vector).iov_base = frame.as_mut_ptr().cast();
                    (*vector).iov_len = frame.len();
                    message.msg_hdr.msg_iov = vector;
                }
                message.msg_hdr.msg_iovlen = 1;
            }
            return;
        }
        let frames = self.frames.chunks_exact_mut(self.frame_bytes);
        for (n, (frame, message)) in frames.zip(&mut self.messages).take(count).enumerate() {
            // SAFETY: there are as many vectors as messages, and nobody else holds one.
            unsafe {
                let vector = vectors.add(n);
                (*vector).iov_base = frame.as_mut_ptr().cast();
                message.msg_hdr.msg_iov = vector;
            }
            message.msg_hdr.msg_iovlen = 1;
        }
    }

    /// Sends the first `count` buffers, at most [`BATCH`]. On a veth every buffer is used up, accepted or refused;
    /// elsewhere the accepted ones are a prefix and the rest may be sent again.
    pub(crate) fn send(&mut self, count: usize) -> Result<Sent, PortError> {
        let flags = match self.refusal {
            // A blocking call fails only when the ring is full, never because the socket is:
            // so a short count has one meaning.
            Refusal::LostInPath => 0,
            Refusal::NotSent => libc::MSG_DONTWAIT,
        };
        debug_assert!(count <= BATCH, "{count}");
        // There are no more messages, whatever the caller believes.
        let count = count.min(BATCH);
        self.point(count);
        let mut sent = Sent::default();
        let mut at = 0;
        while at < count {
            // SAFETY: `at < count <= BATCH` by the line above; messages point to live vectors and frames.
            let done = unsafe {
                libc::sendmmsg(
                    self.socket.raw(),
                    self.messages.as_mut_ptr().add(at),
                    (count - at) as libc::c_uint,
                    flags as _,
                )
            };
            if done < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::ENOBUFS) if self.refusal == Refusal::LostInPath => {
                        sent.refused += 1;
                        at += 1;
                        continue;
                    }
                    Some(libc::ENOBUFS | libc::EAGAIN) => return Ok(sent),
                    Some(libc::EINTR) => continue,
                    _ => return Err(PortError::system(self.socket.interface(), "send", error)),
                }
            }
            let done = done as usize;
            sent.accepted += done;
            at += done;
            if at < count && done > 0 {
                // sendmmsg keeps the error of the frame after the last good one to itself
                // (net/socket.c __sys_sendmmsg); on a veth that frame is gone.
                match self.refusal {
                    Refusal::LostInPath => {
                        sent.refused += 1;
                        at += 1;
                    }
                    Refusal::NotSent => return Ok(sent),
                }
            }
        }
        Ok(sent)
    }

    /// Number of the interface in its network namespace.
    pub(crate) fn index(&self) -> u32 {
        self.socket.index()
    }

    /// Fails when the interface went down.
    pub(crate) fn check_up(&self) -> Result<(), PortError> {
        self.socket.check_up()
    }
}

impl Frames for TxSocket {
    const COUNT: usize = BATCH;

    /// Buffer of frame `n` of the next batch.
    fn frame(&mut self, n: usize) -> &mut [u8] {
        &mut self.frames[n * self.frame_bytes..(n + 1) * self.frame_bytes]
    }

    fn interface(&self) -> &str {
        self.socket.interface()
    }
}

impl Stamped<TxSocket> {
    /// Sends learning frames.
    pub(crate) fn learn(&mut self) -> Result<(), PortError> {
        for station in 0..self.stations() {
            self.stamp(0, &learning(station))?;
            // One refused learning frame is made good by the next.
            for _ in 0..LEARNING_FRAMES {
                self.socket.send(1)?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for TxSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TxSocket")
            .field("socket", &self.socket)
            .field("refusal", &self.refusal)
            .field("frame_bytes", &self.frame_bytes)
            .finish_non_exhaustive()
    }
}
