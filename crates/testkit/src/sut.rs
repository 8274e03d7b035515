//! Simulated paths for testing searches: a load and a duration go in, counts come out.
//!
//! The models are crude on purpose. What matters is that each has one property that leads a
//! search astray, and that the same seed gives the same trials.

mod busy;
mod traces;

use std::time::Duration;

use nicety_model::windows::Window;
use nicety_model::{
    Fps, FrameCounts, LossRatio, PacingReport, Purpose, SCHEMA, TrialRecord, Validity, Windows,
};

use busy::State;
pub use busy::{Busy, SLOT_S};
pub use traces::Gaps;
use traces::traces;

/// How a simulated path answers load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Path {
    /// Carries `capacity` frames per second through a ring of `ring` frames, but stands still
    /// `stalls_per_s` times a second (Poisson) for `stall_s` on average (exponential).
    Stalls {
        /// Frames per second.
        capacity: f64,
        /// Frames.
        ring: f64,
        /// Stalls per second.
        stalls_per_s: f64,
        /// Mean length of a stall in seconds.
        stall_s: f64,
    },
    /// Carries exactly `capacity`, without any buffer.
    Fixed {
        /// Frames per second.
        capacity: f64,
    },
    /// As `Fixed`, but the capacity of each trial varies normally with relative deviation `sd`.
    Noisy {
        /// Mean, in frames per second.
        capacity: f64,
        /// Standard deviation over mean.
        sd: f64,
    },
    /// Each trial meets one of two capacities.
    Bistable {
        /// Frames per second in the better state.
        high: f64,
        /// Frames per second in the worse state.
        low: f64,
        /// Share of trials in the worse state.
        low_share: f64,
    },
    /// The first trials meet `cold`, all others `warm`.
    SlowStart {
        /// Frames per second at first.
        cold: f64,
        /// Frames per second afterwards.
        warm: f64,
        /// Number of cold trials.
        trials: u64,
    },
    /// As `Fixed`, but loads from `from` to `to` lose `loss_ratio` although higher ones do not.
    Inversion {
        /// Frames per second.
        capacity: f64,
        /// Lowest load of the hole.
        from: f64,
        /// Highest load of the hole.
        to: f64,
        /// Loss in the hole.
        loss_ratio: f64,
    },
    /// Under overload forwards less than its capacity: `capacity * (capacity / load)^power`.
    Livelock {
        /// Frames per second.
        capacity: f64,
        /// How steeply the forwarding rate falls.
        power: f64,
    },
    /// On a machine that others use; time goes on from trial to trial.
    Busy(Busy),
    /// Loses the same share at every load.
    Lossy {
        /// The share.
        loss_ratio: f64,
    },
}

/// What a trial of a simulated path showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shot {
    /// Frames offered.
    pub sent: u64,
    /// Frames that arrived.
    pub received: u64,
    /// Lost over sent.
    pub loss_ratio: LossRatio,
    /// Frames received per second of sending time.
    pub forwarding: Fps,
}

/// Frames of one slot of the time of sending; parts of frames as well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slot {
    /// Frames offered.
    pub sent: f64,
    /// Of these, frames that never arrived.
    pub lost: f64,
    /// The path is known to have stood still in it.
    pub apart: bool,
}

/// A simulated path with its random numbers.
#[derive(Debug, Clone)]
pub struct Sut {
    path: Path,
    rng: fastrand::Rng,
    trials: u64,
    tester_limit: Option<f64>,
    overhead_s: f64,
    /// Whether stalls are noted: their slots are in no window.
    notes_stalls: bool,
    state: State,
}

impl Sut {
    /// A path; the same seed gives the same trials.
    pub fn new(path: Path, seed: u64) -> Self {
        Self {
            path,
            rng: fastrand::Rng::with_seed(seed),
            trials: 0,
            tester_limit: None,
            overhead_s: 0.5,
            notes_stalls: true,
            state: State::default(),
        }
    }

    /// The same path behind a tester that cannot offer more than `limit` frames per second.
    #[must_use]
    pub fn with_tester_limit(mut self, limit: f64) -> Self {
        self.tester_limit = Some(limit);
        self
    }

    /// The same path seen by a tester that notes no stalls.
    #[must_use]
    pub fn with_unseen_stalls(mut self) -> Self {
        self.notes_stalls = false;
        self
    }

    /// Wall time of a trial of `seconds`: half a second for preparation and drain is added.
    pub fn wall_s(&self, seconds: f64) -> f64 {
        seconds + self.overhead_s
    }

