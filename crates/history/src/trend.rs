//! A cell's numbers over all runs, and where they change.

use nicety_model::Verdict;
use nicety_model::compare::Metric;
use nicety_model::history::TrendPoint;
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::error::HistoryError;
use crate::history::History;
use crate::place::Place;
use crate::runs::{count, labels};
use crate::statements::{all, insert};
use crate::{HistoryPoint, Judge};

fn point(row: &AnyRow) -> Result<HistoryPoint, sqlx::Error> {
    Ok(HistoryPoint {
        point: TrendPoint {
            id: row.try_get(0)?,
            started: row.try_get(1)?,
            value: row.try_get(2)?,
            min: row.try_get(3)?,
            max: row.try_get(4)?,
            repeats: count(row, 5)?,
            // A verdict of a later version is none that this one may trust.
            verdict: Verdict::of(row.try_get(6)?).unwrap_or(Verdict::Failed),
            labels: Vec::new(),
        },
        preset: row.try_get(7)?,
        loss_goal: row.try_get(8)?,
    })
}

async fn points(
    connection: &mut AnyConnection,
    cell: &str,
    metric: Metric,
) -> Result<Vec<HistoryPoint>, sqlx::Error> {
    let sql = "SELECT runs.id, started, mean, min, max, repeats, verdict, preset, loss_goal \
               FROM figures JOIN runs ON runs.id = figures.run WHERE cell = $1 AND metric = $2 ORDER BY started, runs.id";
    let question = sqlx::query(sql).bind(cell.to_owned()).bind(metric.word());
    let mut points = all(connection, question, point).await?;
    let mut labels = labels(connection).await?;
    for point in &mut points {
        point.point.labels = labels.remove(&point.point.id).unwrap_or_default();
    }
    Ok(points)
}

impl History {
    /// A cell's numbers over all runs that have it, oldest first.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn points(&self, cell: &str, metric: Metric) -> Result<Vec<HistoryPoint>, HistoryError> {
        self.retried("read", async |connection, _| {
            Ok(points(connection, cell, metric).await?)
        })
    }

    /// Names of all cells, sorted.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn cells(&self) -> Result<Vec<String>, HistoryError> {
        self.retried("read", async |connection, _| {
            let sql = "SELECT DISTINCT cell FROM figures ORDER BY cell";
            Ok(sqlx::query_scalar(sql).fetch_all(connection).await?)
        })
    }

    /// Keeps where a cell's numbers change beside them, for dashboards, in the place of what was kept before. No dashboard
    /// reads a file.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn mark(
        &mut self,
        cell: &str,
        metric: Metric,
        judge: Judge<'_>,
    ) -> Result<(), HistoryError> {
        if matches!(self.place, Place::File(_)) {
            return Ok(());
        }
        self.write(async |connection, _| {
            let changes = judge(points(connection, cell, metric).await?);
            let delete = sqlx::query("DELETE FROM changes WHERE cell = $1 AND metric = $2");
            delete
                .bind(cell.to_owned())
                .bind(metric.word())
                .execute(&mut *connection)
                .await?;
            insert(connection, ("changes", ""), &changes, 7, |query, change| {
                let query = query
                    .bind(change.id)
                    .bind(cell.to_owned())
                    .bind(metric.word());
                query
                    .bind(change.before)
                    .bind(change.after)
                    .bind(change.ratio)
                    .bind(change.p)
            })
            .await?;
            Ok(())
        })
    }
}
