//! Whatever happens to hosts, to their leader or to etcd: one cap holds over all hosts, no host that can talk is
//! below its guarantee, all is as before soon after, and the log names what happened.
//!
//! Clusters of three hosts go on beside each other, each below a prefix of its own. A host is a process: the real
//! session with etcd and the real machine that decides, over a port that is a number in a file. Who watches reads
//! these numbers and knows nothing else. `NICETY_FAULTS` is how many accidents of each kind; without it there are a
//! few, with shorter leases, and nothing is said about how long anything took. `make faults-cluster` makes many, and
//! a table. The same with the real daemon and real packets is in `crates/nicety/tests/faults/cluster.rs`.
// A test with its own main function is not known as a test to the lints.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod accident;
mod host;
mod kind;
mod lines;
mod port;
mod proxy;
mod scene;
mod slot;
mod values;
mod watch;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use nicety_testkit::runner::{Skip, Test, run};

use host::MUTANTS;
use kind::{Kind, OF_A_HOST, OF_A_LOGIN, OF_ETCD, OF_MEMBERS};
use scene::{Plan, Row, Rows, Scene};

/// First word of a host's process.
pub const HOST: &str = "host-of-the-campaign";
/// Clusters beside each other in the full form; fewer where each connection costs a handshake and a login.
const SLOTS: usize = 34;
const LOGINS: usize = 12;
/// Share of the accidents that may be untidy in the full form: the machine has other work now and then.
const UNTIDY: f64 = 0.02;
/// Rules whose absence must be noticed: an acknowledgement, a lease, and a guard.
const MUST_BE_CAUGHT: [usize; 3] = [0, 3, 5];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(HOST) {
        return host::main(&words.next().unwrap());
    }
    run([Test::new("one_cap_holds_whatever_happens", |_| campaign())])
}

/// Accidents of each kind; none for the short form.
fn wanted() -> Option<usize> {
    std::env::var("NICETY_FAULTS").ok()?.parse().ok()
}

fn seed() -> u64 {
    let told = std::env::var("NICETY_FAULTS_SEED").ok();
    told.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap().as_secs()
    })
}

/// What goes on one etcd.
struct Part {
    plan: Plan,
    apart: Vec<Kind>,
    together: Vec<Kind>,
}

fn parts() -> Vec<Part> {
    let wanted = wanted();
    let short = wanted.is_none();
    let count = wanted.unwrap_or(2);
    let slots = count.div_ceil(3).clamp(2, SLOTS);
    let plan = Plan {
        members: 3,
        login: false,
        slots,
        ttl: Duration::from_secs(if short { 3 } else { 4 }),
        period: Duration::from_millis(500),
        seed: seed(),
        short,
        mutants: Vec::new(),
    };
    let events = count.div_ceil(slots);
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let mut shuffled = |kinds: &[Kind]| {
        let mut all = kinds.repeat(count);
        random.shuffle(&mut all);
        all
    };
    let login = Part {
        plan: Plan {
            members: 1,
            login: true,
            slots: slots.min(LOGINS),
            ttl: 3 * plan.ttl / 2,
            ..plan.clone()
        },
        apart: shuffled(&OF_A_LOGIN),
        together: vec![Kind::Expired; count.div_ceil(slots.min(LOGINS))],
    };
    let missing: Vec<usize> = if short {
        MUST_BE_CAUGHT.into()
    } else {
        (0..MUTANTS.len()).collect()
    };
    let mut hit = if short {
        Vec::new()
    } else {
        [Kind::LeaderKilled, Kind::HostCut, Kind::LeaderCut].repeat(missing.len())
    };
    // Each cluster takes one of these first: it is what all that must be noticed shows in.
    hit.extend(vec![Kind::DaemonStopped; 2 * missing.len()]);
    let mutants = Part {
        apart: hit,
        plan: Plan {
            members: 1,
            slots: missing.len(),
            mutants: missing,
            short: true,
            ..plan.clone()
        },
        together: Vec::new(),
    };
    let apart = shuffled(&OF_A_HOST);
    if !short {
        let etcd = [&OF_MEMBERS[..], &OF_ETCD].concat();
        let together = etcd.repeat(events);
        let hosts = Part {
            plan,
            apart,
            together,
        };
        return vec![hosts, login, mutants];
    }
    let single = Plan {
        members: 1,
        ..plan.clone()
    };
    let hosts = Part {
        plan: Plan {
            slots: OF_A_HOST.len(),
            ..single.clone()
        },
        apart,
        together: Vec::new(),
    };
    let members = Part {
        plan,
        apart: Vec::new(),
        together: OF_MEMBERS.into(),
    };
    let etcd = Part {
        plan: single,
        apart: Vec::new(),
        together: OF_ETCD.into(),
    };
    vec![hosts, members, etcd, login, mutants]
}

/// What a part came to.
#[derive(Default)]
struct Came {
    wrong: Vec<String>,
    /// Thousandths of the cap, and milliseconds above it.
    highest: u64,
    longest: u64,
    gap: u64,
    /// Rules that were missing, and whether that was noticed.
    caught: Vec<(usize, bool)>,
}

