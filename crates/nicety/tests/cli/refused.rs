//! Plans, ports and directories that are refused before anything is measured or written.

use std::fs;
use std::path::Path;

use crate::harness::{in_namespaces, nicety};

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
    let fix = "name a TOML file, or leave it out for the default";
    for (file, why) in [
        ("none.toml", "No such file or directory (os error 2)"),
        (".", "Is a directory (os error 21)"),
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

#[test]
fn plan_errors_name_file_and_line() {
    let path = "[[path]]\nkind = \"bridge\"\n";
    for (text, line) in [
        (
            format!("{path}[search]\nloss_ratio = 2\n"),
            "plan.toml:4: loss_ratio = 2 is not between 0 and 1; write the share of frames that may be lost, 0.0001 for 0.01 %",
        ),
        (
            format!("{path}[traffic]\nframe_size = 64\n"),
            r#"plan.toml:4: unknown key frame_size in [traffic]; did you mean "frame_sizes"?"#,
        ),
        (
            format!("{path}[traffic]\nframe_sizes = []\n"),
            "plan.toml:4: frame_sizes is an empty list; give it at least one value or remove it",
        ),
        (
            "name = \"x\n".to_owned(),
            "plan.toml:1: invalid basic string, expected `\"`; correct the TOML syntax on this line",
        ),
        (
            String::new(),
            "plan.toml:1: the plan has no path; add a line [[path]] and below it kind = \"bridge\"",
        ),
    ] {
        assert_eq!(refuse(Some(&text), &[]), line);
    }
}

#[test]
fn a_message_stays_on_one_line_whatever_it_quotes() {
    assert_eq!(
        refuse(None, &["two\nlines\u{1b}[31m.toml"]),
        "cannot read the plan two\\nlines\\u{1b}[31m.toml: No such file or directory (os error 2); name a TOML file, or leave it out for the default"
    );
}

#[test]
fn overloads_that_cannot_be_meant() {
    for (time, why) in [
        (
            "0.5s",
            "\"0.5s\" is not between 1s and 10m; RFC 2544 asks for 60s",
        ),
        (
            "1h",
            "\"1h\" is not between 1s and 10m; RFC 2544 asks for 60s",
        ),
        (
            "60",
            "\"60\" has no unit; write \"60s\" for seconds (ms, s, m or h)",
        ),
        (
            "",
            "\"\" is no duration; write a number and ms, s, m or h, as in \"30s\"",
        ),
    ] {
        let given = format!("--recovery={time}");
        let line = refuse(None, &[&given]);
        assert!(line.contains(why), "{line}");
    }
    // What a run had is in its plan.
    for flag in ["--recovery", "--reset"] {
        let line = refuse(None, &["--resume", "runs/mine", flag]);
        assert!(line.contains(flag) && line.contains("--resume"), "{line}");
    }
}

#[test]
fn ports_that_cannot_be_meant() {
    for (ports, line) in [
        (
            "eth1",
            "not two interfaces; write both with a comma between them, as in eth1,eth2",
        ),
        (
            "a,b,c",
            "not two interfaces; write both with a comma between them, as in eth1,eth2",
        ),
        (
            "",
            "not two interfaces; write both with a comma between them, as in eth1,eth2",
        ),
        (
            "eth1,",
            "the interface name is empty; write names that `ip link` shows",
        ),
        (
            "eth1,eth1",
            "a path needs two different interfaces; name another one",
        ),
        (
            "eth1,a-name-of-16-byt",
            r#"interface name "a-name-of-16-byt" has 16 bytes, the kernel allows 15; write names that `ip link` shows"#,
        ),
        (
            "eth1,../x",
            r#""../x" cannot be an interface name, the kernel refuses '/', ':', spaces, "." and ".."; write names that `ip link` shows"#,
        ),
    ] {
        let given = format!("--ports={ports}");
        assert_eq!(refuse(None, &[&given]), format!("--ports {ports}: {line}"));
    }
}

#[test]
fn directories_that_cannot_serve() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    fs::create_dir(dir.path().join("full")).unwrap();
    fs::write(dir.path().join("full/notes.txt"), "mine").unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    for (arguments, line) in [
        (
            ["bench", "--resume", "none"],
            "there is no run directory none; check the path",
        ),
        (
            ["bench", "--resume", "file"],
            "file is not a directory; name a run directory",
        ),
        (
            ["bench", "--resume", "full"],
            "full has no run.json: not a run directory, or its run was killed before it began; start a new run",
        ),
        (
            ["bench", "--out", "full"],
            "run directory full is not empty (it holds notes.txt); name another one, or continue that run with --resume",
        ),
        (
            ["bench", "--out", "file"],
            "file is not a directory; name a run directory",
        ),
        (
            ["report", "--json", "none"],
            "there is no run directory none; check the path",
        ),
        (
            ["report", "--json", "empty"],
            "empty has no run.json: not a run directory, or its run was killed before it began; start a new run",
        ),
    ] {
        let ended = nicety(arguments).dir(dir.path()).run();
        assert_eq!(ended.assert_code(2).only_line(), line, "{arguments:?}");
    }
    assert_eq!(entries(dir.path()), ["empty", "file", "full"]);
    assert_eq!(entries(&dir.path().join("full")), ["notes.txt"]);
}
