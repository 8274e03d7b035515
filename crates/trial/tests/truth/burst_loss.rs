//! Losses of one moment are found where they were.

use std::time::Duration;

use nicety_model::{Direction, Fps};
use nicety_port::clock::monotonic_ns;
use nicety_port::{Part, Stop, TrialOrder};
use nicety_testkit::runner::Skip;
use nicety_testkit::wire::{Direction as Way, Fault};

use crate::directions::{stood_still, wire};
use crate::stage::{Tester, traffic};

/// One burst of loss half a second into the trial: the frames of that time are known to have lost
/// all of it, and those of any other time nothing.
pub fn burst(tester: Tester) -> Result<(), Skip> {
    let (rate, frames, lost) = (10_000, 10_000, 300);
    let wire = wire()?;
    let mut engine = tester.open(&wire, traffic(Direction::Uni))?;
    engine.learn().unwrap();
    // Three learning frames went first.
    wire.entered(Way::AToB, 3);
    wire.set(
        Way::AToB,
        Fault::Drop {
            every: frames / 2,
            run: lost,
            times: 1,
        },
    );
    wire.take_pause();
    let started = monotonic_ns();
    let order = TrialOrder {
        load: Fps(rate as f64),
        duration: Duration::from_secs(frames / rate),
        then: None,
        drain_max: Duration::from_secs(1),
        drain_quiet: Duration::from_millis(100),
        trial: 1,
        rest: None,
        catch_up: false,
        numbers: false,
    };
    let report = engine.trial(&order, &Stop::default()).unwrap();
    let ended = monotonic_ns();
    let sender = &report.senders[0];
    let part = |from: u64, to: u64| engine.part(std::slice::from_ref(&(from..to)));
    let all = part(started, ended);
    if tester == Tester::AfPacket || sender.pacing.refused > 0 {
        assert_eq!(all, None);
        return Ok(());
    }
    if report.streams[0].frames.lost != lost {
        stood_still(&wire)?;
    }
    assert_eq!(report.streams[0].frames.lost, lost);
    let sent = sender.sent;
    assert_eq!(all, Some(Part { sent, lost }));
    // Up to any moment, the numbers from 0 on were sent; from then on the others.
    let mut seen = Vec::new();
    for split in (started..ended).step_by(10_000_000) {
        let before = part(started, split).unwrap();
        let lost_before = before.sent.saturating_sub(frames / 2 - lost).min(lost);
        assert_eq!(before.lost, lost_before, "{before:?}");
        let after = part(split, ended).unwrap();
        // The slot of the moment is in both.
        assert!(before.sent + after.sent >= sent, "{before:?} {after:?}");
        let both = engine.part(&[split..ended, started..split]);
        assert_eq!(both, all, "nothing is counted twice");
        seen.push(before.sent);
    }
    seen.dedup();
    assert!(
        seen.len() > 10,
        "frames leave at different moments: {seen:?}"
    );
    Ok(())
}
