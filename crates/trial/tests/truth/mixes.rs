//! Mixes of frame sizes, other headers and flows by popularity over a bridge, beside nft's own counters there.

use std::time::Duration;

use nicety_model::sock::Family;
use nicety_model::{Direction, Fps, Mix, Shape, SizeFrames, Transport, TrialRecord};
use nicety_netdev::netns::NetNs;
use nicety_paths::{BridgePath, Path};
use nicety_port::af_packet::TrafficSpec;
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::calm::{RING, not_tried, tried};
use crate::commands::{number, run};
use crate::stage::{Tester, bridge, first, own_sysfs, run_checked, size, traffic};

const LOAD: Fps = Fps(5_000.0);
/// Tries, of which one has to lose nothing: on a busy machine the path's first ring may overflow.
const TRIES: usize = 4;

/// One-way or two-way traffic of a shape.
fn shaped(direction: Direction, shape: Shape) -> TrafficSpec {
    TrafficSpec {
        frame_size: shape.imix.map_or(size(256), |mix| mix.largest()),
        shape,
        ..traffic(direction)
    }
}

/// Counters in the bridge, each with its rule's condition: `c0` is that of the first.
fn count(ns: &NetNs, conditions: &[String], verdict: &str) -> Result<(), Skip> {
    let names = (0..conditions.len()).map(|n| format!("counter c{n} {{ }}\n"));
    let rules = conditions.iter().enumerate();
    let rules = rules.map(|(n, condition)| format!("{condition} counter name c{n} {verdict}\n"));
    let table = format!(
        "table bridge truth {{
            {}
            chain frames {{
                type filter hook forward priority 0; policy accept;
                {}
            }}
        }}",
        names.collect::<String>(),
        rules.collect::<String>()
    );
    run(ns, "nft", &["-f", "-"], &table).map(drop)
}

/// What every counter has, and puts it to zero.
fn counted(ns: &NetNs, counters: usize) -> Result<Vec<u64>, Skip> {
    (0..counters)
        .map(|n| {
            let name = format!("c{n}");
            let told = run(
                ns,
                "nft",
                &["reset", "counter", "bridge", "truth", &name],
                "",
            )?;
            Ok(number(&told, "packets"))
        })
        .collect()
}

/// Bytes of a frame as the bridge has it: without Ethernet header and FCS.
fn lengths(mix: &Mix) -> Vec<String> {
    let shares = mix.shares();
    shares
        .map(|share| format!("meta length {}", share.size.bytes() - 18))
        .collect()
}

/// Trials until one loses nothing; what the counters had in it.
fn lossless(
    trials: &mut Trials<'_>,
    path: &BridgePath,
    counters: usize,
    frames: u64,
) -> Result<(TrialRecord, Vec<u64>), Skip> {
    // Where it is closed, so is the switch of IPv6, and the kernel's own frames arrive too.
    own_sysfs(path.dut())?;
    first(trials);
    tried(TRIES, room(), || {
        counted(path.dut(), counters).unwrap();
        let record = run_checked(trials, LOAD, frames);
        let counts = counted(path.dut(), counters).unwrap();
        assert_eq!(
            (record.frames.corrupt, record.frames.foreign),
            (0, 0),
            "{record:?}"
        );
        if record.frames.lost == 0 {
            Ok(Some((record, counts)))
        } else {
            Err(format!("{:?}", record.loss_ledger))
        }
    })
}

/// For how long the path's first ring holds what comes.
fn room() -> Duration {
    Duration::from_secs_f64(RING / LOAD.0)
}

fn told(sizes: &[SizeFrames]) -> Vec<(u16, u64, u64, u64)> {
    let one = |size: &SizeFrames| {
        (
            size.frame_size_bytes.bytes(),
            size.sent,
            size.received,
            size.lost,
        )
    };
    sizes.iter().map(one).collect()
}

