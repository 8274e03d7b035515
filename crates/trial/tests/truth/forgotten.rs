//! A switch that has forgotten where the tester's addresses are sends frames to all its ports (RFC 2544 §23).

use std::time::Duration;

use nicety_model::{Direction, Fps};
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::commands::{number, run};
use crate::stage::{Tester, bridge, first, run_checked, traffic};

/// Sent out of the port that no address is behind.
fn flooded(path: &nicety_paths::BridgePath) -> Result<u64, Skip> {
    let shown = run(
        path.dut(),
        "ip",
        &["-json", "-stats", "link", "show", "idle"],
        "",
    )?;
    let sent = shown.split_once("\"tx\"").unwrap().1;
    Ok(number(sent, "packets"))
}

/// Longer than the switch is believed to remember.
const PAUSE: Duration = Duration::from_millis(10_100);

/// A later trial tells the switch again.
pub fn learned_again(tester: Tester) -> Result<(), Skip> {
    const FRAMES: u64 = 2_000;
    let path = bridge();
    let ip = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        run(path.dut(), "ip", &words, "")
    };
    ip("link add idle type veth peer name nobody")?;
    ip("link set nobody up")?;
    ip("link set idle master br0 up")?;
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    ip("link set br0 type bridge fdb_flush")?;
    std::thread::sleep(PAUSE);
    let before = flooded(&path)?;
    let record = run_checked(&mut trials, Fps(10_000.0), FRAMES);
    let more = flooded(&path)? - before;
    assert!(
        more < FRAMES / 10,
        "{more} of {} went everywhere",
        record.frames.sent
    );
    Ok(())
}
