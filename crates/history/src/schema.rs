//! The tables and how they came to be.

use sqlx::AnyConnection;
use sqlx::Connection;
use sqlx::{Executor, Row};

use crate::error::HistoryError;
use crate::history::{Fault, query_only};
use crate::objects::Objects;
use crate::place::Place;

/// Each makes the next version of the tables from the one before it. They are never changed, only added.
const FILE: [&str; 2] = [
    include_str!("../migrations/sqlite/1_runs.sql"),
    include_str!("../migrations/sqlite/2_usage.sql"),
];
const SERVER: [&str; 3] = [
    include_str!("../migrations/postgres/1_runs.sql"),
    include_str!("../migrations/postgres/2_changes.sql"),
    include_str!("../migrations/postgres/3_usage.sql"),
];

/// Keeps two programs from making the tables at the same time. PostgreSQL's number is "nice".
const BEGIN: [&str; 2] = [
    "BEGIN IMMEDIATE",
    "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(1852400485)",
];

/// What is there.
enum State {
    Nothing,
    /// Tables of something else.
    Foreign,
    Version(i64),
}

/// Makes the tables, or brings them to the newest version, in one transaction. With `make` unset a place without them is
/// refused.
pub async fn prepare(
    connection: &mut AnyConnection,
    place: &Place,
    make: bool,
) -> Result<(), Fault> {
    let steps = match place {
        Place::File(_) => &FILE[..],
        Place::Server(_) => &SERVER[..],
    };
    apply(connection, place, make, steps).await
}

/// Whether there are tables at all, and whether there is one of ours. PostgreSQL's catalogs are asked themselves:
/// to_regclass answers from a cache that may not have heard of the program that just made the schema.
const QUESTION: &str = "SELECT (SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = 'nicety'), \
     (SELECT count(*) FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace \
     WHERE nspname = 'nicety' AND relname = 'version')";

async fn state(connection: &mut AnyConnection, place: &Place) -> Result<State, Fault> {
    match place {
        Place::File(_) => of_file(connection, place).await,
        Place::Server(_) => of_server(connection).await,
    }
}

async fn of_file(connection: &mut AnyConnection, place: &Place) -> Result<State, Fault> {
    let objects = Objects::read(connection).await?;
    if objects.is_empty() {
        return Ok(State::Nothing);
    }
    if !objects.has("version", &FILE) {
        return Ok(State::Foreign);
    }
    let state = written(connection).await?;
    // A newer version may have made what this one does not know.
    let newer = matches!(state, State::Version(version) if version > FILE.len() as i64);
    match objects.strange(&FILE) {
        Some(what) if !newer => {
            let place = place.shown();
            Err(HistoryError::Strange { place, what }.into())
        }
        _ => Ok(state),
    }
}

async fn of_server(connection: &mut AnyConnection) -> Result<State, Fault> {
    let row = sqlx::query(QUESTION).fetch_one(&mut *connection).await?;
    match (row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?) {
        (0, _) => Ok(State::Nothing),
        (_, 0) => Ok(State::Foreign),
        _ => Ok(written(connection).await?),
    }
}

/// What the table of the version says.
async fn written(connection: &mut AnyConnection) -> Result<State, sqlx::Error> {
    let sql = "SELECT CAST(version AS BIGINT) FROM version LIMIT 1";
    let version: Result<Option<i64>, _> = sqlx::query_scalar(sql).fetch_optional(connection).await;
    match version {
        // A table of the same name with other columns.
        Err(sqlx::Error::Database(error))
            if ["42703", "42846", "22P02"].contains(&&*error.code().unwrap_or_default()) =>
        {
            Ok(State::Foreign)
        }
        version => Ok(version?.map_or(State::Foreign, State::Version)),
    }
}

/// The version that is there; 0 where the tables are to be made.
fn version(state: State, place: &Place, make: bool, known: i64) -> Result<i64, HistoryError> {
    let shown = place.shown();
    match state {
        State::Nothing if make => Ok(0),
        State::Nothing => Err(HistoryError::Missing { place: shown }),
        // The first step leaves version 1; nothing of ours has ever had a smaller one.
        State::Foreign | State::Version(..1) => Err(HistoryError::NotAStore {
            place: shown,
            why: match place {
                Place::File(_) => "it is a database of something else",
                Place::Server(_) => "its schema nicety is something else's",
            },
        }),
        State::Version(version) if version > known => Err(HistoryError::Newer {
            place: shown,
            version,
            known,
        }),
        State::Version(version) => Ok(version),
    }
}

/// Takes the steps that have not been taken yet: all of them, or none.
async fn apply(
    connection: &mut AnyConnection,
    place: &Place,
    make: bool,
    steps: &[&'static str],
) -> Result<(), Fault> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if version(state(connection, place).await?, place, make, known)? == known {
        return Ok(());
    }
    query_only(connection, place, false).await?;
    let begin = BEGIN[usize::from(matches!(place, Place::Server(_)))];
    let mut transaction = connection.begin_with(begin).await?;
    // Somebody else may have been faster.
    let there = version(state(&mut transaction, place).await?, place, make, known)?;
    for step in steps.iter().skip(usize::try_from(there).unwrap_or(0)) {
        transaction.execute(sqlx::raw_sql(*step)).await?;
    }
    let update = sqlx::query("UPDATE version SET version = $1").bind(known);
    update.execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(query_only(connection, place, true).await?)
}
