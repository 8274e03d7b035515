//! Labs that cannot be had: one line each.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::harness::{Call, nicety, open_dir, root, skip};

/// `nicety lab fetch` with an empty cache and a mirror that does not answer.
fn fetch(cache: &str) -> Call {
    nicety(["lab", "fetch"])
        .env("NICETY_CACHE", cache)
        .env("NICETY_MIRROR", "http://127.0.0.1:9/debian")
        .limit(std::time::Duration::from_secs(120))
}

#[test]
fn wrong_words() {
    for (arguments, line) in [
        (
            &["lab", "run"][..],
            "COMMAND is missing; see nicety lab run --help",
        ),
        (
            &["lab", "run", "--memory", "4", "--", "true"],
            "--memory: \"4\" is not a size; write it as 4G or 2048M",
        ),
        (
            &["lab", "run", "--memory", "64M", "--", "true"],
            "--memory: 64M is too little to boot in; write at least 1024M",
        ),
        (
            &["lab", "run", "--accel", "hax", "--", "true"],
            "--accel: \"hax\" is not an accelerator; write auto, kvm or tcg",
        ),
        (
            &["lab", "run", "--out", "/", "--", "true"],
            "--out / would open the whole host to the lab; name a directory for results",
        ),
        (
            &["lab", "run", "--out", "/etc/passwd", "--", "true"],
            "--out /etc/passwd: File exists (os error 17); name another directory",
        ),
        (
            &["lab", "shell"],
            "lab shell needs a terminal; for a command write nicety lab run -- COMMAND",
        ),
        (
            &["guest-init", "lab"],
            "guest-init is for guests of nicety only; see nicety lab --help",
        ),
    ] {
        let ended = nicety(arguments).run();
        ended.assert_code(2);
        assert_eq!(ended.only_line(), line);
    }
}

#[test]
fn no_network() {
    let dir = open_dir();
    let cache = dir.path().join("cache");
    let ended = fetch(cache.to_str().unwrap()).run();
    ended.assert_code(3);
    let line = ended.stderr.lines().last().unwrap();
    if !std::path::Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists() {
        skip("this is no Debian with its keyring");
        return;
    }
    assert!(
        line.starts_with("nicety: apt-get update failed: "),
        "{line}"
    );
    assert!(
        line.ends_with("check the network, or name another archive in NICETY_MIRROR"),
        "{line}"
    );
    // Nothing half done stays behind.
    let left: Vec<_> = fs::read_dir(&cache)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["lock"]);
}

#[test]
fn no_apt() {
    let dir = open_dir();
    let cache = dir.path().join("cache");
    let ended = fetch(cache.to_str().unwrap())
        .env("PATH", "/nonexistent")
        .run();
    ended.assert_code(3);
    assert_eq!(
        ended.only_line(),
        "apt-get is not installed, so QEMU and a kernel cannot be fetched from Debian packages; use a Debian host, or copy the cache directory of one and name it in NICETY_CACHE"
    );
}

#[test]
fn no_directory() {
    let dir = open_dir();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let ended = fetch(file.join("cache").to_str().unwrap()).run();
    ended.assert_code(3);
    let line = ended.only_line();
    assert!(
        line.starts_with("make directory ")
            && line.ends_with(
                "Not a directory (os error 20); name a cache directory that can be written to in NICETY_CACHE"
            ),
        "{line}"
    );
    if root() {
        // Root writes everywhere; the rest is for ordinary users.
        return;
    }
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    let ended = fetch(closed.join("cache").to_str().unwrap()).run();
    ended.assert_code(3);
    assert!(
        ended
            .only_line()
            .contains("Permission denied (os error 13); name a cache directory"),
        "{}",
        ended.stderr
    );
}

#[test]
fn no_home() {
    let ended = nicety(["lab", "fetch"])
        .below(["env", "-u", "HOME", "-u", "XDG_CACHE_HOME"])
        .run();
    ended.assert_code(3);
    assert_eq!(
        ended.only_line(),
        "no cache directory: neither XDG_CACHE_HOME nor HOME names one; name one in NICETY_CACHE"
    );
}

#[test]
fn a_full_disk() {
    if !root() {
        skip("mounting a small file system needs root");
        return;
    }
    let dir = open_dir();
    let path = dir.path().to_str().unwrap();
    let script = format!("mount -t tmpfs -o size=20m tmpfs {path} && exec \"$@\"");
    let below = ["unshare", "--mount", "sh", "-c", &script, "sh"];
    // In a chroot whose root is no mount point, nothing can be mounted for one process alone.
    let tried = Command::new(below[0])
        .args(&below[1..])
        .arg("true")
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        skip("cannot mount a tmpfs in a namespace of its own");
        return;
    }
    let ended = fetch(&format!("{path}/cache")).below(below).run();
    ended.assert_code(3);
    let line = ended.only_line();
    assert!(
        line.contains(" has 20 MiB free, QEMU and a kernel need "),
        "{line}"
    );
    assert!(
        line.ends_with("make room, or name another directory in NICETY_CACHE"),
        "{line}"
    );
}

/// Whoever answers in Debian's name without its key is not believed.
#[test]
fn a_mirror_that_is_not_signed() {
    if !std::path::Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists() {
        skip("this is no Debian with its keyring");
        return;
    }
    let dir = open_dir();
    let dists = dir.path().join("mirror/dists");
    for suite in ["trixie", "trixie-backports"] {
        let suite = dists.join(suite);
        fs::create_dir_all(&suite).unwrap();
        fs::write(suite.join("Release"), "Suite: x\nCodename: x\n").unwrap();
    }
    let mirror = format!("file:{}", dir.path().join("mirror").display());
    let cache = dir.path().join("cache");
    let fetch = nicety(["lab", "fetch"]).env("NICETY_CACHE", cache.to_str().unwrap());
    let ended = fetch.env("NICETY_MIRROR", &mirror).run();
    ended.assert_code(3);
    let line = ended.stderr.lines().last().unwrap();
    assert!(
        line.starts_with("nicety: apt-get update failed: ") && line.contains("is not signed"),
        "{line}"
    );
}
