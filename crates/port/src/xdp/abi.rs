//! What user space and `bpf/transmit.bpf.c` tell each other.

use nicety_account::slots::SLOTS;
use nicety_model::{Fps, PacingReport};
use nicety_packet::checksum::Sum;
use nicety_packet::{Side, Template, ethernet, ipv4, udp, vlan};

use crate::marks::{Made, Marks};
use crate::pace::Arrears;

mod mirror;
#[cfg(test)]
mod tests;

pub(crate) use mirror::{Control, ControlWords, Stream, StreamWords};

/// Words of `struct marks`: two slots each.
pub(crate) const MARK_WORDS: usize = SLOTS / 2;

/// Bits of the linear part of the lateness histogram.
const LINEAR_BITS: u32 = 6;
/// Buckets of one octave above it.
const HALF: usize = 1 << (LINEAR_BITS - 1);
/// Octaves above it.
const OCTAVES: usize = 28;
/// Buckets of the lateness histogram.
pub(crate) const BUCKETS: usize = (1 << LINEAR_BITS) + OCTAVES * HALF;
/// Words of `struct lateness`: two buckets each.
pub(crate) const LATENESS_WORDS: usize = BUCKETS / 2;

/// What never changes between the trials of one engine.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    tagged: bool,
    side_b: bool,
    flows: u32,
    stations: u32,
    ip_sum: u16,
    udp_sum: u16,
    link: [u64; 3],
    net: [u64; 4],
}

impl Shape {
    /// The frames of `template`, taken apart.
    pub(crate) fn of(template: &Template) -> Self {
        let spec = template.spec();
        let tagged = spec.vlan.is_some();
        let start = ethernet::HEADER_BYTES + if tagged { vlan::TAG_BYTES } else { 0 };
        let (link, packet) = template.bytes().split_at(start);
        let mut packet = packet.to_vec();
        let net = words(&packet[..ipv4::HEADER_BYTES + udp::CHECKSUM]);
        // The sums are of what stays the same: without checksums, and without addresses and
        // ports where these change.
        let many = spec.flows.count() > 1;
        let flow = ipv4::SOURCE..ipv4::HEADER_BYTES + udp::SOURCE + 4;
        let udp_length = u16::try_from(packet.len() - ipv4::HEADER_BYTES).unwrap_or(u16::MAX);
        packet[ipv4::CHECKSUM..ipv4::SOURCE].fill(0);
        packet[ipv4::HEADER_BYTES + udp::CHECKSUM..][..2].fill(0);
        if many {
            packet[flow].fill(0);
        }
        let addresses = &packet[ipv4::SOURCE..ipv4::HEADER_BYTES];
        let ip_sum = Sum::default().add_bytes(&packet[..ipv4::SOURCE]).fold();
        let udp_sum = Sum::default()
            .add_bytes(addresses)
            .add_u16(u16::from(ipv4::PROTOCOL_UDP))
            .add_u16(udp_length)
            .add_bytes(&packet[ipv4::HEADER_BYTES..])
            .fold();
        Self {
            tagged,
            side_b: spec.flows.side() == Side::B,
            flows: spec.flows.count(),
            stations: spec.flows.stations(),
            ip_sum,
            udp_sum,
            link: words(link),
            net,
        }
    }
}

/// Bytes as words of this machine, the last one filled up with zeros.
fn words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(whole);
    }
    words
}

/// One stream of one trial, before it is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) stream: u8,
    pub(crate) trial: u8,
    pub(crate) rate: Fps,
    /// What is owed when the stream is late.
    pub(crate) arrears: Arrears,
    pub(crate) frames: u64,
    /// Frames that may follow one look at the clock when they are all due. They leave with the
    /// same batch of the kernel, so they could not have left earlier or later.
    pub(crate) follow: u32,
    /// Longest time of sending.
    pub(crate) run_ns: u64,
    /// Number of the port's interface, and inode of its network namespace.
    pub(crate) interface: (u32, u64),
}

impl Sending<'_> {
    /// As the program wants it.
    pub(crate) fn stream(&self) -> Stream {
        let shape = self.shape;
        let step_ns = 1e9 / self.rate.0;
        Stream {
            frames: self.frames,
            run_ns: self.run_ns,
            step_ns: step_ns as u64,
            // Exact to 2^-33 ns per frame: 0.5 ns after four billion frames.
            step_frac: (step_ns.fract() * 4_294_967_296.0).round() as u64,
            keep_ns: (self.arrears.kept.saturating_sub(1) as f64 * step_ns) as u64,
            catch_up_ns: (self.arrears.most as f64 * step_ns).ceil() as u64,
            identity: u64::from(self.stream) << 8 | u64::from(self.trial),
            flows: u64::from(shape.flows),
            side_b: u64::from(shape.side_b),
            tagged: u64::from(shape.tagged),
            ip_sum: u64::from(shape.ip_sum),
            udp_sum: u64::from(shape.udp_sum),
            link: shape.link,
            net: shape.net,
            ifindex: u64::from(self.interface.0),
            netns: self.interface.1,
            follow: u64::from(self.follow),
            follow_ns: (f64::from(self.follow) * step_ns).ceil() as u64,
            stations: u64::from(shape.stations),
            ..Stream::default()
        }
    }
}