/// What was sent and received of every size is what the bridge's own counters by length saw.
pub fn sizes_both_ways() -> Result<(), Skip> {
    for text in ["simple", "tolly", "ipsec", "1:64,1:65,3:1518"] {
        let mix: Mix = text.parse().unwrap();
        let path = bridge();
        let shape = Shape::default().with_mix(Some(mix));
        let mut engine = Tester::AfPacket.open(&path, shaped(Direction::Bi, shape))?;
        let lengths = lengths(&mix);
        count(path.dut(), &lengths, "")?;
        let mut trials = Trials::new(engine.as_mut(), &path, 0);
        let (record, counts) = lossless(&mut trials, &path, lengths.len(), 6_001)?;
        let split = mix.split(record.streams[0].frames.sent);
        let back = mix.split(record.streams[1].frames.sent);
        let sent: Vec<u64> = split.iter().zip(&back).map(|(a, b)| a + b).collect();
        assert_eq!(counts, sent, "{text}");
        for ((size, share), sent) in record.sizes.iter().zip(mix.shares()).zip(&sent) {
            assert_eq!(size.frame_size_bytes, share.size);
            assert_eq!(
                (size.sent, size.received, size.lost),
                (*sent, *sent, 0),
                "{text}"
            );
        }
        assert_eq!(record.sizes.len(), lengths.len());
    }
    Ok(())
}

/// A rule that drops one size takes frames of that size and no other.
pub fn one_size_is_lost() -> Result<(), Skip> {
    let mix: Mix = "simple".parse().unwrap();
    let path = bridge();
    let shape = Shape::default().with_mix(Some(mix));
    let mut engine = Tester::AfPacket.open(&path, shaped(Direction::Uni, shape))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    count(path.dut(), &["meta length 576".to_owned()], "drop")?;
    tried(TRIES, room(), || {
        counted(path.dut(), 1).unwrap();
        let record = run_checked(&mut trials, LOAD, 6_000);
        let dropped = counted(path.dut(), 1).unwrap()[0];
        let [small, middle, large] = told(&record.sizes)[..] else {
            panic!("{:?}", record.sizes);
        };
        assert_eq!(middle.2, 0, "{middle:?}");
        // Others may be lost at the path's first ring.
        if small.3 + large.3 > 0 {
            return Err(format!("{:?}", record.loss_ledger));
        }
        assert_eq!(middle, (594, dropped, 0, dropped));
        assert_eq!(record.frames.lost, dropped);
        Ok(Some(()))
    })
}

/// Headers that the plan asks for are those that the bridge forwards.
pub fn headers() -> Result<(), Skip> {
    let mix: Mix = "1:100,1:800".parse().unwrap();
    let (six, tcp) = (Some(Family::Ipv6), Some(Transport::Tcp));
    for (family, protocol, vlan, condition) in [
        (
            None,
            None,
            None,
            "ether type ip ip dscp 46 udp dport 57344-65535",
        ),
        (
            None,
            tcp,
            None,
            "ether type ip ip dscp 46 tcp dport 57344-65535",
        ),
        (
            six,
            None,
            None,
            "ether type ip6 ip6 dscp 46 udp dport 57344-65535",
        ),
        (
            six,
            tcp,
            None,
            "ether type ip6 ip6 dscp 46 tcp flags ack tcp dport 57344-65535",
        ),
        (None, None, Some("100"), "vlan id 100 ip dscp 46"),
        (six, tcp, Some("100"), "vlan id 100 ip6 dscp 46"),
        (None, None, Some("200.100"), "ether type 8021ad vlan id 200"),
    ] {
        let shape = Shape {
            imix: Some(mix),
            family,
            protocol,
            dscp: Some(46),
            vlan: vlan.map(|vlan| vlan.parse().unwrap()),
            ..Shape::default()
        };
        let path = bridge();
        let mut engine = Tester::AfPacket.open(&path, shaped(Direction::Uni, shape))?;
        count(path.dut(), &[condition.to_owned()], "")?;
        let mut trials = Trials::new(engine.as_mut(), &path, 0);
        let (record, counts) = lossless(&mut trials, &path, 1, 2_000)?;
        assert_eq!(counts[0], record.frames.sent, "{condition}");
        let sizes = told(&record.sizes);
        assert_eq!(
            sizes.iter().map(|size| size.2).sum::<u64>(),
            record.frames.sent
        );
    }
    Ok(())
}

