//! A path, trouble on it, a trial, and what the books must say.

use nicety_fate::{Fates, Refusal, TesterPorts};
use nicety_model::{Direction, FateCause, FateOf, Fps, LossEntry, Purpose, TrialRecord, Validity};
use nicety_packet::RunMark;
use nicety_paths::counters::UNEXPLAINED;
use nicety_paths::{BridgePath, Path};
use nicety_port::Stop;
use nicety_port::af_packet::TrafficSpec;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::commands::run;
use crate::stage::{self, Tester, size, spec};

/// Load and frames of a trial.
pub const LOAD: Fps = Fps(50_000.0);
pub const FRAMES: u64 = 10_000;

/// How a trial is run.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub tester: Tester,
    pub load: Fps,
    pub frames: u64,
    pub bytes: u16,
    /// Frames arrive before the trouble begins.
    pub first: bool,
    /// Which tester sends, where several do.
    pub mark: RunMark,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            tester: Tester::Xdp,
            load: LOAD,
            frames: FRAMES,
            bytes: 64,
            first: true,
            mark: stage::traffic(Direction::Uni).mark,
        }
    }
}

/// Why the machine has no programs that note frames. Any other reason is a fault.
pub fn skip(why: Refusal) -> Skip {
    match why {
        Refusal::NotBuilt(_) | Refusal::NoTypes | Refusal::NotPermitted => Skip(why.to_string()),
        why => panic!("{why}"),
    }
}

/// Commands of `ip`, `tc`, `nft` or `bridge` in the namespace in the middle.
pub fn commands(path: &BridgePath, lines: &[&str]) -> Result<(), Skip> {
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        run(path.dut(), words[0], &words[1..], "")?;
    }
    Ok(())
}

/// A trial after `trouble`; its record.
pub fn trial(
    how: Run,
    trouble: impl FnOnce(&BridgePath) -> Result<(), Skip>,
) -> Result<TrialRecord, Skip> {
    let path = stage::bridge();
    on(&path, how, trouble)
}

/// The same on a path that is there.
pub fn on(
    path: &BridgePath,
    how: Run,
    trouble: impl FnOnce(&BridgePath) -> Result<(), Skip>,
) -> Result<TrialRecord, Skip> {
    stage::needs_root()?;
    let traffic = TrafficSpec {
        frame_size: size(how.bytes),
        mark: how.mark,
        ..stage::traffic(Direction::Uni)
    };
    let mut engine = how.tester.open(path, traffic)?;
    let [_, b] = path.ports();
    let ports = TesterPorts {
        ports: vec![(b.name.clone(), b.ns.inode())],
        by_socket: engine.receives_by_socket(),
        mark: engine.mark(),
    };
    let mut fates = Fates::new(traffic.frame_size, 1, ports).map_err(skip)?;
    let mut trials = Trials::new(engine.as_mut(), path, 0).noting(Some(&mut fates));
    if how.first {
        stage::first(&mut trials);
    }
    trouble(path)?;
    let of = FateOf::Overload;
    let spec = TrialSpec {
        purpose: Purpose::Fate { of },
        ..spec(how.load, how.frames)
    };
    let record = trials.run(&spec, &Stop::default()).unwrap();
    let ended = matches!(
        record.validity,
        Validity::Valid | Validity::LoadMissed { .. }
    );
    assert!(ended, "{:?}", record.validity);
    let fate = record.fate.as_ref();
    assert!(fate.is_some(), "{:?}", record.notes);
    let told: u64 = record.loss_ledger.iter().map(|entry| entry.frames).sum();
    assert_eq!(told, record.frames.lost, "{:?}", record.loss_ledger);
    Ok(record)
}

/// Frames with a cause at `device` of which function or reason has one of these names; and any other line.
pub fn told<'r>(
    record: &'r TrialRecord,
    device: &str,
    names: &[&str],
) -> (u64, Vec<&'r LossEntry>) {
    let named = |entry: &&LossEntry| match &entry.cause {
        Some(FateCause::Dropped {
            device: at,
            function,
            reason,
        }) => {
            let known = |word: &Option<String>| names.contains(&word.as_deref().unwrap_or(""));
            at.as_deref().unwrap_or("") == device && (known(function) || known(reason))
        }
        _ => false,
    };
    let (these, others): (Vec<_>, Vec<_>) = record.loss_ledger.iter().partition(named);
    (these.iter().map(|entry| entry.frames).sum(), others)
}

/// All lost frames have this cause. On a busy machine rings before and behind it may overflow too: that has
/// its own lines, and is no reason for a frame to be unexplained.
pub fn all_lost(record: &TrialRecord, device: &str, names: &[&str]) {
    let (frames, others) = told(record, device, names);
    println!(
        "    lost {} of {}: {:?}, {:?}",
        record.frames.lost,
        record.frames.sent,
        record
            .loss_ledger
            .iter()
            .map(|e| (&e.place, e.frames, &e.cause))
            .collect::<Vec<_>>(),
        record.fate.as_ref().map(|f| (f.events, &f.counters))
    );
    assert!(frames > 0, "{:?}", record.loss_ledger);
    for entry in others {
        let overflow = ["a tx_dropped", "d0 veth_xmit", "b veth_xmit"].contains(&&*entry.place);
        assert!(overflow, "{:?}", record.loss_ledger);
    }
    assert_eq!(unexplained(record), 0, "{:?}", record.loss_ledger);
}

/// Frames without a cause.
pub fn unexplained(record: &TrialRecord) -> u64 {
    let line = |entry: &&LossEntry| entry.place == UNEXPLAINED;
    record
        .loss_ledger
        .iter()
        .find(line)
        .map_or(0, |entry| entry.frames)
}
