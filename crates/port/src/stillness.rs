//! How still a virtual machine's CPUs stand when all of them work, with and without rests of the
//! senders: hypervisors differ, so the machine is asked.

use std::thread;
use std::time::Duration;

use crate::clock::monotonic_ns;
use crate::engine::Stop;
use crate::pin;
use crate::rest::{Rest, Rests};

/// From here on a CPU stood still between two readings of the clock, as for
/// [`crate::stalls::StallWatch`].
const GAP_NS: u64 = 450_000;
/// Pause before each candidate: threads start and reach their CPUs.
const LEAD: Duration = Duration::from_millis(60);
/// Time of each candidate: more than five periods of Linux's CPU bandwidth (`cpu.max`), at whose ends
/// CPUs stand still. All candidates together stay below 2 s.
const TIME: Duration = Duration::from_millis(550);

/// Loss of a CPU, in ms per second, below which there is nothing to mend.
const LITTLE_MS_PER_S: f64 = 4.0;
/// Stalls per second of a CPU below which they came by chance: three in the time of a candidate. A
/// quota that is used up stops CPUs in most of its periods, ten per second.
const FEW_PER_S: f64 = 5.0;
/// Rests that leave more than this share of what is lost without them do not help.
const HELPS: f64 = 2.0 / 3.0;
/// Share of what the best rests gain that others must gain to be as good.
const NEAR: f64 = 0.75;

/// What one CPU, spinning, did not get.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuGaps {
    /// CPU number.
    pub cpu: u32,
    /// Times per second at which it stood still for more than 0.45 ms.
    pub gaps_per_s: f64,
    /// Time lost so, in ms per second.
    pub lost_ms_per_s: f64,
}

/// All CPUs of tester and path at work, the tester's with rests of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Stillness {
    /// The rests; `None` is without any.
    pub rest: Option<Rest>,
    /// One per CPU, those of the tester first.
    pub cpus: Vec<CpuGaps>,
}

impl Stillness {
    /// Loss of the CPU that lost most, in ms per second.
    pub fn worst_ms_per_s(&self) -> f64 {
        self.cpus
            .iter()
            .map(|cpu| cpu.lost_ms_per_s)
            .fold(0.0, f64::max)
    }

    /// Whether some CPU stands still often, and for long in all.
    fn is_disturbed(&self) -> bool {
        let much = |cpu: &CpuGaps| cpu.lost_ms_per_s >= LITTLE_MS_PER_S;
        self.cpus
            .iter()
            .any(|cpu| much(cpu) && cpu.gaps_per_s >= FEW_PER_S)
    }
}

/// The rests that suit a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct RestChoice {
    /// The rests chosen; `None` where none are needed, or none help.
    pub rest: Option<Rest>,
    /// What was measured, in order. Where little is lost without rests, nothing else was tried.
    pub tried: Vec<Stillness>,
}

/// Measures which rests the senders of a machine need whose CPUs `tester` and `path` are all it has:
/// 0.6 s without, and as long with each of [`Rest::SHORT`] and [`Rest::LONG`] if much is lost. Nothing
/// else runs meanwhile: other programs are not what rests are for. `None` when it was stopped, or
/// threads could not be kept on their CPUs.
pub fn choose_rest(tester: &[u32], path: &[u32], stop: &Stop) -> Option<RestChoice> {
    let mut tried = Vec::new();
    for rest in [None, Some(Rest::SHORT), Some(Rest::LONG)] {
        let stillness = measure(tester, path, rest, TIME, stop)?;
        let still = rest.is_none() && !stillness.is_disturbed();
        tried.push(stillness);
        if still {
            break;
        }
    }
    Some(RestChoice {
        rest: best(&tried),
        tried,
    })
}

/// The shortest rests that are about as good as the best; `None` where no rests are, or little is lost
/// without, or they do not help.
pub fn best(tried: &[Stillness]) -> Option<Rest> {
    let without = tried.iter().find(|of| of.rest.is_none())?;
    if !without.is_disturbed() {
        return None;
    }
    let without = without.worst_ms_per_s();
    let resting = || {
        let pair = |of: &Stillness| Some((of.rest?, of.worst_ms_per_s()));
        tried.iter().filter_map(pair)
    };
    let least = resting().map(|(_, lost)| lost).reduce(f64::min)?;
    if least > without * HELPS {
        return None;
    }
    let near = without - (without - least) * NEAR;
    let good = resting().filter(|(_, lost)| *lost <= near);
    good.map(|(rest, _)| rest).min_by_key(|rest| rest.length)
}

/// Keeps all CPUs busy for `time`.
fn measure(
    tester: &[u32],
    path: &[u32],
    rest: Option<Rest>,
    time: Duration,
    stop: &Stop,
) -> Option<Stillness> {
    let start_ns = monotonic_ns() + LEAD.as_nanos() as u64;
    let end_ns = start_ns + time.as_nanos() as u64;
    let jobs = tester.iter().map(|&cpu| (cpu, rest));
    let jobs = jobs.chain(path.iter().map(|&cpu| (cpu, None)));
    let cpus: Option<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .map(|(cpu, rest)| scope.spawn(move || spin(cpu, rest, start_ns..end_ns, stop)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().ok().flatten())
            .collect()
    });
    cpus.filter(|_| !stop.is_set())
        .map(|cpus| Stillness { rest, cpus })
}

