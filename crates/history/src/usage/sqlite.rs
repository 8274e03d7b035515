//! Usage in an SQLite file, and the book of the daemon that counts it.

use std::ops::Range;

use nicety_model::bill::UsageRow;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, Transaction, params, params_from_iter};

use super::columns::{self, NAMES, of};
use crate::Sqlite;
use crate::error::HistoryError;

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

/// The statement that keeps a slot: in the place of what is there, or added to it.
fn statement(adds: bool) -> String {
    let names = NAMES.join(", ");
    let set: Vec<String> = NAMES
        .iter()
        .map(|name| match adds {
            true => format!("{name} = min({name} + excluded.{name}, 9223372036854775807)"),
            false => format!("{name} = excluded.{name}"),
        })
        .collect();
    let marks: Vec<String> = (1..=NAMES.len() + 4).map(|at| format!("?{at}")).collect();
    format!(
        "INSERT INTO usage (host, tenant, start, {names}, changed) VALUES ({}) \
         ON CONFLICT (start, tenant, host) DO UPDATE SET {}, changed = excluded.changed",
        marks.join(", "),
        set.join(", ")
    )
}

/// Keeps slots.
fn put(
    transaction: &Transaction<'_>,
    rows: &[UsageRow],
    (adds, commit): (bool, i64),
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(&statement(adds))?;
    for row in rows {
        let head = [
            Value::from(row.host.clone()),
            row.tenant.clone().into(),
            row.start.into(),
        ];
        let numbers = of(&row.usage).into_iter().map(Value::from);
        let all = head.into_iter().chain(numbers);
        statement.execute(params_from_iter(all.chain([Value::from(commit)])))?;
    }
    Ok(())
}

fn row(row: &Row<'_>) -> rusqlite::Result<UsageRow> {
    let whose = (row.get(0)?, row.get(1)?, row.get(2)?);
    columns::row(whose, |at| row.get(at))
}

fn state(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT value FROM book_state WHERE name = ?1";
    let value = transaction.query_row(sql, [name], |row| row.get(0));
    Ok(value.optional()?.unwrap_or(0))
}

fn set_state(transaction: &Transaction<'_>, name: &str, value: i64) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO book_state VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
        params![name, value],
    )?;
    Ok(())
}

impl Sqlite {
    pub(crate) fn replace_usage(&mut self, rows: &[UsageRow]) -> Result<(), HistoryError> {
        let failed = self.failed("write to");
        let transaction = self.write().map_err(&failed)?;
        let commit = state(&transaction, COMMIT).map_err(&failed)?;
        put(&transaction, rows, (false, commit)).map_err(&failed)?;
        transaction.commit().map_err(&failed)
    }

    pub(crate) fn usage_in(
        &self,
        time: Range<i64>,
        tenant: Option<&str>,
    ) -> Result<Vec<UsageRow>, HistoryError> {
        let sql = format!(
            "SELECT host, tenant, start, {} FROM usage WHERE start >= ?1 AND start < ?2 \
             AND (?3 IS NULL OR tenant = ?3) ORDER BY start, tenant, host",
            NAMES.join(", ")
        );
        self.all(&sql, params![time.start, time.end, tenant], row)
    }

    /// The book as it was kept last; empty at first.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn book(&mut self) -> Result<KeptBook, HistoryError> {
        let failed = self.failed("read");
        let transaction = self.write().map_err(&failed)?;
        let read = || -> rusqlite::Result<KeptBook> {
            let mut lines = transaction.prepare("SELECT port, line FROM book ORDER BY port")?;
            let lines = lines.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(KeptBook {
                commit: u64::try_from(state(&transaction, COMMIT)?).unwrap_or(0),
                lines: lines.collect::<Result<_, _>>()?,
            })
        };
        read().map_err(&failed)
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
        let failed = self.failed("write to");
        let transaction = self.write().map_err(&failed)?;
        let work = || -> rusqlite::Result<i64> {
            let commit = state(&transaction, COMMIT)?.saturating_add(1);
            put(&transaction, rows, (true, commit))?;
            transaction.execute("DELETE FROM book", [])?;
            let mut line = transaction.prepare("INSERT INTO book VALUES (?1, ?2)")?;
            for (port, text) in lines {
                line.execute([port, text])?;
            }
            set_state(&transaction, COMMIT, commit)?;
            Ok(commit)
        };
        let commit = work().map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(u64::try_from(commit).unwrap_or(0))
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
        let failed = self.failed("read");
        let transaction = self.write().map_err(&failed)?;
        let read = || -> rusqlite::Result<(Vec<UsageRow>, u64)> {
            let sent = state(&transaction, &sent_to(place))?;
            let until = state(&transaction, COMMIT)?;
            let sql = format!(
                "SELECT host, tenant, start, {}, changed FROM usage WHERE changed > ?1 ORDER BY changed",
                NAMES.join(", ")
            );
            let mut question = transaction.prepare(&sql)?;
            let mut found = question.query([sent])?;
            let (mut rows, mut last) = (Vec::new(), sent);
            while let Some(next) = found.next()? {
                let changed: i64 = next.get(NAMES.len() + 3)?;
                // What was kept together is sent together.
                if rows.len() >= most && changed > last {
                    return Ok((rows, u64::try_from(last).unwrap_or(0)));
                }
                last = changed;
                rows.push(row(next)?);
            }
            Ok((rows, u64::try_from(until).unwrap_or(0)))
        };
        read().map_err(&failed)
    }

    /// Everything up to this keeping of the book is at `place`.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn sent(&mut self, place: &str, until: u64) -> Result<(), HistoryError> {
        let failed = self.failed("write to");
        let transaction = self.write().map_err(&failed)?;
        let until = i64::try_from(until).unwrap_or(i64::MAX);
        set_state(&transaction, &sent_to(place), until).map_err(&failed)?;
        transaction.commit().map_err(&failed)
    }

    /// Forgets slots that begin before a time, in seconds since 1970.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn forget_usage(&mut self, before: i64) -> Result<usize, HistoryError> {
        let failed = self.failed("write to");
        let transaction = self.write().map_err(&failed)?;
        let sql = "DELETE FROM usage WHERE start < ?1";
        let gone = transaction.execute(sql, [before]).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(gone)
    }
}

fn sent_to(place: &str) -> String {
    format!("sent to {place}")
}
