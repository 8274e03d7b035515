//! The clock both ends are timed with.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in nanoseconds. One clock for sender and receiver, unaffected by steps of
/// the wall clock.
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic) as u64
}

/// CLOCK_REALTIME minus CLOCK_MONOTONIC in nanoseconds. The kernel stamps received frames in
/// real time; adding this to a monotonic time makes the two comparable. The value moves only
/// when somebody steps the wall clock (slewing moves both clocks alike).
pub fn realtime_offset_ns() -> i64 {
    // The reading is as exact as the shortest of a few brackets: the thread may lose the CPU
    // between two calls.
    let mut best = (i64::MAX, 0);
    for _ in 0..5 {
        let before = nanoseconds(ClockId::Monotonic);
        let real = nanoseconds(ClockId::Realtime);
        let after = nanoseconds(ClockId::Monotonic);
        let width = after - before;
        if width < best.0 {
            best = (width, real - before - width / 2);
        }
    }
    best.1
}

fn nanoseconds(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
