//! What becomes of frames inside a guest: its agent runs the programs that the host runs.

use std::cell::RefCell;
use std::time::Duration;

use nicety_account::waterfall;
use nicety_fate::inside::Agent;
use nicety_fate::{Fates, Hops, Refusal, TesterPorts};
use nicety_model::waterfall::{Unknown, Waterfall};
use nicety_model::{
    CellFate, Direction, FateCause, FateOf, Fps, FrameSize, Purpose, Shape, TrialRecord,
};
use nicety_netdev::link::{LinkChange, Links};
use nicety_netdev::netns::NetNs;
use nicety_netdev::privilege::Privilege;
use nicety_packet::{MacAddr, RunMark};
use nicety_paths::{Path, VmPath};
use nicety_port::af_packet::{self, AfPacket, PortSockets, PortSpec, TrafficSpec};
use nicety_port::{Engine, Stop};
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};
use serde_json::{Value, json};

use crate::{Outcome, as_root, build};

const FRAMES: u64 = 400;
const LOAD: Fps = Fps(1_000.0);
/// Of the frames. The guest's driver leaves those of the second size in pages but for their Ethernet header.
const BYTES: [u16; 2] = [1000, 1518];
/// Of the interface that is too small for them.
const MTU: u32 = 500;

/// What the host asks of this program in a guest: to follow frames, or for an MTU of eth1.
pub fn work(agent: &RefCell<Agent>, work: Value) -> Value {
    if let Some(answer) = agent.borrow_mut().answer(&work) {
        return answer;
    }
    let Some(mtu) = work["mtu"].as_u64() else {
        return work;
    };
    let change = LinkChange {
        mtu: Some(mtu as u32),
        ..LinkChange::default()
    };
    let links = Links::open(&NetNs::current().unwrap()).unwrap();
    links.change("eth1", &change).unwrap();
    json!("done")
}

fn engine(path: &VmPath, traffic: TrafficSpec) -> AfPacket {
    let open = |side: usize| {
        let port = &path.ports()[side];
        let spec = PortSpec {
            interface: port.name.clone(),
            mac: MacAddr::local(side as u32 + 1),
            mtu: port.mtu,
            refusal: af_packet::Refusal::LostInPath,
            promiscuous: false,
        };
        let opened = port.ns.run(|| PortSockets::open(&spec, traffic.frame_size));
        opened.unwrap().unwrap()
    };
    AfPacket::new(open(0), open(1), traffic, vec![None, None]).unwrap()
}

fn trial(trials: &mut Trials<'_>, bytes: u16) -> (TrialRecord, Waterfall) {
    let spec = TrialSpec {
        cell: "vm".to_owned(),
        repeat: 1,
        control: None,
        index: 1,
        purpose: Purpose::Fate {
            of: FateOf::Latency,
        },
        load: LOAD,
        duration: Duration::from_secs_f64(FRAMES as f64 / LOAD.0),
        then: None,
        window: None,
    };
    let record = trials.run(&spec, &Stop::default()).unwrap();
    assert!(record.notes.is_empty(), "{:?}", record.notes);
    let fate = CellFate::of(&record).unwrap();
    let cell = serde_json::from_value(json!({
        "schema": 1, "cell": format!("vm/{bytes}/uni"), "repeat": 1, "path": {"kind": "vm"},
        "frame_size_bytes": bytes, "direction": "uni", "flows": 1, "engine": "af_packet",
        "loss_goal": 0.0, "trials": 1, "search_s": 1.0, "verdict": "ok", "notes": [],
    }));
    let [fall] = <[Waterfall; 1]>::try_from(waterfall::of(&cell.unwrap(), &fate)).unwrap();
    (record, fall)
}

pub fn followed(privilege: Privilege) -> Outcome {
    as_root(privilege)?;
    let path = build(&[("nic", "virtio-net")])?;
    BYTES.iter().try_for_each(|bytes| follow(&path, *bytes))
}