/// Reads the clock all the time on one CPU.
fn spin(cpu: u32, rest: Option<Rest>, time: std::ops::Range<u64>, stop: &Stop) -> Option<CpuGaps> {
    if !pin::to_cpu(Some(cpu)) {
        return None;
    }
    pin::prefer();
    pin::wake_in_time();
    let seconds = (time.end - time.start) as f64 * 1e-9;
    thread::sleep(Duration::from_nanos(
        time.start.saturating_sub(monotonic_ns()),
    ));
    let mut rests = Rests::new(rest, time.start);
    let mut gaps = Gaps::from(time.start.max(monotonic_ns()));
    while gaps.last_ns < time.end && !stop.is_set() {
        let now = monotonic_ns();
        gaps.read(now);
        if rests.take(now).is_some() {
            // Nothing is due in a rest, and waking late from it only makes it longer.
            gaps.last_ns = monotonic_ns();
        }
    }
    Some(CpuGaps {
        cpu,
        gaps_per_s: gaps.count as f64 / seconds,
        lost_ms_per_s: gaps.lost_ns as f64 * 1e-6 / seconds,
    })
}

/// Gaps in the readings of a clock.
#[derive(Debug, Clone, Copy)]
struct Gaps {
    last_ns: u64,
    count: u64,
    lost_ns: u64,
}

impl Gaps {
    fn from(start_ns: u64) -> Self {
        Self {
            last_ns: start_ns,
            count: 0,
            lost_ns: 0,
        }
    }

    fn read(&mut self, now_ns: u64) {
        let gap = now_ns.saturating_sub(self.last_ns);
        if gap > GAP_NS {
            self.count += 1;
            self.lost_ns += gap;
        }
        self.last_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stillness(rest: Option<Rest>, lost: &[f64]) -> Stillness {
        let cpus = (0..).zip(lost).map(|(cpu, &lost_ms_per_s)| CpuGaps {
            cpu,
            gaps_per_s: lost_ms_per_s,
            lost_ms_per_s,
        });
        Stillness {
            rest,
            cpus: cpus.collect(),
        }
    }

    fn of(without: f64, short: f64, long: f64) -> Option<Rest> {
        best(&[
            stillness(None, &[without / 2.0, without]),
            stillness(Some(Rest::SHORT), &[short, short / 2.0]),
            stillness(Some(Rest::LONG), &[0.0, long]),
        ])
    }

    #[test]
    fn without_much_loss_there_are_no_rests() {
        assert_eq!(of(3.9, 0.0, 0.0), None);
        assert_eq!(best(&[stillness(None, &[3.0])]), None);
        assert_eq!(best(&[]), None);
        // Nothing to compare with.
        assert_eq!(best(&[stillness(Some(Rest::SHORT), &[0.0])]), None);
        assert_eq!(best(&[stillness(None, &[50.0])]), None);
    }

    #[test]
    fn a_stall_by_chance_asks_for_no_rests() {
        let mut once = stillness(None, &[40.0]);
        let rests = stillness(Some(Rest::SHORT), &[0.0]);
        assert_eq!(best(&[once.clone(), rests.clone()]), Some(Rest::SHORT));
        once.cpus[0].gaps_per_s = 4.0;
        assert_eq!(best(&[once, rests]), None);
    }

    #[test]
    fn rests_that_do_not_help_are_not_taken() {
        assert_eq!(of(30.0, 29.0, 21.0), None);
        assert_eq!(of(30.0, 60.0, 30.0), None);
    }

    #[test]
    fn the_shortest_that_is_about_as_good_is_taken() {
        assert_eq!(of(80.0, 3.0, 2.0), Some(Rest::SHORT));
        // What it gains is 3/4 of 60 ms/s.
        assert_eq!(of(80.0, 35.0, 20.0), Some(Rest::SHORT));
        assert_eq!(of(80.0, 35.1, 20.0), Some(Rest::LONG));
        assert_eq!(of(80.0, 79.0, 20.0), Some(Rest::LONG));
        assert_eq!(of(80.0, 20.0, 79.0), Some(Rest::SHORT));
    }

    #[test]
    fn a_gap_counts_from_0_45_ms_on_with_all_its_time() {
        let mut gaps = Gaps::from(1_000);
        for now in [1_100, 451_100, 901_101, 901_102, 3_901_102, 3_901_102] {
            gaps.read(now);
        }
        assert_eq!((gaps.count, gaps.lost_ns), (2, 450_001 + 3_000_000));
    }

    #[test]
    fn every_cpu_is_measured() {
        let time = Duration::from_millis(30);
        for rest in [None, Some(Rest::SHORT)] {
            let measured = measure(&[0], &[0], rest, time, &Stop::default()).unwrap();
            assert_eq!(measured.rest, rest);
            let cpus: Vec<u32> = measured.cpus.iter().map(|of| of.cpu).collect();
            assert_eq!(cpus, [0, 0]);
            assert!(measured.worst_ms_per_s() >= 0.0);
        }
    }

    #[test]
    fn what_cannot_be_measured_is_not_said() {
        let stop = Stop::default();
        assert_eq!(choose_rest(&[u32::MAX], &[0], &stop), None);
        stop.stop();
        assert_eq!(choose_rest(&[0], &[], &stop), None);
    }

    /// Not run with the others: prints what this machine's CPUs do.
    #[test]
    #[ignore = "measures the machine for 2 s"]
    fn measure_this_machine() {
        let cpus = thread::available_parallelism().unwrap().get() as u32;
        let path: Vec<u32> = (0..cpus - 1).collect();
        println!("{:#?}", choose_rest(&[cpus - 1], &path, &Stop::default()));
    }
}
