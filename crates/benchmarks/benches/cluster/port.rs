//! A port without a kernel: a token bucket with the burst of the kernel's, and its counters.

use std::time::Duration;

use nicety_model::BitRate;
use nicety_netdev::shaper::{BURST, Shape, burst_bytes};
use nicety_police::controller::PortSetup;
use nicety_police::driver::Steps;
use nicety_police::meter::Counters;
use nicety_police::{Policy, Sample, Seen};

/// Bytes on the wire of a frame: what one drop stands for.
const FRAME: f64 = 1538.0;

#[derive(Debug, Clone, Copy, Default)]
pub struct Port {
    /// Bytes that have passed.
    pub passed: f64,
    dropped: f64,
    tokens: f64,
    limit: Option<BitRate>,
}

impl Port {
    /// How the controller sees it: limits as a port that tc limits, counters of the wire.
    pub fn setup(policy: &Policy) -> PortSetup {
        PortSetup {
            steps: Steps::tc(),
            counters: Counters {
                overhead: 0.0,
                ..Counters::kernel()
            },
            ..PortSetup::tc(policy)
        }
    }

    pub fn limit(&self) -> Option<BitRate> {
        self.limit
    }

    /// Another limit; what the bucket holds stays, as far as it goes into the new one.
    pub fn set(&mut self, limit: BitRate) {
        self.limit = Some(limit);
        self.tokens = self.tokens.min(burst(limit));
    }

    /// Time passes, in which somebody sends at a rate in bits per second.
    pub fn advance(&mut self, seconds: f64, wants: f64) {
        let offered = wants / 8.0 * seconds;
        let Some(limit) = self.limit else {
            self.passed += offered;
            return;
        };
        let room = self.tokens + limit.bps() / 8.0 * seconds;
        let passes = offered.min(room);
        self.passed += passes;
        self.dropped += offered - passes;
        self.tokens = (room - passes).min(burst(limit));
    }

    pub fn seen(&self, at: Duration) -> Seen {
        let frames = (self.passed / FRAME) as u64;
        let sample = Sample {
            drops: Some((self.dropped / FRAME) as u64),
            ..Sample::passed(at, self.passed as u64, frames)
        };
        Seen {
            limit: Some(self.limit.unwrap_or_default()),
            ..Seen::counted(sample)
        }
    }
}

fn burst(rate: BitRate) -> f64 {
    burst_bytes(Shape::wire(rate), BURST, FRAME as u32) as f64
}
