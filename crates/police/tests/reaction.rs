//! A new flood beside a sender that gives way, as TCP does: within how many periods it is held.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::time::Duration;

use nicety_police::{Controller, Policy, Sample, Seen, Tuning};

const POLICY: &str = "[link]\ncapacity = \"200mbit\"\nperiod = \"1s\"\n\
    [[tenant]]\nname = \"tcp\"\nports = \"a\"\n[[tenant]]\nname = \"udp\"\nports = \"b\"\n";
const LINK: f64 = 200e6;
const FLOOD: f64 = 400e6;
/// Half of what is shared.
const SHARE: f64 = 97e6;
/// Steps of a period.
const STEPS: usize = 20;
const PERIODS: usize = 16;
/// The period in which the flood begins.
const BEGIN: usize = 5;

/// Periods after which a flood that begins at step `at` of a period is within a tenth of its share
/// and stays there.
fn held_after(at: usize, tuning: Tuning) -> f64 {
    let policy = Policy::parse("p.toml", POLICY).unwrap();
    let mut controller = Controller::new(policy, &[], tuning);
    let mut limits = [LINK; 2];
    let mut tcp = 0.05 * LINK;
    let mut bytes = [0.0; 2];
    let (mut last, begin) = (0, BEGIN * STEPS + at);
    for step in 0..PERIODS * STEPS {
        if step % STEPS == 0 {
            let seen = bytes.map(|bytes| Seen {
                present: true,
                sample: Some(Sample {
                    at: Duration::from_secs((step / STEPS) as u64),
                    bytes: bytes as u64,
                    frames: 0,
                    drops: None,
                    backlog: None,
                }),
                limit: None,
                silent: false,
            });
            let decision = controller.step(&seen);
            for index in &decision.writes {
                let limit = decision.ports[*index].limit;
                controller.wrote(*index, limit);
                limits[*index] = limit.bps();
            }
        }
        let udp = if step < begin {
            0.0
        } else {
            FLOOD.min(limits[1])
        };
        let offered = tcp + udp;
        // First come, first served; TCP gives way to losses, and grows while there are none.
        let passed = [tcp, udp].map(|rate| rate * (LINK / offered).min(1.0));
        tcp = match offered > LINK {
            true => (0.3 * tcp).max(0.01 * LINK),
            false => (1.08 * tcp).min(limits[0]),
        };
        for (bytes, rate) in bytes.iter_mut().zip(passed) {
            *bytes += rate / 8.0 / STEPS as f64;
        }
        if step >= begin && passed[1] > 1.1 * SHARE {
            last = step + 1 - begin;
        }
    }
    last as f64 / STEPS as f64
}

fn worst(tuning: Tuning) -> f64 {
    let each = (0..STEPS).map(|at| held_after(at, tuning));
    each.fold(0.0, f64::max)
}

#[test]
fn a_flood_is_held_within_two_periods_wherever_in_a_period_it_begins() {
    let worst_of = worst(Tuning::default());
    assert!(worst_of <= 2.0, "{worst_of}");
    // It is the time to come back that does it.
    let without = worst(Tuning {
        grace_periods: 0,
        ..Tuning::default()
    });
    assert!(without > 2.0, "{without}");
}
