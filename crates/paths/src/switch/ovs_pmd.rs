//! What `ovs-appctl dpif-netdev/pmd-stats-show` prints (ovs-vswitchd(8)): how much of their time the
//! polling threads had frames.

use crate::counters::{Cycles, Polling};

/// Reads the text: a block for each thread, of which only those that poll are taken. A thread that
/// has not run yet prints no cycles.
pub(super) fn parse(text: &str) -> Vec<Polling> {
    let mut threads: Vec<Polling> = Vec::new();
    let mut inside = false;
    let mut idle = 0;
    for line in text.lines() {
        if !line.starts_with(' ') {
            // `pmd thread numa_id 0 core_id 1:`, `main thread:`.
            let core = line
                .strip_prefix("pmd thread")
                .and_then(|rest| rest.split_once("core_id "))
                .and_then(|(_, core)| core.trim_end_matches(':').parse::<u32>().ok());
            inside = core.is_some();
            idle = 0;
            threads.extend(core.map(|core| Polling {
                // As the thread itself is named.
                who: format!("ovs pmd-c{core:02}"),
                cycles: None,
            }));
        } else if inside && let Some(thread) = threads.last_mut() {
            let line = line.trim();
            if let Some(cycles) = cycles(line, "idle cycles:") {
                idle = cycles;
            } else if let Some(busy) = cycles(line, "processing cycles:") {
                thread.cycles = Some(Cycles { busy, idle });
            }
        }
    }
    threads
}

fn cycles(line: &str, name: &str) -> Option<u64> {
    let words = line.strip_prefix(name)?.split_ascii_whitespace();
    words.into_iter().next()?.parse().ok()
}

/// Frames that all threads together have read: each once, however often it was looked up.
pub(super) fn received(text: &str) -> Option<u64> {
    let read = text
        .lines()
        .filter_map(|line| cycles(line.trim(), "packets received:"));
    read.reduce(u64::saturating_add)
}

/// Queues of `port` in what `ovs-appctl dpif-netdev/pmd-rxq-show` prints: a line for each. None
/// when there is no such port.
pub(super) fn queues(text: &str, port: &str) -> Option<u64> {
    let count = queue_lines(text, port).count() as u64;
    (count > 0).then_some(count)
}

/// Whether the same text shows a queue of `port` that is polled: those of a guest are, once its driver is there.
pub(super) fn polled(text: &str, port: &str) -> bool {
    queue_lines(text, port).any(|line| line.contains("(enabled)"))
}

fn queue_lines<'a>(text: &'a str, port: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter(move |line| {
        let words = line.split_ascii_whitespace().take(3);
        words.eq(["port:", port, "queue-id:"])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "pmd thread numa_id 0 core_id 1:
  packets received: 1009
  packet recirculations: 0
  avg. datapath passes per packet: 1.00
  emc hits: 1002
  megaflow hits: 0
  miss with success upcall: 7
  avg. packets per output batch: 1.00
  idle cycles: 4000000 (80.00%)
  processing cycles: 1000000 (20.00%)
  avg cycles per packet: 4955.40 (5000000/1009)
pmd thread numa_id 0 core_id 12:
  packets received: 0
main thread:
  packets received: 3
  idle cycles: 1 (50.00%)
  processing cycles: 1 (50.00%)
";

    #[test]
    fn queues_of_a_port_are_counted() {
        let text = "pmd thread numa_id 0 core_id 1:
  isolated : false
  port: p0                queue-id:  0 (enabled)   pmd usage:  0 %
  port: p0                queue-id:  1 (enabled)   pmd usage:  0 %
  port: p1                queue-id:  0 (enabled)   pmd usage:  0 %
  port: t0                queue-id:  0 (disabled)  pmd usage:  0 %
  overhead:  0 %
";
        assert_eq!((queues(text, "p0"), queues(text, "p1")), (Some(2), Some(1)));
        assert_eq!((queues(text, "t0"), queues(text, "p")), (Some(1), None));
        let ports = ["p0", "p1", "t0", "p"];
        assert_eq!(
            ports.map(|port| polled(text, port)),
            [true, true, false, false]
        );
    }

    #[test]
    fn frames_of_all_threads_are_added() {
        assert_eq!(received(SHOWN), Some(1012));
        assert_eq!(received(""), None);
    }

    #[test]
    fn cycles_of_polling_threads_are_read() {
        let thread = |who: &str, cycles| Polling {
            who: who.to_owned(),
            cycles,
        };
        let cycles = Cycles {
            busy: 1_000_000,
            idle: 4_000_000,
        };
        assert_eq!(
            parse(SHOWN),
            [
                thread("ovs pmd-c01", Some(cycles)),
                thread("ovs pmd-c12", None)
            ]
        );
        assert_eq!(parse("ovs-appctl: cannot connect"), []);
    }
}
