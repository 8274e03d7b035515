//! A trial in which the path is reset, and how long nothing passed (RFC 2544 §26.6, RFC 6201).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nicety_account::lost::Numbers;
use nicety_host::clock::monotonic;
use nicety_model::interval::LatencyHistogram;
use nicety_model::{Fps, Outage, PacingReport, ResetKind, TrialRecord};
use nicety_paths::{Path, Receipt};
use nicety_port::pace::Timetable;
use nicety_port::{Arrivals, Engine, Stop, TrialOrder};

use crate::{DRAIN_MAX, DRAIN_QUIET, TrialError, TrialSpec, Trials, as_far_as_it_went, record};

/// Frames pass for so long before the reset, and behind the outage.
const AROUND: Duration = Duration::from_millis(300);
/// How often it is looked whether frames arrive.
const LOOK: Duration = Duration::from_millis(20);
/// Share of the load that has to arrive in each look for the path to be back.
const BACK: f64 = 0.2;

/// What was seen beside the sending.
#[derive(Debug)]
struct Watched {
    /// When the reset began, in ns of the monotonic clock; absent where it did not come to it.
    begun_ns: Option<f64>,
    back: bool,
    /// Why the path could not be reset or watched.
    trouble: Option<String>,
}

/// Says that the sender is done.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Resets `path` beside a sender of `load`, and sets `own` when frames have passed again for a while, or `user`
/// is set. Ends when the sender is `done`.
fn watch(path: &dyn Path, load: Fps, (user, own): (&Stop, &Stop), done: &AtomicBool) -> Watched {
    let mut watched = Watched {
        begun_ns: None,
        back: false,
        trouble: None,
    };
    let over = || {
        if user.is_set() {
            own.stop();
        }
        done.load(Ordering::Relaxed) || own.is_set()
    };
    let mut failed = |why: String| {
        watched.trouble = Some(why);
        own.stop();
    };
    let Some(resettable) = path.resettable() else {
        failed("this path cannot be reset".to_owned());
        return watched;
    };
    let receipt = match Receipt::at(&path.ports()[1]) {
        Ok(receipt) => receipt,
        Err(error) => {
            failed(error.to_string());
            return watched;
        }
    };
    if pause(AROUND, &over) {
        return watched;
    }
    watched.begun_ns = Some(monotonic().as_nanos() as f64);
    if let Err(error) = resettable.reset() {
        watched.trouble = Some(error.to_string());
        own.stop();
        return watched;
    }
    let enough = (load.0 * LOOK.as_secs_f64() * BACK).max(1.0) as u64;
    let (mut before, mut looks) = (receipt.frames().ok(), 0);
    let needed = (AROUND.as_millis() / LOOK.as_millis()) as u32;
    while !pause(LOOK, &over) {
        let now = receipt.frames().ok();
        let came = before.zip(now).map(|(old, new)| new.saturating_sub(old));
        before = now;
        looks = match came {
            Some(came) if came >= enough => looks + 1,
            _ => 0,
        };
        if looks >= needed {
            watched.back = true;
            own.stop();
        }
    }
    watched
}

impl Trials<'_> {
    /// Sends while the path is reset, until frames have passed again for a while, or it had as long as it may take.
    /// What counts the path's frames and threads may be gone afterwards, so neither is read.
    pub(crate) fn reset(
        &mut self,
        spec: &TrialSpec,
        stop: &Stop,
    ) -> Result<TrialRecord, TrialError> {
        self.histogram = LatencyHistogram::default();
        self.counter = self.counter.wrapping_add(1);
        let order = TrialOrder {
            load: spec.load,
            duration: AROUND + spec.duration,
            then: None,
            drain_max: DRAIN_MAX,
            drain_quiet: DRAIN_QUIET,
            trial: self.counter,
            rest: self.memory.rest(self.rest, spec.load.0),
            catch_up: false,
            numbers: true,
        };
        let started = nicety_host::clock::unix_time();
        let start = nicety_host::clock::monotonic();
        if let Err(error) = self.learn() {
            return Ok(record::broken(spec, started, start, error.to_string()));
        }
        let path = self.path;
        let (own, done) = (Stop::default(), AtomicBool::new(false));
        let (report, watched) = std::thread::scope(|scope| {
            let beside = || watch(path, spec.load, (stop, &own), &done);
            let watcher = scope.spawn(beside);
            // Also where the sender panics: the other would watch for ever.
            let ended = Ended(&done);
            let report = self.engine.trial(&order, &own);
            drop(ended);
            (report, watcher.join())
        });
        // It may have forgotten where the tester's addresses are.
        self.learned = None;
        if stop.is_set() {
            return Err(TrialError::Interrupted);
        }
        let broken = |why| Ok(record::broken(spec, started, start, why));
        let (watched, by) = match (watched, path.resettable()) {
            (Ok(watched), Some(resettable)) => (watched, resettable.by()),
            _ => return broken("this path cannot be reset".to_owned()),
        };
        if let Some(why) = watched.trouble {
            return broken(why);
        }
        let report = match report {
            Ok(report) => as_far_as_it_went(report),
            Err(error) => return broken(error.to_string()),
        };
        let mut record = record::of(spec, &report);
        let pacing = &record.pacing;
        record.outage = outage(self.engine, by, spec.duration, pacing, &watched);
        record.duration_s = record.pacing.sending_s;
        record.started_unix_s = started.as_secs_f64();
        record.wall_s = (nicety_host::clock::monotonic() - start).as_secs_f64();
        Ok(record)
    }
}

