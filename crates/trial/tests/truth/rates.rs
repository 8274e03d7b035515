//! Paths whose rate stands in the kernel's configuration, and what one visit of a cell finds there.
//!
//! A shaper (`tbf`) keeps frames that come too early until its queue is full; a policer (`nft limit`)
//! drops them at once. Both know the rate to a part in a million, whatever the machine does.

use nicety_model::{Direction, Fps, Verdict};
use nicety_port::af_packet::TrafficSpec;
use nicety_testbed::BridgePath;
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::commands::run;
use crate::stage::{Tester, bridge, first, overloaded, quiet, size, traffic, visit};

/// A shaped path.
struct Shaped {
    /// Frames per second; odd, so that no rounding hits it by chance.
    rate: f64,
    /// Frame size with FCS.
    bytes: u16,
}

const SHAPED: [Shaped; 4] = [
    Shaped { rate: 9_973.0, bytes: 64 },
    Shaped { rate: 31_337.0, bytes: 512 },
    Shaped { rate: 77_777.0, bytes: 1024 },
    Shaped { rate: 123_457.0, bytes: 1518 },
];
/// Time that the bucket makes up for after the path stood still, and time that frames may wait: a
/// stall of some milliseconds costs no frame, as with a limiter that somebody set up. Together they
/// let a trial of half a second through at 1.6 % above the rate.
const BURST_S: f64 = 0.004;
const QUEUE_S: f64 = 0.004;
/// How exactly a shaped rate has to be found.
const SHAPED_WITHIN: f64 = 0.02;

/// Frames per second that the policer lets through, and how many at once.
const POLICED: f64 = 12_345.0;
const AT_ONCE: u64 = 5;
/// How exactly a policed rate has to be found: nothing blurs it.
const POLICED_WITHIN: f64 = 0.01;

/// Highest load, as a multiple of the rate.
const MOST: f64 = 3.0;
/// Visits of which one has to find the rate, and none more than it. A machine that keeps the path
/// waiting for longer than the limiter makes up for takes frames that the configuration promises.
const VISITS: usize = 3;
/// Share of the rate that is missing under overload from which on the machine took it.
const MISSED: f64 = 0.005;

/// Visits of `path` find `rate`, and say `ok`.
fn found(
    tester: Tester,
    path: &BridgePath,
    traffic: TrafficSpec,
    rate: f64,
    within: f64,
) -> Result<(), Skip> {
    let mut engine = tester.open(path, traffic)?;
    let name = engine.name();
    let mut trials = Trials::new(engine.as_mut(), path, 0);
    first(&mut trials);
    let mut shares = Vec::new();
    for _ in 0..VISITS {
        let result = visit(&mut trials, Fps(MOST * rate), &name);
        println!("  {} {rate}: {:?} {:?} cap {:?} {:?}", tester.word(), result.throughput_fps, result.verdict, result.capacity_fps, result.notes);
        quiet(&result)?;
        assert_eq!(result.verdict, Verdict::Ok, "{rate}: {:?}", result.notes);
        let share = result.throughput_fps.unwrap() / rate;
        assert!(share < 1.0 + within, "{share} of {rate}");
        if share > 1.0 - within {
            return Ok(());
        }
        shares.push(share);
    }
    let record = overloaded(&mut trials, Fps(2.0 * rate), 4 * rate as u64);
    let carried = record.forwarding_fps / rate;
    assert!(carried < 1.0 - MISSED, "{shares:?} of {rate}, which it forwards");
    Err(Skip(format!(
        "the machine took frames from the path, which forwards {carried:.3} of {rate}: {shares:.3?}"
    )))
}

pub fn shaped(tester: Tester) -> Result<(), Skip> {
    for Shaped { rate, bytes } in SHAPED {
        // The kernel's frame has no FCS.
        let length = f64::from(bytes - 4);
        let path = bridge();
        let frames = |seconds: f64| format!("{}b", ((rate * seconds).ceil() * length) as u64);
        let (bits, burst, limit) = (
            format!("{}bit", (rate * length * 8.0) as u64),
            frames(BURST_S),
            frames(QUEUE_S),
        );
        let bucket = [
            "qdisc", "add", "dev", "d1", "root", "tbf", "rate", &bits, "burst", &burst, "limit", &limit,
        ];
        run(path.dut(), "tc", &bucket, "")?;
        let traffic = TrafficSpec {
            frame_size: size(bytes),
            ..traffic(Direction::Uni)
        };
        found(tester, &path, traffic, rate, SHAPED_WITHIN)?;
    }
    Ok(())
}

pub fn policed(tester: Tester) -> Result<(), Skip> {
    let path = bridge();
    let rules = format!(
        "table bridge truth {{
            chain frames {{
                type filter hook forward priority 0; policy accept;
                limit rate over {POLICED}/second burst {AT_ONCE} packets drop
            }}
        }}"
    );
    run(path.dut(), "nft", &["-f", "-"], &rules)?;
    found(tester, &path, traffic(Direction::Uni), POLICED, POLICED_WITHIN)
}
