//! Run directories as a whole: written, read, resumed, shared, damaged.

use std::fs;
use std::path::Path;

use nicety_model::Note;
use nicety_store::{RunContents, RunDir, StoreError, TesterLimits, file};

use crate::common::{self, cell, create, meta, trial};

fn message<T: std::fmt::Debug>(result: Result<T, StoreError>, root: &Path) -> String {
    let text = result.unwrap_err().to_string();
    text.replace(&root.display().to_string(), "R")
}

#[test]
fn what_is_written_is_read_back() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("runs/one");
    let mut dir = create(&path).unwrap();
    for index in 1..=3 {
        dir.append_trial(&trial(index)).unwrap();
    }
    dir.append_cell(&cell(1)).unwrap();
    let mut limits = TesterLimits::default();
    limits.limit_fps.insert("64".parse().unwrap(), 1.5e6);
    dir.write_tester(&limits).unwrap();
    let mut later = meta();
    later.elapsed_s = 12.5;
    later.complete = true;
    dir.write_meta(&later).unwrap();
    let report = dir.write_report("report.html", b"<html>").unwrap();

    // Reading needs no lock.
    let contents = RunContents::read(&path).unwrap();
    assert_eq!(contents.meta, later);
    assert_eq!(contents.tester, Some(limits));
    assert_eq!(contents.trials, [trial(1), trial(2), trial(3)]);
    assert_eq!(contents.cells, [cell(1)]);
    assert_eq!(contents.notes, []);
    assert_eq!(fs::read(report).unwrap(), b"<html>");
    let plan = nicety_model::Plan::parse(file::PLAN, &contents.plan_toml).unwrap();
    assert_eq!(plan, nicety_model::Plan::default_bridge());
    drop(dir);

    let (mut dir, contents) = RunDir::open(&path).unwrap();
    assert_eq!(contents.trials.len(), 3);
    dir.append_trial(&trial(4)).unwrap();
    assert_eq!(RunContents::read(&path).unwrap().trials.len(), 4);
    let mut names: Vec<_> = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = "cells.jsonl host.json plan.toml report.html run.json tester.json trials.jsonl";
    assert_eq!(names.join(" "), expected, "no temporary file stays");
}

#[test]
fn a_second_writer_is_refused_while_the_first_lives() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    let first = create(&path).unwrap();
    let locked = "run directory R/run is in use by another nicety; wait for it to end or name another directory";
    assert_eq!(message(RunDir::open(&path), root.path()), locked);
    assert_eq!(message(create(&path), root.path()), locked);
    drop(first);
    RunDir::open(&path).unwrap();
}

#[test]
fn another_process_is_refused_too() {
    const VARIABLE: &str = "NICETY_STORE_LOCKED_DIR";
    if let Ok(path) = std::env::var(VARIABLE) {
        let refused = RunDir::open(Path::new(&path));
        assert!(matches!(refused, Err(StoreError::Locked { .. })));
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    let _first = create(&path).unwrap();
    let output = common::again(
        &["env"],
        "run_dir::another_process_is_refused_too",
        (VARIABLE, path.to_str().unwrap()),
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
fn bad_places_are_named() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::write(at("a-file"), "x").unwrap();
    fs::create_dir(at("full")).unwrap();
    fs::write(at("full/notes.txt"), "x").unwrap();
    fs::create_dir(at("empty")).unwrap();
    let not_empty = "run directory R/full is not empty (it holds notes.txt); name another one, or continue that run with --resume";
    let not_a_run = "R/empty has no run.json: not a run directory, or its run was killed before it began; start a new run";
    #[rustfmt::skip]
    let cases = [
        (message(create(&at("full")), root.path()), not_empty),
        (message(create(&at("a-file")), root.path()), "R/a-file is not a directory; name a run directory"),
        (message(create(&at("a-file/run")), root.path()), "R/a-file/run is not a directory; name a run directory"),
        (message(RunDir::open(&at("a-file")), root.path()), "R/a-file is not a directory; name a run directory"),
        (message(RunDir::open(&at("none")), root.path()), "there is no run directory R/none; check the path"),
        (message(RunDir::open(&at("empty")), root.path()), not_a_run),
        (message(RunContents::read(&at("empty")), root.path()), not_a_run),
    ];
    for (got, wanted) in cases {
        assert_eq!(got, wanted);
    }
    // An empty directory that is there already may be used.
    create(&at("empty")).unwrap();
}

#[test]
fn report_names_stay_inside_and_off_the_data() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(&root.path().join("run")).unwrap();
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "/etc/passwd",
        "trials.jsonl",
        "run.json",
        "a\0b",
    ] {
        let refused = dir.write_report(name, b"x");
        assert!(
            matches!(refused, Err(StoreError::ReportName { .. })),
            "{name:?}"
        );
    }
}

