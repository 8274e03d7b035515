//! Which UDP request an answer belongs to.
//!
//! A request carries as much of its number as it has room for (its low bytes, little-endian, at
//! most eight); the answer brings it back. One request is open per flow; those given up are
//! remembered for a while, so that a late answer still yields its true latency instead of a
//! lost request and a strange datagram.

use nicety_model::sock::RequestCounts;

use crate::workload::round_trip::RoundTrip;

/// Requests given up that a flow remembers. Below 256, so that one byte of their number tells
/// them apart.
const REMEMBERED: u64 = 64;

/// A request's number in its message: the low bytes that fit.
pub fn write_sequence(message: &mut [u8], number: u64) {
    let bytes = number.to_le_bytes();
    let room = message.len().min(bytes.len());
    message[..room].copy_from_slice(&bytes[..room]);
}

/// The low bytes of the number a message carries, and how many bits they are.
pub fn sequence_of(message: &[u8]) -> (u64, u32) {
    let mut bytes = [0; 8];
    let room = message.len().min(bytes.len());
    bytes[..room].copy_from_slice(&message[..room]);
    (u64::from_le_bytes(bytes), 8 * room as u32)
}

/// What an answer answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The open request, after this many ns.
    Open {
        /// From the intended time to the answer.
        latency_ns: u64,
    },
    /// A request given up before.
    Late {
        /// From the intended time to the answer.
        latency_ns: u64,
    },
    /// Nothing that is waited for.
    Unexpected,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    number: u64,
    intended_ns: u64,
    sent_ns: u64,
}

/// The requests of one flow. Times are ns after the start of the test.
#[derive(Debug, Clone)]
pub struct OpenRequests {
    next: u64,
    open: Option<Request>,
    given_up: Vec<Request>,
    round_trip: RoundTrip,
    counts: RequestCounts,
}

impl Default for OpenRequests {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenRequests {
    /// No request yet, and a round trip that something else measured.
    pub fn expecting(round_trip_ns: Option<u64>) -> Self {
        let mut requests = Self::new();
        if let Some(ns) = round_trip_ns {
            requests.round_trip.measured(ns);
        }
        requests
    }

    /// No request yet.
    pub fn new() -> Self {
        Self {
            next: 0,
            open: None,
            given_up: Vec::new(),
            round_trip: RoundTrip::new(),
            counts: RequestCounts::default(),
        }
    }

    /// Number of the next request, from 0.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// A request was sent; the one before it must have been answered or given up.
    pub fn sent(&mut self, intended_ns: u64, now_ns: u64) {
        debug_assert!(self.open.is_none());
        self.open = Some(Request {
            number: self.next,
            intended_ns,
            sent_ns: now_ns,
        });
        self.next += 1;
        self.counts.sent += 1;
    }

    /// Whether a request waits for its answer.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// When the open request is given up.
    pub fn deadline_ns(&self) -> Option<u64> {
        Some(self.open?.sent_ns + self.round_trip.timeout_ns())
    }

    /// Gives the open request up when it has waited too long; says whether it did.
    pub fn give_up(&mut self, now_ns: u64) -> bool {
        if self.deadline_ns().is_none_or(|deadline| now_ns < deadline) {
            return false;
        }
        self.abandon();
        self.round_trip.timed_out();
        true
    }

    /// Gives the open request up because the test is over.
    pub fn abandon(&mut self) {
        let Some(request) = self.open.take() else {
            return;
        };
        if self.given_up.len() as u64 == REMEMBERED {
            self.given_up.remove(0);
        }
        self.given_up.push(request);
    }

    /// An answer that carries the low `bits` of a request's number came.
    pub fn answered(&mut self, low: u64, bits: u32, now_ns: u64) -> Answer {
        let mask = u64::MAX.checked_shr(64 - bits.min(64)).unwrap_or(0);
        let matches = |request: &Request| request.number & mask == low & mask;
        let latency = |request: Request| now_ns.saturating_sub(request.intended_ns);
        if let Some(request) = self.open.take_if(|request| matches(request)) {
            self.round_trip
                .measured(now_ns.saturating_sub(request.sent_ns));
            self.counts.answered += 1;
            return Answer::Open {
                latency_ns: latency(request),
            };
        }
        if let Some(at) = self.given_up.iter().position(matches) {
            let request = self.given_up.remove(at);
            // A late answer says how long the path takes: the next request waits that long.
            self.round_trip
                .measured(now_ns.saturating_sub(request.sent_ns));
            self.counts.answered += 1;
            self.counts.late += 1;
            return Answer::Late {
                latency_ns: latency(request),
            };
        }
        self.counts.unexpected += 1;
        Answer::Unexpected
    }