/// Frames of one size, which pass or, of the largest, are lost too.
fn follow(path: &VmPath, bytes: u16) -> Outcome {
    let traffic = TrafficSpec {
        frame_size: FrameSize::new(bytes).unwrap(),
        direction: Direction::Uni,
        flows: 1,
        stations: 1,
        vlan: None,
        shape: Shape::default(),
        mark: RunMark::of(std::process::id()),
    };
    let mut engine = engine(path, traffic);
    let b = &path.ports()[1];
    let tester = TesterPorts {
        ports: vec![(b.name.clone(), b.ns.inode())],
        by_socket: engine.receives_by_socket(),
        mark: engine.mark(),
    };
    let refused = |why| match why {
        Refusal::NotBuilt(_) | Refusal::NoTypes | Refusal::NotPermitted => Skip(why.to_string()),
        why => panic!("{why}"),
    };
    let mut fates = Fates::new(traffic.frame_size, 1, tester.clone()).map_err(refused)?;
    let mut hops = Hops::new(1, tester).map_err(refused)?;
    let mut trials = Trials::new(&mut engine, path, 0)
        .noting(Some(&mut fates))
        .hopping(Some(&mut hops));
    let (record, fall) = trial(&mut trials, bytes);
    passes(&record, &fall);
    if Some(&bytes) == BYTES.last() {
        let done = path.work(0, json!({"mtu": MTU}), Duration::from_secs(20), &|| false);
        assert_eq!(done.unwrap(), "done");
        let (record, fall) = trial(&mut trials, bytes);
        is_lost(&record, &fall);
    }
    Ok(())
}

/// Frames have times at every station, the guest's among them.
fn passes(record: &TrialRecord, fall: &Waterfall) {
    let hops = record.fate.as_ref().unwrap().hops.as_ref().unwrap();
    println!("    {}", serde_json::to_string(hops).unwrap());
    assert!(hops.frames > 9 * record.frames.received / 10, "{hops:?}");
    let to: Vec<&str> = hops.hops.iter().map(|hop| hop.to.as_str()).collect();
    let inside = ["received at guest eth0", "sent at guest eth1"];
    assert!(to.windows(2).any(|pair| pair == inside), "{to:?}");
    // The hops are the whole way.
    let sum: u64 = hops.hops.iter().map(|hop| hop.time.mean_ns).sum();
    let whole = hops.end_to_end.mean_ns;
    assert!(sum.abs_diff(whole) * 100 <= whole, "{sum} of {whole}");
    assert!(hops.summed * 100 >= hops.frames * 99, "{hops:?}");
    let clocks: Vec<_> = hops.clocks.iter().map(|of| of.guest.as_str()).collect();
    assert_eq!(clocks, ["guest"]);
    assert!(hops.clocks[0].round_trip_ns.is_some(), "{:?}", hops.clocks);
    let crossing = hops.hops.iter().filter(|hop| hop.error_ns.is_some());
    let crossing: Vec<_> = crossing.collect();
    assert_eq!(crossing.len(), 2, "{crossing:?}");
    let row = |name: &str| fall.stations.iter().find(|row| row.station == name);
    for name in ["guest eth0", "guest eth1"] {
        let row = row(name).unwrap();
        assert_eq!((row.hops.len(), row.no_time), (1, None), "{row:?}");
        assert_eq!(row.lost, 0);
    }
    let bridge = fall.stations.iter().filter(|row| row.station.is_empty());
    let why: Vec<_> = bridge.map(|row| row.no_time).collect();
    assert_eq!(why, [Some(Unknown::InNextStation)]);
}

/// All frames are larger than the guest's second interface takes.
fn is_lost(record: &TrialRecord, fall: &Waterfall) {
    println!("    {:?}", record.loss_ledger);
    assert_eq!(record.frames.received, 0);
    let at = |entry: &&nicety_model::LossEntry| match &entry.cause {
        Some(FateCause::Dropped {
            device, function, ..
        }) => {
            let function = function.as_deref().unwrap_or_default();
            device.as_deref() == Some("guest eth1") && function.starts_with("br_")
        }
        _ => false,
    };
    let (own, others): (Vec<_>, Vec<_>) = record.loss_ledger.iter().partition(at);
    // On a busy machine the first rings may overflow. Nothing is unexplained.
    let mut others = others.iter();
    assert!(others.all(|entry| ["a tx_dropped", "d0 veth_xmit"].contains(&&*entry.place)));
    let told: u64 = record.loss_ledger.iter().map(|entry| entry.frames).sum();
    assert_eq!(told, record.frames.sent);
    let [own] = own.as_slice() else {
        panic!("{:?}", record.loss_ledger);
    };
    let row = fall.stations.iter().find(|row| row.station == "guest eth1");
    let row = row.unwrap();
    assert_eq!((row.lost, row.frames_in), (own.frames, Some(own.frames)));
    assert_eq!((fall.off, fall.elsewhere.len()), (0, 0));
}