fn play(part: &Part, rows: &Rows) -> Result<Came, Skip> {
    let mut scene = Scene::new(&part.plan)?;
    let unused = Mutex::default();
    let is_mutant = !part.plan.mutants.is_empty();
    let rows = if is_mutant { &unused } else { rows };
    scene.apart(part.apart.clone(), rows);
    for kind in &part.together {
        scene.together(*kind, rows);
    }
    let mut came = Came {
        gap: scene.watch.gap(),
        ..Came::default()
    };
    for (at, slot) in scene.slots.iter().enumerate() {
        let wrong = slot.seen.wrong.lock().unwrap();
        if let Some(missing) = part.plan.mutants.get(at) {
            let caught = wrong
                .iter()
                .any(|wrong| wrong.contains("longer than a period"));
            came.caught.push((*missing, caught));
            continue;
        }
        came.wrong.extend(wrong.iter().cloned());
        came.highest = came.highest.max(slot.seen.highest.load(Ordering::Relaxed));
        came.longest = came.longest.max(slot.seen.longest.load(Ordering::Relaxed));
    }
    Ok(came)
}

fn campaign() -> Result<(), Skip> {
    let short = wanted().is_none();
    println!("seed {}", seed());
    let rows = Rows::default();
    let parts = parts();
    let came: Vec<Result<Came, Skip>> = if short {
        std::thread::scope(|scope| {
            let parts: Vec<_> = parts
                .iter()
                .map(|part| scope.spawn(|| play(part, &rows)))
                .collect();
            parts.into_iter().map(|part| part.join().unwrap()).collect()
        })
    } else {
        // The first has the machine for itself.
        let first = play(&parts[0], &rows);
        let others = std::thread::scope(|scope| {
            let others: Vec<_> = parts[1..]
                .iter()
                .map(|part| scope.spawn(|| play(part, &rows)))
                .collect();
            others
                .into_iter()
                .map(|part| part.join().unwrap())
                .collect::<Vec<_>>()
        });
        [first].into_iter().chain(others).collect()
    };
    let mut all = Came::default();
    for came in came {
        let came = came?;
        all.wrong.extend(came.wrong);
        all.caught.extend(came.caught);
        all.highest = all.highest.max(came.highest);
        all.longest = all.longest.max(came.longest);
        all.gap = all.gap.max(came.gap);
    }
    tell(&rows, &all, short);
    let rows = rows.into_inner().unwrap();
    let (mut accidents, mut untidy) = (0, Vec::new());
    for row in rows.into_values() {
        accidents += row.count;
        all.wrong.extend(row.wrong);
        untidy.extend(row.untidy);
    }
    for line in &untidy {
        println!("untidy: {line}");
    }
    assert!(all.wrong.is_empty(), "{:#?}", all.wrong);
    let most = (UNTIDY * accidents as f64) as usize;
    assert!(
        short || untidy.len() <= most,
        "{} of {accidents}: {untidy:#?}",
        untidy.len()
    );
    let missed = MUST_BE_CAUGHT
        .iter()
        .filter(|must| !all.caught.contains(&(**must, true)));
    let missed: Vec<_> = missed.map(|must| MUTANTS[*must]).collect();
    // Each has one accident in the short form, which may end before the missing rule matters.
    let bearable = if short { MUST_BE_CAUGHT.len() - 1 } else { 0 };
    assert!(
        missed.len() <= bearable,
        "nobody notices that rules are missing: {missed:?}"
    );
    Ok(())
}

fn tell(rows: &Rows, all: &Came, short: bool) {
    for (kind, row) in rows.lock().unwrap().iter() {
        println!(
            "FAULT | cluster of three | {} | {} | {} |",
            kind.words(),
            row.count,
            words(row, short)
        );
    }
    println!(
        "most that all hosts of a cluster might send: {:.1} % of the cap; longest above 101 %: {} ms; longest time without \
         a look: {} ms",
        all.highest as f64 / 10.0,
        all.longest,
        all.gap
    );
    for (missing, caught) in &all.caught {
        let caught = if *caught { "noticed" } else { "not noticed" };
        println!(
            "FAULT | a rule is missing | {:?} | 1 | {caught} |",
            MUTANTS[*missing]
        );
    }
}

fn words(row: &Row, short: bool) -> String {
    let mut back = row.back.clone();
    back.sort_by(f64::total_cmp);
    let at = |part: f64| {
        back.get(((back.len().max(1) - 1) as f64 * part) as usize)
            .copied()
            .unwrap_or(f64::NAN)
    };
    let mut words = if short {
        "cap held".to_owned()
    } else {
        format!(
            "cap held; as before after {:.1} periods, 95 % within {:.1}, all within {:.1}",
            at(0.5),
            at(0.95),
            at(1.0)
        )
    };
    if row.events > 0 {
        words += &format!("; {} accidents of an etcd", row.events);
    }
    if !row.untidy.is_empty() {
        words += &format!("; {} untidy", row.untidy.len());
    }
    if let Some(named) = &row.named {
        words += &format!("; named: {named}");
    }
    words
}
