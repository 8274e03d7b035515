//! What was lost before and after the load of a trial became another (RFC 2544 §26.5).

use nicety_account::lost::Numbers;
use nicety_model::LoadStep;
use nicety_port::pace::Timetable;
use nicety_port::{Arrivals, Engine, TrialOrder};

/// What the last trial shows, which `order` asked for; `None` where the load stayed, where the sender did not
/// come as far as the step, or where the engine does not say which frames arrived.
pub(crate) fn of(order: &TrialOrder, engine: &dyn Engine) -> Option<LoadStep> {
    let then = order.then?;
    let arrivals = engine.arrivals()?;
    let tables = engine.timetables();
    if tables.len() < arrivals.len() {
        return None;
    }
    let mut all: Option<LoadStep> = None;
    for (of, table) in arrivals.iter().zip(tables) {
        let one = stream(order.frames_before(), of, table, then.load.0)?;
        all = Some(all.map_or(one, |all| together(&all, &one)));
    }
    all
}

/// Of one stream, whose first `before` frames were sent before the step.
fn stream(before: u64, of: &Arrivals, table: &Timetable, then_fps: f64) -> Option<LoadStep> {
    // Numbers that were never sent would pass for lost ones.
    if of.given_up > 0 || of.made <= before {
        return None;
    }
    let at = table.due_ns(before)?;
    let since = |number: u64| table.due_ns(number).map(|ns| (ns - at) * 1e-9);
    let mut step = LoadStep {
        then_fps,
        before_s: -since(0)?,
        after_s: since(of.made - 1)?,
        sent_before: before,
        lost_before: 0,
        lost_after: 0,
        last_lost_s: None,
    };
    let numbers = Numbers {
        stream: 0,
        made: of.made,
        arrived: &of.words,
        begun_unix_s: 0.0,
        rate_fps: then_fps,
    };
    let mut last = None;
    for run in numbers.missing() {
        step.lost_before += run.end.min(before).saturating_sub(run.start);
        step.lost_after += run.end.saturating_sub(run.start.max(before));
        last = Some(run.end - 1);
    }
    step.last_lost_s = last.and_then(since);
    Some(step)
}

/// Two directions: the one that went on losing for longer says when.
fn together(a: &LoadStep, b: &LoadStep) -> LoadStep {
    let last = [a.last_lost_s, b.last_lost_s].into_iter().flatten();
    LoadStep {
        then_fps: a.then_fps,
        before_s: a.before_s.max(b.before_s),
        after_s: a.after_s.min(b.after_s),
        sent_before: a.sent_before + b.sent_before,
        lost_before: a.lost_before + b.lost_before,
        lost_after: a.lost_after + b.lost_after,
        last_lost_s: last.max_by(f64::total_cmp),
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::Fps;
    use nicety_port::pace::{Arrears, Pacer};

    use super::*;

    /// 100 frames at 1000 per second, then 50 at 500; none of `lost` arrived.
    fn trial(lost: &[u64]) -> Option<LoadStep> {
        let mut words = vec![u64::MAX; 3];
        for number in lost {
            words[(number / 64) as usize] &= !(1 << (number % 64));
        }
        let of = Arrivals {
            made: 150,
            given_up: 0,
            words,
        };
        let arrears = Arrears::of(Fps(1000.0), false);
        let mut pacer =
            Pacer::new(Fps(1000.0), arrears, 150, 0).with_step(100, Fps(500.0), arrears);
        let mut now = 0;
        while !pacer.is_done() {
            let due = pacer.due(now, 16);
            pacer.sent(due, 0);
            now += 100_000;
        }
        stream(100, &of, pacer.timetable(), 500.0)
    }

    #[test]
    fn the_last_lost_frame_is_timed_by_the_step() {
        let step = trial(&[3, 98, 99, 100, 105]).unwrap();
        assert_eq!((step.lost_before, step.lost_after), (3, 2));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(step.last_lost_s.unwrap(), 0.01), "{step:?}");
        assert!(close(step.before_s, 0.1) && close(step.after_s, 0.098));
        let step = trial(&[98]).unwrap();
        assert!(close(step.last_lost_s.unwrap(), -0.002), "{step:?}");
        let step = trial(&[]).unwrap();
        assert_eq!((step.last_lost_s, step.lost_before), (None, 0));
    }

    #[test]
    fn the_slower_direction_counts() {
        let (a, b) = (trial(&[3]).unwrap(), trial(&[4, 120]).unwrap());
        let both = together(&a, &b);
        assert_eq!((both.sent_before, both.lost_before), (200, 2));
        assert_eq!((both.lost_after, both.last_lost_s), (1, b.last_lost_s));
    }
}