    /// Time passes without a trial; only [`Path::Busy`] is another one afterwards.
    pub fn wait(&mut self, seconds: f64) {
        self.state.wait(seconds);
    }

    /// Runs one trial and says what became of the frames of each slot.
    pub fn slots(&mut self, load: Fps, seconds: f64) -> Vec<Slot> {
        let count = (seconds / SLOT_S).round().max(1.0) as u64;
        match self.path {
            Path::Busy(path) => {
                self.trials += 1;
                let slots = self.state.send(&path, load.0, count, &mut self.rng);
                self.state.wait(self.overhead_s);
                slots
            }
            Path::Stalls {
                capacity,
                ring,
                stalls_per_s,
                stall_s,
            } => {
                self.trials += 1;
                let path = Busy {
                    stalls_per_s,
                    stall_s,
                    ..Busy::quiet(capacity, ring)
                };
                self.state.send(&path, load.0, count, &mut self.rng)
            }
            // Others know only how much is lost: every slot loses its share.
            _ => {
                let loss = self.trial(load, seconds).loss_ratio.0;
                let sent = load.0 * SLOT_S;
                vec![
                    Slot {
                        sent,
                        lost: sent * loss,
                        apart: false,
                    };
                    count as usize
                ]
            }
        }
    }

    /// Trials run so far.
    pub fn trials(&self) -> u64 {
        self.trials
    }

    /// Runs one trial.
    pub fn trial(&mut self, load: Fps, seconds: f64) -> Shot {
        self.trials += 1;
        let lost_share = match self.path {
            Path::Stalls { .. } => self.stalls(load.0, seconds) / (load.0 * seconds),
            Path::Fixed { capacity } => 1.0 - capacity / load.0,
            Path::Noisy { capacity, sd } => 1.0 - capacity * (1.0 + sd * self.normal()) / load.0,
            Path::Bistable {
                high,
                low,
                low_share,
            } => {
                1.0 - if self.rng.f64() < low_share {
                    low
                } else {
                    high
                } / load.0
            }
            Path::SlowStart { cold, warm, trials } => {
                1.0 - if self.trials <= trials { cold } else { warm } / load.0
            }
            Path::Inversion {
                capacity,
                from,
                to,
                loss_ratio,
            } => {
                let hole = if (from..=to).contains(&load.0) {
                    loss_ratio
                } else {
                    0.0
                };
                hole.max(1.0 - capacity / load.0)
            }
            Path::Livelock { capacity, power } => {
                if load.0 <= capacity {
                    0.0
                } else {
                    1.0 - (capacity / load.0).powf(power + 1.0)
                }
            }
            Path::Lossy { loss_ratio } => loss_ratio,
            Path::Busy(path) => {
                let count = (seconds / SLOT_S).round().max(1.0) as u64;
                let slots = self.state.send(&path, load.0, count, &mut self.rng);
                self.state.wait(self.overhead_s);
                let sum = |of: fn(&Slot) -> f64| slots.iter().map(of).sum::<f64>();
                sum(|slot| slot.lost) / sum(|slot| slot.sent)
            }
        };
        let sent = load.frames_in(seconds);
        let lost = ((sent as f64 * lost_share.clamp(0.0, 1.0)).round() as u64).min(sent);
        Shot {
            sent,
            received: sent - lost,
            loss_ratio: LossRatio::of(lost, sent),
            forwarding: Fps((sent - lost) as f64 / seconds),
        }
    }

    /// Runs one trial and writes it down as a tester would. Above the tester's limit the load
    /// is missed.
    pub fn record(&mut self, purpose: Purpose, load: Fps, seconds: f64) -> TrialRecord {
        let offered = Fps(self.tester_limit.map_or(load.0, |limit| load.0.min(limit)));
        let shot = self.trial(offered, seconds);
        let frames = FrameCounts {
            intended: load.frames_in(seconds),
            sent: shot.sent,
            received: shot.received,
            lost: shot.sent - shot.received,
            ..FrameCounts::default()
        };
        self.recorded((purpose, load, offered), seconds, frames, None)
    }