#[test]
fn every_truncation_keeps_every_complete_line() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    let mut dir = create(&path).unwrap();
    for index in 1..=2 {
        dir.append_trial(&trial(index)).unwrap();
    }
    drop(dir);
    let trials = path.join(file::TRIALS);
    let whole = fs::read(&trials).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&trials, &whole[..cut]).unwrap();
        let ended = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        // A record that lacks only its newline is whole.
        let unfinished = whole.get(cut) == Some(&b'\n');
        let kept = ended + usize::from(unfinished);
        let torn = cut > 0 && whole[cut - 1] != b'\n' && !unfinished;

        let contents = RunContents::read(&path).unwrap();
        assert_eq!(contents.trials.len(), kept, "cut at {cut}");
        assert_eq!(
            fs::read(&trials).unwrap().len(),
            cut,
            "reading changes nothing"
        );

        let (mut dir, contents) = RunDir::open(&path).unwrap();
        assert_eq!(contents.trials.len(), kept, "cut at {cut}");
        assert_eq!(contents.notes.len(), usize::from(torn), "cut at {cut}");
        dir.append_trial(&trial(9)).unwrap();
        drop(dir);
        let contents = RunContents::read(&path).unwrap();
        assert_eq!(contents.trials.len(), kept + 1, "cut at {cut}");
        assert_eq!(contents.trials[kept], trial(9));
        assert!(contents.notes.is_empty());
    }
}

#[test]
fn a_torn_line_is_noted_with_its_size() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    create(&path).unwrap().append_cell(&cell(1)).unwrap();
    let mut bytes = fs::read(path.join(file::CELLS)).unwrap();
    // What a crash can leave behind the data: blocks of zeros.
    bytes.extend([0; 5]);
    fs::write(path.join(file::CELLS), bytes).unwrap();
    let (_dir, contents) = RunDir::open(&path).unwrap();
    let note = "The last line of cells.jsonl is incomplete (5 bytes), as when a run is killed. It was left out.";
    assert_eq!(Note::texts(&contents.notes), [note]);
    assert_eq!(contents.cells, [cell(1)]);
}

#[test]
fn a_broken_line_in_the_middle_is_named() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    let mut dir = create(&path).unwrap();
    for index in 1..=3 {
        dir.append_trial(&trial(index)).unwrap();
    }
    drop(dir);
    let trials = path.join(file::TRIALS);
    let text = fs::read_to_string(&trials).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let damaged = "the file was changed or damaged, remove the line or restore the file";
    #[rustfmt::skip]
    let table = [
        ("{\"schema\":1,", format!("2:12: EOF while parsing a value; {damaged}")),
        ("", format!("2:0: EOF while parsing a value; {damaged}")),
        ("{\"schema\":1}", format!("2:12: missing field `cell`; {damaged}")),
        ("{\"schema\":2,\"unheard\":true}",
            "2: schema 2 is newer than 1, the newest this version reads; use a newer nicety".to_owned()),
    ];
    for (second, what) in table {
        let message_wanted = format!("R/run/trials.jsonl:{what}");
        fs::write(&trials, [lines[0], second, lines[2], ""].join("\n")).unwrap();
        assert_eq!(message(RunDir::open(&path), root.path()), message_wanted);
        assert_eq!(
            message(RunContents::read(&path), root.path()),
            message_wanted
        );
    }
    // The last line may be torn, but not newer.
    fs::write(
        &trials,
        [lines[0], "{\"schema\":2,\"unheard\":true}"].join("\n"),
    )
    .unwrap();
    let newer = RunDir::open(&path);
    assert!(matches!(newer, Err(StoreError::Newer { line: 2, .. })));
}

#[test]
fn a_newer_run_is_refused_before_it_is_misread() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    drop(create(&path).unwrap());
    fs::write(path.join(file::RUN), "{\"schema\": 2}").unwrap();
    assert_eq!(
        message(RunDir::open(&path), root.path()),
        "R/run/run.json:1: schema 2 is newer than 1, the newest this version reads; use a newer nicety"
    );
}
