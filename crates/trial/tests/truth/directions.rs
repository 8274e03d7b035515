//! Trials over the wire, in one direction or both, and with many flows.

use std::time::Duration;

use nicety_model::{Direction, Fps, TrialRecord};
use nicety_packet::{FlowRange, Side, VlanTag};
use nicety_port::af_packet::TrafficSpec;
use nicety_testkit::runner::Skip;
use nicety_testkit::wire::{Direction as Way, Fault, Wire, WireCounts};
use nicety_trial::{DRAIN_QUIET, Trials};

use crate::calm::not_tried;
use crate::expected::{Fates, agree, fates};
use crate::stage::{Tester, first, run_checked, size, traffic};

pub const LOAD: Fps = Fps(10_000.0);
pub const DIRECTIONS: [Way; 2] = [Way::AToB, Way::BToA];

pub fn wire() -> Result<Wire, Skip> {
    Wire::build().map_err(|error| Skip(error.to_string()))
}

/// A trial of some rate and frames on the wire that was made.
type Run<'r> = dyn FnMut(Fps, u64) -> TrialRecord + 'r;

/// Runs `trial` over a wire with `faults` for both ways. What the wire
/// counted agrees with the record.
pub fn over_wire(
    tester: Tester,
    faults: [Fault; 2],
    direction: Direction,
    trial: impl FnOnce(&mut Run<'_>) -> TrialRecord,
) -> Result<(TrialRecord, [WireCounts; 2]), Skip> {
    let wire = wire()?;
    let mut engine = tester.open(&wire, traffic(direction))?;
    let mut trials = Trials::new(engine.as_mut(), &wire, 0);
    begin(&wire, &mut trials, faults);
    let record = trial(&mut |load, frames| run_checked(&mut trials, load, frames));
    let wires = end(&wire, &record)?;
    Ok((record, wires))
}

/// The first trial over a faultless wire, then its faults.
pub fn begin(wire: &Wire, trials: &mut Trials<'_>, faults: [Fault; 2]) {
    let record = first(trials);
    for (number, (way, fault)) in DIRECTIONS.into_iter().zip(faults).enumerate() {
        let loaded = record.streams.get(number);
        wire.entered(way, loaded.map_or(0, |stream| stream.frames.sent));
        wire.set(way, fault);
    }
    wire.take_pause();
}

/// The wire's counts after a trial, held against those of the tester. A wire that stood still for
/// longer than the tester waits for late frames has lost them by the tester's definition.
pub fn end(wire: &Wire, record: &TrialRecord) -> Result<[WireCounts; 2], Skip> {
    let pause = wire.take_pause();
    for (stream, way) in record.streams.iter().zip(DIRECTIONS) {
        let counts = wire.entered(way, stream.frames.sent);
        let agreed = agree(stream, &counts);
        if !agreed && pause > LATE {
            return Err(too_late(pause));
        }
        assert!(agreed, "{stream:?} {counts:?}");
    }
    Ok(DIRECTIONS.map(|way| wire.counts(way)))
}

/// A wire that stands still for so long may be taken for one that loses frames.
pub const LATE: Duration = Duration::from_millis(DRAIN_QUIET.as_millis() as u64 / 2);

fn too_late(pause: Duration) -> Skip {
    not_tried(format!("the wire had no CPU for {} ms", pause.as_millis()))
}

/// Skips where the wire stood still for so long since its pause was taken.
pub fn stood_still(wire: &Wire) -> Result<(), Skip> {
    let pause = wire.take_pause();
    if pause > LATE {
        Err(too_late(pause))
    } else {
        Ok(())
    }
}

pub fn both(tester: Tester) -> Result<(), Skip> {
    let pairs = [
        [
            Fault::Drop {
                every: 40,
                run: 3,
                times: u64::MAX,
            },
            Fault::Duplicate { every: 9 },
        ],
        [
            Fault::Delay {
                every: 20,
                run: 2,
                by: 5,
            },
            Fault::Drop {
                every: 777,
                run: 1,
                times: 2,
            },
        ],
        [Fault::None, Fault::None],
    ];
    for faults in pairs {
        let (record, _) = over_wire(tester, faults.clone(), Direction::Bi, |run| {
            run(LOAD, 9_990)
        })?;
        assert_eq!(record.streams.len(), 2);
        let mut sums = [0; 4];
        for (stream, fault) in record.streams.iter().zip(&faults) {
            let frames = &stream.frames;
            assert_eq!(Fates::from(stream), fates(fault, frames.sent), "{fault:?}");
            assert_eq!((frames.corrupt, frames.foreign), (0, 0));
            for (sum, count) in
                sums.iter_mut()
                    .zip([frames.sent, frames.lost, frames.duplicate, frames.reordered])
            {
                *sum += count;
            }
        }
        let all = &record.frames;
        assert_eq!(
            [all.sent, all.lost, all.duplicate, all.reordered],
            sums,
            "{faults:?}"
        );
    }
    Ok(())
}

pub fn flows(tester: Tester) -> Result<(), Skip> {
    const FLOWS: u32 = 64;
    let fault = Fault::Drop {
        every: 50,
        run: 2,
        times: u64::MAX,
    };
    let wire = wire()?;
    let traffic = TrafficSpec {
        flows: FLOWS,
        ..traffic(Direction::Uni)
    };
    let mut engine = tester.open(&wire, traffic)?;
    let mut trials = Trials::new(engine.as_mut(), &wire, 0);
    begin(&wire, &mut trials, [fault.clone(), Fault::None]);
    let record = run_checked(&mut trials, LOAD, 10_000);
    end(&wire, &record)?;
    let stream = &record.streams[0];
    assert_eq!(Fates::from(stream), fates(&fault, stream.frames.sent));
    // The last frame is of the flow that its number says.
    let last = wire.last_frame(Way::AToB);
    let number = (stream.frames.sent - 1) as u32;
    let flow = FlowRange::new(FLOWS, Side::A).unwrap().flow(number);
    assert_eq!(last[26..30], flow.source.octets());
    assert_eq!(last[30..34], flow.destination.octets());
    assert_eq!(last[34..36], flow.source_port.to_be_bytes());
    assert_eq!(last[36..38], flow.destination_port.to_be_bytes());
    Ok(())
}

/// Frames with a VLAN tag, which is part of their size.
pub fn tagged(tester: Tester) -> Result<(), Skip> {
    let fault = Fault::Drop {
        every: 50,
        run: 2,
        times: u64::MAX,
    };
    for bytes in [64, 256] {
        let wire = wire()?;
        let traffic = TrafficSpec {
            frame_size: size(bytes),
            vlan: Some(VlanTag::new(100, 0).unwrap()),
            ..traffic(Direction::Uni)
        };
        let mut engine = tester.open(&wire, traffic)?;
        let mut trials = Trials::new(engine.as_mut(), &wire, 0);
        begin(&wire, &mut trials, [fault.clone(), Fault::None]);
        let record = run_checked(&mut trials, LOAD, 10_000);
        end(&wire, &record)?;
        let stream = &record.streams[0];
        assert_eq!(Fates::from(stream), fates(&fault, stream.frames.sent));
        assert_eq!((stream.frames.corrupt, stream.frames.foreign), (0, 0));
        let last = wire.last_frame(Way::AToB);
        assert_eq!(last[12..18], [0x81, 0, 0, 100, 8, 0]);
        assert_eq!(last.len(), usize::from(bytes) - 4);
    }
    Ok(())
}
