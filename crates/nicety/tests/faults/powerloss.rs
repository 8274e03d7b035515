//! The power goes: whatever the disk may hold then, the next start reads it, and what was promised is there.
//!
//! A real run is traced, [`crate::disk`] tells what a power loss may leave of it at each moment, and each of these
//! states is tried: the machine has booted again, so the kernel's settings are the old ones.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::Bench;
use crate::campaign::{PATIENCE, Scene, count, random, row, same, strace};
use crate::disk::{Disk, Left, put};
use crate::harness::{Call, Ended, LONG, Running, in_namespaces, nicety};
use crate::police::Daemon;
use crate::settings::{Apply, Persist};
use crate::store::Add;
use crate::trace::{self, Step};

/// States of each scene that are tried for one accident that is wanted.
const STATES: usize = 20;

/// A run, and the disk below one directory while it went on.
struct Recorded {
    name: &'static str,
    disk: Disk,
    steps: Vec<Step>,
}

impl Recorded {
    /// Runs `call` to its end below strace; `drive` waits for that.
    fn of(
        name: &'static str,
        root: &Path,
        call: Call,
        changes: &str,
        drive: impl FnOnce(Running) -> Ended,
    ) -> Self {
        let log = tempfile::tempdir().unwrap();
        let file = log.path().join("trace");
        let mut disk = Disk::now(root);
        let ended = drive(trace::below(call, &file, changes).start());
        assert!(
            matches!(ended.status.code(), Some(0 | 1 | 4)),
            "{name}: {ended:?}"
        );
        let steps = trace::read(&file);
        for (number, step) in steps.iter().enumerate() {
            disk.play(number + 1, step);
        }
        Self { name, disk, steps }
    }

    /// When it had said that it was done: its last words to the user.
    fn done(&self) -> usize {
        let to_user = |step: &Step| step.words.starts_with("1<") || step.words.starts_with("2<");
        let said = |step: &Step| step.call == "write" && to_user(step);
        self.steps.iter().rposition(said).unwrap() + 1
    }

    /// Tries the states in `root`, evenly spread over the run, the last one among them.
    fn each(&self, root: &Path, mut check: impl FnMut(&Left, &str)) {
        let states = self.disk.states(self.steps.len(), &mut random(self.name));
        assert!(states.len() > 5, "{}: {states:#?}", self.name);
        let wanted = (count() * STATES).min(states.len());
        for round in 1..=wanted {
            let left = &states[round * states.len() / wanted - 1];
            put(root, &left.tree);
            let step = left.after.checked_sub(1).map(|at| &self.steps[at].call);
            let mut names = String::new();
            for (path, bytes) in &left.tree {
                let bytes = bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes));
                names += &format!("\n{}: {}", path.display(), bytes.unwrap_or_default());
            }
            let what = format!(
                "{}, power lost after {step:?} ({} of {}){names}",
                self.name,
                left.after,
                self.steps.len()
            );
            check(left, &what);
        }
        let result = format!(
            "read, undone or kept; of {} states of {} calls",
            states.len(),
            self.steps.len()
        );
        row(self.name, "power loss (file-system model)", wanted, &result);
    }

    /// Before each change of a kind, the disk has the line that says how to undo it.
    fn intents_before(&self, changes: &[Change]) {
        let mut all = 0;
        for change in changes {
            let mut seen = 0;
            let steps = self.steps.iter().enumerate();
            for (at, step) in steps.filter(|(_, step)| (change.is)(step)) {
                seen += 1;
                let disk = self.disk.durable(at + 1);
                let mut texts = disk
                    .values()
                    .flatten()
                    .map(|bytes| String::from_utf8_lossy(bytes));
                let noted =
                    texts.any(|text| text.contains("\"intent\"") && text.contains(change.what));
                assert!(
                    noted,
                    "{}: {} changed before the disk has it: {step:?}",
                    self.name, change.what
                );
            }
            assert!(
                seen > 0,
                "{}: no change of {} in {:#?}",
                self.name,
                change.what,
                self.steps
            );
            all += seen;
        }
        row(
            self.name,
            "change of the kernel",
            all,
            "each after its line in the journal is durable",
        );
    }
}

/// A change of the kernel's state in a trace.
struct Change {
    /// What names it in the journal.
    what: &'static str,
    is: fn(&Step) -> bool,
}

/// The state directory is another boot's.
fn booted_again(state: &Path) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for entry in fs::read_dir(state).into_iter().flatten() {
        let path = entry.unwrap().path();
        let text = fs::read(&path).unwrap();
        let Ok(text) = String::from_utf8(text) else {
            continue;
        };
        let other = "00000000-0000-4000-8000-000000000000";
        fs::write(&path, text.replace(boot.trim(), other)).unwrap();
    }
}

/// Every start of something that changes settings undoes what was begun; afterwards nothing is.
fn next_start(state: &Path, what: &str, place: impl Fn(Call) -> Call) {
    let tune = |words: &[&str]| {
        let state = ["--state", state.to_str().unwrap()];
        place(nicety(["tune"].iter().chain(words).chain(&state))).run()
    };
    let started = tune(&["apply", "--confirm"]);
    // There is nothing to confirm.
    assert_eq!(started.status.code(), Some(2), "{what}: {started:?}");
    let told = tune(&["status"]);
    assert_eq!(told.status.code(), Some(0), "{what}: {told:?}");
    let open = ["applying", "unconfirmed", "undoing"]
        .iter()
        .any(|word| told.stdout.contains(word));
    assert!(!open, "{what}: {told:?}");
}

