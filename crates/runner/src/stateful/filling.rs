//! How a table fills: the kernel's count, again and again, while connections are opened.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nicety_model::stateful::FillPoint;
use nicety_netdev::conntrack::Conntrack;

/// From one look to the next: the look itself takes microseconds.
const EVERY: Duration = Duration::from_millis(10);

/// Does the work, and notes the entries meanwhile; what could not be read is left out.
pub(super) fn noted<T>(table: &Conntrack, work: impl FnOnce() -> T) -> (T, Vec<FillPoint>) {
    let done = AtomicBool::new(false);
    let begun = Instant::now();
    thread::scope(|scope| {
        let noting = scope.spawn(|| {
            let mut points = Vec::new();
            loop {
                let over = done.load(Ordering::Acquire);
                let entries = table.entries().ok();
                points.extend(entries.map(|(entries, _)| FillPoint {
                    s: begun.elapsed().as_secs_f64(),
                    entries,
                }));
                if over {
                    return points;
                }
                thread::sleep(EVERY);
            }
        });
        let result = work();
        done.store(true, Ordering::Release);
        (result, noting.join().unwrap_or_default())
    })
}
