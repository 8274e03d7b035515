//! What differs between the machines and testers of two sides, the likeliest explanation of
//! different results first.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::compare::Difference;
use nicety_model::note::CompareNote;
use nicety_model::run::InterfaceFacts;
use nicety_model::{Fingerprint, LimitKey, Run};

/// Ratio of the tester's own limits from which they count as different.
const TESTER_DIFFERS: f64 = 0.05;
/// Shown where a side does not know.
const UNKNOWN: &str = "unknown";

type Fact = (&'static str, fn(&Run) -> Option<String>);
type Map = (&'static str, fn(&Fingerprint) -> BTreeMap<String, String>);

/// Facts that stand alone, first those that change results most.
const FACTS: &[Fact] = &[
    ("estimator", |run| Some(estimator(run).to_owned())),
    ("engine", engine),
    ("nicety", |run| text(&run.run.host.nicety)),
    ("kernel", |run| text(&run.run.host.kernel)),
    ("CPU model", |run| text(&run.run.host.cpu_model)),
    ("CPUs", |run| count(run.run.host.cpus)),
    ("CPUs nicety may use", |run| {
        list(&run.run.host.cpus_allowed)
    }),
    ("hypervisor", |run| {
        Some(
            run.run
                .host
                .hypervisor
                .clone()
                .unwrap_or_else(|| "none".to_owned()),
        )
    }),
    ("CPU frequency governor", |run| {
        let governors: BTreeSet<&str> =
            run.run.host.governor.values().map(String::as_str).collect();
        Some(if governors.is_empty() {
            "none".to_owned()
        } else {
            join(governors, ", ")
        })
    }),
    ("SMT", |run| run.run.host.smt.clone()),
    ("rights", |run| {
        Some(
            if run.run.host.privileged {
                "root"
            } else {
                "ordinary user"
            }
            .to_owned(),
        )
    }),
    ("isolated CPUs", |run| list(&run.run.host.isolated)),
    ("kernel command line", |run| text(&run.run.host.cmdline)),
    ("microcode", |run| run.run.host.microcode.clone()),
    ("sockets", |run| run.run.host.sockets.and_then(count)),
    ("clock source", |run| run.run.host.clocksource.clone()),
];

const MAPS: &[Map] = &[
    ("mitigation", |host| host.mitigations.clone()),
    ("sysctl", |host| host.sysctl.clone()),
    ("huge pages of KiB", |host| {
        let pages = host.hugepages.iter();
        pages
            .map(|(size, n)| (size.clone(), n.to_string()))
            .collect()
    }),
    ("CPUs of node", |host| {
        let nodes = host.numa.iter();
        nodes
            .map(|(node, cpus)| (node.clone(), list(cpus).unwrap_or_default()))
            .collect()
    }),
    ("interface", |host| {
        let interfaces = host.interfaces.iter();
        interfaces
            .map(|(name, facts)| (name.clone(), interface(facts)))
            .collect()
    }),
];

/// What differs least often matters.
const LAST: &[Fact] = &[
    ("operating system", |run| run.run.host.os.clone()),
    ("firmware", |run| run.run.host.bios.clone()),
    // Boots of one machine differ by some MiB.
    ("memory in GiB", |run| {
        let mib = run.run.host.memory_mib?;
        Some(((mib + 512) / 1024).to_string())
    }),
];

/// Everything that differs. A side of several runs has a set of values.
pub fn differences(old: &[&Run], new: &[&Run]) -> Vec<Difference> {
    let mut all = Vec::new();
    facts(FACTS, old, new, &mut all);
    tester(old, new, &mut all);
    for (what, map) in MAPS {
        maps(what, *map, old, new, &mut all);
    }
    facts(LAST, old, new, &mut all);
    all
}

/// How a run judged loads and searched.
fn estimator(run: &Run) -> &str {
    run.run.estimator.as_deref().unwrap_or("whole trials")
}

/// What to know where loads were not judged and searched in one way: the presets may have the same
/// name all the same.
pub fn estimators(old: &[&Run], new: &[&Run]) -> Option<CompareNote> {
    let side = |runs: &[&Run]| -> BTreeSet<String> {
        runs.iter().map(|run| estimator(run).to_owned()).collect()
    };
    let (old, new) = (side(old), side(new));
    let differ = old.union(&new).count() > 1;
    differ.then(|| CompareNote::EstimatorsDiffer {
        old: old.into_iter().collect(),
        new: new.into_iter().collect(),
    })
}

fn facts(facts: &[Fact], old: &[&Run], new: &[&Run], all: &mut Vec<Difference>) {
    for (what, fact) in facts {
        let side = |runs: &[&Run]| -> BTreeSet<String> {
            runs.iter()
                .map(|run| fact(run).unwrap_or_else(|| UNKNOWN.to_owned()))
                .collect()
        };
        push(what, side(old), side(new), all);
    }
}

fn maps(
    what: &str,
    map: fn(&Fingerprint) -> BTreeMap<String, String>,
    old: &[&Run],
    new: &[&Run],
    all: &mut Vec<Difference>,
) {
    let side = |runs: &[&Run]| -> Vec<BTreeMap<String, String>> {
        runs.iter().map(|run| map(&run.run.host)).collect()
    };
    let (old, new) = (side(old), side(new));
    let keys: BTreeSet<&String> = old.iter().chain(&new).flat_map(BTreeMap::keys).collect();
    for key in keys {
        let values = |side: &[BTreeMap<String, String>]| -> BTreeSet<String> {
            side.iter()
                .map(|map| map.get(key).map_or("none", String::as_str).to_owned())
                .collect()
        };
        push(&format!("{what} {key}"), values(&old), values(&new), all);
    }
}

fn push(what: &str, old: BTreeSet<String>, new: BTreeSet<String>, all: &mut Vec<Difference>) {
    if old != new {
        all.push(Difference {
            what: what.to_owned(),
            old: join(old.iter().map(String::as_str), " | "),
            new: join(new.iter().map(String::as_str), " | "),
        });
    }
}

/// A tester that is slower today measures fast paths differently.
fn tester(old: &[&Run], new: &[&Run], all: &mut Vec<Difference>) {
    let keys: BTreeSet<LimitKey> = old
        .iter()
        .flat_map(|run| run.tester_limit_fps.keys().copied())
        .collect();
    for key in keys {
        let mean = |runs: &[&Run]| {
            let limits: Vec<f64> = runs
                .iter()
                .filter_map(|run| run.tester_limit_fps.get(&key).copied())
                .filter(|limit| limit.is_finite() && *limit > 0.0)
                .collect();
            (!limits.is_empty()).then(|| limits.iter().sum::<f64>() / limits.len() as f64)
        };
        if let (Some(old), Some(new)) = (mean(old), mean(new))
            && (new / old).ln().abs() > TESTER_DIFFERS.ln_1p()
        {
            all.push(Difference {
                what: format!("tester alone, {key} bytes"),
                old: format!("{old:.0} frames/s"),
                new: format!("{new:.0} frames/s"),
            });
        }
    }
}

fn engine(run: &Run) -> Option<String> {
    let engines: BTreeSet<&str> = run.visits.iter().map(|cell| cell.engine.as_str()).collect();
    (!engines.is_empty()).then(|| join(engines, " | "))
}

/// An interface in a line; its address and place on the bus are no reason for other numbers.
fn interface(facts: &InterfaceFacts) -> String {
    let mut words: Vec<String> = [
        facts.driver.clone(),
        facts.driver_version.clone(),
        facts.firmware.as_ref().map(|v| format!("firmware {v}")),
        facts.numa_node.map(|v| format!("node {v}")),
        facts.speed_mbps.map(|v| format!("{v} Mbit/s")),
        facts.mtu.map(|v| format!("MTU {v}")),
        facts.queues.as_ref().map(|v| format!("queues {v}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !facts.offloads.is_empty() {
        words.push(facts.offloads.join(" "));
    }
    words.join(", ")
}

fn text(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn count(n: u32) -> Option<String> {
    (n > 0).then(|| n.to_string())
}

fn list(numbers: &[u32]) -> Option<String> {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    Some(if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(",")
    })
}

fn join<'a>(words: impl IntoIterator<Item = &'a str>, between: &str) -> String {
    words.into_iter().collect::<Vec<_>>().join(between)
}