    /// The counts so far; a request that is still open counts as lost.
    pub fn counts(&self) -> RequestCounts {
        RequestCounts {
            lost: self.counts.sent - self.counts.answered,
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_messages_carry_what_fits() {
        for (room, number, low) in [(1, 0x1ff, 0xff), (3, 0x0102_0304, 0x02_0304), (8, 7, 7)] {
            let mut message = vec![0; room];
            write_sequence(&mut message, number);
            assert_eq!(sequence_of(&message), (low, 8 * room as u32));
        }
        let mut large = vec![9; 100];
        write_sequence(&mut large, u64::MAX - 1);
        assert_eq!(sequence_of(&large), (u64::MAX - 1, 64));
        assert_eq!(large[8], 9);
    }

    #[test]
    fn a_late_answer_keeps_its_true_latency() {
        let mut requests = OpenRequests::new();
        requests.sent(0, 5);
        assert!(!requests.give_up(1_000_000_004));
        assert!(requests.give_up(1_000_000_005));
        requests.sent(1_000_000_010, 1_000_000_020);
        let late = requests.answered(0, 8, 1_500_000_000);
        assert_eq!(
            late,
            Answer::Late {
                latency_ns: 1_500_000_000
            }
        );
        let open = requests.answered(1, 8, 1_500_000_010);
        assert_eq!(
            open,
            Answer::Open {
                latency_ns: 500_000_000
            }
        );
        assert_eq!(requests.answered(1, 8, 1_500_000_011), Answer::Unexpected);
        let counts = requests.counts();
        assert_eq!((counts.sent, counts.answered, counts.lost), (2, 2, 0));
        assert_eq!((counts.late, counts.unexpected), (1, 1));
    }

    #[test]
    fn latency_counts_from_the_intended_time() {
        let mut requests = OpenRequests::new();
        requests.sent(1_000, 5_000);
        assert_eq!(
            requests.answered(0, 64, 7_000),
            Answer::Open { latency_ns: 6_000 }
        );
        // The time-out knows the path, not the queue before it.
        requests.sent(8_000, 8_000);
        assert_eq!(requests.deadline_ns(), Some(8_000 + 10_000_000 + 2_000));
    }

    #[test]
    fn the_first_request_is_given_up_by_a_round_trip_known_before() {
        let mut requests = OpenRequests::expecting(Some(1_000_000));
        requests.sent(0, 0);
        assert_eq!(requests.deadline_ns(), Some(11_000_000));
        assert_eq!(requests.counts().answered, 0);
    }

    #[test]
    fn what_is_long_gone_is_forgotten() {
        let mut requests = OpenRequests::new();
        for _ in 0..=REMEMBERED {
            requests.sent(0, 0);
            requests.abandon();
        }
        assert_eq!(requests.answered(0, 64, 1), Answer::Unexpected);
        assert!(matches!(requests.answered(1, 64, 1), Answer::Late { .. }));
    }

    proptest! {
        /// Any order of answers, losses and duplicates: every request is answered at most once
        /// and the counts add up.
        #[test]
        fn counts_add_up(events in prop::collection::vec((0_u8..4, 0_u64..100), 0..300), bits in prop::sample::select(vec![8_u32, 16, 64])) {
            let mut requests = OpenRequests::new();
            let (mut now, mut answers) = (0, 0);
            for (what, back) in events {
                now += 1;
                match what {
                    0 if !requests.is_open() => requests.sent(now, now),
                    1 => requests.abandon(),
                    _ => {
                        let low = requests.next_number().saturating_sub(back);
                        let mask = u64::MAX >> (64 - bits);
                        answers += 1;
                        requests.answered(low & mask, bits, now);
                    }
                }
            }
            let counts = requests.counts();
            prop_assert_eq!(counts.sent, requests.next_number());
            prop_assert_eq!(counts.answered + counts.lost, counts.sent);
            prop_assert_eq!(counts.answered + counts.unexpected, answers);
            prop_assert!(counts.late <= counts.answered);
        }
    }
}
