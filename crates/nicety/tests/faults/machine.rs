//! `lab`: a machine that is ended at any moment.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::campaign::{count, random, row};
use crate::harness::{Call, nicety, open_dir, skip};
use crate::leftovers::Before;

/// A boot takes seconds, on a machine that is busy elsewhere a minute.
const BOOT: Duration = Duration::from_secs(180);
/// Longest time from the start to the signal, a boot on a machine that is not busy.
const SPAN: u64 = 12_000;
/// Boots a lab that stays.
const KEEP: [&str; 4] = ["run", "--keep", "--", "true"];

fn lab(dir: &TempDir, words: &[&str]) -> Call {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab");
    nicety(["lab"].iter().chain(words))
        .env("NICETY_CACHE", cache.to_str().unwrap())
        .env("XDG_RUNTIME_DIR", dir.path().to_str().unwrap())
        .dir(dir.path())
        .limit(BOOT)
}

/// QEMU's number, where one of this directory runs.
fn machines(dir: &Path) -> usize {
    let marker = dir.join("nicety/lab/qemu.pid");
    let marker = marker.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let has_it = |entry: &fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        words
            .split(|byte| *byte == 0)
            .any(|word| word == marker.as_bytes())
    };
    entries.filter(has_it).count()
}

#[test]
fn lab_run_keep_down() {
    let test = "lab_run_keep_down";
    let rounds = count() / 60;
    if rounds == 0 {
        skip("a lab boots for seconds: only with NICETY_FAULTS of 60 and more");
        row(
            "lab run, run --keep, down",
            "SIGKILL, any moment",
            0,
            "SKIP: only with many accidents",
        );
        return;
    }
    let dir = open_dir();
    let fetched = lab(&dir, &["fetch"]).limit(4 * BOOT).run();
    if fetched.code() == 3 {
        skip(format_args!(
            "{}",
            fetched.stderr.lines().last().unwrap_or_default()
        ));
        return;
    }
    fetched.assert_code(0);
    let before = Before::now(dir.path());
    let mut random = random(test);
    let calls: [(&str, &[&str]); 3] = [
        ("lab run --keep", &KEEP),
        ("lab run", &["run", "--", "true"]),
        ("lab down", &["down"]),
    ];
    for (name, words) in calls {
        for round in 0..rounds {
            let span = match words[0] {
                // There is something to end.
                "down" => {
                    lab(&dir, &KEEP).run().assert_code(0);
                    500
                }
                _ => SPAN,
            };
            let running = lab(&dir, words).start();
            sleep(Duration::from_millis(random.u64(0..span)));
            let signal = if round % 2 == 0 {
                Signal::KILL
            } else {
                Signal::TERM
            };
            running.signal_if_there(signal);
            let ended = running.wait();
            assert_ne!(
                ended.status.code(),
                Some(101),
                "{name}, {signal:?}: {ended:?}"
            );
            let down = lab(&dir, &["down"]).run();
            assert!(matches!(down.code(), 0..=3), "{name}, {signal:?}: {down:?}");
            before.check();
            assert_eq!(
                machines(dir.path()),
                0,
                "{name}, {signal:?}: {ended:?}, {down:?}"
            );
        }
        row(
            name,
            "SIGKILL and SIGTERM, any moment",
            rounds,
            "lab down ends all of it",
        );
    }
}
