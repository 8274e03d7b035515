//! Who used the CPUs meanwhile, and how deep they slept.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nicety_model::facts::WindowFacts;

use crate::facts::{conntrack, cpu, sysctl};
use crate::roots::Roots;
use crate::stat::StatSample;
use crate::tasks::{TaskSample, any_threads};

/// Counters at one moment.
#[derive(Debug, Default)]
pub(super) struct Load {
    cpus: StatSample,
    vhost: BTreeMap<u32, (Instant, TaskSample)>,
    /// Times each idle state was entered, by CPU.
    idle: BTreeMap<u32, BTreeMap<String, u64>>,
    udp_rcvbuf_errors: Option<u64>,
    conntrack: BTreeMap<String, u64>,
}

impl Load {
    pub(super) fn read(roots: &Roots) -> Self {
        let cpus = StatSample::read(&roots.proc).unwrap_or_default();
        let threads = any_threads(&roots.proc, |name| name.starts_with("vhost-"));
        let vhost = threads.iter().filter_map(|thread| {
            let sample = TaskSample::read(&roots.proc, thread.tid).ok()?;
            Some((thread.tid, (Instant::now(), sample)))
        });
        let idle = cpus.cpus.keys().filter_map(|&number| {
            let states = cpu::idle(&roots.sys, number)?.states;
            let entered = states
                .into_iter()
                .filter_map(|state| Some((state.name, state.usage?)));
            Some((number, entered.collect()))
        });
        Self {
            vhost: vhost.collect(),
            idle: idle.collect(),
            udp_rcvbuf_errors: sysctl::udp_rcvbuf_errors(&roots.proc),
            conntrack: conntrack::counters(&roots.proc),
            cpus,
        }
    }

    pub(super) fn since(&self, before: &Self, window: &mut WindowFacts) {
        // Thousandths: ticks are no finer.
        let round = |share: f64| (share * 1000.0).round() / 1000.0;
        let shares = self.cpus.shares_since(&before.cpus);
        window.busy = shares
            .iter()
            .map(|core| (core.cpu, round(core.busy())))
            .collect();
        let softirq = shares.iter().filter(|core| core.softirq > 0.0);
        window.softirq = softirq
            .map(|core| (core.cpu, round(core.softirq)))
            .collect();
        window.conntrack = super::moved(&before.conntrack, &self.conntrack);
        for (tid, (at, now)) in &self.vhost {
            let Some((then_at, then)) = before.vhost.get(tid) else {
                continue;
            };
            let time = at.saturating_duration_since(*then_at);
            if let Some(used) = now.cpu_time_since(then)
                && time > Duration::ZERO
            {
                let share = used.as_secs_f64() / time.as_secs_f64();
                window.vhost_busy.insert(*tid, round(share.min(1.0)));
            }
        }
        for (cpu, now) in &self.idle {
            let Some(then) = before.idle.get(cpu) else {
                continue;
            };
            let entered = super::moved(then, now);
            if !entered.is_empty() {
                window.slept.insert(*cpu, entered);
            }
        }
        window.udp_rcvbuf_errors = self
            .udp_rcvbuf_errors
            .zip(before.udp_rcvbuf_errors)
            .and_then(|(now, then)| now.checked_sub(then));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_entries_are_those_of_the_time_between() {
        let load = |busy: u64, idle: u64, deep: u64, errors: u64| Load {
            cpus: StatSample::parse(&format!("cpu0 0 0 0 {idle} 0 0 {busy} 0 0 0\n")),
            idle: [(0, [("C6".to_owned(), deep), ("C1".to_owned(), 7)].into())].into(),
            udp_rcvbuf_errors: Some(errors),
            ..Load::default()
        };
        let mut window = WindowFacts::default();
        load(190, 110, 9, 5).since(&load(100, 100, 4, 2), &mut window);
        assert_eq!(window.busy, [(0, 0.9)].into());
        assert_eq!(window.softirq, window.busy);
        assert!((window.host_busy() - 0.9).abs() < 1e-9);
        assert_eq!(window.slept, [(0, [("C6".to_owned(), 5)].into())].into());
        assert_eq!(window.udp_rcvbuf_errors, Some(3));
        // Counters that went backwards tell nothing.
        let mut window = WindowFacts::default();
        load(190, 110, 3, 1).since(&load(100, 100, 4, 2), &mut window);
        assert!(window.slept.is_empty() && window.udp_rcvbuf_errors.is_none());
    }
}
