//! Loss, copies and wrong order.

use nicety_model::{Direction, Fps};
use nicety_testkit::runner::Skip;
use nicety_testkit::wire::Fault;

use crate::directions::over_wire;
use crate::expected::{Fates, fates};
use crate::stage::Tester;

const LOAD: Fps = Fps(15_000.0);

/// `frames` frames over a wire with `fault`: the accounts are those that follow from it.
fn exactly(tester: Tester, fault: Fault, frames: u64) -> Result<(Fates, u64), Skip> {
    let (record, wires) = over_wire(
        tester,
        [fault.clone(), Fault::None],
        Direction::Uni,
        |run| run(LOAD, frames),
    )?;
    let (stream, wire) = (&record.streams[0], &wires[0]);
    let actual = Fates::from(stream);
    assert_eq!(actual, fates(&fault, stream.frames.sent), "{fault:?}");
    assert_eq!(stream.frames.duplicate, wire.duplicated);
    assert_eq!(stream.frames.reordered, wire.delayed);
    assert_eq!((stream.frames.corrupt, stream.frames.foreign), (0, 0));
    assert_eq!(record.frames, stream.frames);
    Ok((actual, stream.frames.sent))
}

pub fn none(tester: Tester) -> Result<(), Skip> {
    let (actual, sent) = exactly(tester, Fault::None, 15_000)?;
    assert_eq!(actual.received, sent);
    Ok(())
}

pub fn every_nth(tester: Tester) -> Result<(), Skip> {
    for every in [2, 10, 1_000] {
        let drop = Fault::Drop {
            every,
            run: 1,
            times: u64::MAX,
        };
        let (actual, sent) = exactly(tester, drop, 10_000)?;
        assert_eq!(sent - actual.received, sent / every);
        assert_eq!(actual.loss_bursts.bursts, sent / every);
    }
    Ok(())
}

pub fn bursts(tester: Tester) -> Result<(), Skip> {
    // The last: all of the second half, up to the very end of the trial.
    for (every, run) in [(100, 7), (1_000, 64), (5_000, 2_500)] {
        let drop = Fault::Drop {
            every,
            run,
            times: u64::MAX,
        };
        let (actual, _) = exactly(tester, drop, 10_000)?;
        assert_eq!(actual.loss_bursts.longest, run);
    }
    Ok(())
}

pub fn duplicates(tester: Tester) -> Result<(), Skip> {
    for every in [1, 3, 500] {
        let (actual, sent) = exactly(tester, Fault::Duplicate { every }, 10_000)?;
        assert_eq!((actual.received, actual.duplicate), (sent, sent / every));
    }
    Ok(())
}

pub fn reordered(tester: Tester) -> Result<(), Skip> {
    for (every, run, by) in [(10, 1, 1), (100, 1, 30), (50, 4, 9), (2_000, 100, 1_500)] {
        let delay = Fault::Delay { every, run, by };
        let (actual, _) = exactly(tester, delay, 9_900)?;
        assert_eq!(actual.reorder_bursts.longest, run);
        assert_eq!(actual.reorder_extent_max, by + run - 1);
    }
    Ok(())
}
