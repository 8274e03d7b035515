//! The daemon: its start, its work, a reload, and `police restore` after it.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::campaign::{self, FAILURES, Scene};
use crate::harness::{Call, Running};
use crate::uplink::{POLICY, THEIRS, Uplink};

pub struct Daemon(pub Uplink);

impl Daemon {
    pub fn new() -> Option<Self> {
        Uplink::new().map(Self)
    }

    /// One that takes the place of another program's limit.
    fn replacing() -> Option<Self> {
        let daemon = Self::new()?;
        daemon.0.lab.sh(THEIRS);
        let policy = POLICY.replace("period", "adopt = \"replace\"\nperiod");
        fs::write(daemon.0.path("policy.toml"), policy).unwrap();
        Some(daemon)
    }

    /// With a record of what it does.
    pub fn recorded(&self) -> Call {
        let [policy, record] = ["policy.toml", "record"].map(|name| self.0.path(name));
        let words = [
            "run",
            policy.to_str().unwrap(),
            "--out",
            record.to_str().unwrap(),
        ];
        self.0.police(&words)
    }
}

/// What is limited, by whom, and what was there before; the order of tc's list is the kernel's.
fn state(uplink: &Uplink) -> Vec<String> {
    let mut state = uplink.lab.state();
    // What an ingress qdisc that came and went leaves in what tc prints.
    state
        .iter_mut()
        .for_each(|line| *line = line.replace(" used_hw_stats disabled", ""));
    let shown = "tc filter show dev a1 parent ffff: | \
        sed 's/index [0-9]* ref [0-9]* bind [0-9]*//; s/installed.*//'";
    let filters = uplink.lab.sh(shown);
    state.extend(filters.lines().map(str::to_owned));
    state
}

fn restore(uplink: &Uplink) {
    // A daemon that never came so far made none.
    fs::create_dir_all(uplink.path("state")).unwrap();
    uplink.police(&["restore"]).run().assert_code(0);
}

impl Scene for Daemon {
    fn call(&self) -> Call {
        let policy = self.0.path("policy.toml");
        self.0.police(&["run", policy.to_str().unwrap()])
    }

    fn settled(&self) -> bool {
        self.0.path("state/state.json").exists()
    }

    fn span(&self) -> Duration {
        Duration::from_millis(1_500)
    }

    fn threads(&self) -> bool {
        true
    }

    fn recover(&self) {
        restore(&self.0);
        // Made by the first period of the next one; a daemon that never came so far left none.
        let _ = fs::remove_file(self.0.path("state/state.json"));
    }

    fn state(&self) -> Vec<String> {
        state(&self.0)
    }
}

/// In several tests, which may go on beside each other.
fn run(campaign: impl FnOnce(&str, &Daemon)) {
    if let Some(scene) = Daemon::new() {
        campaign("police run", &scene);
    }
}

#[test]
fn police_run_killed() {
    run(|name, scene| {
        campaign::signals(name, scene, Signal::KILL);
    });
}

#[test]
fn police_run_ended() {
    run(|name, scene| {
        campaign::signals(name, scene, Signal::TERM);
    });
}

#[test]
fn police_run_killed_at_calls() {
    run(campaign::killed_at_calls);
}

#[test]
fn police_run_with_a_full_or_broken_disk() {
    run(|name, scene| {
        campaign::failing_calls(name, scene, &FAILURES[..2]);
    });
}

#[test]
fn police_run_interrupted() {
    run(|name, scene| {
        campaign::failing_calls(name, scene, &FAILURES[2..]);
    });
}

/// That there is always one of both shows in the state: after an accident in the middle it is theirs again, and would be
/// nothing if both had been gone.
fn replace(campaign: impl FnOnce(&str, &Daemon)) {
    if let Some(scene) = Daemon::replacing() {
        campaign("police run, adopt = replace", &scene);
    }
}

#[test]
#[ignore = "time: make faults-adopt"]
fn police_replacing_killed() {
    replace(|name, scene| {
        campaign::signals(name, scene, Signal::KILL);
    });
}

#[test]
#[ignore = "time: make faults-adopt"]
fn police_replacing_ended() {
    replace(|name, scene| {
        campaign::signals(name, scene, Signal::TERM);
    });
}

#[test]
#[ignore = "time: make faults-adopt"]
fn police_replacing_killed_at_calls() {
    replace(campaign::killed_at_calls);
}

#[test]
#[ignore = "time: make faults-adopt"]
fn police_replacing_with_failing_calls() {
    replace(|name, scene| {
        campaign::failing_calls(name, scene, &FAILURES);
    });
}

/// A daemon whose policy changes when it is told so.
struct Reload(Uplink);

impl Scene for Reload {
    fn call(&self) -> Call {
        let policy = self.0.path("policy.toml");
        self.0.police(&["run", policy.to_str().unwrap()])
    }

    fn start(&self) -> Running {
        fs::write(self.0.path("policy.toml"), POLICY).unwrap();
        let daemon = self.0.daemon(&[]);
        let smaller = POLICY.split("\n[[tenant]]\nname = \"c\"").next().unwrap();
        fs::write(
            self.0.path("policy.toml"),
            smaller.replace("40mbit", "30mbit"),
        )
        .unwrap();
        daemon.signal(Signal::HUP);
        daemon
    }

    fn span(&self) -> Duration {
        Duration::from_millis(700)
    }

    fn recover(&self) {
        restore(&self.0);
    }

    fn state(&self) -> Vec<String> {
        state(&self.0)
    }
}

#[test]
fn police_reload() {
    let Some(uplink) = Uplink::new() else { return };
    let scene = Reload(uplink);
    campaign::signals("police reload", &scene, Signal::KILL);
    campaign::signals("police reload", &scene, Signal::TERM);
}

/// The way back itself, after a daemon that was killed.
struct Restore(Uplink);

impl Scene for Restore {
    fn call(&self) -> Call {
        let daemon = self.0.daemon(&[]);
        daemon.kill();
        self.0.police(&["restore"])
    }

    fn span(&self) -> Duration {
        Duration::from_millis(60)
    }

    fn recover(&self) {
        restore(&self.0);
    }

    fn state(&self) -> Vec<String> {
        state(&self.0)
    }
}

#[test]
fn police_restore() {
    let Some(uplink) = Uplink::new() else { return };
    let scene = Restore(uplink);
    campaign::signals("police restore", &scene, Signal::KILL);
    campaign::system_calls(
        "police restore",
        &scene,
        "signal=KILL",
        "SIGKILL before a system call",
    );
    campaign::system_calls(
        "police restore",
        &scene,
        "error=EIO",
        "a system call fails: EIO",
    );
}
