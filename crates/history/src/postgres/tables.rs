//! Tables of the PostgreSQL store and how they came to be. They stand in a schema of their own,
//! so that a team's database may hold other things.

use postgres::error::SqlState;
use postgres::{Client, GenericClient};

use crate::error::HistoryError;

/// Keeps two programs from making the tables at the same time (`pg_advisory_xact_lock`): "nice".
const LOCK: i64 = 0x6e69_6365;

/// Each entry makes the next version of the tables from the one before it. Entries are never
/// changed, only added.
const STEPS: [&str; 1] = [r#"
CREATE SCHEMA nicety;
CREATE TABLE nicety.version (version BIGINT NOT NULL);
INSERT INTO nicety.version VALUES (0);
CREATE TABLE nicety.runs (
    id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    identity TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    started TEXT COLLATE "C" NOT NULL,
    preset TEXT NOT NULL,
    loss_goal DOUBLE PRECISION NOT NULL,
    complete BOOLEAN NOT NULL,
    nicety TEXT NOT NULL,
    kernel TEXT NOT NULL,
    cpu_model TEXT NOT NULL
);
CREATE INDEX runs_started ON nicety.runs (started);
CREATE TABLE nicety.files (
    run BIGINT NOT NULL REFERENCES nicety.runs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    packed BYTEA NOT NULL,
    PRIMARY KEY (run, name)
);
ALTER TABLE nicety.files ALTER COLUMN packed SET STORAGE EXTERNAL;
CREATE TABLE nicety.figures (
    run BIGINT NOT NULL REFERENCES nicety.runs (id) ON DELETE CASCADE,
    cell TEXT COLLATE "C" NOT NULL,
    metric TEXT COLLATE "C" NOT NULL,
    mean DOUBLE PRECISION, min DOUBLE PRECISION, max DOUBLE PRECISION,
    repeats BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (cell, metric, run)
);
CREATE INDEX figures_run ON nicety.figures (run);
CREATE TABLE nicety.labels (
    run BIGINT NOT NULL REFERENCES nicety.runs (id) ON DELETE CASCADE,
    label TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run, label)
);
"#];

/// Newest version known.
pub const KNOWN: i64 = STEPS.len() as i64;

/// Version of the tables; none where there are none.
pub enum Found {
    /// No tables yet.
    Nothing,
    /// A schema of our name that is none of ours.
    Foreign,
    /// Tables of this version.
    Version(i64),
}

/// Looks what is there.
pub fn look(client: &mut impl GenericClient) -> Result<Found, postgres::Error> {
    let row = client.query_one(
        "SELECT to_regnamespace('nicety') IS NOT NULL, to_regclass('nicety.version') IS NOT NULL",
        &[],
    )?;
    Ok(match (row.try_get(0)?, row.try_get(1)?) {
        (false, _) => Found::Nothing,
        (true, false) => Found::Foreign,
        (true, true) => {
            let asked = client.query_opt("SELECT version FROM nicety.version LIMIT 1", &[]);
            let version = match asked {
                Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => None,
                asked => asked?.and_then(|row| row.try_get(0).ok()),
            };
            version.map_or(Found::Foreign, Found::Version)
        }
    })
}

/// Makes the tables, or brings them to the newest version, in one transaction. With `make` unset
/// a database without them is refused.
pub fn prepare(client: &mut Client, place: &str, make: bool) -> Result<(), super::Fault> {
    let refuse = |found: Found| -> Result<i64, HistoryError> {
        let place = place.to_owned();
        match found {
            Found::Nothing if make => Ok(0),
            Found::Nothing => Err(HistoryError::Missing { place }),
            Found::Foreign => Err(HistoryError::NotAStore {
                place,
                why: "its schema nicety is something else's",
            }),
            Found::Version(found) if found > KNOWN => Err(HistoryError::Newer {
                place,
                found,
                known: KNOWN,
            }),
            Found::Version(found) => Ok(found),
        }
    };
    if refuse(look(client)?)? == KNOWN {
        return Ok(());
    }
    let mut transaction = client.transaction()?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    // Somebody else may have been faster.
    let found = refuse(look(&mut transaction)?)?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.batch_execute(step)?;
    }
    transaction.execute("UPDATE nicety.version SET version = $1", &[&KNOWN])?;
    transaction.commit()?;
    Ok(())
}
