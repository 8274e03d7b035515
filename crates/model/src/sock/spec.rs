//! The request for one socket workload.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::keywords::{instead, keywords};
use crate::problem::Problem;

/// Largest UDP payload over IPv4: 65,535 less 20 bytes of IPv4 and 8 bytes of UDP header
/// (RFC 768, RFC 791).
pub const LARGEST_DATAGRAM: u32 = 65_507;
/// Largest request, response or write over TCP, in bytes.
pub const MAX_TCP_MESSAGE: u32 = 16 << 20;
/// Most flows of one test: between two addresses a host has some 28,000 ephemeral ports
/// (`net.ipv4.ip_local_port_range`, 32768 to 60999 by default).
pub const MAX_FLOWS: u32 = 20_000;
/// Longest measurement: its time line has a second a line.
pub const LONGEST_TEST: Duration = Duration::from_secs(3600);
/// Shortest measurement.
const SHORTEST_TEST: Duration = Duration::from_millis(100);
/// Highest rate of an open-loop schedule, per second: its intervals are whole nanoseconds.
const HIGHEST_RATE: f64 = 1e9;

keywords! {
    /// Test that the endpoints run.
    SockTest {
        /// Request and response on one TCP connection, one outstanding.
        TcpRr = "tcp_rr",
        /// Request and response in UDP datagrams, one outstanding.
        UdpRr = "udp_rr",
        /// Connect, request, response, close.
        TcpCrr = "tcp_crr",
        /// Client sends over TCP.
        TcpStream = "tcp_stream",
        /// Server sends over TCP.
        TcpMaerts = "tcp_maerts",
        /// Client sends datagrams.
        UdpStream = "udp_stream",
    }
}

/// A word that names no test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a socket test; {fix}", fix = instead(.0, SockTest::WORDS))]
pub struct UnknownTest(pub String);

impl SockTest {
    /// Whether it counts transactions rather than bytes.
    pub fn has_transactions(self) -> bool {
        matches!(self, Self::TcpRr | Self::UdpRr | Self::TcpCrr)
    }

    /// Whether it runs over UDP.
    pub fn is_udp(self) -> bool {
        matches!(self, Self::UdpRr | Self::UdpStream)
    }

    /// Whether `--rate` means something: TCP paces its streams itself.
    pub fn takes_rate(self) -> bool {
        self.has_transactions() || self == Self::UdpStream
    }

    /// Message size when none is asked for, in bytes: one byte for request/response as netperf
    /// has it, the largest payload of an untagged Ethernet frame for UDP, 128 KiB writes for TCP.
    pub fn default_message_bytes(self) -> u32 {
        match self {
            Self::TcpRr | Self::UdpRr | Self::TcpCrr => 1,
            Self::UdpStream => 1472,
            Self::TcpStream | Self::TcpMaerts => 128 << 10,
        }
    }
}

impl std::str::FromStr for SockTest {
    type Err = UnknownTest;

    fn from_str(word: &str) -> Result<Self, UnknownTest> {
        Self::of(word).ok_or_else(|| UnknownTest(word.to_owned()))
    }
}

keywords! {
    /// IP version of the data flows.
    #[derive(Default)]
    Family {
        /// IPv4.
        #[default]
        Ipv4 = "ipv4",
        /// IPv6.
        Ipv6 = "ipv6",
    }
}

/// One test with its parameters.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SockSpec {
    /// Test.
    pub test: SockTest,
    /// Bytes of a request, a response, a write or a datagram.
    pub message_bytes: u32,
    /// Flows, or pairs of endpoints, at once.
    pub parallel: u32,
    /// Length in milliseconds.
    pub duration_ms: u32,
    /// Open loop: transactions or datagrams per second over all flows; absent when the next one
    /// is sent as soon as the last one allows.
    pub rate_per_s: Option<f64>,
    /// Whether a TCP sender tries MSG_ZEROCOPY.
    #[serde(default)]
    pub zero_copy: bool,
    /// Whether UDP streams may use segmentation offload (UDP_SEGMENT, UDP_GRO).
    #[serde(default)]
    pub offload: bool,
}

/// Error in a [`SockSpec`].
#[derive(Debug, Clone, PartialEq)]
pub enum SockSpecError {
    /// Message size out of range.
    MessageBytes {
        /// Test.
        test: SockTest,
        /// Asked for.
        bytes: u32,
        /// Largest allowed.
        most: u32,
    },
    /// Number of flows out of range.
    Flows {
        /// Asked for.
        flows: u32,
    },
    /// Duration out of range.
    Duration {
        /// Asked for.
        ms: u32,
    },
    /// Rate out of range.
    Rate {
        /// Asked for.
        rate: f64,
    },
    /// A rate for a TCP stream.
    NoRate {
        /// Test.
        test: SockTest,
    },
}

