//! The store in one file, in good use and bad: what is kept, given back, refused and left alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    reason = "the harness shows it when a test fails"
)]

mod contract;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use contract::{add, files};
use nicety_history::{Added, Environment, History, HistoryError, KeptBook, Sqlite, open};
use nicety_model::bill::UsageRow;
use rusqlite::Connection;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/history.sqlite");
    (dir, path)
}

#[test]
fn a_file_is_a_store() {
    let dir = tempfile::tempdir().unwrap();
    contract::all(&|name, make| open(&dir.path().join(name), &Environment::default(), make));
}

#[test]
fn a_store_that_another_writes_to_is_said_to_be_in_use() {
    let (_dir, path) = place();
    let store = Sqlite::open_or_create(&path).unwrap();
    let mut store = store.with_patience(Duration::from_millis(300)).unwrap();
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
        Err(HistoryError::Newer { version, known, .. }) => assert_eq!((version, known), (99, 2)),
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
fn the_book_is_kept_with_what_has_come_together_or_not_at_all() {
    let (_dir, path) = place();
    let mut store = Sqlite::open_or_create(&path).unwrap();
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
