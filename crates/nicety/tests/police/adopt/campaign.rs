//! Random rewrites of another program, kills and restarts: a port is limited all the time, and has in the end what the
//! other program has set last.
//!
//! `NICETY_FAULTS` is how many rewrites, `NICETY_FAULTS_SEED` where the moments come from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant, SystemTime};

use nicety_model::BitRate;
use rustix::process::Signal;

use super::kernel::{Kernel, State};
use crate::harness::{Running, as_root};
use crate::uplink::{POLICY, Sender, Uplink};

/// Between two looks at the port.
const LOOK: Duration = Duration::from_millis(2);
/// For how many periods' ends in a row a port may be found without a limit: of the one in which another program took it
/// away, of the next, whose limit is then on its way to the kernel, and once more where it was taken away again meanwhile.
pub const MOST_OPEN: usize = 4;
/// What each new bucket lets through at once, theirs and nicety's, and what waits in it, in bytes.
pub const AT_ONCE: u64 = 160_000;
/// What the link carries, which is all that limits a port whose limit was taken away.
const LINK: u64 = 40;

#[test]
fn a_port_is_always_limited_below_theirs() {
    short("cap");
}

#[test]
fn a_port_is_always_limited_in_the_place_of_theirs() {
    short("replace");
}

#[test]
#[ignore = "minutes: make faults-adopt"]
fn a_port_is_limited_below_theirs_a_thousand_times() {
    campaign("cap", 1000);
}

#[test]
#[ignore = "minutes: make faults-adopt"]
fn a_port_is_limited_in_the_place_of_theirs_a_thousand_times() {
    campaign("replace", 1000);
}

fn short(adopt: &str) {
    campaign(adopt, 16);
}

pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Where the moments come from.
pub fn seed() -> u64 {
    number("NICETY_FAULTS_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap().as_secs()
    })
}

/// What the other program has set last.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Set {
    /// None where it has taken its limit away.
    mbit: Option<u64>,
    priority: u32,
}

/// A thread that asks the kernel again and again.
pub struct Observer {
    thread: JoinHandle<(usize, usize)>,
    ends: Arc<AtomicBool>,
}

impl Observer {
    /// `is_limited` says whether the port is. How long it is not is told by the daemon's own clock: its periods in
    /// `state`, which stand still while none runs.
    pub fn start(state: PathBuf, is_limited: impl Fn() -> bool + Send + 'static) -> Self {
        let ends = Arc::<AtomicBool>::default();
        let end = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let (mut longest, mut row, mut last, mut looks) = (0, None, None, 0);
            while !end.load(Ordering::SeqCst) {
                let period = periods(&state);
                row = match (is_limited(), row) {
                    (true, _) => None,
                    (false, Some(row)) => Some(row + usize::from(period != last)),
                    (false, None) => Some(0),
                };
                last = period;
                longest = longest.max(row.unwrap_or(0));
                looks += 1;
                sleep(LOOK);
            }
            (longest, looks)
        });
        Self { thread, ends }
    }

    /// For how many ends of a period in a row the port was not limited, at most, and how often it was looked at.
    pub fn end(self) -> (usize, usize) {
        self.ends.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}

/// Periods that the daemon has ended, if it says so.
fn periods(state: &Path) -> Option<u64> {
    let state: serde_json::Value = serde_json::from_slice(&fs::read(state).ok()?).ok()?;
    state["periods"].as_u64()
}

struct World {
    uplink: Uplink,
    kernel: Kernel,
    random: fastrand::Rng,
    set: Set,
    daemon: Option<Running>,
    /// What could have come through at most, in bits, until then.
    most: (f64, Instant),
    tries: usize,
}

impl World {
    /// What of a has passed may have been so much in this moment.
    fn account(&mut self, before: Set) {
        let rate = |set: Set| set.mbit.unwrap_or(LINK);
        let mbit = rate(before).max(rate(self.set));
        let now = Instant::now();
        self.most.0 += (now - self.most.1).as_secs_f64() * mbit as f64 * 1e6;
        self.most.0 += (AT_ONCE * 8) as f64;
        self.most.1 = now;
    }

    /// A program that runs commands one after the other, and begins again when one fails.
    fn rewrite(&mut self) {
        let before = self.set;
        let mbit = self.random.u64(2..=9);
        let script = match (self.random.u8(0..8), before.mbit) {
            (0, Some(_)) => {
                self.set.mbit = None;
                CLEAR.to_owned()
            }
            (1 | 2, Some(_)) => {
                self.set.mbit = Some(mbit);
                format!(
                    "tc qdisc change dev theirs root handle 1: tbf rate {mbit}mbit burst 16kb limit 64kb"
                )
            }
            (3 | 4, Some(_)) => {
                let priority = before.priority;
                format!(
                    "tc filter del dev a1 parent ffff: prio {priority} 2>/dev/null; {}",
                    filter(priority)
                )
            }
            _ => {
                self.set = Set {
                    mbit: Some(mbit),
                    ..before
                };
                anew(self.set)
            }
        };
        self.account(before);
        let script = again(&script);
        let tries: usize = self.uplink.lab.sh(&script).trim().parse().unwrap();
        self.tries += tries - 1;
        // Between two of its commands nothing limits the port, however long a busy machine takes from one to the other.
        self.account(Set {
            mbit: None,
            ..before
        });
    }

    fn start(&mut self) {
        if self.daemon.is_none() {
            self.daemon = Some(self.uplink.daemon(&[]));
        }
        self.account(self.set);
    }

    fn kill(&mut self) {
        kill(self.daemon.take(), &mut self.random);
    }

