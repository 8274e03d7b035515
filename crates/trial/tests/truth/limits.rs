//! A shaper and a policer before which a visit finds the rate they are set to.

use std::time::Duration;

use nicety_model::Direction;
use nicety_port::af_packet::TrafficSpec;
use nicety_testkit::runner::Skip;

use crate::commands::run;
use crate::rates::{Known, visits_find};
use crate::stage::{Tester, bridge, needs_root, size, traffic};

/// A rate in frames per second, odd so that no rounding hits it by chance; frame size with FCS; and
/// the engine that looks for it: the faster one is there for what the other may not reach.
const SHAPED: [(f64, u16, Tester); 4] = [
    (9_973.0, 64, Tester::AfPacket),
    (31_337.0, 512, Tester::AfPacket),
    (77_777.0, 1024, Tester::Xdp),
    (123_457.0, 1518, Tester::Xdp),
];
/// Time that the bucket makes up for after the path stood still, and time that frames may wait: a
/// stall of some milliseconds costs no frame, as with a limiter that somebody set up. Together they
/// let a trial of half a second through at 1.2 % above the rate.
const BURST_S: f64 = 0.003;
const QUEUE_S: f64 = 0.003;
/// How exactly a shaped rate has to be found.
const SHAPED_WITHIN: f64 = 0.02;

/// Frames per second that the policer lets through, and how many at once: what comes in 0.4 ms.
const POLICED: f64 = 12_345.0;
const AT_ONCE: u64 = 5;
/// How exactly a policed rate has to be found: no queue blurs it, but every stall longer than its bucket
/// costs frames, and the number is the load that is carried in spite of them.
const POLICED_WITHIN: f64 = 0.02;

pub fn shaped(tester: Tester) -> Result<(), Skip> {
    let mine = |case: &&(f64, u16, Tester)| case.2 == tester;
    for &(rate, bytes, _) in SHAPED.iter().filter(mine) {
        // The kernel's frame has no FCS.
        let length = f64::from(bytes - 4);
        let path = bridge();
        let room = |seconds: f64| format!("{}b", (rate * seconds).ceil() * length);
        let (bits, burst, limit) = (
            format!("{}bit", rate * length * 8.0),
            room(BURST_S),
            room(QUEUE_S),
        );
        let bucket = [
            "qdisc", "add", "dev", "d1", "root", "tbf", "rate", &bits, "burst", &burst, "limit",
            &limit,
        ];
        run(path.dut(), "tc", &bucket, "")?;
        let traffic = TrafficSpec {
            frame_size: size(bytes),
            ..traffic(Direction::Uni)
        };
        let known = Known {
            rate,
            within: SHAPED_WITHIN,
            room: Duration::from_secs_f64(QUEUE_S),
        };
        visits_find(tester, &path, traffic, &known)?;
    }
    Ok(())
}

pub fn policed(tester: Tester) -> Result<(), Skip> {
    // An ordinary user's path waits for other programs, each time for longer than the bucket lasts.
    needs_root()?;
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
    let traffic = traffic(Direction::Uni);
    let known = Known {
        rate: POLICED,
        within: POLICED_WITHIN,
        room: Duration::from_secs_f64(AT_ONCE as f64 / POLICED),
    };
    visits_find(tester, &path, traffic, &known)
}
