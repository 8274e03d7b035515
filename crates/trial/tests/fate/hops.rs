//! How long frames are where, of real frames on a bridge in a namespace.

use nicety_fate::{Hops, TesterPorts};
use nicety_model::hop::HopReport;
use nicety_model::{Direction, FateOf, Fps, Purpose, Validity};
use nicety_paths::Path;
use nicety_port::Stop;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::case::{commands, skip};
use crate::stage::{self, Tester, spec};

const LOAD: Fps = Fps(50_000.0);
const FRAMES: u64 = 25_000;

fn measure(tester: Tester, trouble: &[&str]) -> Result<HopReport, Skip> {
    measure_at(tester, LOAD, FRAMES, trouble)
}

fn measure_at(tester: Tester, load: Fps, frames: u64, trouble: &[&str]) -> Result<HopReport, Skip> {
    stage::needs_root()?;
    let path = stage::bridge();
    let mut engine = tester.open(&path, stage::traffic(Direction::Uni))?;
    let [_, b] = path.ports();
    let ports = TesterPorts {
        ports: vec![(b.name.clone(), b.ns.inode())],
        by_socket: engine.receives_by_socket(),
        mark: engine.mark(),
    };
    let mut hops = Hops::new(1, ports).map_err(skip)?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0).hopping(Some(&mut hops));
    stage::first(&mut trials);
    commands(&path, trouble)?;
    let of = FateOf::Latency;
    let spec = TrialSpec {
        purpose: Purpose::Fate { of },
        ..spec(load, frames)
    };
    let record = trials.run(&spec, &Stop::default()).unwrap();
    let ended = matches!(
        record.validity,
        Validity::Valid | Validity::LoadMissed { .. }
    );
    assert!(ended, "{:?}", record.validity);
    let sent = record.frames.sent;
    if sent < ENOUGH {
        return Err(Skip(format!(
            "not tried: the sender had no CPU: {sent} of {frames} frames"
        )));
    }
    let hops = record.fate.as_ref().and_then(|fate| fate.hops.clone());
    let hops = hops.unwrap_or_else(|| panic!("{:?}", record.notes));
    println!("    {hops:#?}");
    Ok(hops)
}

/// Frames below which nothing is said of times.
const ENOUGH: u64 = 2_000;

fn ways(hops: &HopReport) -> Vec<(&str, &str)> {
    let ways = hops.hops.iter();
    ways.map(|hop| (hop.from.as_str(), hop.to.as_str()))
        .collect()
}

fn adds_up(hops: &HopReport) {
    assert!(hops.frames > 1000, "{hops:?}");
    assert!(hops.summed as f64 >= 0.99 * hops.frames as f64, "{hops:?}");
    let sum: u64 = hops.hops.iter().map(|hop| hop.time.mean_ns).sum();
    let whole = hops.end_to_end.mean_ns;
    assert!(
        sum.abs_diff(whole) as f64 <= 0.01 * whole as f64,
        "{hops:?}"
    );
}

const WAY: [(&str, &str); 3] = [
    ("sent at a", "received at d0"),
    ("received at d0", "sent at d1"),
    ("sent at d1", "arrived at b"),
];

pub fn by_programs() -> Result<(), Skip> {
    let hops = measure(Tester::Xdp, &[])?;
    assert_eq!(ways(&hops), WAY);
    adds_up(&hops);
    Ok(())
}

pub fn by_sockets() -> Result<(), Skip> {
    let hops = measure(Tester::AfPacket, &[])?;
    assert_eq!(ways(&hops)[1..], WAY[1..]);
    adds_up(&hops);
    Ok(())
}

/// A bucket in front of the second port makes frames wait there, and nowhere else.
pub fn a_queue() -> Result<(), Skip> {
    // 64 bytes at 50 k frames/s are 24 Mbit/s, of which it lets a fifth through: the queue stays full for 1.5 ms.
    let tbf = "tc qdisc add dev d1 root tbf rate 5mbit burst 1500b limit 1000b";
    let hops = measure(Tester::Xdp, &[tbf])?;
    assert_eq!(ways(&hops), WAY);
    adds_up(&hops);
    // Others were thrown away.
    assert!(hops.cut > 0, "{hops:?}");
    let times: Vec<u64> = hops.hops.iter().map(|hop| hop.time.p50_ns).collect();
    // So long a full queue takes at this rate, whatever else goes on.
    assert!(times[1] > 300_000, "{times:?}");
    Ok(())
}

/// Where GRO merges frames they are named, and no time of theirs is made up.
pub fn merged() -> Result<(), Skip> {
    let gro = "ethtool -K d0 gro on rx-udp-gro-forwarding on";
    // Many wait for the thread of the interface at a time.
    let hops = measure_at(Tester::Xdp, Fps(300_000.0), 150_000, &[gro])?;
    assert!(hops.merged > 0, "{hops:?}");
    assert!(hops.merged >= 2 && hops.summed <= hops.frames, "{hops:?}");
    Ok(())
}