impl SockSpecError {
    /// What does not work, and what to write.
    pub fn problem(&self) -> Problem {
        match self {
            Self::MessageBytes { test, bytes, most } => Problem::value(
                format!("a message of {bytes} bytes does not work with {test}"),
                format!("write 1 to {most}"),
            ),
            Self::Flows { flows } => Problem::value(
                format!("{flows} parallel flows do not work"),
                format!("write 1 to {MAX_FLOWS}, as many as two addresses have ports for"),
            ),
            Self::Duration { ms } => Problem::value(
                format!("a test of {ms} ms does not work"),
                "write 100ms to 1h",
            ),
            Self::Rate { rate } => Problem::value(
                format!("a rate of {rate} per second does not work"),
                "write more than 0 and at most 1e9",
            ),
            Self::NoRate { test } => Problem::value(
                format!("{test} has no rate, TCP paces it itself"),
                "leave the rate out or take udp_stream",
            ),
        }
    }
}

crate::display_problem!(SockSpecError);

impl SockSpec {
    /// The test with default size, one flow, closed loop.
    pub fn new(test: SockTest, duration: Duration) -> Self {
        Self {
            test,
            message_bytes: test.default_message_bytes(),
            parallel: 1,
            duration_ms: u32::try_from(duration.as_millis()).unwrap_or(u32::MAX),
            rate_per_s: None,
            zero_copy: false,
            offload: true,
        }
    }

    /// Length of the measurement.
    pub fn duration(&self) -> Duration {
        Duration::from_millis(u64::from(self.duration_ms))
    }

    /// Checks every bound. Both ends do: neither trusts the other.
    ///
    /// # Errors
    /// The first parameter that is out of range, with the range.
    pub fn check(&self) -> Result<(), SockSpecError> {
        let Self {
            test,
            message_bytes: bytes,
            parallel: flows,
            duration_ms: ms,
            ..
        } = *self;
        let most = if test.is_udp() {
            LARGEST_DATAGRAM
        } else {
            MAX_TCP_MESSAGE
        };
        if !(1..=most).contains(&bytes) {
            return Err(SockSpecError::MessageBytes { test, bytes, most });
        }
        if !(1..=MAX_FLOWS).contains(&flows) {
            return Err(SockSpecError::Flows { flows });
        }
        if !(SHORTEST_TEST..=LONGEST_TEST).contains(&self.duration()) {
            return Err(SockSpecError::Duration { ms });
        }
        match self.rate_per_s {
            Some(_) if !test.takes_rate() => Err(SockSpecError::NoRate { test }),
            Some(rate) if !(rate > 0.0 && rate <= HIGHEST_RATE) => {
                Err(SockSpecError::Rate { rate })
            }
            _ => Ok(()),
        }
    }

    /// Name of the test with its parameters: `tcp_rr/64`, `udp_stream/1472/parallel=4`.
    pub fn name(&self) -> String {
        let mut name = format!("{}/{}", self.test, self.message_bytes);
        if self.parallel > 1 {
            name.push_str(&format!("/parallel={}", self.parallel));
        }
        if let Some(rate) = self.rate_per_s {
            name.push_str(&format!("/rate={rate}"));
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(test: SockTest) -> SockSpec {
        SockSpec::new(test, Duration::from_secs(1))
    }

    #[test]
    fn every_default_is_allowed_and_every_word_is_read_back() {
        for test in SockTest::ALL {
            assert_eq!(spec(test).check(), Ok(()), "{test}");
            assert_eq!(test.word().parse(), Ok(test));
            let json = serde_json::to_string(&test).unwrap();
            assert_eq!(json, format!("\"{test}\""));
        }
        assert!("tcp_r".parse::<SockTest>().is_err());
    }

    #[test]
    fn every_bound_is_kept() {
        use SockTest::{TcpRr, TcpStream, UdpRr};
        let with = |test, change: fn(&mut SockSpec)| {
            let mut spec = spec(test);
            change(&mut spec);
            spec.check().is_ok()
        };
        for (test, change, fine) in [
            (UdpRr, (|a| a.message_bytes = 0) as fn(&mut SockSpec), false),
            (UdpRr, |a| a.message_bytes = 65_507, true),
            (UdpRr, |a| a.message_bytes = 65_508, false),
            (TcpRr, |a| a.message_bytes = 65_508, true),
            (TcpRr, |a| a.message_bytes = MAX_TCP_MESSAGE + 1, false),
            (TcpRr, |a| a.parallel = 0, false),
            (TcpRr, |a| a.parallel = MAX_FLOWS, true),
            (TcpRr, |a| a.parallel = 100_000, false),
            (TcpRr, |a| a.duration_ms = 99, false),
            (TcpRr, |a| a.duration_ms = 3_600_000, true),
            (TcpRr, |a| a.duration_ms = 3_600_001, false),
            (TcpRr, |a| a.rate_per_s = Some(0.5), true),
            (TcpRr, |a| a.rate_per_s = Some(0.0), false),
            (TcpRr, |a| a.rate_per_s = Some(-1.0), false),
            (TcpRr, |a| a.rate_per_s = Some(f64::NAN), false),
            (TcpRr, |a| a.rate_per_s = Some(f64::INFINITY), false),
            (TcpStream, |a| a.rate_per_s = Some(1.0), false),
        ] {
            assert_eq!(with(test, change), fine);
        }
    }

    #[test]
    fn names_tell_what_differs_from_the_default() {
        let mut spec = spec(SockTest::TcpRr);
        assert_eq!(spec.name(), "tcp_rr/1");
        spec.parallel = 150;
        spec.rate_per_s = Some(5000.0);
        assert_eq!(spec.name(), "tcp_rr/1/parallel=150/rate=5000");
    }
}