/// Of 50 flows the first has the share that the distribution gives it; the flows that live are as many as
/// asked for, and as many new ones come.
pub fn flows() -> Result<(), Skip> {
    let popular = Shape {
        popularity: Some("zipf:1".parse().unwrap()),
        ..Shape::default()
    };
    let path = bridge();
    let traffic = TrafficSpec {
        flows: 50,
        ..shaped(Direction::Uni, popular)
    };
    let mut engine = Tester::AfPacket.open(&path, traffic)?;
    let addresses = ["198.18.0.1", "198.18.0.2", "198.18.0.50"];
    let conditions = addresses.map(|address| format!("ip saddr {address}"));
    count(path.dut(), &conditions, "")?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    let (record, counts) = lossless(&mut trials, &path, 3, 10_000)?;
    let sum: f64 = (1..=50).map(|k| 1.0 / f64::from(k)).sum();
    for (count, k) in counts.iter().zip([1.0, 2.0, 50.0]) {
        let expected = record.frames.sent as f64 / (k * sum);
        // Five standard deviations: numbers are drawn alike in every run.
        assert!(
            (*count as f64 - expected).abs() < 5.0 * expected.sqrt(),
            "{counts:?}: {expected}"
        );
    }

    let new = Shape {
        new_flows_per_s: Some(100),
        ..Shape::default()
    };
    let path = bridge();
    let traffic = TrafficSpec {
        flows: 4,
        ..shaped(Direction::Uni, new)
    };
    let mut engine = Tester::AfPacket.open(&path, traffic)?;
    let set = "table bridge truth {
            set seen { type ipv4_addr; size 65535; flags dynamic; }
            chain frames {
                type filter hook forward priority 0; policy accept;
                add @seen { ip saddr }
            }
        }";
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    run(path.dut(), "nft", &["-f", "-"], set)?;
    let record = run_checked(&mut trials, Fps(8_000.0), 8_000);
    let seen = run(
        path.dut(),
        "nft",
        &["list", "set", "bridge", "truth", "seen"],
        "",
    )?;
    let seen = seen.matches("198.18.").count() as f64;
    let expected = 4.0 + 100.0 * record.pacing.sending_s;
    assert!(seen <= expected + 3.0, "{seen} of {expected}");
    // A flow has 40 ms: one whose frames were all due while the sender stood still was never sent.
    let stood = record.pacing.slipped_s + record.pacing.late_max_us / 1e6 > 0.04;
    if seen >= expected * 0.99 - 3.0 {
        Ok(())
    } else if stood {
        Err(not_tried(format!(
            "the sender stood still: {seen} of {expected} flows"
        )))
    } else {
        panic!("{seen} of {expected} flows")
    }
}

/// A mix with frames that the ports cannot carry is refused with both numbers.
pub fn too_large() -> Result<(), Skip> {
    use nicety_port::af_packet::{PortSockets, PortSpec, Refusal};
    let path = bridge();
    let mix: Mix = "1:64,1:9018".parse().unwrap();
    let port = &path.ports()[0];
    let spec = PortSpec {
        interface: port.name.clone(),
        mac: nicety_packet::MacAddr::local(1),
        mtu: port.mtu,
        refusal: Refusal::LostInPath,
        promiscuous: false,
    };
    let opened = port
        .ns
        .run(|| PortSockets::open(&spec, mix.largest()))
        .unwrap();
    let error = opened.unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{}: MTU {} is too small for frames of 9018 bytes; it needs 9000",
            port.name, port.mtu
        )
    );
    Ok(())
}
