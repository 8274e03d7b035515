//! Tables of the PostgreSQL store and how they came to be. They stand in a schema of their own,
//! so that a team's database may hold other things.

use std::time::Duration;

use postgres::error::SqlState;
use postgres::{Client, GenericClient};

use crate::error::HistoryError;

/// Keeps two programs from making the tables at the same time (`pg_advisory_xact_lock`): "nice".
const LOCK: i64 = 0x6e69_6365;

/// Each entry makes the next version of the tables from the one before it. Entries are never
/// changed, only added.
const STEPS: [&str; 3] = [
    r#"
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
"#,
    r#"
CREATE TABLE nicety.changes (
    run BIGINT NOT NULL REFERENCES nicety.runs (id) ON DELETE CASCADE,
    cell TEXT COLLATE "C" NOT NULL,
    metric TEXT COLLATE "C" NOT NULL,
    before DOUBLE PRECISION NOT NULL,
    after DOUBLE PRECISION NOT NULL,
    ratio DOUBLE PRECISION NOT NULL,
    p DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (cell, metric, run)
);
CREATE INDEX changes_run ON nicety.changes (run);
CREATE VIEW nicety.run_facts AS SELECT
    id AS run,
    CASE WHEN started ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d' THEN started::timestamptz END AS time,
    name, complete, preset, loss_goal, nicety, kernel, cpu_model,
    ARRAY(SELECT label FROM nicety.labels WHERE labels.run = runs.id ORDER BY label) AS labels
FROM nicety.runs;
CREATE VIEW nicety.points AS SELECT
    facts.*, cell, metric, mean AS value, min, max, repeats, verdict
FROM nicety.figures JOIN nicety.run_facts AS facts USING (run);
CREATE VIEW nicety.change_points AS SELECT
    facts.*, cell, metric, before, after, ratio, p
FROM nicety.changes JOIN nicety.run_facts AS facts USING (run);
"#,
    r#"
CREATE TABLE nicety.usage (
    host TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    start BIGINT NOT NULL,
    sent_bytes BIGINT NOT NULL, sent_frames BIGINT NOT NULL, sent_unseen BIGINT NOT NULL,
    sent_least BIGINT NOT NULL, sent_most BIGINT NOT NULL,
    received_bytes BIGINT NOT NULL, received_frames BIGINT NOT NULL, received_unseen BIGINT NOT NULL,
    received_least BIGINT NOT NULL, received_most BIGINT NOT NULL,
    limited_ms BIGINT NOT NULL, watched_ms BIGINT NOT NULL,
    PRIMARY KEY (start, tenant, host)
);
CREATE VIEW nicety.usage_rates AS SELECT
    to_timestamp(start) AS time, host, tenant,
    sent_bytes * 8 / 300.0 AS sent_bps, received_bytes * 8 / 300.0 AS received_bps,
    limited_ms / 1000.0 AS limited_s, watched_ms / 1000.0 AS watched_s
FROM nicety.usage;
"#,
];

/// Version of the tables; none where there are none.
pub enum SchemaState {
    /// No tables yet.
    Nothing,
    /// A schema of our name that is none of ours.
    Foreign,
    /// Tables of this version.
    Version(i64),
}

/// Looks what is there.
pub fn schema_state(client: &mut impl GenericClient) -> Result<SchemaState, postgres::Error> {
    // The catalogs themselves: to_regnamespace answers from a cache that may not have heard of the
    // program that just made the schema.
    let row = client.query_one(
        "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'nicety'), \
         EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace \
         WHERE nspname = 'nicety' AND relname = 'version')",
        &[],
    )?;
    Ok(match (row.try_get(0)?, row.try_get(1)?) {
        (false, _) => SchemaState::Nothing,
        (true, false) => SchemaState::Foreign,
        (true, true) => {
            let row = client.query_opt("SELECT version FROM nicety.version LIMIT 1", &[]);
            let version = match row {
                Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => None,
                row => row?.and_then(|row| row.try_get(0).ok()),
            };
            version.map_or(SchemaState::Foreign, SchemaState::Version)
        }
    })
}

/// Makes the tables, or brings them to the newest version, in one transaction. With `make` unset
/// a database without them is refused.
/// Others are waited for with `patience`.
pub fn prepare(
    client: &mut Client,
    place: &str,
    make: bool,
    patience: Duration,
) -> Result<(), super::Fault> {
    apply(client, place, make, patience, &STEPS)
}

/// Takes the steps that have not been taken yet: all of them, or none.
fn apply(
    client: &mut Client,
    place: &str,
    make: bool,
    patience: Duration,
    steps: &[&str],
) -> Result<(), super::Fault> {
    let known = steps.len() as i64;
    let refuse = |state: SchemaState| -> Result<i64, HistoryError> {
        let place = place.to_owned();
        match state {
            SchemaState::Nothing if make => Ok(0),
            SchemaState::Nothing => Err(HistoryError::Missing { place }),
            // The first step leaves version 1; nothing of ours has ever had a smaller one.
            SchemaState::Foreign | SchemaState::Version(..1) => Err(HistoryError::NotAStore {
                place,
                why: "its schema nicety is something else's",
            }),
            SchemaState::Version(version) if version > known => Err(HistoryError::Newer {
                place,
                version,
                known,
            }),
            SchemaState::Version(version) => Ok(version),
        }
    };
    if refuse(schema_state(client)?)? == known {
        return Ok(());
    }
    // Tables that somebody else writes to are not waited for without end.
    let mut transaction = super::begin(client, patience)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    // Somebody else may have been faster.
    let version = refuse(schema_state(&mut transaction)?)?;
    for step in steps.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.batch_execute(step)?;
    }
    transaction.execute("UPDATE nicety.version SET version = $1", &[&known])?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