    /// Nothing of nicety is left, and theirs is as they have set it last.
    #[track_caller]
    fn assert_given_back(&self, wanted: &State, what: &str) {
        let state = self.kernel.state();
        match self.set.mbit {
            Some(mbit) => {
                assert_eq!(
                    state.rate,
                    Some(BitRate::from_mbit(mbit)),
                    "{what}: {:?}",
                    self.set
                );
                assert_eq!(state.raw, wanted.raw, "{what}: {:?}", self.set);
            }
            None => assert_eq!(state.raw, Vec::<Vec<u8>>::new(), "{what}"),
        }
        let ifbs = self.uplink.lab.sh("ip -o link show type ifb | cut -d: -f2");
        let theirs = if self.set.mbit.is_some() {
            "theirs"
        } else {
            ""
        };
        assert_eq!(ifbs.trim(), theirs, "{what}");
    }
}

const CLEAR: &str = "tc qdisc del dev a1 ingress; ip link del theirs; true";

fn filter(priority: u32) -> String {
    format!(
        "tc filter add dev a1 parent ffff: protocol all prio {priority} \
         u32 match u32 0 0 action mirred egress redirect dev theirs"
    )
}

/// The number of the interface stays, so that the same limit is the same bytes.
fn anew(set: Set) -> String {
    let mbit = set.mbit.unwrap();
    format!(
        "tc qdisc del dev a1 ingress; ip link del theirs; set -e
         ip link add theirs index 5000 type ifb; ip link set theirs up
         tc qdisc add dev theirs root handle 1: tbf rate {mbit}mbit burst 16kb limit 64kb
         tc qdisc add dev a1 ingress; {}",
        filter(set.priority)
    )
}

/// Kills a daemon, now and then while it gives back.
pub fn kill(daemon: Option<Running>, random: &mut fastrand::Rng) {
    let Some(daemon) = daemon else { return };
    if random.u8(0..4) == 0 {
        daemon.signal(Signal::TERM);
        sleep(Duration::from_micros(random.u64(0..20_000)));
        daemon.signal_if_there(Signal::KILL);
    } else {
        daemon.signal(Signal::KILL);
    }
    daemon.wait();
}

/// A script that is tried until it succeeds, nine times at most, and says at which.
pub fn again(script: &str) -> String {
    format!(
        "for try in 1 2 3 4 5 6 7 8 9; do ( {script} ) 2>/dev/null && echo $try && exit 0; sleep 0.03; done; exit 1"
    )
}

/// What an interface has sent, in bits, by `ip -s -j link show`.
pub fn sent_bits(link: &str) -> f64 {
    let link: serde_json::Value = serde_json::from_str(link).unwrap();
    link[0]["stats64"]["tx"]["bytes"].as_f64().unwrap() * 8.0
}

/// What the uplink has sent, in bits.
fn sent(uplink: &Uplink) -> f64 {
    sent_bits(&uplink.lab.sh("ip -s -j link show u1"))
}

fn campaign(adopt: &str, rewrites: u64) {
    if !as_root("only root may look into the namespace all the time") {
        return;
    }
    let Some(uplink) = Uplink::new() else { return };
    let rewrites = number("NICETY_FAULTS").unwrap_or(rewrites);
    let seed = seed();
    println!("{adopt}: seed {seed}, {rewrites} rewrites");
    // The first restore may come before the first daemon.
    fs::create_dir(uplink.path("state")).unwrap();
    let policy = POLICY.replace("period", &format!("adopt = \"{adopt}\"\nperiod"));
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    let mut random = fastrand::Rng::with_seed(seed);
    let set = Set {
        mbit: Some(6),
        // Nothing could come before a filter of priority 1: it can only be replaced.
        priority: if adopt == "replace" && random.bool() {
            1
        } else {
            50
        },
    };
    uplink.lab.sh(&anew(set));
    let kernel = Kernel::of(&uplink);
    let wanted = kernel.state();
    assert!(wanted.rate.is_some());
    let seen = Kernel::of(&uplink);
    let state = uplink.state_file();
    let observer = Observer::start(state, move || seen.is_limited());
    let _a: Sender = uplink.paced("a");
    let begin = sent(&uplink);
    let mut world = World {
        uplink,
        kernel,
        random,
        set,
        daemon: None,
        most: (0.0, Instant::now()),
        tries: 0,
    };
    let (mut kills, mut restores) = (0, 0);
    for round in 0..rewrites {
        if world.random.u8(0..4) == 0 {
            world.kill();
            kills += 1;
        }
        world.rewrite();
        sleep(Duration::from_millis(world.random.u64(0..150)));
        if world.random.u8(0..3) == 0 {
            world.kill();
            kills += 1;
            if world.random.bool() {
                restores += 1;
                // Told with code 1 only when something could not be given back.
                world.uplink.police(&["restore"]).run().assert_code(0);
                world.assert_given_back(&wanted, &format!("seed {seed}, round {round}"));
            }
        }
        if world.random.u8(0..4) > 0 {
            world.start();
        }
    }
    world.start();
    let daemon = world.daemon.take().unwrap();
    daemon.stop();
    world.assert_given_back(&wanted, &format!("seed {seed}, the end"));
    world.account(world.set);
    let passed = sent(&world.uplink) - begin;
    let (longest, looks) = observer.end();
    println!(
        "FAULT | limits of others | {adopt}: rewritten, {kills} kills, {restores} restores, {} tries again | {rewrites} | \
         limited but for {longest} periods, {looks} looks; {:.0} of {:.0} Mbit passed |",
        world.tries,
        passed / 1e6,
        world.most.0 / 1e6,
    );
    assert!(
        longest < MOST_OPEN,
        "seed {seed}: not limited for {longest} periods"
    );
    assert!(
        passed < world.most.0,
        "seed {seed}: {passed} of {:?}",
        world.most
    );
}
