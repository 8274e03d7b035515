//! Tables of the SQLite store and how they came to be.

use rusqlite::Connection;

/// Marks the file as ours (`PRAGMA application_id`): "nice".
pub const APPLICATION: i64 = 0x6e69_6365;

/// Each entry makes the next version of the schema from the one before it. Entries are never
/// changed, only added.
const STEPS: [&str; 2] = [
    "
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    started TEXT NOT NULL,
    preset TEXT NOT NULL,
    loss_goal REAL NOT NULL,
    complete INTEGER NOT NULL,
    nicety TEXT NOT NULL,
    kernel TEXT NOT NULL,
    cpu_model TEXT NOT NULL
) STRICT;
CREATE INDEX runs_started ON runs (started);
CREATE TABLE files (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (run, name)
) STRICT;
CREATE TABLE figures (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    cell TEXT NOT NULL,
    metric TEXT NOT NULL,
    mean REAL, min REAL, max REAL,
    repeats INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (cell, metric, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX figures_run ON figures (run);
CREATE TABLE labels (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY (run, label)
) STRICT, WITHOUT ROWID;
",
    "
CREATE TABLE usage (
    host TEXT NOT NULL,
    tenant TEXT NOT NULL,
    start INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL, sent_frames INTEGER NOT NULL, sent_unseen INTEGER NOT NULL,
    sent_least INTEGER NOT NULL, sent_most INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL, received_frames INTEGER NOT NULL, received_unseen INTEGER NOT NULL,
    received_least INTEGER NOT NULL, received_most INTEGER NOT NULL,
    limited_ms INTEGER NOT NULL, watched_ms INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    PRIMARY KEY (start, tenant, host)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_changed ON usage (changed);
CREATE TABLE book (
    port TEXT NOT NULL PRIMARY KEY,
    line TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE book_state (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
",
];

/// Newest version known.
pub const KNOWN: i64 = STEPS.len() as i64;

/// Brings the tables to the newest version, in one transaction.
pub fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    apply(connection, &STEPS)
}

/// Takes the steps that have not been taken yet: all of them, or none.
fn apply(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Somebody else may have been faster.
    let now: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for step in steps.iter().skip(usize::try_from(now).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", now.max(steps.len() as i64))?;
    transaction.commit()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const NEXT: &str = "ALTER TABLE runs ADD COLUMN host TEXT NOT NULL DEFAULT 'unknown';";

    fn version(connection: &Connection) -> i64 {
        let query = connection.query_row("PRAGMA user_version", [], |row| row.get(0));
        query.unwrap()
    }

    /// A store of an older version, with a run.
    fn older() -> Connection {
        let mut store = Connection::open_in_memory().unwrap();
        apply(&mut store, &STEPS[..1]).unwrap();
        let run = "INSERT INTO runs VALUES (7, 'i', 'n', 's', 'quick', 0.1, 1, '0', 'k', 'c')";
        store.execute_batch(run).unwrap();
        store
    }

    #[test]
    fn an_older_store_is_brought_up_to_date_with_what_is_in_it() {
        let mut store = older();
        apply(&mut store, &[STEPS[0], STEPS[1], NEXT]).unwrap();
        assert_eq!(version(&store), 3);
        let query = "SELECT id || name || host FROM runs";
        let text: String = store.query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(text, "7nunknown");
        apply(&mut store, &[STEPS[0], STEPS[1], NEXT]).unwrap();
        assert_eq!(version(&store), 3, "a second time nothing is to do");
    }

    #[test]
    fn a_step_that_fails_leaves_the_store_as_it_was() {
        let mut store = older();
        apply(
            &mut store,
            &[STEPS[0], STEPS[1], NEXT, "CREATE TABLE labels (x)"],
        )
        .unwrap_err();
        assert_eq!(version(&store), 1);
        store.prepare("SELECT host FROM runs").unwrap_err();
    }
}
