//! Accounting of received frames: every frame, not samples.
//!
//! [`Account`] takes the frames that one port sees during one trial and says what became of
//! each: lost, duplicated, reordered (RFC 4737) or damaged, and how long it took. It is also
//! the plain model for checking other accounting, such as that inside the kernel.
//!
//! What each count means, and its limits: `docs/methodology/accounting.md`.

pub mod drops;
pub mod fate;
pub mod flows;
pub mod histogram;
pub mod hops;
pub mod inside;
pub mod journey;
pub mod latency;
pub mod lost;
pub mod port;
pub mod probes;
pub mod runs;
pub mod sequence;
pub mod slots;
pub mod soak;
pub mod waterfall;
pub mod workload;

pub use latency::{Exact, Latency};
pub use port::{Account, PortCounts, StreamTotals};
pub use probes::{Offset, OffsetSample, ProbeTotals, Reading, Stamps};
pub use runs::Runs;
pub use sequence::{Arrival, SequenceCounts, Tracker};
pub use slots::SlotCounts;

/// Why accounting could not be set up or closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// A port that expects nothing counts nothing.
    #[error("account: no streams given: name every stream the port is to receive")]
    NoStreams,
    /// A stream that may not be counted.
    #[error("account: stream {stream} is reserved for learning frames: use 0 to 254")]
    ReservedStream {
        /// The stream.
        stream: u8,
    },
    /// A stream named twice.
    #[error("account: stream {stream} is named twice: every stream needs a number of its own")]
    StreamTwice {
        /// The stream.
        stream: u8,
    },
    /// The sender's totals for a stream are missing at the end of a trial.
    #[error("account: nothing says how many frames stream {stream} sent: give totals for it")]
    NoTotals {
        /// The stream.
        stream: u8,
    },
    /// The latency histogram could not be made.
    #[error("account: latency histogram of {max_ns} ns at {digits} digits cannot be made")]
    Histogram {
        /// Largest value.
        max_ns: u64,
        /// Significant decimal digits.
        digits: u8,
    },
}
