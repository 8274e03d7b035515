//! Runs: kept, listed, given back and forgotten.

use std::collections::BTreeMap;

use nicety_model::Run;
use nicety_model::history::KeptRun;
use nicety_store::RunFiles;
use sqlx::AnyConnection;
use sqlx::any::AnyRow;
use sqlx::{Executor, Row};

use crate::error::HistoryError;
use crate::history::{Fault, History, query_only};
use crate::place::Place;
use crate::statements::{OF_CELLS, all, insert, query};
use crate::{Added, NewRun, pack};

/// Separates parts of one text; none of them contains it.
const BETWEEN: &str = "\u{1f}";

/// By what a run is known again.
fn identity(run: &Run) -> String {
    let head = &run.run;
    let seed = head.seed.to_string();
    [head.started.as_str(), &seed, &head.name, &head.command].join(BETWEEN)
}

impl Added {
    /// For a run that now has the number `id`, that was `known` before, then perhaps the `same`.
    fn of(id: i64, known: bool, same: bool) -> Self {
        match (known, same) {
            (false, _) => Self::New(id),
            (true, true) => Self::Same(id),
            (true, false) => Self::Replaced(id),
        }
    }

    /// Of an attempt whose first try may have been carried out without a word: then what that found counts.
    fn after(self, first: &mut Option<Self>) -> Self {
        match (*first, self) {
            (Some(earlier @ (Self::New(was) | Self::Replaced(was))), Self::Same(id))
                if was == id =>
            {
                earlier
            }
            _ => *first.insert(self),
        }
    }
}

/// The labels of all runs, sorted, by the run's number.
pub async fn labels(
    connection: &mut AnyConnection,
) -> Result<BTreeMap<i64, Vec<String>>, sqlx::Error> {
    let question = sqlx::query("SELECT run, label FROM labels ORDER BY run, label");
    let rows = all(connection, question, |row| {
        Ok((row.try_get(0)?, row.try_get(1)?))
    })
    .await?;
    let mut labels: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for (run, label) in rows {
        labels.entry(run).or_default().push(label);
    }
    Ok(labels)
}

/// A count of the database as the reader has it.
pub fn count(row: &AnyRow, column: usize) -> Result<u32, sqlx::Error> {
    Ok(u32::try_from(row.try_get::<i64, _>(column)?).unwrap_or(u32::MAX))
}

fn kept_run(row: &AnyRow) -> Result<KeptRun, sqlx::Error> {
    Ok(KeptRun {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        started: row.try_get(2)?,
        preset: row.try_get(3)?,
        loss_goal: row.try_get(4)?,
        complete: row.try_get::<i64, _>(5)? != 0,
        nicety: row.try_get(6)?,
        kernel: row.try_get(7)?,
        cpu_model: row.try_get(8)?,
        cells: count(row, 9)?,
        cells_ok: count(row, 10)?,
        labels: Vec::new(),
        stored_bytes: u64::try_from(row.try_get::<i64, _>(11)?).unwrap_or(0),
    })
}

/// The files of a run that is there; none where a copy is damaged, which then is one that differs.
async fn kept_files(
    connection: &mut AnyConnection,
    id: i64,
) -> Result<Option<RunFiles>, sqlx::Error> {
    let question = sqlx::query("SELECT name, packed FROM files WHERE run = $1").bind(id);
    let rows: Vec<(String, Vec<u8>)> = all(connection, question, |row| {
        Ok((row.try_get(0)?, row.try_get(1)?))
    })
    .await?;
    let unpacked = rows
        .into_iter()
        .map(|(name, packed)| Some((name, pack::unpack(&packed).ok()?)));
    Ok(unpacked.collect())
}

/// Checks that all runs are there, inside the transaction that is going to change them.
async fn check(connection: &mut AnyConnection, ids: &[i64]) -> Result<(), Fault> {
    for id in ids {
        let known = sqlx::query("SELECT 1 FROM runs WHERE id = $1").bind(*id);
        if known.fetch_optional(&mut *connection).await?.is_none() {
            return Err(HistoryError::NoRun { id: *id }.into());
        }
    }
    Ok(())
}

/// The run's row, new or brought up to date, without its files and figures.
async fn head(
    connection: &mut AnyConnection,
    run: &NewRun<'_>,
    known: Option<i64>,
) -> Result<i64, sqlx::Error> {
    let head = &run.run.run;
    let Some(id) = known else {
        let sql = "INSERT INTO runs (identity, name, started, preset, loss_goal, complete, nicety, kernel, cpu_model) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id";
        let insert = sqlx::query_scalar(sql)
            .bind(identity(run.run))
            .bind(&head.name)
            .bind(&head.started)
            .bind(&head.preset)
            .bind(head.loss_goal)
            .bind(head.complete)
            .bind(&head.host.nicety)
            .bind(&head.host.kernel)
            .bind(&head.host.cpu_model);
        return insert.fetch_one(connection).await;
    };
    for sql in [
        "DELETE FROM files WHERE run = $1",
        "DELETE FROM figures WHERE run = $1",
    ] {
        sqlx::query(sql).bind(id).execute(&mut *connection).await?;
    }
    let update = sqlx::query("UPDATE runs SET complete = $2 WHERE id = $1");
    update
        .bind(id)
        .bind(head.complete)
        .execute(connection)
        .await?;
    Ok(id)
}

