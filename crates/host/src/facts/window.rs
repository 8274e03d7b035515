//! Counters read twice, with time in between.

mod load;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nicety_model::Note;
use nicety_model::facts::{SoftnetFacts, WindowFacts};
use nicety_model::note::FactsNote;
use nicety_netdev::netns::NetNs;

use super::interface::device_of;
use super::irq::Interrupts;
use super::softnet::net_rx;
use super::{Source, links};
use crate::roots::Roots;
use crate::softnet::SoftnetSample;
use load::Load;

const RECORDED: &str = "nicety/window.json";

/// Counters at one moment.
#[derive(Debug, Default)]
pub(super) struct Sample {
    softnet: SoftnetSample,
    net_rx: BTreeMap<u32, u64>,
    links: Vec<LinkSample>,
    interrupts: BTreeMap<u32, BTreeMap<u32, u64>>,
    load: Load,
}

/// Counters of one interface; its number tells it from a later one of the same name.
#[derive(Debug, Default)]
struct LinkSample {
    name: String,
    index: u32,
    kernel: BTreeMap<String, u64>,
    driver_drops: BTreeMap<String, u64>,
    queue_frames: BTreeMap<u32, u64>,
}

impl Sample {
    fn read(roots: &Roots, notes: &mut Vec<Note>) -> Self {
        let links = NetNs::current().and_then(|ns| links::read(&ns));
        let links = links.unwrap_or_else(|error| {
            let error = error.to_string();
            notes.push(FactsNote::NoWindowCounters { error }.into());
            Vec::new()
        });
        let proc = &roots.proc;
        let table = Interrupts::read(proc, &links);
        let own = links
            .iter()
            .flat_map(|link| table.of(link, &device_of(&roots.sys, link)))
            .filter_map(|irq| Some((irq, table.counts(irq)?.clone())));
        Self {
            softnet: SoftnetSample::read(proc).unwrap_or_default(),
            net_rx: net_rx(&proc.text("softirqs").unwrap_or_default()),
            interrupts: own.collect(),
            load: Load::read(roots),
            links: links
                .into_iter()
                .map(|link| LinkSample {
                    name: link.name,
                    index: link.index,
                    kernel: link.counters,
                    driver_drops: link.driver_drops,
                    queue_frames: link.queue_frames,
                })
                .collect(),
        }
    }

    /// What moved since `before`.
    pub(super) fn since(&self, before: &Self, seconds: f64) -> WindowFacts {
        let mut window = WindowFacts {
            seconds,
            ..WindowFacts::default()
        };
        self.load.since(&before.load, &mut window);
        for (cpu, moved) in self.softnet.since(&before.softnet) {
            let ran = |sample: &Self| sample.net_rx.get(&cpu).copied();
            window.softnet.push(SoftnetFacts {
                cpu,
                processed: moved.processed.into(),
                dropped: moved.dropped.into(),
                time_squeeze: moved.time_squeeze.into(),
                received_rps: moved.received_rps.into(),
                net_rx: ran(self).and_then(|now| now.checked_sub(ran(before)?)),
            });
        }
        for now in &self.links {
            let then = before.links.iter().find(|then| then.index == now.index);
            let Some(then) = then.filter(|then| then.name == now.name) else {
                continue;
            };
            let kernel = moved(&then.kernel, &now.kernel);
            if !kernel.is_empty() {
                window.counters.insert(now.name.clone(), kernel);
            }
            let drops = moved(&then.driver_drops, &now.driver_drops);
            if !drops.is_empty() {
                window.driver_drops.insert(now.name.clone(), drops);
            }
            let queues = moved(&then.queue_frames, &now.queue_frames);
            if !queues.is_empty() {
                window.queue_frames.insert(now.name.clone(), queues);
            }
        }
        for (irq, counts) in &self.interrupts {
            // An interrupt that came meanwhile may have an old one's number.
            let Some(then) = before.interrupts.get(irq) else {
                continue;
            };
            for (cpu, count) in moved(then, counts) {
                *window.interrupts.entry(cpu).or_default() += count;
            }
        }
        window
    }
}

/// Counters that grew. One that is missing before was 0: those are not kept.
fn moved<K: Ord + Clone>(before: &BTreeMap<K, u64>, now: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    let grew = now.iter().filter_map(|(name, &now)| {
        let then = before.get(name).copied().unwrap_or(0);
        let more = now.checked_sub(then).filter(|more| *more > 0)?;
        Some((name.clone(), more))
    });
    grew.collect()
}

impl Source {
    /// Looks on for `time`: the running host's counters before and after. `None` for a recorded
    /// host, which has what was recorded.
    pub fn watch(&self, time: Duration, notes: &mut Vec<Note>) -> Option<WindowFacts> {
        if !self.is_live() {
            return None;
        }
        let before = Sample::read(&self.roots, notes);
        let begin = Instant::now();
        std::thread::sleep(time);
        let after = Sample::read(&self.roots, notes);
        let seconds = (begin.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        let window = after.since(&before, seconds);
        self.keep(RECORDED, || {
            serde_json::to_string_pretty(&window).unwrap_or_default()
        });
        Some(window)
    }

    /// The window of a recorded host, if somebody looked on.
    pub(super) fn recorded_window(&self, notes: &mut Vec<Note>) -> Option<WindowFacts> {
        if self.is_live() {
            return None;
        }
        let text = self.top.text(RECORDED)?;
        match serde_json::from_str::<WindowFacts>(&text) {
            Ok(window) if window.seconds > 0.0 => Some(window),
            Ok(_) => {
                let file = RECORDED.to_owned();
                notes.push(FactsNote::WindowWithoutTime { file }.into());
                None
            }
            Err(error) => {
                let (file, error) = (RECORDED.to_owned(), error.to_string());
                notes.push(FactsNote::WindowUnreadable { file, error }.into());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(softnet: &str, index: u32, drops: u64, interrupts: u64) -> Sample {
        Sample {
            softnet: SoftnetSample::parse(softnet),
            net_rx: [(0, interrupts)].into(),
            links: vec![LinkSample {
                name: "eth0".to_owned(),
                index,
                kernel: [("rx_missed_errors".to_owned(), drops)].into(),
                driver_drops: BTreeMap::new(),
                queue_frames: [(1, drops)].into(),
            }],
            interrupts: [(30, [(0, interrupts)].into())].into(),
            load: Load::default(),
        }
    }

    #[test]
    fn what_moved_is_told_and_what_went_backwards_is_not() {
        let missed = |window: &WindowFacts| window.counter("eth0", "rx_missed_errors");
        let before = sample("fffffff0 00000001 00000000", 2, 5, 100);
        // The kernel's counters per CPU are 32 bits wide.
        let window = sample("00000010 00000003 00000001", 2, 7, 150).since(&before, 5.0);
        let cpu = &window.softnet[0];
        assert_eq!((cpu.processed, cpu.dropped, cpu.time_squeeze), (32, 2, 1));
        assert_eq!(cpu.net_rx, Some(50));
        assert_eq!(missed(&window), 2);
        assert_eq!(window.queue_frames["eth0"], [(1, 2)].into());
        assert_eq!(window.interrupts, [(0, 50)].into());
        let again = sample("00000010 00000003 00000001", 2, 0, 150).since(&before, 5.0);
        assert_eq!(missed(&again), 0, "the port was reset");
        let other = sample("00000010 00000003 00000001", 3, 9, 150).since(&before, 5.0);
        assert_eq!(missed(&other), 0, "another interface");
    }
}
