//! The book of the daemon that counts what tenants use: kept in a file with what has come together, and sent on from there.

use nicety_model::bill::UsageRow;
use sqlx::AnyConnection;
use sqlx::{Executor, Row};

use crate::columns::NAMES;
use crate::error::HistoryError;
use crate::history::History;
use crate::statements::{all, insert, query};
use crate::usage::{Put, put, row};

/// A book as it was kept last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeptBook {
    /// How often it was kept.
    pub commit: u64,
    /// What is known of every port, by its name.
    pub lines: Vec<(String, String)>,
}

/// Name of the number of times that the book was kept.
const COMMIT: &str = "commit";

/// How often the book was kept.
pub async fn commit(connection: &mut AnyConnection) -> Result<i64, sqlx::Error> {
    state(connection, COMMIT).await
}

async fn state(connection: &mut AnyConnection, name: &str) -> Result<i64, sqlx::Error> {
    let value =
        sqlx::query_scalar("SELECT value FROM book_state WHERE name = $1").bind(name.to_owned());
    Ok(value.fetch_optional(connection).await?.unwrap_or(0))
}

async fn set_state(
    connection: &mut AnyConnection,
    name: &str,
    value: i64,
) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO book_state VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    sqlx::query(sql)
        .bind(name.to_owned())
        .bind(value)
        .execute(connection)
        .await?;
    Ok(())
}

fn sent_to(place: &str) -> String {
    format!("sent to {place}")
}

fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

impl History {
    /// The book as it was kept last; empty at first.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn book(&mut self) -> Result<KeptBook, HistoryError> {
        self.write(async |connection, _| {
            let lines = sqlx::query("SELECT port, line FROM book ORDER BY port");
            Ok(KeptBook {
                lines: all(connection, lines, |row| {
                    Ok((row.try_get(0)?, row.try_get(1)?))
                })
                .await?,
                commit: number(commit(connection).await?),
            })
        })
    }

    /// Keeps the lines of the book in the place of the old ones, and adds what has come together to the slots: both or
    /// neither. Returns how often the book was kept.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing has changed then.
    pub fn keep_book(
        &mut self,
        lines: &[(String, String)],
        rows: &[UsageRow],
    ) -> Result<u64, HistoryError> {
        self.write(async |connection, _| {
            let commit = commit(connection).await?.saturating_add(1);
            put(connection, rows, Put::Add, Some(commit)).await?;
            connection.execute("DELETE FROM book").await?;
            insert(connection, ("book", ""), lines, 2, |query, (port, line)| {
                query.bind(port.clone()).bind(line.clone())
            })
            .await?;
            set_state(connection, COMMIT, commit).await?;
            Ok(number(commit))
        })
    }

    /// Slots that have changed since they were last sent to `place`, no more than `most`, and up to which keeping of the
    /// book these are all.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn unsent(
        &mut self,
        place: &str,
        most: usize,
    ) -> Result<(Vec<UsageRow>, u64), HistoryError> {
        // What was kept together is sent together.
        let sql = format!(
            "SELECT host, tenant, start, {}, changed FROM usage WHERE changed > $1 AND changed <= coalesce((SELECT changed \
             FROM usage WHERE changed > $1 ORDER BY changed LIMIT 1 OFFSET $2), 9223372036854775807) ORDER BY changed",
            NAMES.join(", ")
        );
        let offset = i64::try_from(most).unwrap_or(i64::MAX).saturating_sub(1);
        self.write(async |connection, _| {
            let sent = state(connection, &sent_to(place)).await?;
            let changed = |found: &_| Ok((row(found)?, found.try_get(NAMES.len() + 3)?));
            let question = query(sql.clone()).bind(sent).bind(offset);
            let found: Vec<(UsageRow, i64)> = all(connection, question, changed).await?;
            let until = found.last().map_or(sent, |(_, changed)| *changed);
            Ok((
                found.into_iter().map(|(row, _)| row).collect(),
                number(until),
            ))
        })
    }

    /// Everything up to this keeping of the book is at `place`.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn sent(&mut self, place: &str, until: u64) -> Result<(), HistoryError> {
        let until = i64::try_from(until).unwrap_or(i64::MAX);
        self.write(async |connection, _| Ok(set_state(connection, &sent_to(place), until).await?))
    }

    /// Forgets slots that begin before a time, in seconds since 1970, and returns how many.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn forget_usage(&mut self, before: i64) -> Result<u64, HistoryError> {
        self.write(async |connection, _| {
            let delete = sqlx::query("DELETE FROM usage WHERE start < $1").bind(before);
            Ok(delete.execute(connection).await?.rows_affected())
        })
    }
}
