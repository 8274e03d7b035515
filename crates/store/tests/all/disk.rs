//! Disks that are full, read-only or somebody else's.

use std::fs;
use std::path::Path;

use nicety_model::Note;
use nicety_store::{RunContents, RunDir, StoreError};

use crate::common::{again, create, trial};

/// Set in the processes that fill a disk: the directory to fill.
const FILL: &str = "NICETY_STORE_FILL";

/// Appends until the disk is full, then checks what is left.
fn fill(path: &Path) {
    let mut dir = create(path).unwrap();
    let mut written = 0;
    let error = loop {
        match dir.append_trial(&trial(written + 1)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 10_000, "the disk never fills");
    };
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("cannot append to "), "{text}");
    assert!(
        text.ends_with("; make room, then continue with --resume"),
        "{text}"
    );
    assert!(written > 0);
    // The part of the line that did fit was taken back.
    let contents = RunContents::read(path).unwrap();
    assert_eq!(contents.trials.len(), written as usize);
    assert_eq!(contents.notes, []);
    // A file that cannot be replaced stays as it was.
    let meta = contents.meta.clone();
    let mut longer = meta.clone();
    longer.notes = vec![Note::Recorded("x".repeat(100_000))];
    let refused = dir.write_meta(&longer);
    assert!(matches!(refused, Err(StoreError::DiskFull { .. })));
    assert_eq!(RunContents::read(path).unwrap().meta, meta);
    drop(dir);
    let (_dir, contents) = RunDir::open(path).unwrap();
    assert_eq!(contents.trials.len(), written as usize);
}

/// Runs `test` again below a shell command that prepares the disk.
fn fill_under(shell: &[String], test: &str) {
    let root = tempfile::tempdir().unwrap();
    let test = format!("disk::{test}");
    let output = again(shell, &test, (FILL, root.path().to_str().unwrap()));
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains("1 passed"), "{text}\n{errors}");
}

/// Makes a mount namespace: as root, or as an ordinary user in a user namespace.
fn unshare() -> Option<&'static [&'static str]> {
    let commands: [&[&str]; 2] = [
        &["unshare", "--mount"],
        &["unshare", "--map-root-user", "--mount"],
    ];
    commands.into_iter().find(|way| {
        std::process::Command::new(way[0])
            .args(&way[1..])
            .arg("true")
            .output()
            .is_ok_and(|output| output.status.success())
    })
}

/// A command that runs another one with a tmpfs on the directory to fill.
fn mounting(options: &str) -> Option<Vec<String>> {
    let mount = format!("mount -t tmpfs -o {options} tmpfs \"${FILL}\" && exec \"$0\" \"$@\"");
    let shell = ["sh", "-c", &mount];
    let words = unshare()?.iter().chain(&shell).copied();
    Some(words.map(str::to_owned).collect())
}

#[test]
fn a_full_disk_keeps_what_was_written_as_any_user() {
    if let Ok(root) = std::env::var(FILL) {
        fill(&Path::new(&root).join("run"));
        return;
    }
    let Some(shell) = mounting("size=64k") else {
        println!(
            "SKIP a_full_disk_keeps_what_was_written_as_any_user: cannot make a mount namespace with unshare(1)"
        );
        return;
    };
    fill_under(&shell, "a_full_disk_keeps_what_was_written_as_any_user");
}

#[test]
fn the_largest_file_size_keeps_what_was_written() {
    if let Ok(root) = std::env::var(FILL) {
        fill(&Path::new(&root).join("run"));
        return;
    }
    // 16 blocks of 512 bytes; the signal is ignored so that the write fails instead.
    let limit = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    let shell = ["sh", "-c", limit].map(str::to_owned);
    fill_under(&shell, "the_largest_file_size_keeps_what_was_written");
}

/// In a mount namespace, so that root may not write either.
#[test]
fn a_read_only_file_system_is_reported_as_any_user() {
    const TEST: &str = "a_read_only_file_system_is_reported_as_any_user";
    if let Ok(root) = std::env::var(FILL) {
        for path in [Path::new(&root).to_owned(), Path::new(&root).join("run")] {
            let error = create(&path).unwrap_err();
            assert!(matches!(error, StoreError::Denied { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("Read-only file system"), "{text}");
        }
        return;
    }
    let Some(shell) = mounting("ro") else {
        println!("SKIP {TEST}: cannot make a mount namespace with unshare(1)");
        return;
    };
    fill_under(&shell, TEST);
}

#[test]
fn a_directory_of_somebody_else_is_reported_as_any_user() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let closed = root.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(closed.join("probe"), "").is_ok() {
        println!(
            "SKIP a_directory_of_somebody_else_is_reported_as_any_user: root may write everywhere"
        );
        return;
    }
    for path in [closed.clone(), closed.join("run")] {
        let error = create(&path).unwrap_err();
        assert!(matches!(error, StoreError::Denied { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.ends_with("; choose a directory you may write to"),
            "{text}"
        );
    }
}
