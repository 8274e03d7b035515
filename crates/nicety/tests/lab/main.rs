//! `nicety lab`: boots the box for real, where QEMU and a kernel can be had.
//!
//! They are fetched once, into the directory of this test program's build, or are looked for in
//! the directory that `NICETY_TEST_LAB_CACHE` names.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

#[path = "../cli/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of the other commands")]
mod harness;
#[path = "../cli/leftovers.rs"]
mod leftovers;

mod booted;
mod faults;
mod functions;
mod guests;
mod killed;
mod left;
mod machine;
mod measured;
mod nics;
mod old_kernel;
mod paths;
mod policers;
mod rates;
mod sockets;
mod stamps;
mod stateful;
mod tune;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::{Call, in_namespaces, nicety, skip};

/// A boot takes seconds, on a machine that is busy elsewhere a minute; what runs in it, minutes.
const BOOT: Duration = Duration::from_secs(600);

/// Where QEMU and the kernel are kept.
fn cache() -> PathBuf {
    std::env::var_os("NICETY_TEST_LAB_CACHE").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab"),
        PathBuf::from,
    )
}

/// `nicety lab COMMAND`, with the cache.
fn lab(command: &str, arguments: &[&str]) -> Call {
    let cache = cache();
    let words = ["lab", command]
        .into_iter()
        .chain(arguments.iter().copied());
    nicety(words)
        .env("NICETY_CACHE", cache.to_str().unwrap())
        .limit(BOOT)
}

/// Whether a path can have a guest: in a namespace of its own, with a tap as NIC. A container lacks the one or the other
/// unless it is given both. Says `SKIP` and why where not.
fn guests_on_paths() -> bool {
    let has = Path::new("/dev/net/tun").exists();
    if !has {
        skip("there is no /dev/net/tun here");
    }
    has && in_namespaces()
}

/// Whether there is a lab to boot; says `SKIP` and why when there is none.
fn can_boot() -> bool {
    let ended = lab("fetch", &[]).limit(Duration::from_secs(600)).run();
    if ended.code() == 3 {
        skip(ended.stderr.lines().last().unwrap_or_default());
        return false;
    }
    ended.assert_code(0);
    assert!(ended.stdout.starts_with("QEMU   "), "{}", ended.stdout);
    true
}

/// Whether this is the lab's machine; says `SKIP` where not.
fn inside() -> bool {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let inside = name.trim() == "nicety-lab";
    if !inside {
        skip("this is not the lab");
    }
    inside
}

/// Processes with a word on their command line, by id.
fn processes(word: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| {
        // A process may end while it is looked at.
        let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|w| w == word.as_bytes())
    })
    .collect()
}

/// Labs that a process has started.
fn children(parent: i32) -> Vec<i32> {
    machines("the lab", parent)
}

/// QEMU processes of this name whose parent is `parent`.
fn machines(name: &str, parent: i32) -> Vec<i32> {
    processes(name)
        .into_iter()
        .filter(|id| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            after_name.split(' ').nth(1) == Some(&parent.to_string())
        })
        .collect()
}