impl Sent {
    /// Its frames, made in the slots that `marks` names.
    pub(crate) fn frames(&self, marks: Marks) -> Made {
        Made {
            marks,
            ends: [self.first_ns, self.last_ns],
            count: self.made,
        }
    }
}

/// One stream of one trial, as the program left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    /// First slot.
    pub(crate) start_ns: u64,
    /// Slot of the next frame.
    pub(crate) due_ns: u64,
    /// Frames made.
    pub(crate) made: u64,
    /// When the first frame was made.
    pub(crate) first_ns: u64,
    /// When the last frame was made.
    pub(crate) last_ns: u64,
    /// Nothing more will be sent.
    pub(crate) ended: bool,
    pub(crate) slips: u64,
    pub(crate) slipped_ns: u64,
    pub(crate) slip_max_ns: u64,
    pub(crate) late_max_ns: u64,
    /// Longest row of frames without a wait in between.
    pub(crate) streak_max: u64,
    /// Frames that were taken away instead of being sent.
    pub(crate) unsent: u64,
    /// Frames the driver took.
    pub(crate) accepted: u64,
    /// Frames the driver refused because its ring was full.
    pub(crate) refused: u64,
    /// Frames the driver refused for another reason.
    pub(crate) failed: u64,
    /// The error number of the last of these.
    pub(crate) error: i32,
    /// The kernel runs the program.
    pub(crate) ready: bool,
    pub(crate) rests: u64,
    pub(crate) rested_ns: u64,
}

impl Sent {
    pub(crate) fn read(stream: &Stream) -> Self {
        Self {
            start_ns: stream.begun,
            due_ns: stream.due_ns,
            made: stream.done,
            first_ns: stream.first_ns,
            last_ns: stream.last_ns,
            ended: stream.ended != 0,
            slips: stream.slips,
            slipped_ns: stream.slipped_ns,
            slip_max_ns: stream.slip_max_ns,
            late_max_ns: stream.late_max_ns,
            streak_max: stream.streak_max,
            unsent: stream.unsent,
            accepted: stream.accepted,
            refused: stream.refused,
            failed: stream.failed,
            error: i32::try_from(stream.error).unwrap_or(0),
            ready: stream.ready != 0,
            rests: stream.rests,
            rested_ns: stream.rested_ns,
        }
    }

    /// Frames that never reached the driver: the port is gone or down.
    pub(crate) fn undelivered(&self) -> u64 {
        self.made
            .saturating_sub(self.accepted + self.refused + self.failed)
    }

    /// The sender's account. `given_up` frames count as never sent.
    pub(crate) fn pacing(&self, lateness: &[u32], given_up: u64) -> PacingReport {
        // The last frame's slot belongs to the sending time: N frames take N slots.
        let end = self.due_ns.max(self.last_ns);
        let sending_s = end.saturating_sub(self.start_ns) as f64 * 1e-9;
        let sent = self.made.saturating_sub(given_up);
        PacingReport {
            offered_fps: if sending_s > 0.0 {
                sent as f64 / sending_s
            } else {
                0.0
            },
            sending_s,
            burst_max: u32::try_from(self.streak_max).unwrap_or(u32::MAX),
            slips: u32::try_from(self.slips).unwrap_or(u32::MAX),
            slipped_s: self.slipped_ns as f64 * 1e-9,
            slip_max_s: self.slip_max_ns as f64 * 1e-9,
            rests: u32::try_from(self.rests).unwrap_or(u32::MAX),
            rested_s: self.rested_ns as f64 * 1e-9,
            late_p99_us: p99_ns(lateness).min(self.late_max_ns) as f64 / 1000.0,
            late_max_us: self.late_max_ns.max(self.slip_max_ns) as f64 / 1000.0,
            refused: given_up,
        }
    }
}

/// 99th percentile: the upper edge of its bucket, at most 3 % too large.
fn p99_ns(lateness: &[u32]) -> u64 {
    let total: u64 = lateness.iter().map(|count| u64::from(*count)).sum();
    let rank = (total as f64 * 0.99).ceil() as u64;
    let mut seen = 0;
    for (bucket, count) in lateness.iter().enumerate() {
        seen += u64::from(*count);
        if seen >= rank.max(1) {
            return upper_edge(bucket);
        }
    }
    0
}

/// Largest lateness of a bucket, in ns.
fn upper_edge(bucket: usize) -> u64 {
    let linear = 1_usize << LINEAR_BITS;
    if bucket < linear {
        return bucket as u64;
    }
    let (octave, part) = ((bucket - linear) / HALF, (bucket - linear) % HALF);
    (((HALF + part + 1) as u64) << (octave + 1)) - 1
}
