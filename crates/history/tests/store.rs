//! The store in good use and bad: what is kept, given back, refused and left alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use nicety_history::{Added, History, HistoryError, NewRun, Sqlite};
use nicety_model::compare::Metric;
use nicety_model::history::Figure;
use nicety_model::{Fingerprint, Run, Verdict};
use nicety_store::RunFiles;
use rusqlite::Connection;
use tempfile::TempDir;

fn run(day: u32) -> Run {
    let text = format!(
        r#"{{"schema":1,"run":{{"name":"nightly","started":"2026-03-{day:02}T01:00:00Z",
        "elapsed_s":1.0,"seed":{day},"preset":"quick","loss_goal":0.0001,"command":"nicety bench",
        "complete":true,"host":{},"notes":[]}},
        "tester_limit_fps":{{}},"cells":[],"summary":[]}}"#,
        host()
    );
    serde_json::from_str(&text).unwrap()
}

fn host() -> String {
    let host = Fingerprint {
        kernel: "6.18.5".to_owned(),
        ..Fingerprint::default()
    };
    serde_json::to_string(&host).unwrap()
}

fn files(text: &str) -> RunFiles {
    [("host.json", host()), ("cells.jsonl", text.to_owned())]
        .map(|(name, text)| (name.to_owned(), text.into_bytes()))
        .into()
}

fn figure(mean: f64) -> Figure {
    Figure {
        cell: "bridge/64/uni".to_owned(),
        metric: Metric::Throughput,
        mean: Some(mean),
        min: Some(mean - 1.0),
        max: Some(mean + 1.0),
        repeats: 3,
        verdict: Verdict::Ok,
    }
}

fn add(store: &mut Sqlite, day: u32, text: &str, labels: &[&str]) -> Added {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    store
        .add(
            &NewRun {
                run: &run(day),
                files: &files(text),
                figures: &[figure(f64::from(day) * 1000.0)],
            },
            &labels,
        )
        .unwrap()
}

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/history.sqlite");
    (dir, path)
}

#[test]
fn a_run_comes_back_as_it_was() {
    let (_dir, path) = place();
    let mut store = Sqlite::open_or_create(&path).unwrap();
    assert_eq!(add(&mut store, 2, "two", &["b", "a"]), Added::New(1));
    assert_eq!(add(&mut store, 1, "one", &[]), Added::New(2));
    drop(store);
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(store.files(1).unwrap(), files("two"));
    let kept = store.list().unwrap();
    assert_eq!(kept.iter().map(|run| run.id).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(kept[0].labels, ["a", "b"]);
    assert_eq!((kept[0].cells, kept[0].cells_ok), (1, 1));
    let points = store.points("bridge/64/uni", Metric::Throughput).unwrap();
    let values: Vec<_> = points.iter().map(|p| p.point.value).collect();
    assert_eq!(values, [Some(1000.0), Some(2000.0)], "oldest first");
    assert!(
        store
            .points("bridge/64/uni", Metric::Cpu)
            .unwrap()
            .is_empty()
    );
    assert_eq!(store.cells().unwrap(), ["bridge/64/uni"]);
}

#[test]
fn a_run_is_kept_once() {
    let (_dir, path) = place();
    let mut store = Sqlite::open_or_create(&path).unwrap();
    assert_eq!(add(&mut store, 1, "half", &["x"]), Added::New(1));
    assert_eq!(add(&mut store, 1, "half", &["y"]), Added::Same(1));
    assert_eq!(add(&mut store, 1, "whole", &[]), Added::Replaced(1));
    assert_eq!(store.files(1).unwrap(), files("whole"));
    assert_eq!(store.list().unwrap().len(), 1);
    assert_eq!(store.list().unwrap()[0].labels, ["x", "y"]);
}

#[test]
fn labels_come_and_go_and_runs_are_forgotten_whole() {
    let (_dir, path) = place();
    let mut store = Sqlite::open_or_create(&path).unwrap();
    for day in 1..=3 {
        add(&mut store, day, "x", &[]);
    }
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|w| (*w).into()).collect() };
    store.label(&[1, 2], &words(&["good"]), &[]).unwrap();
    store.label(&[2], &[], &words(&["good", "none"])).unwrap();
    let labelled: Vec<i64> = store
        .list()
        .unwrap()
        .into_iter()
        .filter(|run| !run.labels.is_empty())
        .map(|run| run.id)
        .collect();
    assert_eq!(labelled, [1]);
    let gone = store.label(&[3, 9], &words(&["x"]), &[]);
    assert!(matches!(gone, Err(HistoryError::NoRun { id: 9 })));
    assert!(
        store.list().unwrap()[0].labels.is_empty(),
        "nothing changed"
    );
    assert!(matches!(
        store.remove(&[1, 9]),
        Err(HistoryError::NoRun { id: 9 })
    ));
    store.remove(&[1, 3]).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    assert!(matches!(store.files(1), Err(HistoryError::NoRun { id: 1 })));
    // A number is never given twice: what a script wrote down stays true.
    assert_eq!(add(&mut store, 9, "x", &[]), Added::New(4));
}

