//! Programs that nicety starts: they end with it, and it ends well without them.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nicety_host::child;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::campaign::{PATIENCE, count, random, row};
use crate::harness::{Call, LONG, Running, me, nicety, skip, words};
use crate::leftovers::Before;
use crate::server::Server;
use crate::store::RUN;

/// Where the victim finds its directory.
const VICTIM: &str = "NICETY_FAULTS_VICTIM";
/// Paths, and the programs that stand behind them.
const KINDS: [(&str, &[&str]); 3] = [
    (
        "kind = \"ovs\"\ndatapath = \"userspace\"\n",
        &["ovs-vswitchd", "ovsdb-server"],
    ),
    (
        "kind = \"testpmd\"\nvdev = \"af_packet\"\n",
        &["dpdk-testpmd"],
    ),
    ("kind = \"vm\"\naccel = \"tcg\"\n", &["qemu-system-x86_64"]),
];
const HEAD: &str = "[traffic]
frame_sizes = [64]
[search]
preset = \"quick\"
[[path]]
";

/// A process by id and the moment it was started.
type Process = (i32, String);

/// Name, parent and start of a process.
fn look(pid: i32) -> Option<(String, i32, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, rest) = stat.rsplit_once(") ")?;
    let words: Vec<&str> = rest.split(' ').collect();
    // One that has ended is only its parent's note.
    (words[0] != "Z").then(|| {
        let name = head.split_once('(').map_or("", |(_, name)| name);
        let name = if name.starts_with("ld-linux") {
            led(pid)
        } else {
            name.to_owned()
        };
        (name, words[1].parse().unwrap(), words[19].to_owned())
    })
}

/// The program that a loader was started for: QEMU of another system brings its own.
fn led(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words).into_owned();
    let mut names = words
        .rsplit('\0')
        .filter_map(|word| word.rsplit('/').next());
    let qemu = names.find(|name| name.starts_with("qemu-system"));
    qemu.unwrap_or_default().to_owned()
}

/// Those below a process, with their names.
fn below(pid: i32) -> Vec<(Process, String)> {
    let all: Vec<(i32, (String, i32, String))> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, look(pid)?)))
        .collect();
    let mut family = BTreeSet::from([pid]);
    let mut found = Vec::new();
    loop {
        let new = all
            .iter()
            .find(|(pid, (_, parent, _))| family.contains(parent) && !family.contains(pid));
        let Some((pid, (name, _, start))) = new else {
            return found;
        };
        family.insert(*pid);
        found.push(((*pid, start.clone()), name.clone()));
    }
}

fn lives(process: &Process) -> bool {
    look(process.0).is_some_and(|(_, _, start)| start == process.1)
}

/// Who of them is there when the time is over.
fn survivors(family: &[(Process, String)]) -> Vec<String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = family.iter().filter(|(process, _)| lives(process));
        let left: Vec<String> = left
            .map(|(process, name)| format!("{name} {}", process.0))
            .collect();
        if left.is_empty() || Instant::now() > end {
            return left;
        }
        sleep(Duration::from_millis(50));
    }
}

/// The kernel shows fifteen letters of a name.
fn is_named(name: &str, wanted: &str) -> bool {
    !name.is_empty() && wanted.starts_with(name)
}

fn directory(kind: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let runtime = dir.path().join("runtime");
    fs::create_dir(&runtime).unwrap();
    fs::set_permissions(&runtime, Permissions::from_mode(0o700)).unwrap();
    fs::write(dir.path().join("plan.toml"), format!("{HEAD}{kind}")).unwrap();
    dir
}

fn bench(dir: &Path) -> Call {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab");
    nicety(words("bench plan.toml --engine af_packet --out run"))
        .env("NICETY_CACHE", cache.to_str().unwrap())
        .dir(dir)
        .env("XDG_RUNTIME_DIR", dir.join("runtime").to_str().unwrap())
        .limit(2 * LONG)
}

/// Everybody below `pid` once all of `wanted` are among them; none where it ends before.
fn family(pid: i32, wanted: &[&str]) -> Option<Vec<(Process, String)>> {
    while look(pid).is_some() {
        let family = below(pid);
        let is_there = |wanted: &&str| family.iter().any(|(_, name)| is_named(name, wanted));
        if wanted.iter().all(is_there) {
            return Some(family);
        }
        sleep(Duration::from_millis(20));
    }
    None
}

/// The run and everybody below it; says `SKIP` where its programs cannot be had.
fn started(dir: &Path, wanted: &[&str]) -> Option<(Running, Vec<(Process, String)>)> {
    let running = bench(dir).start();
    match family(running.id(), wanted) {
        Some(family) => Some((running, family)),
        None => {
            let ended = running.wait();
            let why = ended
                .stdout
                .lines()
                .chain(ended.stderr.lines())
                .last()
                .unwrap_or_default();
            skip(format_args!("{} cannot be had here: {why}", wanted[0]));
            None
        }
    }
}

/// The kinds that are tried: a guest takes long to boot here.
fn kinds() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    let long = count() > 10;
    if !long {
        skip("QEMU: only with NICETY_FAULTS above 10");
    }
    KINDS.iter().take(if long { 3 } else { 2 })
}

