//! The interfaces' own statistics, read from each namespace's sysfs.

use std::collections::BTreeMap;

use nicety_model::{Direction, Fps};
use nicety_netdev::ns_sysfs::NsSysfs;
use nicety_paths::counters::UNEXPLAINED;
use nicety_paths::{BridgePath, Path};
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::stage::{Tester, bridge, first, overloaded, own_sysfs, run_checked, traffic};

/// Statistics of all interfaces of a path, by `interface counter`.
type Statistics = BTreeMap<String, u64>;

struct Watch(Vec<(NsSysfs, &'static [&'static str])>);

impl Watch {
    fn new(path: &BridgePath) -> Result<Self, Skip> {
        let [a, b] = path.ports();
        Ok(Self(vec![
            (own_sysfs(&a.ns)?, &["a"]),
            (own_sysfs(path.dut())?, &["d0", "d1"]),
            (own_sysfs(&b.ns)?, &["b"]),
        ]))
    }

    fn read(&self) -> Statistics {
        let mut all = Statistics::new();
        for (sysfs, interfaces) in &self.0 {
            for interface in *interfaces {
                for counter in ["tx_packets", "rx_packets", "tx_dropped"] {
                    let text = sysfs.read(interface, &format!("statistics/{counter}"));
                    all.insert(
                        format!("{interface} {counter}"),
                        text.unwrap().parse().unwrap(),
                    );
                }
            }
        }
        all
    }
}

fn moved(before: &Statistics, after: Statistics) -> Statistics {
    let since = |(name, value)| {
        let old = before[&name];
        (name, value - old)
    };
    after.into_iter().map(since).collect()
}

/// Frames lose their way nowhere but between the counters that say so: per direction the
/// sending port, the bridge's port it enters by, the one it leaves by, and the receiving port.
pub fn both_directions(tester: Tester) -> Result<(), Skip> {
    let path = bridge();
    let mut engine = tester.open(&path, traffic(Direction::Bi))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let watch = Watch::new(&path)?;
    for load in [1_000.0, 10_000.0] {
        let before = watch.read();
        let record = run_checked(&mut trials, Fps(load), (load * 1.5) as u64);
        let moved = moved(&before, watch.read());
        let paths = [["a", "d0", "d1", "b"], ["b", "d1", "d0", "a"]];
        for (stream, [from, enters, leaves, to]) in record.streams.iter().zip(paths) {
            let of = |interface: &str, counter: &str| moved[&format!("{interface} {counter}")];
            let frames = &stream.frames;
            let refused = of(from, "tx_dropped");
            assert_eq!(of(from, "tx_packets") + refused, frames.sent, "{moved:?}");
            assert_eq!(of(enters, "rx_packets"), frames.sent - refused, "{moved:?}");
            assert_eq!(
                of(leaves, "tx_packets") + of(leaves, "tx_dropped"),
                frames.sent - refused,
                "{moved:?}"
            );
            assert_eq!(of(to, "rx_packets"), frames.received, "{moved:?}");
            assert_eq!(frames.foreign, 0);
        }
    }
    Ok(())
}

/// More than any path carries: what its first ring refuses is lost, and known to be.
pub fn overload(tester: Tester) -> Result<(), Skip> {
    let path = bridge();
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let watch = Watch::new(&path)?;
    let before = watch.read();
    let record = overloaded(&mut trials, Fps(10e6), 5_000_000);
    let moved = moved(&before, watch.read());
    let frames = &record.frames;
    let of = |name: &str| moved[name];
    assert_eq!(of("a tx_packets") + of("a tx_dropped"), frames.sent);
    assert_eq!(of("b rx_packets"), frames.received);
    let ledger = &record.loss_ledger;
    let refused = ledger.iter().find(|entry| entry.place == "a tx_dropped");
    assert_eq!(
        refused.map_or(0, |entry| entry.frames),
        of("a tx_dropped"),
        "{ledger:?}"
    );
    let named: u64 = ledger.iter().map(|entry| entry.frames).sum();
    assert_eq!(named, frames.lost, "{ledger:?}");
    assert!(
        ledger.iter().all(|entry| entry.place != UNEXPLAINED),
        "{ledger:?}"
    );
    Ok(())
}
