//! Files, directories and processes of strangers: refused with one line, never waited for, never believed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::harness::{nicety, root, skip, words};
use crate::made::Made;

/// What is no file, made by this name.
const ODD: [fn(&Path); 2] = [fifo, endless];

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

fn endless(path: &Path) {
    symlink("/dev/zero", path).unwrap();
}

#[test]
fn run_directories_hold_regular_files_as_any_user() {
    for make in ODD {
        for file in ["cells.jsonl", "trials.jsonl", "run.json"] {
            let dir = tempfile::tempdir().unwrap();
            let made = Made::new(1, &[(64, &[1e5])]);
            made.write(dir.path(), "good");
            let odd = made.write(dir.path(), "odd").join(file);
            let _ = fs::remove_file(&odd);
            make(&odd);
            for line in ["report odd", "runs add odd", "compare good odd"] {
                // The trials are not compared.
                if file == "trials.jsonl" && line.starts_with("compare") {
                    continue;
                }
                let ended = nicety(words(line)).dir(dir.path()).run();
                let said = ended.only_line();
                let why = format!("odd/{file}: not a regular file; nicety writes no such file");
                assert!(said.contains(&why), "{line}: {said}");
                assert_ne!(ended.code(), 0);
            }
        }
    }
}

#[test]
fn plans_and_captures_are_regular_files_as_any_user() {
    for make in ODD {
        let dir = tempfile::tempdir().unwrap();
        make(&dir.path().join("odd.json"));
        for line in [
            "tune apply odd.json --state state",
            "bench odd.json",
            "stateful odd.json",
            "tune plan odd.json",
            "runs list --store odd.json",
        ] {
            let ended = nicety(words(line)).dir(dir.path()).run();
            let said = &ended.stderr;
            assert!(said.contains("not a regular file"), "{line}: {ended:?}");
            assert_ne!(ended.code(), 0);
        }
    }
}

#[test]
fn a_report_is_not_written_through_a_link_as_any_user() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    fs::write(&kept, "mine").unwrap();
    let run = Made::new(1, &[(64, &[1e5])]).write(dir.path(), "run");
    for name in ["report.html", "report.html.new"] {
        symlink(&kept, run.join(name)).unwrap();
    }
    nicety(words("report run"))
        .dir(dir.path())
        .run()
        .assert_code(0);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "mine");
}

#[test]
fn state_is_a_regular_file_as_any_user() {
    for make in ODD {
        let dir = tempfile::tempdir().unwrap();
        make(&dir.path().join("state.json"));
        for word in ["status", "poke", "reload"] {
            let call = nicety(["police", word, "--state", "."]).dir(dir.path());
            let ended = call.run();
            assert!(ended.only_line().contains("state.json"), "{ended:?}");
            assert_ne!(ended.code(), 0);
        }
    }
}

#[test]
fn state_that_others_can_write_is_not_believed_as_any_user() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("state");
    fs::create_dir(&place).unwrap();
    let target = Target::start();
    fs::write(place.join("state.json"), target.state()).unwrap();
    let ask = |word: &str| {
        let call = nicety(["police", word, "--state", "state"]).dir(dir.path());
        call.run()
    };
    ask("status").assert_code(0);
    for (path, mode) in [(place.clone(), 0o755), (place.join("state.json"), 0o644)] {
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        for word in ["status", "poke", "reload"] {
            let ended = ask(word);
            let line = ended.only_line();
            assert!(line.contains("can be written by others"), "{line}");
        }
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    ask("status").assert_code(0);
    assert!(target.is_there());
}

#[test]
fn root_sends_no_signal_to_a_process_that_a_stranger_names() {
    if !root() {
        skip("only root can give files to another user");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start();
    fs::write(dir.path().join("state.json"), target.state()).unwrap();
    for path in [dir.path().join("state.json"), dir.path().to_owned()] {
        chown(path, Some(64055), Some(64055)).unwrap();
    }
    for word in ["status", "poke", "reload"] {
        let ended = nicety(["police", word, "--state", "."])
            .dir(dir.path())
            .run();
        let line = ended.only_line();
        assert!(line.starts_with("no nicety police runs with"), "{line}");
    }
    assert!(target.is_there());
    // Nor is the policy that such a state names.
    let ended = nicety(words("police status --cluster --state ."))
        .dir(dir.path())
        .run();
    assert!(!ended.stderr.contains("secret.toml"), "{ended:?}");
}

/// A process that any signal ends.
struct Target(Child);

impl Target {
    fn start() -> Self {
        let mut sleep = Command::new("sleep");
        Self(sleep.arg("600").stdin(Stdio::null()).spawn().unwrap())
    }

    fn is_there(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        !stat.contains(") Z ")
    }

    /// What a daemon would have written that is this process.
    fn state(&self) -> String {
        let id = self.0.id();
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        let born: u64 = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(19))
            .unwrap()
            .parse()
            .unwrap();
        json!({
            "schema": 1, "pid": id, "born_ticks": born, "netns": 1, "policy": "secret.toml",
            "period_s": 1e6, "capacity_bps": 1e9, "periods": 1, "written_s": 1.0, "writes": 0,
            "errors": 0, "names": [], "tenants": [],
            "decision": {"ports": [], "tenants": [], "writes": [], "guarantees_scaled": 1.0, "total_bps": 0.0},
        })
        .to_string()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
