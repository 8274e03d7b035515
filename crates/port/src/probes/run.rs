//! Sending probes beside a trial, one after the other: NICs such as the 82576 keep one stamp each way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nicety_account::{OffsetSample, ProbeTotals, Stamps};
use nicety_host::clock::monotonic;
use nicety_model::{Direction, HardwareLatency};
use nicety_packet::ptp::Probe;

use super::socket::{ProbeSocket, Stamped};
use super::{Armed, ProbeError};
use crate::engine::TrialOrder;

/// Share of the load, and the fewest and most per second.
const SHARE: f64 = 0.01;
const RATE: [f64; 2] = [10.0, 1000.0];
/// As many as there are numbers.
const MOST: f64 = 60_000.0;
/// Parts of the trial before and after the probes: every one is sent while the load is.
const MARGIN: f64 = 0.1;
/// Wait for a probe's stamps before the next one is sent.
const PATIENCE: Duration = Duration::from_millis(20);
/// Wait for those under way at the end.
const LAST: Duration = Duration::from_millis(100);
/// Comparisons of the clocks in the course of a trial.
const LOOKS: u32 = 8;

/// When probes are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Schedule {
    from: Duration,
    gap: Duration,
    probes: u32,
}

impl Schedule {
    fn of(order: &TrialOrder) -> Self {
        let span = order.duration.mul_f64(1.0 - 2.0 * MARGIN);
        let seconds = span.as_secs_f64().max(1e-3);
        let [fewest, most] = RATE;
        let rate = (order.load.0 * SHARE)
            .clamp(fewest, most)
            .min(MOST / seconds);
        Self {
            from: order.duration.mul_f64(MARGIN),
            gap: Duration::from_secs_f64(1.0 / rate),
            probes: (rate * seconds).floor().max(1.0) as u32,
        }
    }

    /// Slot of a probe, moved within its half so that probes do not keep step with frames: parts of
    /// the golden ratio cover the half evenly.
    fn slot(&self, number: u32) -> Duration {
        let moved = (f64::from(number) * 0.618_033_988_75).fract() / 2.0;
        self.from + self.gap.mul_f64(f64::from(number) + moved)
    }
}

/// The sockets and what came through them.
struct Flight<'a> {
    sockets: &'a [ProbeSocket; 2],
    trial: u8,
    /// By stream.
    stamps: [Stamps; 2],
}

impl Flight<'_> {
    /// Takes in what has come; true when `wanted` is stamped and has arrived.
    fn look(&mut self, wanted: Option<Probe>) -> bool {
        for side in 0..2 {
            while let Some((probe, stamp)) = self.sockets[side].left() {
                if let (Some(stamps), Some(ns)) = (self.of(&(probe, stamp), side), stamp) {
                    stamps.left(probe.number, ns);
                }
            }
            while let Some((probe, stamp)) = self.sockets[side].arrived() {
                if let Some(stamps) = self.of(&(probe, stamp), 1 - side) {
                    stamps.arrived(probe.number, stamp);
                }
            }
        }
        wanted.is_some_and(|probe| {
            let stamps = &self.stamps[usize::from(probe.stream)];
            let left = stamps.sent.get(&probe.number).is_some_and(Option::is_some);
            left && stamps.arrived.contains_key(&probe.number)
        })
    }

    /// Where a probe of the stream from `side` belongs; none if it is not of this trial.
    fn of(&mut self, (probe, _): &Stamped, side: usize) -> Option<&mut Stamps> {
        let ours = probe.trial == self.trial && usize::from(probe.stream) == side;
        ours.then(|| &mut self.stamps[side])
    }

    /// Takes in what comes until `wanted` is complete, at most so long.
    fn wait(&mut self, wanted: Option<Probe>, patience: Duration) {
        let end = monotonic() + patience;
        while !self.look(wanted) {
            let left = end.saturating_sub(monotonic());
            if left.is_zero() {
                return;
            }
            let [a, b] = self.sockets;
            ProbeSocket::wait([a, b], left);
        }
    }
}

