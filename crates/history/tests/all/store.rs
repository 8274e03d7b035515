//! The store in one file, in good use and bad: what is kept, given back, refused and left alone.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nicety_history::{Added, HistoryError, KeptBook, open, open_with};
use nicety_model::bill::UsageRow;
use tempfile::TempDir;

use crate::contract::{self, add, files};
use crate::session::Session;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/history.sqlite");
    (dir, path)
}

#[test]
fn a_file_is_a_store() {
    let dir = tempfile::tempdir().unwrap();
    contract::all(&|name, make| open(&dir.path().join(name), make));
}

#[test]
fn a_store_that_another_writes_to_is_said_to_be_in_use() {
    let (_dir, path) = place();
    let mut store = open_with(&path, true, Duration::from_millis(1)).unwrap();
    add(&mut store, 1, "x", &[]);
    let mut other = Session::file(&path);
    other.run("BEGIN EXCLUSIVE");
    let refused = store.remove(&[1]);
    assert!(matches!(refused, Err(HistoryError::Locked { .. })));
    other.run("ROLLBACK");
    store.remove(&[1]).unwrap();
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let (dir, path) = place();
    assert!(matches!(
        open(&path, false),
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
    for make in [false, true] {
        let refused = open(&text, make);
        assert!(
            matches!(refused, Err(HistoryError::NotAStore { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(fs::read(&text).unwrap(), before);
    for odd in ["/dev/zero", dir.path().to_str().unwrap()] {
        let refused = open(odd.as_ref(), false);
        assert!(
            matches!(refused, Err(HistoryError::NotAStore { .. })),
            "{refused:?}"
        );
    }
    let other = dir.path().join("other.db");
    for table in ["CREATE TABLE mine (x)", "CREATE TABLE version (name)"] {
        let mut made = Session::file(&other);
        made.run(table);
        made.close();
        let refused = open(&other, true);
        assert!(
            matches!(refused, Err(HistoryError::NotAStore { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn what_is_no_file_beside_a_store_is_not_opened() {
    for ending in ["-journal", "-wal", "-shm"] {
        let (dir, path) = place();
        drop(open(&path, true).unwrap());
        let mut beside = path.clone().into_os_string();
        beside.push(ending);
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), beside).unwrap();
        let refused = open(&path, false);
        assert!(
            matches!(refused, Err(HistoryError::NotAStore { .. })),
            "{refused:?}"
        );
        assert!(!dir.path().join("elsewhere").exists());
    }
}

#[test]
fn what_nicety_has_not_made_is_not_run() {
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";
    let trigger = "CREATE TRIGGER t AFTER INSERT ON labels BEGIN DELETE FROM runs; END";
    for (what, made) in [
        (
            "view runs",
            format!("CREATE VIEW runs AS {endless} SELECT x AS id FROM n"),
        ),
        (
            "view version",
            format!("CREATE VIEW version AS {endless} SELECT max(x) AS version FROM n"),
        ),
        (
            "table runs",
            "CREATE TABLE runs (id INTEGER, name AS (hex(zeroblob(1000000000))))".to_owned(),
        ),
        ("trigger t", trigger.to_owned()),
        (
            "index i",
            "CREATE INDEX i ON figures (length(hex(zeroblob(mean))))".to_owned(),
        ),
        ("table mine", "CREATE TABLE mine (x)".to_owned()),
    ] {
        let (_dir, path) = place();
        drop(open(&path, true).unwrap());
        let mut stranger = Session::file(&path);
        if let Some(name) = what.strip_prefix("view ").or(what.strip_prefix("table ")) {
            stranger.run(&format!(
                "PRAGMA foreign_keys = OFF; DROP TABLE IF EXISTS {name}"
            ));
        }
        stranger.run(&made);
        stranger.close();
        for make in [false, true] {
            let refused = open(&path, make).unwrap_err();
            let expected = match &refused {
                HistoryError::NotAStore { .. } => what == "view version",
                HistoryError::Strange { what: found, .. } => found == what,
                _ => false,
            };
            assert!(expected, "{what}: {refused}");
        }
    }
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let (_dir, path) = place();
    drop(open(&path, true).unwrap());
    let mut made = Session::file(&path);
    made.run("UPDATE version SET version = 99");
    made.close();
    match open(&path, false) {
        Err(HistoryError::Newer { version, known, .. }) => assert_eq!((version, known), (99, 2)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn damage_is_found_and_mended_by_adding_again() {
    let (_dir, path) = place();
    let mut store = open(&path, true).unwrap();
    add(&mut store, 1, "x", &[]);
    let mut other = Session::file(&path);
    other.run("UPDATE files SET packed = x'00' WHERE name = 'cells.jsonl'");
    other.close();
    assert!(matches!(
        store.files(1),
        Err(HistoryError::Broken { id: 1, .. })
    ));
    assert_eq!(add(&mut store, 1, "x", &[]), Added::Replaced(1));
    assert_eq!(store.files(1).unwrap(), files("x"));
}

#[test]
fn the_book_is_kept_with_what_has_come_together_or_not_at_all() {
    let (_dir, path) = place();
    let mut store = open(&path, true).unwrap();
    assert_eq!(store.book().unwrap(), KeptBook::default());
    let row = |bytes| {
        let mut row = UsageRow {
            host: "kvm1".to_owned(),
            tenant: "blue".to_owned(),
            start: 300,
            usage: Default::default(),
        };
        row.usage.sent.bytes = bytes;
        row
    };
    let lines = |text: &str| vec![("tap0".to_owned(), text.to_owned())];
    assert_eq!(store.keep_book(&lines("one"), &[row(5)]).unwrap(), 1);
    assert_eq!(store.keep_book(&lines("two"), &[row(7)]).unwrap(), 2);
    let book = store.book().unwrap();
    assert_eq!((book.commit, book.lines), (2, lines("two")));
    // What comes together is added.
    assert_eq!(store.usage(0..600, None).unwrap(), [row(12)]);
    // What was sent to a place is sent again only when it has changed.
    let (rows, until) = store.unsent("there", 100).unwrap();
    assert_eq!((rows, until), (vec![row(12)], 2));
    store.sent("there", until).unwrap();
    assert!(store.unsent("there", 100).unwrap().0.is_empty());
    assert_eq!(store.unsent("elsewhere", 100).unwrap().0.len(), 1);
    store.keep_book(&lines("two"), &[row(1)]).unwrap();
    assert_eq!(store.unsent("there", 100).unwrap().0, [row(13)]);
    assert_eq!(store.forget_usage(301).unwrap(), 1);
    assert!(store.usage(0..600, None).unwrap().is_empty());
}