    fn recorded(
        &self,
        (purpose, load, offered): (Purpose, Fps, Fps),
        seconds: f64,
        frames: FrameCounts,
        windows: Option<Windows>,
    ) -> TrialRecord {
        TrialRecord {
            schema: SCHEMA,
            cell: "simulated/64/uni".to_owned(),
            repeat: 1,
            control: None,
            index: u32::try_from(self.trials).unwrap_or(u32::MAX),
            purpose,
            load_fps: load.0,
            duration_s: seconds,
            wall_s: self.wall_s(seconds),
            started_unix_s: 0.0,
            validity: if offered.0 < load.0 {
                Validity::LoadMissed {
                    why: format!("offered {offered} of {load}"),
                }
            } else if windows.as_ref().is_some_and(|windows| windows.disturbed) {
                Validity::Stalled {
                    why: "CPUs stood still all the time".to_owned(),
                }
            } else {
                Validity::Valid
            },
            frames,
            loss_ratio: frames.loss_ratio(),
            stalls: None,
            windows,
            cache_line_ns: None,
            hardware_latency: None,
            fate: None,
            forwarding_fps: frames.received as f64 / seconds,
            guests: Vec::new(),
            sizes: Vec::new(),
            streams: Vec::new(),
            pacing: PacingReport {
                offered_fps: offered.0,
                sending_s: seconds,
                ..PacingReport::default()
            },
            latency_us: None,
            cpu: None,
            loss_ledger: Vec::new(),
            step: None,
            outage: None,
            passed: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// As [`Self::record`], with loss by windows of `window`, rounded up to whole slots.
    pub fn record_by_windows(
        &mut self,
        (purpose, load): (Purpose, Fps),
        seconds: f64,
        window: Duration,
    ) -> TrialRecord {
        let offered = Fps(self.tester_limit.map_or(load.0, |limit| load.0.min(limit)));
        let slots = self.slots(offered, seconds);
        let length = (window.as_secs_f64() / SLOT_S - 1e-9).ceil().max(1.0) as usize;
        let whole = slots.get(1..slots.len() - 1).unwrap_or_default();
        let judged = |slot: &Slot| {
            let window = Window {
                sent: slot.sent.round() as u64,
                lost: slot.lost.round() as u64,
            };
            (window, slot.apart && self.notes_stalls)
        };
        let judged: Vec<_> = whole.iter().map(judged).collect();
        let windows = Windows::of_slots(&judged, length, SLOT_S);
        let sum = |of: fn(&Slot) -> f64| slots.iter().map(of).sum::<f64>().round() as u64;
        let (sent, lost) = (sum(|slot| slot.sent), sum(|slot| slot.lost));
        let frames = FrameCounts {
            intended: load.frames_in(seconds),
            sent,
            received: sent - lost,
            lost,
            ..FrameCounts::default()
        };
        self.recorded((purpose, load, offered), seconds, frames, Some(windows))
    }

    /// Frames lost by a fluid queue that stands still now and then. What is queued when
    /// sending ends still arrives.
    fn stalls(&mut self, load: f64, seconds: f64) -> f64 {
        let Path::Stalls {
            capacity,
            ring,
            stalls_per_s,
            stall_s,
        } = self.path
        else {
            return 0.0;
        };
        let (mut now, mut queued, mut lost) = (0.0, 0.0, 0.0);
        let mut fill = |queued: &mut f64, rate: f64, time: f64| {
            let level = *queued + rate * time;
            lost += (level - ring).max(0.0);
            *queued = level.clamp(0.0, ring);
        };
        while now < seconds {
            let running = self.exponential(1.0 / stalls_per_s).min(seconds - now);
            fill(&mut queued, load - capacity, running);
            now += running;
            let standing = self.exponential(stall_s).min(seconds - now);
            fill(&mut queued, load, standing);
            now += standing;
        }
        lost
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        exponential(&mut self.rng, mean)
    }

    fn normal(&mut self) -> f64 {
        normal(&mut self.rng)
    }
}

fn exponential(random: &mut fastrand::Rng, mean: f64) -> f64 {
    -mean * (1.0 - random.f64()).ln()
}

/// Box-Muller.
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// The four paths search methods are compared on: capacity 1 Mpps; clean, with rare stalls,
/// with one short stall a second, and with five a second before a small ring.
pub fn reference_paths() -> [(&'static str, Path); 4] {
    let stalls = |stalls_per_s: f64, stall_s: f64, ring: f64| Path::Stalls {
        capacity: 1e6,
        ring,
        stalls_per_s,
        stall_s,
    };
    [
        ("clean", stalls(1e-9, 1e-9, 1024.0)),
        ("rare", stalls(0.05, 1e-3, 1024.0)),
        ("lambda1", stalls(1.0, 0.5e-3, 1024.0)),
        ("lambda5", stalls(5.0, 0.2e-3, 256.0)),
    ]
}

/// Paths on machines that others use, on which estimators are compared: slow phases, a capacity that
/// drifts, stalls in a quarter of all windows of 50 ms, speeds that vary, and loss of every 11,000th
/// frame, which a goal of 0.01 % allows. Capacity 1 Mpps.
pub fn busy_paths() -> [(&'static str, Path); 5] {
    let stalled = Busy {
        stalls_per_s: 3.0,
        stall_s: 1e-3,
        jitter: 0.01,
        ..Busy::quiet(1e6, 256.0)
    };
    [
        (
            "slow",
            Path::Busy(Busy {
                slow_per_s: 0.5,
                slow_s: 0.3,
                slow_by: 0.15,
                ..stalled
            }),
        ),
        (
            "drift",
            Path::Busy(Busy {
                drift: 0.03,
                ..stalled
            }),
        ),
        (
            "stall25",
            Path::Busy(Busy {
                stalls_per_s: 6.0,
                stall_s: 3e-3,
                ..stalled
            }),
        ),
        (
            "jitter",
            Path::Busy(Busy {
                jitter: 0.02,
                ..stalled
            }),
        ),
        (
            "every11k",
            Path::Busy(Busy {
                every: 11_000,
                ..Busy::quiet(1e6, 256.0)
            }),
        ),
    ]
}

/// Paths of 1 Mpps whose CPU stood still as recorded, with a ring of 256 frames: one for each record, then on the idle
/// machine one of 4,096 and one of 64 frames, and with every 11,000th frame lost.
pub fn recorded_paths() -> [(&'static str, Path); 7] {
    let path = |gaps: Gaps, ring: f64, every: u64| {
        Path::Busy(Busy {
            gaps,
            every,
            jitter: 0.003,
            ..Busy::quiet(1e6, ring)
        })
    };
    let [idle, calm, fifo, nice] = traces();
    [
        ("idle", path(idle, 256.0, 0)),
        ("calm", path(calm, 256.0, 0)),
        ("fifo", path(fifo, 256.0, 0)),
        ("nice-20", path(nice, 256.0, 0)),
        ("idle4096", path(idle, 4096.0, 0)),
        ("idle64", path(idle, 64.0, 0)),
        ("idle11k", path(idle, 256.0, 11_000)),
    ]
}

/// Highest load of the comparisons: 64-byte frames on a 10 Gbit/s link.
pub const REFERENCE_MAX: Fps = Fps(14_880_952.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_path_carries_its_capacity_and_buffers_a_ring() {
        let mut sut = Sut::new(reference_paths()[0].1, 1);
        assert_eq!(sut.trial(Fps(999_000.0), 1.0).loss_ratio.0, 0.0);
        let over = sut.trial(Fps(2e6), 1.0);
        assert_eq!((over.sent, over.received), (2_000_000, 1_001_024));
    }

    #[test]
    fn the_same_seed_gives_the_same_trials() {
        let shots = |seed| {
            let mut sut = Sut::new(reference_paths()[3].1, seed);
            (0..5)
                .map(|_| sut.trial(Fps(9e5), 1.0).received)
                .collect::<Vec<_>>()
        };
        assert_eq!(shots(7), shots(7));
        assert_ne!(shots(7), shots(8));
    }

    #[test]
    fn stalls_longer_than_the_ring_lose_frames() {
        // A stall of exponential mean m overflows a ring of R frames with exp(-R / (load m)).
        let mut sut = Sut::new(reference_paths()[2].1, 3);
        let trials = 4_000;
        let lossy = (0..trials)
            .filter(|_| sut.trial(Fps(9e5), 1.0).loss_ratio.0 > 0.0)
            .count();
        let expected = 1.0 - (-(-1024.0f64 / (9e5 * 0.5e-3)).exp()).exp();
        let share = lossy as f64 / f64::from(trials);
        assert!((share - expected).abs() < 0.02, "{share} of {expected}");
    }

    #[test]
    fn a_tester_limit_is_a_missed_load_not_loss() {
        let mut sut = Sut::new(Path::Fixed { capacity: 1e6 }, 1).with_tester_limit(5e5);
        let record = sut.record(Purpose::Search, Fps(1e6), 1.0);
        assert!(!record.validity.is_valid());
        assert_eq!((record.frames.lost, record.pacing.offered_fps), (0, 5e5));
    }
}
