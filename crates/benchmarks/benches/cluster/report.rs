//! Figures of a run and of those it is compared with.

use nicety_benchmarks::figures::Figures;

use crate::HOSTS;
use crate::judge::judge;
use crate::run::{DaemonCost, Run};
use crate::series::Series;
use crate::trace::{Scene, Trace};

/// How the product is named.
pub const NICETY: &str = "nicety";
/// Figures of which one is named below.
const MOST: &str = "nicety, most in any second over the total";
const UNUSED: &str = "nicety, unused where there is demand";
pub const AIMS: [(&str, f64); 10] = [
    (MOST, 1.01),
    (UNUSED, 0.05),
    ("demand moves, nicety, periods to follow p50", 3.0),
    ("demand moves, nicety, periods to follow p95", 3.0),
    ("several at once, nicety, periods to follow p50", 3.0),
    ("several at once, nicety, periods to follow p95", 3.0),
    ("daemons, share of a core, most", 0.01),
    ("daemons, MB, most", 15.0),
    ("store, transactions per host and period", 1.0),
    ("store, events of hosts per host and period", 1.0),
];

/// A scene as somebody has played it.
fn title(scene: Scene, who: &str) -> String {
    format!("{}, {who},", scene.word())
}

/// What each scene has shown. *Most* is sent by all hosts in any second over the total, *use* what they sent over what
/// demand allows, *full* over the total from 3 periods after a shift on, where the demand is more. A shift is followed
/// when 95 % of what is possible is sent. Jain's index is that of what each host has over its max-min share.
pub fn scenes(who: &str, trace: &Trace, series: &Series, figures: &mut Figures) {
    let (mut most, mut unused) = (0.0_f64, 0.0_f64);
    for scene in Scene::EACH {
        let shown = judge(trace, series, scene);
        let (above, seconds) = shown.above;
        most = most.max(shown.highest);
        unused = unused.max(1.0 - shown.full);
        let values = [
            ("most", shown.highest),
            (
                "part of seconds above by 1 %",
                above as f64 / seconds as f64,
            ),
            ("use", shown.used),
            ("full", shown.full),
            ("periods to follow p50", shown.rank(0.5)),
            ("periods to follow p95", shown.rank(0.95)),
            ("shifts", shown.follow.len() as f64),
            ("Jain's index", shown.jain),
        ];
        let values = values.into_iter().filter(|(_, value)| value.is_finite());
        figures.put_all(&title(scene, who), values);
    }
    if who == NICETY {
        figures.put(MOST, most);
        figures.put(UNUSED, unused);
    }
}

/// Asks for what the product used over what another did.
pub fn ratios(who: &str, figures: &mut Figures) {
    for scene in Scene::EACH {
        let used = |who: &str| format!("{} use", title(scene, who));
        figures.ratio(None, &used(NICETY), &used(who));
    }
}

/// What daemons, etcd and the machine had to do.
pub fn cost(run: &Run, figures: &mut Figures) {
    let daemons = [
        ("share of a core", of_daemons(run, |of| of.core)),
        ("MB", of_daemons(run, |of| of.memory.peak_mb)),
        (
            "share of a core of guards",
            of_daemons(run, |of| of.guard_core),
        ),
        ("MB of guards", of_daemons(run, |of| of.guard.peak_mb)),
    ];
    for (what, (mean, most)) in daemons {
        let values = [("mean", mean), ("most", most)];
        figures.put_all(&format!("daemons, {what},"), values);
    }
    if let Some(leader) = run.daemons.iter().find(|of| of.leads) {
        figures.put("daemons, share of a core, leader", leader.core);
    }
    let each = run.periods * HOSTS as f64;
    // Each host hears of its own grant, the leader of every key that is written.
    let events = (run.store.events - run.store.puts).max(0.0);
    figures.put_all(
        "store,",
        [
            (
                "transactions per host and period",
                run.store.revision / each,
            ),
            ("events of hosts per host and period", events / each),
            ("keys written per host and period", run.store.puts / each),
        ],
    );
    let load = &run.load;
    figures.put_all(
        "machine,",
        [
            ("part of CPUs busy", load.busy / load.cpus),
            ("part of CPUs stolen", load.steal / load.cpus),
            ("s that readings were late p99", run.late_s),
            ("grants lost", run.fallbacks as f64),
            ("periods", run.periods),
        ],
    );
}

/// Mean and most of a figure of all daemons.
fn of_daemons(run: &Run, figure: impl Fn(&DaemonCost) -> f64) -> (f64, f64) {
    let all = || run.daemons.iter().map(&figure);
    let mean = all().sum::<f64>() / run.daemons.len() as f64;
    (mean, all().fold(0.0, f64::max))
}
