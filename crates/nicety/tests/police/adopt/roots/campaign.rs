//! The campaign of random rewrites, kills and restarts, at a root: what is received is limited all the time, and the
//! root has in the end what the other program has set last.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::super::campaign::{AT_ONCE, MOST_OPEN, Observer, again, kill, number, seed, sent_bits};
use super::super::kernel::Kernel;
use crate::harness::{Running, as_root};
use crate::receive::Far;
use crate::uplink::POLICY;

/// The most that a receives by the policy that caps it.
const MOST: u64 = 20;
/// What the link carries, which is the most where nothing of theirs is.
const LINK: u64 = 40;
/// What each rewrite and each bucket may let through at once, theirs and nicety's.
const BURSTS: u64 = 3 * AT_ONCE;

#[test]
fn a_port_receives_no_more_than_theirs_whoever_dies() {
    for adopt in ["cap", "replace"] {
        campaign(adopt, 8);
    }
}

#[test]
#[ignore = "minutes: make faults-adopt"]
fn a_port_receives_no_more_than_theirs_a_thousand_times() {
    for adopt in ["cap", "replace"] {
        campaign(adopt, 1000);
    }
}

/// What the other program has set last, in its commands: at an interface.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Set {
    Nothing,
    Bucket(u64),
    Classes(u64),
}

impl Set {
    fn random(random: &mut fastrand::Rng) -> Self {
        let mbit = random.u64(2..=9);
        match random.u8(0..8) {
            0 => Self::Nothing,
            1..=4 => Self::Bucket(mbit),
            _ => Self::Classes(mbit),
        }
    }

    fn mbit(self) -> u64 {
        match self {
            Self::Nothing => LINK,
            Self::Bucket(mbit) | Self::Classes(mbit) => mbit,
        }
    }

    /// A program that begins anew, or puts one bucket in the place of whatever is there.
    fn commands(self, interface: &str, anew: bool) -> String {
        let clear = format!("tc qdisc del dev {interface} root 2>/dev/null; set -e;");
        match self {
            Self::Nothing => format!("{clear} true"),
            Self::Bucket(mbit) => {
                let (clear, word) = if anew {
                    (clear, "add")
                } else {
                    (String::new(), "replace")
                };
                format!(
                    "{clear} tc qdisc {word} dev {interface} root handle 1: tbf rate {mbit}mbit burst 16kb limit 64kb"
                )
            }
            Self::Classes(mbit) => format!(
                "{clear} tc qdisc add dev {interface} root handle 1: htb default 1
                 tc class add dev {interface} parent 1: classid 1:1 htb rate {mbit}mbit burst 16kb
                 tc qdisc add dev {interface} parent 1:1 handle 2: pfifo limit 77"
            ),
        }
    }
}

struct World {
    far: Far,
    random: fastrand::Rng,
    set: Set,
    daemon: Option<Running>,
    /// What could have come through at most, in bits, until then.
    most: (f64, Instant),
    tries: usize,
}

impl World {
    fn account(&mut self, before: Set) {
        let now = Instant::now();
        let mbit = before.mbit().max(self.set.mbit());
        self.most.0 += (now - self.most.1).as_secs_f64() * mbit as f64 * 1e6;
        self.most.0 += (BURSTS * 8) as f64;
        self.most.1 = now;
    }

    fn rewrite(&mut self) {
        let before = std::mem::replace(&mut self.set, Set::random(&mut self.random));
        // One of another kind with the same number cannot be replaced.
        let anew = matches!(before, Set::Classes(_)) || self.random.bool();
        let script = self.set.commands("a1", anew);
        let script = again(&script);
        let tries: usize = self.far.sh(&script).trim().parse().unwrap();
        self.tries += tries - 1;
        self.account(before);
    }

    fn start(&mut self) {
        if self.daemon.is_none() {
            self.daemon = Some(self.far.uplink.daemon(&[]));
        }
        self.account(self.set);
    }

    fn kill(&mut self) {
        kill(self.daemon.take(), &mut self.random);
    }

    /// The root is as the same commands make it elsewhere.
    #[track_caller]
    fn assert_given_back(&self, what: &str) {
        self.far.sh(&self.set.commands("scratch", true));
        let [is, wanted] = ["a1", "scratch"].map(|name| Kernel::at(&self.far.uplink, name).roots());
        assert_eq!(is, wanted, "{what}: {:?}", self.set);
    }
}

/// What a has received, in bits.
fn received(far: &Far) -> f64 {
    sent_bits(&far.sh("ip -s -j link show a1"))
}

fn campaign(adopt: &str, rewrites: u64) {
    if !as_root("only root may look into the namespace all the time") {
        return;
    }
    let rewrites = number("NICETY_FAULTS").unwrap_or(rewrites);
    let policy = POLICY
        .replace("period", &format!("adopt = \"{adopt}\"\nperiod"))
        .replace(
            "ports = \"a1\"",
            &format!("ports = \"a1\"\nrx_max = \"{MOST}mbit\""),
        );
    // With a cap of its own a tenant may get more than theirs in their place.
    let policy = match adopt {
        "replace" => policy.replace("rx_max = \"20mbit\"", "rx_guarantee = \"1mbit\""),
        _ => policy,
    };
    let Some(far) = Far::new(&policy) else { return };
    let seed = seed();
    println!("{adopt}: seed {seed}, {rewrites} rewrites");
    // The first restore may come before the first daemon.
    fs::create_dir(far.uplink.path("state")).unwrap();
    far.sh("ip link add scratch type veth peer name nowhere; ip link set scratch up");
    let set = Set::Bucket(6);
    far.sh(&set.commands("a1", true));
    let seen = Kernel::of(&far.uplink);
    let state = far.uplink.state_file();
    let observer = Observer::start(state, move || seen.is_limited_at_root());
    let _flood = far.paced(1);
    let begin = received(&far);
    let mut world = World {
        far,
        random: fastrand::Rng::with_seed(seed),
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
                world.far.uplink.police(&["restore"]).run().assert_code(0);
                world.assert_given_back(&format!("{adopt}, seed {seed}, round {round}"));
            }
        }
        if world.random.u8(0..4) > 0 {
            world.start();
        }
    }
    world.start();
    let daemon = world.daemon.take().unwrap();
    daemon.stop();
    world.assert_given_back(&format!("{adopt}, seed {seed}, the end"));
    world.account(world.set);
    let passed = received(&world.far) - begin;
    let (longest, looks) = observer.end();
    println!(
        "FAULT | limits of others at roots | {adopt}: rewritten, {kills} kills, {restores} restores, {} tries again | \
         {rewrites} | limited but for {longest} periods, {looks} looks; {:.0} of {:.0} Mbit passed |",
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