/// Files, then all figures.
async fn body(
    connection: &mut AnyConnection,
    run: &NewRun<'_>,
    id: i64,
    packed: &[(String, Vec<u8>)],
) -> Result<(), sqlx::Error> {
    for (name, bytes) in packed {
        let insert = sqlx::query("INSERT INTO files VALUES ($1, $2, $3)").bind(id);
        insert
            .bind(name)
            .bind(bytes.as_slice())
            .execute(&mut *connection)
            .await?;
    }
    insert(
        connection,
        ("figures", ""),
        run.figures,
        8,
        |query, figure| {
            query
                .bind(id)
                .bind(figure.cell.clone())
                .bind(figure.metric.word())
                .bind(figure.mean)
                .bind(figure.min)
                .bind(figure.max)
                .bind(i64::from(figure.repeats))
                .bind(figure.verdict.word())
        },
    )
    .await
}

async fn give(
    connection: &mut AnyConnection,
    id: i64,
    labels: &[String],
) -> Result<(), sqlx::Error> {
    insert(
        connection,
        ("labels", "ON CONFLICT DO NOTHING"),
        labels,
        2,
        |query, label| query.bind(id).bind(label.clone()),
    )
    .await
}

impl History {
    /// Keeps a run with more labels. A run is known again by its start, seed, plan and command.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing has changed then.
    pub fn add(&mut self, run: &NewRun<'_>, labels: &[String]) -> Result<Added, HistoryError> {
        let pack = |(name, bytes): (&String, &Vec<u8>)| Ok((name.clone(), pack::pack(bytes)?));
        let packed: Result<Vec<(String, Vec<u8>)>, std::io::Error> =
            run.files.iter().map(pack).collect();
        let packed =
            packed.map_err(|error| HistoryError::other("write to", self.place(), error))?;
        let mut first = None;
        self.write(async |connection, _| {
            let known = sqlx::query_scalar("SELECT id FROM runs WHERE identity = $1")
                .bind(identity(run.run));
            let known: Option<i64> = known.fetch_optional(&mut *connection).await?;
            let same = match known {
                Some(id) => kept_files(connection, id).await?.as_ref() == Some(run.files),
                None => false,
            };
            let id = match known.filter(|_| same) {
                Some(id) => id,
                None => {
                    let id = head(connection, run, known).await?;
                    body(connection, run, id, &packed).await?;
                    id
                }
            };
            give(connection, id, labels).await?;
            Ok(Added::of(id, known.is_some(), same).after(&mut first))
        })
    }

    /// All runs, newest first.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn list(&self) -> Result<Vec<KeptRun>, HistoryError> {
        self.retried("read", async |connection, _| {
            let sql = format!(
                "SELECT id, name, started, preset, loss_goal, CASE WHEN complete THEN 1 ELSE 0 END, nicety, kernel, \
                 cpu_model, (SELECT count(*) FROM figures WHERE run = runs.id AND {OF_CELLS}), \
                 (SELECT count(*) FROM figures WHERE run = runs.id AND {OF_CELLS} AND verdict IN ('ok', 'wide')), \
                 (SELECT CAST(coalesce(sum(length(packed)), 0) AS BIGINT) FROM files WHERE run = runs.id) \
                 FROM runs ORDER BY started DESC, id DESC"
            );
            let mut runs = all(connection, query(sql), kept_run).await?;
            let mut labels = labels(connection).await?;
            for run in &mut runs {
                run.labels = labels.remove(&run.id).unwrap_or_default();
            }
            Ok(runs)
        })
    }

    /// The files of a run's directory.
    ///
    /// # Errors
    /// [`HistoryError::NoRun`], [`HistoryError`].
    pub fn files(&self, id: i64) -> Result<RunFiles, HistoryError> {
        self.all_but(id, "")
    }

    /// As [`History::files`], without the trials: they are by far the largest.
    ///
    /// # Errors
    /// As those of [`History::files`].
    pub fn results(&self, id: i64) -> Result<RunFiles, HistoryError> {
        self.all_but(id, nicety_store::file::TRIALS)
    }

    fn all_but(&self, id: i64, left_out: &str) -> Result<RunFiles, HistoryError> {
        let kept = self.retried("read", async |connection, _| {
            let question =
                sqlx::query("SELECT name, packed FROM files WHERE run = $1 AND name <> $2");
            let question = question.bind(id).bind(left_out.to_owned());
            Ok(all(connection, question, |row| {
                Ok((row.try_get(0)?, row.try_get(1)?))
            })
            .await?)
        });
        pack::files(id, &self.place(), kept?)
    }

    /// Forgets runs, and gives their space back.
    ///
    /// # Errors
    /// [`HistoryError::NoRun`] when one is not there; nothing has changed then.
    pub fn remove(&mut self, ids: &[i64]) -> Result<(), HistoryError> {
        self.write(async |connection, again| {
            // A first attempt may have succeeded without a word: then they are gone.
            if !again {
                check(connection, ids).await?;
            }
            for id in ids {
                let delete = sqlx::query("DELETE FROM runs WHERE id = $1").bind(*id);
                delete.execute(&mut *connection).await?;
            }
            Ok(())
        })?;
        if matches!(self.place, Place::File(_)) {
            // The runs are gone already; a full disk only keeps the file as large as it was.
            let _ = self.retried("write to", async |connection, _| {
                query_only(connection, &self.place, false).await?;
                connection.execute("VACUUM").await?;
                Ok(query_only(connection, &self.place, true).await?)
            });
        }
        Ok(())
    }
}
