//! A run that is killed at any moment leaves nothing that the next start does not remove.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use crate::harness::{Call, in_namespaces, nicety, open_dir};
use crate::leftovers::Before;
use crate::{cache, can_boot, guests_on_paths};

const KILLS: usize = 20;
/// What a run is killed in the middle of, and until when. A guest has booted by then, or is about to.
const KINDS: [(&str, u64); 4] = [
    ("kind = \"bridge\"\n", 1500),
    ("kind = \"vm\"\nguest = \"netns\"\n", 1500),
    ("kind = \"ovs\"\ndatapath = \"userspace\"\n", 2000),
    // The machine and the switch at once.
    ("kind = \"vm\"\naccel = \"tcg\"\nswitch = \"ovs\"\n", 7000),
];
const HEAD: &str = "[traffic]
frame_sizes = [64, 512, 1518]
[search]
preset = \"quick\"
[[path]]
";
/// Gives the moments again that a test has printed.
const SEED: &str = "NICETY_TEST_SEED";

/// `nicety bench` whose programs keep their files below `dir`.
fn bench(dir: &Path, plan: &str, out: &str, more: &[&str]) -> Call {
    let cache = cache();
    nicety(["bench", plan, "--out", out].iter().chain(more))
        .dir(dir)
        .env("NICETY_CACHE", cache.to_str().unwrap())
        .env("XDG_RUNTIME_DIR", dir.join("runtime").to_str().unwrap())
        .limit(Duration::from_secs(120))
}

fn seed() -> u64 {
    let asked = std::env::var(SEED).ok();
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let drawn = || now().unwrap().as_nanos() as u64;
    asked.map_or_else(drawn, |text| text.parse().unwrap()) | 1
}

/// Xorshift: any moments will do.
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

/// Directories of paths that nobody has removed yet.
fn left(runtime: &Path) -> Vec<String> {
    let entries = fs::read_dir(runtime.join("nicety")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("path-")).collect()
}

#[test]
fn twenty_kills_leave_nothing() {
    if !in_namespaces() {
        return;
    }
    let kinds = if guests_on_paths() && can_boot() {
        KINDS.len()
    } else {
        KINDS.len() - 1
    };
    let dir = open_dir();
    // Sockets, databases and logs of the programs.
    let runtime = dir.path().join("runtime");
    fs::create_dir(&runtime).unwrap();
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).unwrap();
    for (number, (path, _)) in KINDS.iter().enumerate() {
        fs::write(
            dir.path().join(format!("plan{number}.toml")),
            format!("{HEAD}{path}"),
        )
        .unwrap();
    }
    let before = Before::now(dir.path());
    let mut random = seed();
    println!("{SEED}={random}");
    let mut found = 0;
    for number in 0..KILLS {
        let kind = number % kinds;
        let moment = Duration::from_millis(next(&mut random) % KINDS[kind].1);
        let running = bench(
            dir.path(),
            &format!("plan{kind}.toml"),
            &format!("out{number}"),
            &[],
        )
        .start();
        sleep(moment);
        running.signal(Signal::KILL);
        running.wait();
        let left = left(&runtime);
        println!(
            "path {kind} after {} ms: {} left",
            moment.as_millis(),
            left.len()
        );
        found += left.len();
    }
    println!("{found} directories were left to next starts");
    // It has no time to measure, and removes what it finds all the same.
    let ended = bench(dir.path(), "plan0.toml", "next", &["--for", "1s"]).run();
    assert!(matches!(ended.code(), 0 | 1), "{ended:?}");
    assert_eq!(left(&runtime), [""; 0]);
    before.check();
}