#[test]
fn power_loss_persist() {
    if !strace() {
        return;
    }
    let scene = Persist::new();
    let root = scene.0.path();
    let before = scene.state();
    let call = scene.call();
    let run = Recorded::of("tune persist", root, call, "", Running::wait);
    let (after, done) = (scene.state(), run.done());
    assert_ne!(before, after);
    run.each(root, |left, what| {
        booted_again(&root.join("state"));
        next_start(&root.join("state"), what, |call| call);
        let now = scene.state();
        if left.after >= done {
            same(&after, &now, what);
        } else {
            assert!(
                now == before || now == after,
                "{what}: neither old nor new: {now:#?}"
            );
        }
        scene.recover();
        same(&before, &scene.state(), what);
    });
}

#[test]
fn power_loss_apply() {
    if !strace() {
        return;
    }
    let Some(scene) = Apply::new() else { return };
    let root = scene.dir.path();
    let before = scene.state();
    let run = Recorded::of("tune apply", root, scene.call(), ",sendto", |running| {
        let ended = running.wait();
        scene.recover();
        ended
    });
    same(&before, &scene.state(), "the run itself");
    run.intents_before(&[
        Change {
            what: "net.ipv4.tcp_rmem",
            is: |step| {
                step.call == "write" && step.file().is_some_and(|file| file.ends_with("tcp_rmem"))
            },
        },
        Change {
            what: "\"mtu\"",
            is: |step| step.words.contains("nlmsg_type=RTM_SETLINK"),
        },
    ]);
    run.each(root, |_, what| {
        booted_again(&root.join("state"));
        next_start(&root.join("state"), what, |call| scene.inside(call));
        same(&before, &scene.state(), what);
    });
}

#[test]
fn power_loss_police() {
    if !strace() {
        return;
    }
    let Some(scene) = Daemon::new() else { return };
    let root = scene.0.dir.path();
    let before = scene.state();
    let run = Recorded::of("police run", root, scene.recorded(), ",sendto", |running| {
        running.end_when(|| scene.settled(), PATIENCE, Signal::TERM)
    });
    run.intents_before(&[Change {
        what: "\"a1\"",
        is: |step| step.words.contains("RTM_NEWQDISC") && step.words.contains("\"\\x61\\x31\""),
    }]);
    run.each(root, |left, what| {
        booted_again(&root.join("state"));
        // Where its name was lost too, nothing had been changed.
        fs::create_dir_all(root.join("state")).unwrap();
        let told = scene.0.police(&["restore"]).run();
        assert!(matches!(told.status.code(), Some(0)), "{what}: {told:?}");
        // What it shows was not promised; it must not panic on it.
        scene.0.police(&["status"]).run().code();
        let report = nicety(["report", "record"]).dir(root).run();
        let is_whole = left.tree.contains_key(Path::new("record/police.json"));
        assert!(
            report.code() == if is_whole { 0 } else { 2 },
            "{what}: {report:?}"
        );
        same(&before, &scene.state(), what);
    });
}

#[test]
fn power_loss_bench() {
    if !strace() || !in_namespaces() {
        return;
    }
    let scene = Bench::new("af_packet");
    let root = scene.dir.path();
    let run = Recorded::of("bench", root, scene.call(), "", |running| {
        running.end_when(|| scene.settled(), LONG / 2, Signal::TERM)
    });
    let (done, named) = (run.done(), run.disk.step_of("run/run.json"));
    let synced = |step: &Step| {
        step.call == "fdatasync"
            && step
                .file()
                .is_some_and(|file| file.ends_with("trials.jsonl"))
    };
    run.each(root, |left, what| {
        let report = nicety(["report", "run", "--json"]).dir(root).run();
        assert!(matches!(report.code(), 0 | 2), "{what}: {report:?}");
        if left.after <= named {
            return;
        }
        report.assert_code(0);
        let lines = left
            .tree
            .get(Path::new("run/trials.jsonl"))
            .cloned()
            .flatten()
            .unwrap_or_default();
        let lines = lines.iter().filter(|byte| **byte == b'\n').count();
        let promised = run.steps[..left.after]
            .iter()
            .filter(|step| synced(step))
            .count();
        assert!(
            lines >= promised,
            "{what}: {lines} lines, {promised} promised"
        );
        if left.after >= done {
            assert!(root.join("run/report.html").exists(), "{what}");
        }
    });
}

#[test]
fn power_loss_runs_add() {
    if !strace() {
        return;
    }
    let scene = Add::new();
    let root = scene.0.path();
    let run = Recorded::of("runs add", root, scene.call(), "", Running::wait);
    let done = run.done();
    run.each(root, |left, what| {
        let listed = scene.runs(&["list", "--json"]).run();
        let runs = match listed.code() {
            0 => {
                let list: Value = serde_json::from_str(&listed.stdout).unwrap();
                list["runs"].as_array().unwrap().len()
            }
            _ => {
                assert_eq!(listed.stderr.lines().count(), 1, "{what}: {listed:?}");
                0
            }
        };
        assert!(runs <= 1, "{what}: {listed:?}");
        if left.after >= done {
            assert_eq!(runs, 1, "{what}: {listed:?}");
        }
        if runs == 1 {
            scene.report().run().assert_code(0);
        }
        scene.call().run().assert_code(0);
    });
}