#[test]
fn a_store_that_another_writes_to_is_said_to_be_in_use() {
    let (_dir, path) = place();
    let mut store = Sqlite::open_or_create(&path).unwrap();
    add(&mut store, 1, "x", &[]);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let refused = store.remove(&[1]);
    assert!(matches!(refused, Err(HistoryError::Locked { .. })));
    other.execute_batch("ROLLBACK").unwrap();
    store.remove(&[1]).unwrap();
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let (dir, path) = place();
    assert!(matches!(
        Sqlite::open(&path),
        Err(HistoryError::Missing { .. })
    ));
    assert!(!path.exists(), "looking makes nothing");
    let text = dir.path().join("notes.txt");
    fs::write(
        &text,
        "shopping list, long enough to be read as a header ".repeat(40),
    )
    .unwrap();
    let before = fs::read(&text).unwrap();
    for open in [Sqlite::open, Sqlite::open_or_create] {
        assert!(matches!(open(&text), Err(HistoryError::NotAStore { .. })));
    }
    assert_eq!(fs::read(&text).unwrap(), before);
    let other = dir.path().join("other.db");
    let made = Connection::open(&other).unwrap();
    made.execute_batch("CREATE TABLE mine (x)").unwrap();
    drop(made);
    let refused = Sqlite::open_or_create(&other);
    assert!(matches!(refused, Err(HistoryError::NotAStore { .. })));
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let (_dir, path) = place();
    drop(Sqlite::open_or_create(&path).unwrap());
    let made = Connection::open(&path).unwrap();
    made.pragma_update(None, "user_version", 99).unwrap();
    drop(made);
    match Sqlite::open(&path) {
        Err(HistoryError::Newer { found, known, .. }) => assert_eq!((found, known), (99, 1)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn damage_is_found_and_mended_by_adding_again() {
    let (_dir, path) = place();
    let mut store = Sqlite::open_or_create(&path).unwrap();
    add(&mut store, 1, "x", &[]);
    let other = Connection::open(&path).unwrap();
    other
        .execute(
            "UPDATE files SET packed = x'00' WHERE name = 'cells.jsonl'",
            [],
        )
        .unwrap();
    drop(other);
    assert!(matches!(
        store.files(1),
        Err(HistoryError::Broken { id: 1, .. })
    ));
    assert_eq!(add(&mut store, 1, "x", &[]), Added::Replaced(1));
    assert_eq!(store.files(1).unwrap(), files("x"));
}

#[test]
fn many_runs_answer_a_trend() {
    let (_dir, path) = place();
    let mut store = Sqlite::open_or_create(&path).unwrap();
    let mut base = run(1);
    for n in 0..100 {
        base.run.seed = n;
        let cells: Vec<Figure> = (0..7)
            .map(|cell| Figure {
                cell: format!("bridge/{cell}/uni"),
                ..figure(1000.0)
            })
            .collect();
        let new = NewRun {
            run: &base,
            files: &files("x"),
            figures: &cells,
        };
        store.add(&new, &[]).unwrap();
    }
    let points = store.points("bridge/3/uni", Metric::Throughput).unwrap();
    assert_eq!(points.len(), 100);
}
