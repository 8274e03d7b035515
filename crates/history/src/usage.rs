//! What tenants have used, kept beside the runs.

use std::ops::Range;

use nicety_model::bill::UsageRow;
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::columns::{self, NAMES, of};
use crate::error::HistoryError;
use crate::history::History;
use crate::place::Place;
use crate::statements::{all, insert, query};

/// What becomes of a slot that is there already.
#[derive(Clone, Copy)]
pub enum Put {
    /// The new numbers stand in the place of the old ones.
    Replace,
    /// The new numbers are added to the old ones.
    Add,
}

/// What is done where a slot is there already; a sum stays in the numbers of the database.
fn conflict(put: Put, book: bool) -> String {
    let set = NAMES.map(|name| match put {
        Put::Replace => format!("{name} = excluded.{name}"),
        Put::Add => format!("{name} = min(usage.{name} + excluded.{name}, 9223372036854775807)"),
    });
    let changed = if book {
        ", changed = excluded.changed"
    } else {
        ""
    };
    format!(
        "ON CONFLICT (start, tenant, host) DO UPDATE SET {}{changed}",
        set.join(", ")
    )
}

/// Keeps slots; in a file with the number of the book's keeping, by which they are sent on.
pub async fn put(
    connection: &mut AnyConnection,
    rows: &[UsageRow],
    put: Put,
    commit: Option<i64>,
) -> Result<(), sqlx::Error> {
    let changed = if commit.is_some() { ", changed" } else { "" };
    let into = format!("usage (host, tenant, start, {}{changed})", NAMES.join(", "));
    let then = conflict(put, commit.is_some());
    let columns = 3 + NAMES.len() + usize::from(commit.is_some());
    insert(connection, (&into, &then), rows, columns, |query, row| {
        let query = query
            .bind(row.host.clone())
            .bind(row.tenant.clone())
            .bind(row.start);
        let query = of(&row.usage)
            .into_iter()
            .fold(query, |query, number| query.bind(number));
        match commit {
            Some(commit) => query.bind(commit),
            None => query,
        }
    })
    .await
}

pub fn row(row: &AnyRow) -> Result<UsageRow, sqlx::Error> {
    let owner = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    columns::row(owner, |at| row.try_get(at))
}

impl History {
    /// Keeps what tenants have used, in the place of what was kept of the same slots.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing has changed then.
    pub fn keep_usage(&mut self, rows: &[UsageRow]) -> Result<(), HistoryError> {
        let is_file = matches!(self.place, Place::File(_));
        // Nobody else writes these rows: the same once more changes nothing.
        self.write(async |connection, _| {
            let commit = if is_file {
                Some(crate::book::commit(connection).await?)
            } else {
                None
            };
            Ok(put(connection, rows, Put::Replace, commit).await?)
        })
    }

    /// What tenants have used in slots that begin in this time, in seconds since 1970; all tenants or one.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn usage(
        &self,
        time: Range<i64>,
        tenant: Option<&str>,
    ) -> Result<Vec<UsageRow>, HistoryError> {
        let sql = format!(
            "SELECT host, tenant, start, {} FROM usage WHERE start >= $1 AND start < $2 \
             AND (CAST($3 AS TEXT) IS NULL OR tenant = $3) ORDER BY start, tenant, host",
            NAMES.join(", ")
        );
        self.retried("read", async |connection, _| {
            let question = query(sql.clone()).bind(time.start).bind(time.end);
            Ok(all(connection, question.bind(tenant.map(str::to_owned)), row).await?)
        })
    }
}
