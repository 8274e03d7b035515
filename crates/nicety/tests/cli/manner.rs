//! What every command takes: colours, quiet, and where its state is.

use std::fs;
use std::path::Path;

use crate::harness::{Call, nicety};
use crate::made::Made;

fn report(dir: &Path, more: &[&str]) -> Call {
    let words = ["report", "one"].iter().chain(more);
    nicety(words)
        .dir(dir)
        .env("NO_COLOR", "")
        .env("CLICOLOR_FORCE", "")
}

#[test]
fn colours_are_decided_once() {
    let dir = tempfile::tempdir().unwrap();
    Made::new(1, &[(64, &[1e5])]).write(dir.path(), "one");
    let (always, never) = (&["--color", "always"], &["--color=never"]);
    for (call, colour) in [
        (report(dir.path(), &[]), false),
        (report(dir.path(), always), true),
        (report(dir.path(), &[]).env("CLICOLOR_FORCE", "1"), true),
        (report(dir.path(), never).env("CLICOLOR_FORCE", "1"), false),
        (
            report(dir.path(), &[])
                .env("CLICOLOR_FORCE", "1")
                .env("NO_COLOR", "1"),
            false,
        ),
        (report(dir.path(), always).env("NO_COLOR", "1"), true),
    ] {
        let what = format!("{call:?}");
        let ended = call.run();
        let text = &ended.assert_code(0).stdout;
        assert_eq!(text.contains('\u{1b}'), colour, "{what}: {text:?}");
    }
    // Other formats have none.
    for format in ["csv", "md", "json"] {
        let ended = report(dir.path(), &["--format", format, "--color", "always"]).run();
        assert!(!ended.assert_code(0).stdout.contains('\u{1b}'), "{format}");
    }
}

#[test]
fn the_state_may_be_named_in_the_environment_as_any_user() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let history = |value: &str, more: &[&str]| {
        nicety(["tune", "status", "-j"].iter().chain(more))
            .env("NICETY_STATE", value)
            .env("XDG_STATE_HOME", dir.path().join("usual").to_str().unwrap())
            .run()
    };
    let state = state.to_str().unwrap();
    history(state, &[]).assert_code(0);
    assert!(fs::metadata(state).unwrap().is_dir());
    // The option counts more.
    let option = dir.path().join("option");
    history(state, &["--state", option.to_str().unwrap()]).assert_code(0);
    assert!(option.is_dir());
    // A file is none, by either name: the same words.
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let by_variable = history(file, &[]);
    let by_option = history("", &["--state", file]);
    assert_eq!(by_variable.code(), by_option.code());
    assert_ne!(by_variable.code(), 0);
    assert_eq!(by_variable.stderr, by_option.stderr);
    // The daemon has its part of it.
    let status = nicety(["police", "status"])
        .env("NICETY_STATE", state)
        .run();
    status.assert_code(3);
    let part = Path::new(state).join("police");
    let line = status.only_line();
    assert!(line.contains(part.to_str().unwrap()), "{line}");
}