/// Waits for so long, or until `over`; whether it is.
fn pause(time: Duration, over: &dyn Fn() -> bool) -> bool {
    let end = monotonic() + time;
    loop {
        if over() {
            return true;
        }
        let left = end.saturating_sub(monotonic());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// What a reset did to the frames of the last trial; `None` where the engine does not say which arrived.
fn outage(
    engine: &dyn Engine,
    by: ResetKind,
    limit: Duration,
    pacing: &PacingReport,
    watched: &Watched,
) -> Option<Outage> {
    let arrivals = engine.arrivals()?;
    let tables = engine.timetables();
    let streams = arrivals.iter().enumerate().map(|(n, of)| {
        // Without a timetable frames are taken to have left evenly, which is not known to the reset's clock.
        let even = || {
            let rate = of.made as f64 / pacing.sending_s.max(f64::MIN_POSITIVE);
            Timetable::even(Fps(rate), 0)
        };
        match tables.get(n).filter(|table| table.due_ns(0).is_some()) {
            Some(table) => stream(of, table, watched.begun_ns, watched.back),
            None => stream(of, &even(), None, watched.back),
        }
    });
    let mut worst = Outage {
        by,
        outage_s: 0.0,
        frames: 0,
        by_loss_s: 0.0,
        back: true,
        limit_s: limit.as_secs_f64(),
    };
    for one in streams {
        let One {
            outage_s,
            frames,
            lost,
            back,
        } = one?;
        worst.outage_s = worst.outage_s.max(outage_s);
        worst.frames = worst.frames.max(frames);
        let rate = pacing.offered_fps.max(f64::MIN_POSITIVE);
        worst.by_loss_s = worst.by_loss_s.max(lost as f64 / rate);
        worst.back &= back;
    }
    Some(worst)
}

/// The outage of one stream.
#[derive(Debug, PartialEq)]
struct One {
    outage_s: f64,
    frames: u64,
    lost: u64,
    back: bool,
}

fn stream(of: &Arrivals, table: &Timetable, begun_ns: Option<f64>, seen: bool) -> Option<One> {
    // Numbers that were never sent would pass for lost ones.
    if of.given_up > 0 || of.made == 0 {
        return None;
    }
    let numbers = Numbers {
        stream: 0,
        made: of.made,
        arrived: &of.words,
        begun_unix_s: 0.0,
        rate_fps: 1.0,
    };
    let last = of.made - 1;
    let due = |number: u64| table.due_ns(number.min(last)).unwrap_or(0.0);
    let (mut lost, mut longest) = (0, 0..0);
    for run in numbers.missing() {
        lost += run.end - run.start;
        let late = begun_ns.is_none_or(|begun| due(run.end) >= begun);
        // The last frames of a path that is back may be lost as any others.
        let counts = late && !(seen && run.end > last);
        if counts && run.end - run.start > longest.end - longest.start {
            longest = run;
        }
    }
    let frames = longest.end - longest.start;
    let outage_ns = match frames {
        0 => 0.0,
        _ => due(longest.end) - due(longest.start.saturating_sub(1)),
    };
    Some(One {
        outage_s: outage_ns.max(0.0) * 1e-9,
        frames,
        lost,
        back: seen || longest.end <= last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    /// 1000 frames, one per millisecond, of which those in `lost` did not arrive.
    fn one(lost: &[[u64; 2]], begun: Option<f64>, seen: bool) -> One {
        let mut words = vec![u64::MAX; 1000_usize.div_ceil(64)];
        for number in lost.iter().flat_map(|[from, to]| *from..*to) {
            words[(number / 64) as usize] &= !(1 << (number % 64));
        }
        let of = Arrivals {
            made: 1000,
            given_up: 0,
            words,
        };
        stream(&of, &Timetable::even(Fps(1000.0), 0), begun, seen).unwrap()
    }

    #[test]
    fn the_longest_run_behind_the_reset_is_the_outage() {
        let found = one(
            &[[100, 200], [500, 550], [700, 702]],
            Some(400.0 * MS),
            true,
        );
        // From the frame before it to the one behind it.
        assert!((found.outage_s - 0.051).abs() < 1e-9, "{found:?}");
        assert_eq!((found.frames, found.lost, found.back), (50, 152, true));
        let found = one(&[[100, 200], [500, 550]], None, true);
        assert_eq!(found.frames, 100);
        let found = one(&[], Some(400.0 * MS), true);
        assert_eq!((found.outage_s, found.frames, found.back), (0.0, 0, true));
    }

    #[test]
    fn a_run_to_the_end_is_no_return() {
        let found = one(&[[500, 1000]], Some(400.0 * MS), false);
        assert_eq!((found.frames, found.back), (500, false));
        // Others saw it come back: the last frames were lost for another reason.
        let found = one(&[[500, 550], [900, 1000]], Some(400.0 * MS), true);
        assert_eq!((found.frames, found.back), (50, true));
        let given_up = Arrivals {
            made: 10,
            given_up: 1,
            words: vec![0],
        };
        assert_eq!(stream(&given_up, &Timetable::default(), None, true), None);
    }
}
