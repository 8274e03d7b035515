//! Length of a window.

use std::time::Duration;

use nicety_model::windows::SLOT_NS;

/// Shortest window: as many slots of engines as make 50 ms, the time in which the quota of a busy
/// hypervisor (100 ms, `cpu.cfs_period_us`) strikes in half of the windows only.
const SHORTEST: u64 = 6;
/// Longest window of a search, a quarter of a second. Where the goal asks for longer ones, these are stricter
/// than it (no frame may be lost) and find where loss sets in; whole windows follow.
const LONGEST: u64 = 30;
/// Length of windows where even those hold too few frames.
const BRIEF: u64 = 12;
/// Lengths beyond the shortest that holds enough frames among which a sharp one is looked for.
const MORE: u64 = 8;
/// Frames of a window times the goal: the loss that the window allows, in frames.
const ALLOWED: f64 = 5.0;
/// Longest whole window: beyond, the goal is not worth the time here.
const FULL_MAX: f64 = 10.0;
/// Loss that must be told from the goal, above and below it.
const APART: f64 = 0.1;

/// Length of a search's windows at `load` (frames per second) for a loss goal.
///
/// Whole slots, at least 50 ms, with at least 5/goal frames. Of the few lengths that follow, the
/// first that also tells 0.9 and 1.1 times the goal apart where every n-th frame is lost: such a
/// window allows `m` whole frames, and 1.1 times the goal must always lose more than `m`, 0.9 times
/// never.
pub fn of(load: f64, goal: f64) -> Duration {
    let per_slot = load * SLOT_NS as f64 * 1e-9 * goal;
    if per_slot <= 0.0 {
        return slots(SHORTEST);
    }
    let enough = ((ALLOWED / per_slot).ceil() as u64).max(SHORTEST);
    if enough > LONGEST {
        return slots(BRIEF);
    }
    let sharp = |n: &u64| is_sharp(*n as f64 * per_slot);
    slots((enough..=enough + MORE).find(sharp).unwrap_or(enough))
}

/// Whether the search's windows at `load` hold fewer frames than the goal asks for.
pub fn is_short(load: f64, goal: f64) -> bool {
    let frames = load * of(load, goal).as_secs_f64();
    goal > 0.0 && frames * goal < ALLOWED * 0.999
}

/// Length of a window at `load` with as many frames as the goal asks for, 10 s at most.
pub fn full_length(load: f64, goal: f64) -> Duration {
    let slot_s = SLOT_NS as f64 * 1e-9;
    // In the middle between two whole frames of loss, where the goal is sharpest.
    let seconds = ((ALLOWED + 0.5) / (goal * load).max(1e-9)).min(FULL_MAX);
    slots((seconds / slot_s).ceil() as u64)
}

/// Length of a window at `load` in which the goal allows no lost frame, and how many of them hold as many
/// frames as the goal asks for: so many of these as a trial loses frames in are the frames that it loses
/// one by one.
pub fn strict(load: f64, goal: f64) -> (Duration, u32) {
    let per_slot = load * SLOT_NS as f64 * 1e-9 * goal;
    let window = slots(((0.9 / per_slot.max(1e-9)) as u64).clamp(1, BRIEF));
    let count = full_length(load, goal).as_secs_f64() / window.as_secs_f64();
    (window, (count.round() as u32).max(1))
}

/// Length of a trial with `count` such windows: its first and last slot are not whole.
pub fn trial(window: Duration, count: u32) -> Duration {
    window * count + slots(2)
}

/// Whether a window that allows `allowed` frames tells loss below the goal from loss above it.
fn is_sharp(allowed: f64) -> bool {
    let frames = allowed.floor();
    ((1.0 + APART) * allowed).floor() > frames && ((1.0 - APART) * allowed).ceil() <= frames
}

fn slots(count: u64) -> Duration {
    Duration::from_nanos(count * SLOT_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_as_many_frames_as_the_goal_asks_for() {
        for load in [245e3, 1e6 / 3.0, 791e3, 1e6, 1.8e6, 14.88e6] {
            let window = of(load, 1e-4).as_secs_f64();
            let frames = load * window;
            assert!(frames * 1e-4 >= 5.0 && window >= 0.05, "{load} {window}");
            assert!(window < 0.3 && !is_short(load, 1e-4), "{load} {window}");
        }
        assert_eq!(of(1e6, 0.0), slots(6));
        assert_eq!(of(12_345.0, 1e-4), slots(12));
        assert!(is_short(12_345.0, 1e-4) && !is_short(12_345.0, 0.0));
        let seconds = full_length(12_345.0, 1e-4).as_secs_f64();
        assert!((4.45..4.47).contains(&seconds), "{seconds}");
    }

    proptest::proptest! {
        /// Every n-th frame lost, a tenth above or below the goal: most windows say so.
        #[test]
        fn a_tenth_above_the_goal_is_told_from_a_tenth_below(load in 2.6e5f64..2e6, phase in 0.0f64..1.0) {
            let frames = load * of(load, 1e-4).as_secs_f64();
            for (times, good) in [(1.1, false), (0.9, true)] {
                let every = 1.0 / (times * 1e-4);
                let lost = |n: u32| {
                    let start = phase * every + f64::from(n) * frames;
                    ((start + frames) / every).floor() - (start / every).floor()
                };
                let met = (0..100).filter(|n| lost(*n) <= frames * 1e-4).count();
                proptest::prop_assert!(
                    if good { met >= 60 } else { met <= 40 }, "{} of 100 at {} x", met, times
                );
            }
        }
    }
}
