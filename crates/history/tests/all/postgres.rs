//! The store on a PostgreSQL server: a real one, that is locked, foreign, newer, crashes in the
//! middle and comes back, or does not.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::server::Server;
use nicety_history::{Added, History, HistoryError, open_with};
use nicety_model::{Coded, ProblemCode, ProblemKind};

use crate::contract::{self, add, files};
use crate::session::Session;

#[test]
fn a_server_is_a_store() {
    let Some(mut server) = Server::start("a_server_is_a_store") else {
        return;
    };
    for name in ["comes_back", "kept_once", "removal", "trend", "usage"] {
        server.database(name);
    }
    contract::all(&|name, make| nicety_history::open(Path::new(&server.url(name)), make));
    refused(&server);
    locked(&server);
    crashed(&mut server);
    gone(&mut server);
}

fn open(server: &Server, database: &str, make: bool) -> Result<History, HistoryError> {
    nicety_history::open(Path::new(&server.url(database)), make)
}

fn client(server: &Server, database: &str) -> Session {
    Session::to(&server.url(database))
}

/// What is not ours, or newer, is left alone.
fn refused(server: &Server) {
    let nowhere = open(server, "nowhere", true).unwrap_err();
    assert!(
        matches!(nowhere, HistoryError::NoDatabase { .. }),
        "{nowhere}"
    );
    assert!(nowhere.code().kind() == ProblemKind::Input);
    server.database("other");
    let mut other = client(server, "other");
    let tables = "CREATE SCHEMA nicety; CREATE TABLE nicety.version (name TEXT)";
    for change in ["CREATE SCHEMA nicety", "DROP SCHEMA nicety", tables] {
        other.run(change);
        let result = open(server, "other", change.starts_with("CREATE"));
        if change.starts_with("DROP") {
            assert!(matches!(result, Err(HistoryError::Missing { .. })));
        } else {
            assert!(
                matches!(result, Err(HistoryError::NotAStore { .. })),
                "{result:?}"
            );
        }
    }
    server.database("newer");
    drop(open(server, "newer", true).unwrap());
    let mut newer = client(server, "newer");
    let raise = "UPDATE nicety.version SET version = 99";
    newer.run(raise);
    match open(server, "newer", true) {
        Err(HistoryError::Newer { version, known, .. }) => assert_eq!((version, known), (99, 3)),
        other => panic!("{other:?}"),
    }
    // Somebody who may only look.
    let reader = "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA nicety TO reader; \
        GRANT SELECT ON ALL TABLES IN SCHEMA nicety TO reader; \
        UPDATE nicety.version SET version = 3";
    newer.run(reader);
    let url = server.url("newer").replace("tester@", "reader@");
    let mut reader = nicety_history::open(Path::new(&url), false).unwrap();
    assert!(reader.list().unwrap().is_empty());
    let denied = reader.remove(&[]).unwrap_err();
    assert!(matches!(denied, HistoryError::Forbidden { .. }), "{denied}");
}

/// A writer waits for another one, but not for ever.
fn locked(server: &Server) {
    server.database("locked");
    let url = server.url("locked");
    let mut store = open_with(Path::new(&url), true, Duration::from_millis(50)).unwrap();
    add(&mut store, 1, "x", &[]);
    let mut other = client(server, "locked");
    other.run("BEGIN; LOCK TABLE nicety.runs IN SHARE ROW EXCLUSIVE MODE");
    assert_eq!(store.list().unwrap().len(), 1, "readers need not wait");
    let refused = store.remove(&[1]).unwrap_err();
    assert!(matches!(refused, HistoryError::Locked { .. }), "{refused}");
    other.run("ROLLBACK");
    store.remove(&[1]).unwrap();
}

/// Waits until somebody waits for a lock in this database.
fn until_blocked(client: &mut Session) {
    let blocked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
        AND datname = current_database()";
    while client.number(blocked) == 0 {
        thread::sleep(Duration::from_millis(5));
    }
}

/// The server crashes when half a run is written, and comes back: the run is kept once and whole.
fn crashed(server: &mut Server) {
    server.database("crashed");
    let mut store = open(server, "crashed", true).unwrap();
    assert_eq!(add(&mut store, 1, "one", &["kept"]), Added::New(1));
    let mut other = client(server, "crashed");
    other.run("BEGIN; LOCK TABLE nicety.figures IN ACCESS EXCLUSIVE MODE");
    thread::scope(|scope| {
        let adding = scope.spawn(|| add(&mut store, 2, "two", &["new"]));
        // Row and files are written by now, the numbers wait.
        until_blocked(&mut client(server, "crashed"));
        server.crash();
        server.again();
        assert!(matches!(adding.join().unwrap(), Added::New(_)));
    });
    let kept = store.list().unwrap();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[0].labels, ["new"]);
    assert_eq!(store.files(kept[0].id).unwrap(), files("two"));
    assert_eq!((kept[0].cells, kept[1].cells), (1, 1));
    assert_eq!(add(&mut store, 2, "two", &[]), Added::Same(kept[0].id));
    // A connection that broke while nobody looked is made anew.
    server.crash();
    server.again();
    assert_eq!(store.files(1).unwrap(), files("one"));
}

/// The server stays away: that is said, and the same works when it is back.
fn gone(server: &mut Server) {
    server.database("gone");
    let mut store = open(server, "gone", true).unwrap();
    let url = server.url("gone");
    let hasty = || open_with(Path::new(&url), true, Duration::from_millis(1));
    let mut gives_up = hasty().unwrap();
    server.crash();
    let lost = gives_up.remove(&[]).unwrap_err();
    assert!(matches!(lost, HistoryError::Gone { .. }), "{lost}");
    assert!(
        lost.to_string().contains("nothing is lost") && lost.code() == ProblemCode::Unreachable
    );
    let away = hasty().unwrap_err();
    assert!(matches!(away, HistoryError::Unreachable { .. }), "{away}");
    server.again();
    assert_eq!(add(&mut store, 3, "three", &[]), Added::New(1));
}
