//! Tables and the file.

use serde_json::{Map, Value, json};

use crate::judge::Shown;
use crate::run::{DaemonCost, Run};
use crate::trace::Scene;
use crate::{HOSTS, PERIOD_S, REAL, TENANTS, TOTAL};

/// Who, and what each scene has shown.
pub type Judged = (&'static str, Vec<(Scene, Shown)>);

/// A figure with its aim.
struct Aimed {
    name: &'static str,
    says: &'static str,
    value: f64,
    aim: f64,
    /// At least, else at most.
    least: bool,
}

impl Aimed {
    fn met(&self) -> bool {
        match self.least {
            true => self.value >= self.aim,
            false => self.value <= self.aim,
        }
    }

    fn json(&self) -> Value {
        json!({"value": self.value, "aim": self.aim, "met": self.met()})
    }
}

/// Prints, and gives what is written down.
pub fn report(run: &Run, judged: &[Judged]) -> Value {
    println!(
        "{HOSTS} hosts, {REAL} of them with real packets; {} tenants of {:.0} Mbit/s each; \
         period {PERIOD_S} s; {}\n",
        TENANTS.len(),
        TOTAL / 1e6,
        run.etcd
    );
    let mut figures = Map::new();
    scenes(judged, &mut figures);
    let aims = aims(run, judged);
    println!("\n{:<66}{:>9}{:>9}", "", "seen", "aim");
    for of in &aims {
        let (sign, verdict) = (
            if of.least { '≥' } else { '≤' },
            if of.met() { "" } else { "  missed" },
        );
        println!(
            "{:<66}{:>9.3}{:>7} {}{verdict}",
            of.says, of.value, sign, of.aim
        );
        figures.insert(of.name.to_owned(), of.json());
    }
    machine(run, &mut figures);
    let ratios = ratios(judged);
    json!({"ratios": ratios, "figures": figures, "peers": {"etcd": run.etcd}})
}

fn scenes(judged: &[Judged], figures: &mut Map<String, Value>) {
    println!(
        "{:<22}{:<28}{:>8}{:>8}{:>8}{:>8}{:>8}{:>7}{:>8}",
        "", "", "most", "use", "full", "p50", "p95", "shifts", "Jain"
    );
    for scene in Scene::EACH {
        for (who, all) in judged {
            let Some((_, of)) = all.iter().find(|(of, _)| *of == scene) else {
                continue;
            };
            let first = *who == judged[0].0;
            println!(
                "{:<22}{who:<28}{:>8.4}{:>8.3}{:>8.3}{:>8.1}{:>8.1}{:>7}{:>8.3}",
                if first { scene.word() } else { "" },
                of.highest,
                of.used,
                of.full,
                of.rank(0.5),
                of.rank(0.95),
                of.follow.len(),
                of.jain
            );
            figures.insert(
                format!("{} {who}", scene.word()),
                json!({
                    "highest_second_ratio": of.highest,
                    "seconds_above_1_percent": of.above.0,
                    "seconds": of.above.1,
                    "use_ratio": of.used,
                    "full_use_ratio": finite(of.full),
                    "follow_periods": {"median": of.rank(0.5), "p95": of.rank(0.95), "shifts": of.follow.len()},
                    "jain": of.jain,
                }),
            );
        }
    }
    println!(
        "most: sent in any second over the total; use: sent over what demand allows; full: sent over the total from \
         3 periods after a shift on, where the demand is more;\np50, p95: periods until 95 % of what is possible is \
         sent; Jain: of what each host has over its max-min share"
    );
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn aims(run: &Run, judged: &[Judged]) -> Vec<Aimed> {
    let ours = &judged[0].1;
    let worst =
        |of: &dyn Fn(&Shown) -> f64| ours.iter().map(|(_, shown)| of(shown)).fold(0.0, f64::max);
    let least = |of: &dyn Fn(&Shown) -> f64| {
        ours.iter()
            .map(|(_, shown)| of(shown))
            .fold(f64::INFINITY, f64::min)
    };
    let follow = |scene: Scene, share: f64| {
        let of = ours.iter().find(|(of, _)| *of == scene);
        of.map_or(f64::NAN, |(_, shown)| shown.rank(share))
    };
    let most = |of: &dyn Fn(&DaemonCost) -> f64| run.daemons.iter().map(of).fold(0.0, f64::max);
    let each = run.periods * HOSTS as f64;
    let at_most = |name, says, value, aim| Aimed {
        name,
        says,
        value,
        aim,
        least: false,
    };
    vec![
        at_most(
            "highest_second_ratio",
            "all hosts in any second, over the total",
            worst(&|shown| shown.highest),
            1.01,
        ),
        Aimed {
            name: "full_use_ratio",
            says: "use of the total where there is demand, the worst scene",
            value: least(&|shown| shown.full),
            aim: 0.95,
            least: true,
        },
        at_most(
            "move_follow_periods_p50",
            "one host stops, another begins: periods, median",
            follow(Scene::Move, 0.5),
            3.0,
        ),
        at_most(
            "move_follow_periods_p95",
            "the same at p95",
            follow(Scene::Move, 0.95),
            3.0,
        ),
        at_most(
            "several_follow_periods_p50",
            "several hosts change at once: periods, median",
            follow(Scene::Several, 0.5),
            3.0,
        ),
        at_most(
            "several_follow_periods_p95",
            "the same at p95",
            follow(Scene::Several, 0.95),
            3.0,
        ),
        at_most(
            "daemon_core_ratio",
            "share of a core, the daemon that took most",
            most(&|of| of.core),
            0.01,
        ),
        at_most(
            "daemon_memory_mb",
            "its most memory (VmHWM), MB",
            most(&|of| of.memory.peak_mb),
            15.0,
        ),
        at_most(
            "writes_per_host_and_period",
            "transactions of all hosts per host and period",
            run.store.revision / each,
            1.0,
        ),
        at_most(
            "events_of_hosts_per_host_and_period",
            "watch events per host and period, without the leader's",
            events_of_hosts(run) / each,
            1.0,
        ),
    ]
}

/// Each host hears of its own grant, the leader of every key that is written.
fn events_of_hosts(run: &Run) -> f64 {
    (run.store.events - run.store.puts).max(0.0)
}

fn machine(run: &Run, figures: &mut Map<String, Value>) {
    let each = run.periods * HOSTS as f64;
    let count = run.daemons.len() as f64;
    let mean = |of: &dyn Fn(&DaemonCost) -> f64| run.daemons.iter().map(of).sum::<f64>() / count;
    let leader = run.daemons.iter().find(|of| of.leads);
    let load = &run.load;
    let heard = run.store.puts / each;
    for (name, value) in [
        ("daemon_core_ratio_mean", mean(&|of| of.core)),
        ("daemon_memory_mb_mean", mean(&|of| of.memory.peak_mb)),
        (
            "daemon_part_of_memory_mb_mean",
            mean(&|of| of.memory.part_mb),
        ),
        ("guard_core_ratio_mean", mean(&|of| of.guard_core)),
        ("guard_memory_mb_mean", mean(&|of| of.guard.peak_mb)),
        ("leader_core_ratio", leader.map_or(f64::NAN, |of| of.core)),
        ("keys_written_per_host_and_period", heard),
        ("machine_busy_ratio", load.busy),
        ("machine_steal_ratio", load.steal),
        ("machine_others_ratio", load.others),
        ("readings_late_s_p99", run.late_s),
        ("fallbacks", run.fallbacks as f64),
        ("periods", run.periods),
    ] {
        figures.insert(name.to_owned(), json!(finite(value)));
    }
    println!(
        "\ndaemons: {:.2} % of a core in the mean, {:.1} MB (PSS {:.1} MB, as their code is shared here); the leader \
         {:.2} %; guards {:.2} %, {:.1} MB\n\
         store: {:.2} keys written per host and period; the leader hears of each",
        100.0 * mean(&|of| of.core),
        mean(&|of| of.memory.peak_mb),
        mean(&|of| of.memory.part_mb),
        100.0 * leader.map_or(f64::NAN, |of| of.core),
        100.0 * mean(&|of| of.guard_core),
        mean(&|of| of.guard.peak_mb),
        heard,
    );
    println!(
        "machine: CPUs busy for {:.0} %, {:.1} % stolen, other programs {:.1} %; readings at most {:.0} ms late (p99)",
        100.0 * load.busy,
        100.0 * load.steal,
        100.0 * load.others,
        1000.0 * run.late_s
    );
    if run.fallbacks > 0 {
        println!("hosts lost their grants {} times", run.fallbacks);
    }
    let why = load.disturbed(run.late_s);
    if !why.is_empty() {
        println!("DISTURBED: {}", why.join("; "));
    }
    figures.insert("disturbed".to_owned(), json!(why));
}

fn ratios(judged: &[Judged]) -> Map<String, Value> {
    let mut ratios = Map::new();
    let (_, ours) = &judged[0];
    for (who, theirs) in &judged[1..] {
        for ((scene, own), (_, other)) in ours.iter().zip(theirs) {
            let ratio = own.used / other.used;
            ratios.insert(
                format!("{} use_nicety_to_{who}", scene.word()),
                json!({"median": ratio, "min": ratio, "max": ratio}),
            );
        }
    }
    ratios
}
