//! 64 MB of memory for everything that nicety does.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::bench::Bench;
use crate::campaign::{PATIENCE, Scene, row, same};
use crate::harness::{Call, Ended, in_namespaces, nicety};
use crate::police::Daemon;
use crate::store::RUN;

const LIMIT: u64 = 64 << 20;
/// Ports of the daemon.
const PORTS: usize = 100;

/// What gives a program so much memory and no more.
enum Limited {
    /// A control group, removed with this.
    Group(PathBuf),
    /// Where no control group can be made: the private memory that it may write to.
    Data,
}

impl Limited {
    fn new() -> Self {
        let name = format!("nicety-test-{}", std::process::id());
        let tries = [("memory", "memory.limit_in_bytes"), ("", "memory.max")];
        for (below, file) in tries {
            let group = Path::new("/sys/fs/cgroup").join(below).join(&name);
            if fs::create_dir(&group).is_err() {
                continue;
            }
            let limited = Self::Group(group.clone());
            if fs::write(group.join(file), LIMIT.to_string()).is_ok() {
                return limited;
            }
        }
        Self::Data
    }

    fn words(&self) -> &'static str {
        match self {
            Self::Group(_) => "64 MB of memory (control group)",
            Self::Data => "64 MB of memory (RLIMIT_DATA)",
        }
    }

    fn below(&self, call: Call) -> Call {
        let script = match self {
            Self::Group(group) => {
                format!("echo $$ >{}/cgroup.procs && exec \"$@\"", group.display())
            }
            Self::Data => format!("exec prlimit --data={LIMIT} \"$@\""),
        };
        call.just_below(["sh", "-c", &script, "sh"])
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        if let Self::Group(group) = self {
            // Processes that were killed stay in it for a moment.
            for _ in 0..100 {
                if fs::remove_dir(&*group).is_ok() {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

/// It works, or says in one line why not.
#[track_caller]
fn works(what: &str, ended: &Ended, limited: &Limited) {
    let code = ended.status.code();
    assert!(matches!(code, Some(0 | 1)), "{what}: {ended:?}");
    row(what, limited.words(), 1, "works");
}

#[test]
fn little_memory() {
    let limited = Limited::new();
    let dir = tempfile::tempdir().unwrap();
    let plan = limited.below(nicety(["tune", "plan", "--json"])).run();
    works("tune plan", &plan, &limited);
    let report = limited.below(nicety(["report", RUN])).run();
    works("report", &report, &limited);
    let page = dir.path().join("page.html");
    let report = nicety(["report", RUN, "--html", page.to_str().unwrap()]);
    works("report --html", &limited.below(report).run(), &limited);
    if !in_namespaces() {
        return;
    }
    let scene = Bench::new("af_packet");
    let bench = limited.below(scene.boxed()).run();
    works("bench", &bench, &limited);
    scene.recover();
    scene.state();
    many_ports(&limited);
}

fn many_ports(limited: &Limited) {
    let Some(scene) = Daemon::new() else { return };
    let mut make = String::new();
    let mut policy = fs::read_to_string(scene.0.path("policy.toml")).unwrap();
    for port in 0..PORTS {
        writeln!(
            make,
            "ip link add m{port} type veth peer name n{port}; ip link set m{port} up"
        )
        .unwrap();
        write!(
            policy,
            "\n[[tenant]]\nname = \"m{port}\"\nports = \"m{port}\"\n"
        )
        .unwrap();
    }
    scene.0.lab.sh(&make);
    fs::write(scene.0.path("policy.toml"), policy).unwrap();
    let before = scene.state();
    let running = limited.below(scene.call()).start();
    let ended = running.end_when(|| scene.settled(), PATIENCE, Signal::TERM);
    works(&format!("police run, {} ports", PORTS + 3), &ended, limited);
    scene.recover();
    same(&before, &scene.state(), "64 MB");
}