#[path = "../../tests/server/mod.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "shared with the tests of the whole store"
)]
mod server;

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
mod tests {
    use postgres::NoTls;

    use super::super::link::Link;
    use super::super::{Environment, Fault, PATIENCE, Postgres, address, failure};
    use super::*;

    const NEXT: &str = "ALTER TABLE nicety.runs ADD COLUMN host TEXT NOT NULL DEFAULT 'unknown';";
    /// Fails: there is such a table.
    const WRONG: &str = "CREATE TABLE nicety.labels (x BIGINT);";

    fn connect(server: &server::Server, role: &str) -> Client {
        let url = server.url("old").replace("tester@", &format!("{role}@"));
        Client::connect(&url, NoTls).unwrap()
    }

    /// Version of the tables, whether they have the next version's column, and the run in them.
    fn state(client: &mut Client) -> (i64, bool, String) {
        let SchemaState::Version(version) = schema_state(client).unwrap() else {
            panic!("no tables");
        };
        let has = "SELECT count(*) > 0 FROM information_schema.columns \
                   WHERE table_schema = 'nicety' AND table_name = 'runs' AND column_name = 'host'";
        let has = client.query_one(has, &[]).unwrap().get(0);
        let run = client.query_one("SELECT name || id FROM nicety.runs", &[]);
        (version, has, run.unwrap().get(0))
    }

    fn refused(done: Result<(), Fault>) -> HistoryError {
        match done {
            Err(Fault::Refused(error)) => error,
            Err(Fault::Database(error)) => panic!("{error}"),
            Ok(()) => panic!("not refused"),
        }
    }

    /// One server for all of it: its start takes longest.
    #[test]
    fn an_older_store_is_brought_up_to_date_with_what_is_in_it_or_left_as_it_was() {
        let test = "an_older_store_is_brought_up_to_date_with_what_is_in_it_or_left_as_it_was";
        let Some(server) = server::Server::start(test) else {
            return;
        };
        server.database("old");
        let mut client = connect(&server, "tester");
        apply(&mut client, "here", true, PATIENCE, &STEPS[..1])
            .unwrap_or_else(|_| panic!("no tables"));
        let run = "INSERT INTO nicety.runs (identity, name, started, preset, loss_goal, complete, \
                   nicety, kernel, cpu_model) VALUES ('i', 'n', 's', 'quick', 0.1, true, '0', 'k', 'c')";
        client.batch_execute(run).unwrap();
        let old = (1, false, "n1".to_owned());
        assert_eq!(state(&mut client), old);

        // A step that fails takes those before it back.
        let steps = [&STEPS[..], &[NEXT, WRONG]].concat();
        let next = &steps[..STEPS.len() + 1];
        let failed = apply(&mut client, "here", false, PATIENCE, &steps);
        assert!(matches!(failed, Err(Fault::Database(_))));
        assert_eq!(state(&mut client), old);

        // A member of the team who may read and write, and change no tables.
        client
            .batch_execute(
                "CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA nicety TO guest; \
                 GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA nicety TO guest",
            )
            .unwrap();
        let mut guest = connect(&server, "guest");
        let Err(Fault::Database(error)) = apply(&mut guest, "here", false, PATIENCE, next) else {
            panic!("a guest changed the tables");
        };
        let address = address::parse(&server.url("old"), &Environment::default()).unwrap();
        let link = Link::new(address).unwrap();
        let error = failure("open", "here", error, &link, None);
        assert!(matches!(error, HistoryError::Forbidden { .. }), "{error}");
        assert_eq!(state(&mut client), old);

        // Two at once: both find the tables of the newest version afterwards.
        std::thread::scope(|scope| {
            let both = [(); 2].map(|()| {
                scope.spawn(|| {
                    apply(
                        &mut connect(&server, "tester"),
                        "here",
                        false,
                        PATIENCE,
                        next,
                    )
                })
            });
            for one in both {
                assert!(one.join().unwrap().is_ok());
            }
        });
        let new = (next.len() as i64, true, "n1".to_owned());
        assert_eq!(state(&mut client), new);
        assert!(apply(&mut client, "here", false, PATIENCE, next).is_ok());
        assert_eq!(state(&mut client), new);

        // This version has no such step, so what was just made is from its future.
        let newer = Postgres::open(&server.url("old"), &Environment::default(), true, PATIENCE);
        let Err(HistoryError::Newer { version, known, .. }) = newer else {
            panic!("a newer store was opened: {newer:?}");
        };
        assert_eq!((version, known), (new.0, STEPS.len() as i64));
        assert_eq!(state(&mut client), new);

        // No store of nicety ever had this version.
        client
            .batch_execute("UPDATE nicety.version SET version = 0")
            .unwrap();
        let error = refused(apply(&mut client, "here", true, PATIENCE, next));
        assert!(matches!(error, HistoryError::NotAStore { .. }), "{error}");
        assert_eq!(state(&mut client), (0, true, "n1".to_owned()));
    }
}
