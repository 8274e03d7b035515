//! Two engines send the same frames over the same faults and must tell the same story.

use nicety_model::{Direction, StreamCounts};
use nicety_testkit::runner::Skip;
use nicety_testkit::wire::Fault;

use crate::calm::not_tried;
use crate::directions::{LOAD, over_wire};
use crate::stage::Tester;

/// Frames per direction.
const FRAMES: u64 = 9_990;

/// Both directions of a trial over a wire with `fault` there and `back`.
fn stream_counts(tester: Tester, there: &Fault, back: &Fault) -> Result<Vec<StreamCounts>, Skip> {
    let faults = [there.clone(), back.clone()];
    let (record, _) = over_wire(tester, faults, Direction::Bi, |run| run(LOAD, FRAMES))?;
    if record.streams.iter().any(|s| s.frames.sent < FRAMES) {
        return Err(not_tried("the machine was too busy to send every frame"));
    }
    Ok(record.streams)
}

/// Every count, burst and extent of both directions, not only the number of lost frames.
pub fn same_losses() -> Result<(), Skip> {
    let drop = |every, run| Fault::Drop {
        every,
        run,
        times: u64::MAX,
    };
    let delay = Fault::Delay {
        every: 20,
        run: 3,
        by: 7,
    };
    for (there, back) in [
        (drop(7, 1), drop(100, 13)),
        (Fault::Duplicate { every: 9 }, delay),
        (Fault::Flip { every: 11 }, Fault::None),
    ] {
        let [one, xdp, af_xdp] = Tester::ALL.map(|tester| stream_counts(tester, &there, &back));
        let one = one?;
        assert_eq!(one, xdp?, "{there:?} {back:?}");
        assert_eq!(one, af_xdp?, "{there:?} {back:?}");
    }
    Ok(())
}
