//! The structs of `bpf/*.bpf.h` as this program sees them. A test compares each with the type information (BTF) of the
//! compiled objects: names, order, places and size.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, transmute};

/// Defines a struct laid out as in C. Tests get the names and places of its fields.
macro_rules! mirror {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $kind:ty,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub(crate) struct $name {
            $($(#[$of])* pub(crate) $field: $kind,)+
        }

        #[cfg(test)]
        impl $name {
            /// Fields in order, with their first byte.
            pub(crate) const FIELDS: &[(&str, usize)] =
                &[$((stringify!($field), std::mem::offset_of!($name, $field)),)+];
        }
    };
}

mirror! {
    /// `struct stream` of `bpf/stream.bpf.h`: what to send, and what became of it.
    Stream {
        frames: u64,
        /// Longest time of sending.
        run_ns: u64,
        /// Distance of two slots.
        step_ns: u64,
        /// The same, in 2^-32 ns.
        step_frac: u64,
        /// What a slip leaves to catch up.
        keep_ns: u64,
        /// Lateness from which the schedule slips.
        catch_up_ns: u64,
        /// The stream's number in the second byte, the trial's in the first.
        identity: u64,
        flows: u64,
        side_b: u64,
        tagged: u64,
        /// Sum of the IPv4 header without checksum and addresses.
        ip_sum: u64,
        /// Sum of all but the stamp, and the flow if there are many.
        udp_sum: u64,
        /// Ethernet header, tag if any.
        link: [u64; 3],
        /// IPv4 and UDP header of the first flow.
        net: [u64; 4],
        ifindex: u64,
        netns: u64,
        /// First slot.
        begun: u64,
        /// Slot of the next frame.
        due_ns: u64,
        due_frac: u64,
        /// Slots used: the next sequence number.
        done: u64,
        first_ns: u64,
        last_ns: u64,
        /// Nothing more will be sent.
        ended: u64,
        slips: u64,
        slipped_ns: u64,
        slip_max_ns: u64,
        late_max_ns: u64,
        /// Frames since the sender last waited for a slot.
        streak: u64,
        streak_max: u64,
        /// The port is gone, or the frame was not asked for.
        unsent: u64,
        accepted: u64,
        refused: u64,
        failed: u64,
        error: u64,
        /// The kernel runs the program.
        ready: u64,
        seen_ns: u64,
        resumes: u64,
        rests: u64,
        rested_ns: u64,
        /// Frames that may follow one look at the clock when they are all due.
        follow: u64,
        /// Lateness from which they are.
        follow_ns: u64,
        following: u64,
        slot: u64,
        /// Pairs of stations that take turns.
        stations: u64,
    }
}

mirror! {
    /// `struct control` of `bpf/transmit.bpf.c`.
    Control {
        streams: u64,
        turn: u64,
        /// Of the sending thread.
        cpu: u64,
        /// Returns of the sending thread from a rest.
        resumes: u64,
    }
}

/// A [`Stream`] as a map holds it. Maps take plain words without `unsafe`; the two have the same bytes, which
/// `transmute!` has the compiler check.
pub(crate) type StreamWords = [u64; size_of::<Stream>() / size_of::<u64>()];

/// A [`Control`] as a map holds it.
pub(crate) type ControlWords = [u64; size_of::<Control>() / size_of::<u64>()];

impl Stream {
    /// From a map.
    pub(crate) fn of(words: StreamWords) -> Self {
        transmute!(words)
    }

    /// For a map.
    pub(crate) fn words(self) -> StreamWords {
        transmute!(self)
    }
}

impl Control {
    /// From a map.
    pub(crate) fn of(words: ControlWords) -> Self {
        transmute!(words)
    }

    /// For a map.
    pub(crate) fn words(self) -> ControlWords {
        transmute!(self)
    }
}
