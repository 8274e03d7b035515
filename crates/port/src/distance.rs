//! How far apart two CPUs are: the time that a cache line takes from one to the other and back.
//!
//! A hypervisor may move the CPUs of a virtual machine to other cores of its host while it runs. Two
//! that share a cache then do not any more, and a path that hands frames from one to the other is
//! slower by a third, for seconds. Nothing else tells: each CPU alone is as fast as before.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::pin;

/// Round trips of one measurement, and measurements of which the least counts: others hold an
/// interrupt.
const TRIPS: u32 = 100;
const TRIES: u32 = 12;
/// Longest time for all: where other programs have one of the CPUs, nothing is measured.
const LIMIT: Duration = Duration::from_millis(4);
/// Looks at the line between two looks at the clock.
const LOOKS: u32 = 4096;

/// Round trip of a cache line between CPUs `a` and `b`, in ns. `None` where they are one CPU, where
/// threads may not be pinned to them, and where others have them.
pub fn round_trip_ns(a: u32, b: u32) -> Option<f64> {
    if a == b {
        return None;
    }
    // Apart from everything else that is written meanwhile.
    #[repr(align(128))]
    struct Line(AtomicU32);
    let line = Line(AtomicU32::new(0));
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let pinned = pin::to_cpu(Some(b));
            while pinned && !ended.load(Ordering::Relaxed) {
                if line.0.load(Ordering::Acquire) == 1 {
                    line.0.store(0, Ordering::Release);
                }
            }
        });
        let asker = scope.spawn(|| {
            let least = pin::to_cpu(Some(a)).then(|| least_ns(&line.0)).flatten();
            ended.store(true, Ordering::Relaxed);
            least
        });
        asker.join().ok().flatten()
    })
}

fn least_ns(line: &AtomicU32) -> Option<f64> {
    let end = Instant::now() + LIMIT;
    let mut least: Option<f64> = None;
    // The first one waits for the other thread to begin.
    for _ in 0..=TRIES {
        let start = Instant::now();
        for _ in 0..TRIPS {
            line.store(1, Ordering::Release);
            let mut looks = 0;
            while line.load(Ordering::Acquire) != 0 {
                looks += 1;
                if looks % LOOKS == 0 && Instant::now() > end {
                    return least;
                }
            }
        }
        let each = start.elapsed().as_nanos() as f64 / f64::from(TRIPS);
        least = Some(least.map_or(each, |least| least.min(each)));
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_is_not_apart_from_itself() {
        assert_eq!(round_trip_ns(0, 0), None);
    }

    #[test]
    fn cpus_that_are_not_there_are_not_measured() {
        assert_eq!(round_trip_ns(0, 1 << 20), None);
    }

    #[test]
    fn two_cpus_take_some_time() {
        let allowed = rustix::thread::sched_getaffinity(None).unwrap();
        let cpus: Vec<u32> = (0..64)
            .filter(|cpu| allowed.is_set(*cpu))
            .map(|cpu| cpu as u32)
            .collect();
        let [a, b, ..] = cpus[..] else { return };
        // A busy machine may not let them meet.
        if let Some(ns) = round_trip_ns(a, b) {
            assert!(ns > 1.0 && ns < 4e6, "{ns}");
        }
    }
}
