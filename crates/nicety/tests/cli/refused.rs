//! Plans, ports and directories that are refused before anything is measured or written.

use std::fs;
use std::path::Path;

use crate::harness::{in_namespaces, nicety, refusals, words};

/// Runs `nicety bench` in an empty directory, and makes sure that it stays empty but for the
/// plan.
fn refuse(plan: Option<&str>, arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut words = vec!["bench"];
    if let Some(text) = plan {
        fs::write(dir.path().join("plan.toml"), text).unwrap();
        words.push("plan.toml");
    }
    words.extend(arguments);
    let ended = nicety(&words).dir(dir.path()).run();
    assert_eq!(
        entries(dir.path()),
        plan.map_or(vec![], |_| vec!["plan.toml".to_owned()])
    );
    ended.assert_code(2).only_line().to_owned()
}

fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn plan_files_that_cannot_be_read() {
    let fix = "name a TOML file or two interfaces, or nothing for a bridge";
    for (file, why) in [
        ("none.toml", "No such file or directory (os error 2)"),
        (".", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("/dev/null/x", "Not a directory (os error 20)"),
    ] {
        assert_eq!(
            refuse(None, &[file]),
            format!("cannot read the plan {file}: {why}; {fix}")
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("latin1.toml");
    fs::write(&file, b"name = \"K\xf6ln\"\n").unwrap();
    let ended = nicety([Path::new("bench"), &file]).dir(dir.path()).run();
    assert_eq!(
        ended.assert_code(2).only_line(),
        format!(
            "cannot read the plan {}: stream did not contain valid UTF-8; {fix}",
            file.display()
        )
    );
}

/// The other mistakes are in `tests/cases/plans`.
#[test]
fn plan_errors_name_file_and_line() {
    let plan = "[[path]]\nkind = \"bridge\"\n[traffic]\nframe_size = 64\n";
    assert_eq!(
        refuse(Some(plan), &[]),
        r#"plan.toml:4: unknown key frame_size in [traffic]; did you mean "frame_sizes"?"#
    );
}

#[test]
fn a_message_stays_on_one_line_whatever_it_quotes() {
    assert_eq!(
        refuse(None, &["two\nlines\u{1b}[31m.toml"]),
        "cannot read the plan two\\nlines\\u{1b}[31m.toml: No such file or directory (os error 2); name a TOML file or two interfaces, or nothing for a bridge"
    );
}

#[test]
fn ports_that_cannot_be_meant() {
    for (ports, line) in [
        (
            ["eth1", ""],
            "the interface name is empty; write names that `ip link` shows",
        ),
        (
            ["eth1", "eth1"],
            "a path needs two different interfaces; name another one",
        ),
        (
            ["eth1", "a-name-of-16-byt"],
            r#"interface name "a-name-of-16-byt" has 16 bytes, the kernel allows 15; write names that `ip link` shows"#,
        ),
        (
            ["eth1", "../x"],
            r#""../x" cannot be an interface name, the kernel refuses '/', ':', spaces, "." and ".."; write names that `ip link` shows"#,
        ),
    ] {
        let [a, b] = ports;
        assert_eq!(refuse(None, &ports), format!("{a} {b}: {line}"));
    }
}

#[test]
fn paths_that_cannot_be_meant() {
    for (path, line) in [
        ("brigde", "did you mean \"bridge\"?"),
        ("bridge,vms=2", "vms"),
        ("tunnel,encapsulation=ger", "gre"),
    ] {
        let given = format!("--path={path}");
        let said = refuse(None, &[&given]);
        assert!(said.starts_with("--path") && said.contains(line), "{said}");
    }
}

const DIRECTORIES: &str = r#"
bench --resume none
    there is no run directory none; check the path
bench --resume file
    file is not a directory; name a run directory
bench --resume full
    full has no run.json: not a run directory, or its run was killed before it began; start a new run
bench --out full
    run directory full is not empty (it holds notes.txt); name another one, or continue that run with --resume
bench --out file
    file is not a directory; name a run directory
report --json none
    there is no run directory none; check the path
report --json empty
    empty has no run.json: not a run directory, or its run was killed before it began; start a new run
"#;

#[test]
fn directories_that_cannot_serve() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    fs::create_dir(dir.path().join("full")).unwrap();
    fs::write(dir.path().join("full/notes.txt"), "mine").unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    for (arguments, line) in refusals(DIRECTORIES) {
        nicety(words(arguments)).dir(dir.path()).run().refused(line);
    }
    assert_eq!(entries(dir.path()), ["empty", "file", "full"]);
    assert_eq!(entries(&dir.path().join("full")), ["notes.txt"]);
}