impl Armed<'_> {
    /// Sends probes beside a trial that begins now, until all are sent or `done` is set, and says
    /// what their stamps say; `load_share` is left to the caller, who knows what else was sent. The
    /// numbers of probes that arrived at each port come with it: receivers count them as foreign.
    ///
    /// # Errors
    /// When a socket cannot be opened, a clock cannot be read or was stepped.
    pub fn run(
        &self,
        order: &TrialOrder,
        done: &AtomicBool,
    ) -> Result<(HardwareLatency, [u64; 2]), ProbeError> {
        let prober = self.prober;
        let begin = monotonic();
        let [a, b] = &prober.ports;
        let sockets = [ProbeSocket::open(&a.port)?, ProbeSocket::open(&b.port)?];
        let schedule = Schedule::of(order);
        let frame = |probe: &Probe| match probe.stream {
            0 => probe.frame(a.port.mac, b.port.mac),
            _ => probe.frame(b.port.mac, a.port.mac),
        };
        let mut flight = Flight {
            sockets: &sockets,
            trial: order.trial,
            stamps: Default::default(),
        };
        let mut samples: Vec<OffsetSample> = Vec::new();
        samples.extend(prober.clocks.sample()?);
        let between = (schedule.probes / LOOKS).max(1);
        for number in 0..schedule.probes {
            let due = begin + schedule.slot(number);
            while monotonic() < due && !done.load(Ordering::Relaxed) {
                let left = due.saturating_sub(monotonic()).min(PATIENCE);
                std::thread::sleep(left);
            }
            if done.load(Ordering::Relaxed) {
                break;
            }
            let both = prober.direction == Direction::Bi;
            let stream = if both { (number % 2) as u8 } else { 0 };
            let probe = Probe {
                stream,
                trial: order.trial,
                number: number as u16,
            };
            if sockets[usize::from(stream)].send(&frame(&probe)) {
                flight.stamps[usize::from(stream)].sent(probe.number);
                flight.wait(Some(probe), PATIENCE);
            }
            if number % between == between - 1 {
                samples.extend(prober.clocks.sample()?);
            }
        }
        flight.wait(None, LAST);
        samples.extend(prober.clocks.sample()?);
        let offset = prober.clocks.offset(&samples)?;
        let [from_a, from_b] = flight.stamps;
        let mut totals = ProbeTotals::new()?;
        totals.add(&from_a, |at| offset.at(at));
        totals.add(&from_b, |at| -offset.at_b(at));
        let arrived = [&from_b, &from_a].map(|stamps| stamps.arrived.len() as u64);
        let hardware = HardwareLatency {
            latency_us: totals.latency(),
            drivers: prober
                .ports
                .iter()
                .map(|port| port.driver.clone())
                .collect(),
            clocks: prober.clocks.names(),
            offset_error_ns: offset.error_ns(),
            drift_ppb: offset.drift_ppb(),
            probes: totals.counts(),
            load_share: 0.0,
        };
        Ok((hardware, arrived))
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::Fps;

    use super::*;

    fn order(load: f64, seconds: u64) -> TrialOrder {
        TrialOrder {
            load: Fps(load),
            duration: Duration::from_secs(seconds),
            then: None,
            drain_max: Duration::ZERO,
            drain_quiet: Duration::ZERO,
            trial: 0,
            rest: None,
            catch_up: false,
            numbers: false,
        }
    }

    #[test]
    fn probes_are_a_small_share_within_the_trial() {
        for (load, seconds, probes) in [
            (1e7, 1, 800),
            (1e4, 1, 80),
            (10.0, 1, 8),
            (1e7, 600, 60_000),
        ] {
            let schedule = Schedule::of(&order(load, seconds));
            assert!(schedule.probes.abs_diff(probes) <= 1, "{schedule:?}");
            let slots: Vec<_> = (0..schedule.probes).map(|n| schedule.slot(n)).collect();
            assert!(slots.is_sorted());
            assert!(slots[0] >= Duration::from_secs(seconds).mul_f64(MARGIN));
            let end = Duration::from_secs(seconds).mul_f64(1.0 - MARGIN);
            assert!(slots[slots.len() - 1] <= end + schedule.gap, "{schedule:?}");
        }
    }
}
