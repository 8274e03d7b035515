//! Damaged frames, and frames that are not the trial's.

use nicety_model::{Direction, Fps};
use nicety_port::af_packet::TrafficSpec;
use nicety_testkit::runner::Skip;
use nicety_testkit::wire::{Direction as Way, Fault};
use nicety_trial::Trials;

use crate::calm::not_tried;
use crate::directions::{begin, end, wire};
use crate::stage::{Tester, run_checked, size, traffic};

const LOAD: Fps = Fps(15_000.0);

/// What a frame with one wrong bit is, by the bit's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Intact,
    Foreign,
    Corrupt,
}

/// Hardware addresses are the path's affair; without its EtherType the frame is nobody's; each
/// of all other bits is covered by a checksum or the pattern, and no single one takes away two of
/// the three signs by which a frame is ours (docs/methodology/accounting.md).
fn seen(bit: u64) -> Seen {
    match bit / 8 {
        0..12 => Seen::Intact,
        12..14 => Seen::Foreign,
        _ => Seen::Corrupt,
    }
}

pub fn flipped(tester: Tester) -> Result<(), Skip> {
    const EVERY: u64 = 5;
    for bytes in [64, 256] {
        let wire = wire()?;
        let traffic = TrafficSpec {
            frame_size: size(bytes),
            ..traffic(Direction::Uni)
        };
        let mut engine = tester.open(&wire, traffic)?;
        let mut trials = Trials::new(engine.as_mut(), &wire, 0);
        let flip = Fault::Flip { every: EVERY };
        begin(&wire, &mut trials, [flip, Fault::None]);
        let bits = u64::from(bytes - 4) * 8;
        // Every bit once, and half as many again in case the machine is too busy for some.
        let record = run_checked(&mut trials, LOAD, bits * EVERY * 3 / 2);
        let [there, _] = end(&wire, &record)?;
        let frames = &record.frames;
        assert_eq!(there.flipped, frames.sent / EVERY);
        if there.flipped < bits {
            let flipped = there.flipped;
            return Err(not_tried(format!(
                "the machine was too busy: {flipped} of {bits} bits had their turn"
            )));
        }
        let count = |what| {
            let flips = 0..there.flipped;
            flips.filter(|flip| seen(flip % bits) == what).count() as u64
        };
        assert_eq!(frames.corrupt, count(Seen::Corrupt), "{bytes}: {frames:?}");
        assert_eq!(frames.foreign, count(Seen::Foreign), "{bytes}: {frames:?}");
        assert_eq!(frames.lost, frames.corrupt + frames.foreign);
        assert_eq!((frames.duplicate, frames.reordered), (0, 0));
        // Two damaged frames are never neighbours.
        let bursts = &record.streams[0].loss_bursts;
        assert_eq!((bursts.bursts, bursts.longest), (frames.lost, 1));
    }
    Ok(())
}

/// A frame of somebody else: an ARP question.
fn arp() -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([0x02, 0, 0, 0, 0, 0x77]);
    frame.extend([0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1]);
    frame.extend([0x02, 0, 0, 0, 0, 0x77, 10, 0, 0, 1]);
    frame.extend([0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
    frame.resize(60, 0);
    frame
}

/// A trial into which `frame` is put again and again: it changes nothing but one count.
fn injected(tester: Tester, frame: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<(), Skip> {
    let wire = wire()?;
    let mut engine = tester.open(&wire, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &wire, 0);
    begin(&wire, &mut trials, [Fault::None, Fault::None]);
    let frame = frame(wire.last_frame(Way::AToB));
    wire.set(Way::AToB, Fault::Inject { every: 7, frame });
    let record = run_checked(&mut trials, LOAD, 10_000);
    let [there, _] = end(&wire, &record)?;
    let frames = &record.frames;
    assert_eq!(there.injected, frames.sent / 7);
    assert_eq!(frames.foreign, there.injected, "{frames:?}");
    assert_eq!(frames.received, frames.sent);
    assert_eq!(
        (frames.duplicate, frames.reordered, frames.corrupt),
        (0, 0, 0)
    );
    assert_eq!(record.loss_ledger, []);
    Ok(())
}

pub fn foreign(tester: Tester) -> Result<(), Skip> {
    injected(tester, |_| arp())
}

/// The last frame of the trial before is ours and intact, but late.
pub fn stale(tester: Tester) -> Result<(), Skip> {
    injected(tester, |last| last)
}