#[test]
fn children_end_with_nicety() {
    let test = "children_end_with_nicety";
    let mut random = random(test);
    for (kind, wanted) in kinds() {
        let rounds = count().div_ceil(40);
        for _ in 0..rounds {
            let dir = directory(kind);
            let before = Before::now(dir.path());
            let Some((running, family)) = started(dir.path(), wanted) else {
                return;
            };
            sleep(Duration::from_millis(random.u64(0..800)));
            running.kill();
            assert_eq!(survivors(&family), [""; 0], "{kind}");
            before.check();
        }
        row(
            &format!("bench, {}", wanted[0]),
            "nicety gets SIGKILL",
            rounds,
            "all children are gone",
        );
    }
}

#[test]
fn a_child_is_killed() {
    let test = "a_child_is_killed";
    let mut random = random(test);
    // Without many accidents only one of them: until a dead path is given up takes its time.
    let most = if count() > 10 { usize::MAX } else { 1 };
    for (kind, programs) in kinds().take(most) {
        for victim in programs.iter().take(most) {
            let rounds = count().div_ceil(100);
            for _ in 0..rounds {
                let dir = directory(kind);
                let before = Before::now(dir.path());
                let Some((mut running, _)) = started(dir.path(), programs) else {
                    return;
                };
                // The path is up: what came before may have been a look at versions.
                let trials = dir.path().join("run/trials.jsonl");
                running.until("a trial", |_| {
                    fs::metadata(&trials).is_ok_and(|file| file.len() > 0)
                });
                let family = below(running.id());
                sleep(Duration::from_millis(random.u64(0..300)));
                let (process, _) = family
                    .iter()
                    .find(|(_, name)| is_named(name, victim))
                    .unwrap();
                kill_process(Pid::from_raw(process.0).unwrap(), Signal::KILL).unwrap();
                let ended = running.wait();
                let what = format!("{victim} killed: {ended:?}");
                let said = ended.stdout.clone() + &ended.stderr;
                match (ended.code(), *victim) {
                    // The switch goes on without its database.
                    (0, "ovsdb-server") => {}
                    (1 | 3, _) => {
                        let named = ["ovs-vswitchd", "testpmd", "QEMU", "guest"];
                        assert!(named.iter().any(|name| said.contains(name)), "{what}");
                        assert!(said.contains("ended"), "{what}");
                    }
                    _ => panic!("{what}"),
                }
                assert_eq!(survivors(&family), [""; 0], "{what}");
                before.check();
            }
            row(
                &format!("bench, {}", programs[0]),
                &format!("{victim} gets SIGKILL"),
                rounds,
                "says so, nothing left",
            );
        }
    }
}

/// A test program that is killed takes everybody along.
#[test]
fn children_end_with_the_tests() {
    let (kind, wanted) = KINDS[0];
    let rounds = count().div_ceil(40);
    for _ in 0..rounds {
        let dir = directory(kind);
        let before = Before::now(dir.path());
        let mut program = Command::new(std::env::current_exe().unwrap());
        program
            .args(["--exact", "--ignored", "children::victim"])
            .env(VICTIM, dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut program = child::spawn(program).unwrap();
        let family = family(program.id() as i32, wanted);
        program.kill().unwrap();
        program.wait().unwrap();
        let Some(family) = family else {
            skip(format_args!("{} cannot be had here", wanted[0]));
            return;
        };
        assert_eq!(survivors(&family), [""; 0]);
        before.check();
    }
    row(
        "a test of bench, ovs-vswitchd",
        "the test program gets SIGKILL",
        rounds,
        "nicety and all below are gone",
    );
}

#[test]
#[ignore = "killed by children_end_with_the_tests"]
fn victim() {
    let dir = std::env::var_os(VICTIM).unwrap();
    bench(Path::new(&dir)).run();
}

#[test]
fn the_server_is_killed() {
    let test = "the_server_is_killed";
    let Some(mut server) = Server::start(&me()) else {
        return;
    };
    let mut random = random(test);
    let rounds = count().div_ceil(10);
    let mut hit = 0;
    for round in 0..rounds {
        let name = format!("runs{round}");
        server.database(&name);
        let url = server.url(&name);
        let running = nicety(["runs", "add", RUN, "--store", &url]).start();
        sleep(Duration::from_millis(random.u64(0..150)));
        server.crash();
        let ended = running.wait();
        let code = ended.code();
        if code != 0 {
            hit += 1;
            assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        }
        server.again();
        let listed = nicety(["runs", "list", "--json", "--store", &url]).run();
        let runs = match listed.code() {
            0 => serde_json::from_str::<Value>(&listed.stdout).unwrap()["runs"]
                .as_array()
                .unwrap()
                .len(),
            _ => 0,
        };
        assert!(
            runs == 1 || (runs == 0 && code != 0),
            "{ended:?}, {listed:?}"
        );
        nicety(["runs", "add", RUN, "--store", &url])
            .run()
            .assert_code(0);
    }
    let result = format!("whole or not at all, one line; {hit} hit it at work");
    row(
        "runs add, PostgreSQL",
        "the server crashes",
        rounds,
        &result,
    );
}
