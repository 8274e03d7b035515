//! The search by windows on simulated paths of machines that others use: with windows of the time in which the path
//! had its CPUs, and with windows of all the time.

use nicety_model::Fps;
use nicety_search::edge::{EdgeSearch, window};
use nicety_search::{Search, Seen, Settings};
use nicety_testkit::sut::{Path, Sut, busy_paths, recorded_paths, reference_paths};

use super::{LOSS, MIN};

/// Visits of a run, and runs.
const VISITS: usize = 3;
const RUNS: u64 = 40;
/// Load that overloads every path.
const OVERLOAD: Fps = Fps(2e6);
/// Time between two visits of a cell, in seconds.
const APART_S: f64 = 25.0;

/// What runs of an estimator on a path came to.
pub struct Figures {
    pub name: &'static str,
    pub path: &'static str,
    pub median: f64,
    /// Relative standard deviation of single visits, and of the runs' medians.
    pub visit_sd: f64,
    pub run_sd: f64,
    /// Share of the runs whose range covers the median of all.
    pub covered: f64,
    /// Traffic and wall time of a run in seconds.
    pub traffic_s: f64,
    pub wall_s: f64,
}

pub fn all() -> Vec<Figures> {
    let paths = || {
        let simulated = reference_paths().into_iter().chain(busy_paths());
        simulated.chain(recorded_paths())
    };
    [("edge", false), ("edge, all time", true)]
        .into_iter()
        .flat_map(|(name, unseen)| paths().map(move |path| figures(name, unseen, path)))
        .collect()
}

fn figures(name: &'static str, unseen: bool, (path, sut): (&'static str, Path)) -> Figures {
    let (mut visits, mut medians, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
    let (mut traffic_s, mut wall_s) = (0.0, 0.0);
    for seed in 0..RUNS {
        let mut sut = Sut::new(sut, seed);
        if unseen {
            sut = sut.with_unseen_stalls();
        }
        let mut throughputs: Vec<f64> = Vec::new();
        for _ in 0..VISITS {
            let mut clock = Clock {
                sut: &mut sut,
                traffic_s: 0.0,
                wall_s: 0.0,
            };
            let result = edge(&mut clock, middle(&throughputs));
            traffic_s += clock.traffic_s;
            wall_s += clock.wall_s;
            throughputs.push(result);
            sut.wait(APART_S);
        }
        throughputs.sort_by(f64::total_cmp);
        medians.push(throughputs[VISITS / 2]);
        ranges.push((throughputs[0], throughputs[VISITS - 1]));
        visits.extend(throughputs);
    }
    let median = middle(&medians).unwrap_or(0.0);
    let covering = ranges
        .iter()
        .filter(|(low, high)| (*low..=*high).contains(&median));
    Figures {
        name,
        path,
        median,
        visit_sd: super::relative_sd(&visits),
        run_sd: super::relative_sd(&medians),
        covered: covering.count() as f64 / RUNS as f64,
        traffic_s: traffic_s / RUNS as f64,
        wall_s: wall_s / RUNS as f64,
    }
}

fn middle(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

struct Clock<'a> {
    sut: &'a mut Sut,
    traffic_s: f64,
    wall_s: f64,
}

impl Clock<'_> {
    /// Windows within the goal and beyond it of a trial, and what it forwarded.
    fn trial(&mut self, load: Fps, seconds: f64) -> (u32, u32, Fps, f64) {
        let window = window::of(load.0, LOSS);
        let purpose = nicety_model::Purpose::Search;
        let record = self.sut.record_by_windows((purpose, load), seconds, window);
        self.traffic_s += seconds;
        self.wall_s += record.wall_s;
        let windows = record.windows.unwrap();
        let (good, bad) = windows.judged(LOSS);
        let forwarding = windows.forwarding(1).unwrap_or(load);
        (good, bad, forwarding, windows.clean())
    }
}

fn edge(clock: &mut Clock<'_>, known: Option<f64>) -> f64 {
    let settings = Settings::of(nicety_model::plan::Preset::Robust, LOSS);
    let mut search = EdgeSearch::new(LOSS, MIN, OVERLOAD, settings.timeout);
    search.expect_forwarding(clock.trial(OVERLOAD, 0.5).2);
    if let Some(known) = known {
        search.expect(Fps(known));
    }
    while let Some(request) = search.next_trial() {
        let (good, bad, forwarding, clean) =
            clock.trial(request.load, request.duration.as_secs_f64());
        search.observe(&Seen {
            load: request.load,
            carried: request.load,
            clean,
            duration: request.duration,
            wall: request.duration,
            loss_ratio: nicety_model::LossRatio(0.0),
            single: None,
            windows: Some((good, bad)),
            forwarding,
        });
    }
    search.outcome().throughput.map_or(0.0, |fps| fps.0)
}
