//! Tables of the SQLite store and how they came to be.

use rusqlite::Connection;

/// Marks the file as ours (`PRAGMA application_id`): "nice".
pub const APPLICATION: i64 = 0x6e69_6365;

/// Each entry makes the next version of the schema from the one before it. Entries are never
/// changed, only added.
const STEPS: [&str; 1] = ["
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
"];

/// Newest version known.
pub const KNOWN: i64 = STEPS.len() as i64;

/// Brings the tables of version `found` to the newest one, in one transaction.
pub fn migrate(connection: &mut Connection, found: i64) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Somebody else may have been faster.
    let now: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for step in STEPS
        .iter()
        .skip(usize::try_from(now.max(found)).unwrap_or(0))
    {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", KNOWN)?;
    transaction.commit()
}
