//! A history in one SQLite file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_model::Verdict;
use nicety_model::bill::UsageRow;
use nicety_model::compare::Metric;
use nicety_model::history::{KeptRun, TrendPoint};
use nicety_store::RunFiles;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row, Transaction, params};

use crate::error::HistoryError;
use crate::{Added, BETWEEN, History, HistoryPoint, NewRun, OF_CELLS, pack, schema};

/// How long a writer waits for others: many jobs may end at once, and SQLite has no queue.
const PATIENCE: Duration = Duration::from_secs(60);

/// A history in one file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    connection: Connection,
}

impl Sqlite {
    /// Opens a store that exists.
    ///
    /// # Errors
    /// [`HistoryError::Missing`], and when it is no store, newer, damaged or in use.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        if !path.exists() {
            return Err(HistoryError::Missing {
                place: path.display().to_string(),
            });
        }
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens a store, or makes it.
    ///
    /// # Errors
    /// As those of [`Sqlite::open`], and when the file cannot be made.
    pub fn open_or_create(path: &Path) -> Result<Self, HistoryError> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            nicety_store::make_dirs(parent).map_err(|error| HistoryError::Denied {
                operation: "create",
                place: path.display().to_string(),
                why: error.to_string(),
            })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Self::connect(path, flags)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, HistoryError> {
        let path = path.to_owned();
        let failed = |source| HistoryError::sqlite("open", &path, source);
        let mut connection =
            Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
                .map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // In one transaction: another program may be making the tables.
        let mut state = || -> rusqlite::Result<[i64; 3]> {
            let transaction = connection.transaction()?;
            let pragma = |name| transaction.query_row(name, [], |row| row.get(0));
            Ok([
                pragma("SELECT count(*) FROM sqlite_schema")?,
                pragma("PRAGMA application_id")?,
                pragma("PRAGMA user_version")?,
            ])
        };
        let [tables, application, version] = state().map_err(failed)?;
        if application != schema::APPLICATION && (application != 0 || tables > 0) {
            return Err(HistoryError::NotAStore {
                place: path.display().to_string(),
                why: "it is a database of something else",
            });
        }
        if version > schema::KNOWN {
            return Err(HistoryError::Newer {
                place: path.display().to_string(),
                version,
                known: schema::KNOWN,
            });
        }
        connection
            .pragma_update(None, "foreign_keys", true)
            .map_err(failed)?;
        // Without, a power loss brings the rollback journal back after its commit: a run that was said to be kept
        // would be gone (sqlite.org/pragma.html#pragma_synchronous).
        connection
            .pragma_update(None, "synchronous", "EXTRA")
            .map_err(failed)?;
        if version < schema::KNOWN {
            schema::migrate(&mut connection).map_err(failed)?;
        }
        Ok(Self { path, connection })
    }

    /// With another time that it waits for others.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn with_patience(self, patience: Duration) -> Result<Self, HistoryError> {
        self.connection
            .busy_timeout(patience)
            .map_err(self.failed("open"))?;
        Ok(self)
    }

    pub(crate) fn failed(
        &self,
        operation: &'static str,
    ) -> impl Fn(rusqlite::Error) -> HistoryError + use<> {
        let path = self.path.clone();
        move |source| HistoryError::sqlite(operation, &path, source)
    }

    /// A transaction that takes the write lock at once, so that it cannot fail for it later.
    pub(crate) fn write(&mut self) -> rusqlite::Result<Transaction<'_>> {
        self.connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
    }

    /// Everything a question finds, row by row through `take`.
    pub(crate) fn all<T>(
        &self,
        question: &str,
        of: impl Params,
        take: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, HistoryError> {
        let rows = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare(question)?;
            statement.query_map(of, take)?.collect()
        };
        rows().map_err(self.failed("read"))
    }

    /// The files of a run but for one.
    fn all_but(&self, id: i64, left_out: &str) -> Result<RunFiles, HistoryError> {
        let sql = "SELECT name, packed FROM files WHERE run = ?1 AND name <> ?2";
        let take = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        pack::files(
            id,
            &self.place(),
            self.all(sql, params![id, left_out], take)?,
        )
    }
}

fn insert(
    transaction: &Transaction<'_>,
    run: &NewRun<'_>,
    id: Option<i64>,
) -> rusqlite::Result<i64> {
    let head = &run.run.run;
    transaction.execute(
        "INSERT INTO runs (id, identity, name, started, preset, loss_goal, complete, nicety, \
         kernel, cpu_model) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
         ON CONFLICT (id) DO UPDATE SET complete = excluded.complete",
        params![
            id,
            crate::identity(run.run),
            head.name,
            head.started,
            head.preset,
            head.loss_goal,
            head.complete,
            head.host.nicety,
            head.host.kernel,
            head.host.cpu_model,
        ],
    )?;
    let id = id.unwrap_or_else(|| transaction.last_insert_rowid());
    transaction.execute("DELETE FROM files WHERE run = ?1", [id])?;
    transaction.execute("DELETE FROM figures WHERE run = ?1", [id])?;
    let mut file = transaction.prepare("INSERT INTO files VALUES (?1, ?2, ?3)")?;
    for (name, bytes) in run.files {
        let packed = pack::pack(bytes)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        file.execute(params![id, name, packed])?;
    }
    let mut figure =
        transaction.prepare("INSERT INTO figures VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for f in run.figures {
        figure.execute(params![
            id,
            f.cell,
            f.metric.word(),
            f.mean,
            f.min,
            f.max,
            f.repeats,
            f.verdict.word(),
        ])?;
    }
    Ok(id)
}

/// The files of a run that is there; none where a copy is damaged, which then is one that differs.
fn kept(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<Option<RunFiles>> {
    let mut statement = transaction.prepare("SELECT name, packed FROM files WHERE run = ?1")?;
    let rows = statement.query_map([id], |row| {
        let packed: Vec<u8> = row.get(1)?;
        Ok(pack::unpack(&packed).ok().map(|file| (row.get(0), file)))
    })?;
    let mut files = RunFiles::new();
    for row in rows {
        let Some((name, file)) = row? else {
            return Ok(None);
        };
        files.insert(name?, file);
    }
    Ok(Some(files))
}

fn labels(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let joined: Option<String> = row.get(column)?;
    let mut labels: Vec<String> = joined
        .unwrap_or_default()
        .split(BETWEEN)
        .filter(|label| !label.is_empty())
        .map(str::to_owned)
        .collect();
    labels.sort();
    Ok(labels)
}

/// Labels of a run in one column.
const LABELS: &str =
    "(SELECT group_concat(label, char(31)) FROM labels WHERE labels.run = runs.id)";

/// Checks that all runs are there, inside the transaction that is going to change them.
fn check(transaction: &Transaction<'_>, ids: &[i64]) -> rusqlite::Result<Option<i64>> {
    let mut known = transaction.prepare("SELECT 1 FROM runs WHERE id = ?1")?;
    for id in ids {
        if !known.exists([id])? {
            return Ok(Some(*id));
        }
    }
    Ok(None)
}

impl History for Sqlite {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn add(&mut self, run: &NewRun<'_>, labels: &[String]) -> Result<Added, HistoryError> {
        let failed = self.failed("write to");
        // The lock comes first: another program may be adding the same run.
        let transaction = self.write().map_err(&failed)?;
        let work = || -> rusqlite::Result<Added> {
            let known: Option<i64> = transaction
                .query_row(
                    "SELECT id FROM runs WHERE identity = ?1",
                    [crate::identity(run.run)],
                    |row| row.get(0),
                )
                .optional()?;
            let same = match known {
                Some(id) => kept(&transaction, id)?.as_ref() == Some(run.files),
                None => false,
            };
            let id = match known {
                Some(id) if same => id,
                known => insert(&transaction, run, known)?,
            };
            for label in labels {
                transaction.execute(
                    "INSERT OR IGNORE INTO labels VALUES (?1, ?2)",
                    params![id, label],
                )?;
            }
            Ok(Added::of(id, known.is_some(), same))
        };
        let added = work().map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(added)
    }

    fn list(&self) -> Result<Vec<KeptRun>, HistoryError> {
        let sql = format!(
            "SELECT id, name, started, preset, loss_goal, complete, nicety, kernel, cpu_model, \
             (SELECT count(*) FROM figures WHERE run = runs.id AND {OF_CELLS}), \
             (SELECT count(*) FROM figures WHERE run = runs.id AND {OF_CELLS} \
              AND verdict IN ('ok', 'wide')), \
             {LABELS}, (SELECT total(length(packed)) FROM files WHERE run = runs.id) \
             FROM runs ORDER BY started DESC, id DESC"
        );
        self.all(&sql, [], |row| {
            Ok(KeptRun {
                id: row.get(0)?,
                name: row.get(1)?,
                started: row.get(2)?,
                preset: row.get(3)?,
                loss_goal: row.get(4)?,
                complete: row.get(5)?,
                nicety: row.get(6)?,
                kernel: row.get(7)?,
                cpu_model: row.get(8)?,
                cells: row.get(9)?,
                cells_ok: row.get(10)?,
                labels: labels(row, 11)?,
                stored_bytes: row.get::<_, f64>(12)? as u64,
            })
        })
    }

    fn files(&self, id: i64) -> Result<RunFiles, HistoryError> {
        self.all_but(id, "")
    }

    fn results(&self, id: i64) -> Result<RunFiles, HistoryError> {
        self.all_but(id, nicety_store::file::TRIALS)
    }

    fn points(&self, cell: &str, metric: Metric) -> Result<Vec<HistoryPoint>, HistoryError> {
        let sql = format!(
            "SELECT runs.id, started, mean, min, max, repeats, verdict, preset, loss_goal, \
             {LABELS} FROM figures JOIN runs ON runs.id = figures.run \
             WHERE cell = ?1 AND metric = ?2 ORDER BY started, runs.id"
        );
        self.all(&sql, params![cell, metric.word()], |row| {
            let verdict: String = row.get(6)?;
            Ok(HistoryPoint {
                point: TrendPoint {
                    id: row.get(0)?,
                    started: row.get(1)?,
                    value: row.get(2)?,
                    min: row.get(3)?,
                    max: row.get(4)?,
                    repeats: row.get(5)?,
                    // A verdict of a later version is none that this one may trust.
                    verdict: Verdict::of(&verdict).unwrap_or(Verdict::Failed),
                    labels: labels(row, 9)?,
                },
                preset: row.get(7)?,
                loss_goal: row.get(8)?,
            })
        })
    }

    fn cells(&self) -> Result<Vec<String>, HistoryError> {
        let sql = "SELECT DISTINCT cell FROM figures ORDER BY cell";
        self.all(sql, [], |row| row.get(0))
    }

    fn label(
        &mut self,
        ids: &[i64],
        add: &[String],
        remove: &[String],
    ) -> Result<(), HistoryError> {
        let failed = self.failed("write to");
        let transaction = self.write().map_err(&failed)?;
        if let Some(id) = check(&transaction, ids).map_err(&failed)? {
            return Err(HistoryError::NoRun { id });
        }
        for (labels, sql) in [
            (remove, "DELETE FROM labels WHERE run = ?1 AND label = ?2"),
            (add, "INSERT OR IGNORE INTO labels VALUES (?1, ?2)"),
        ] {
            for id in ids {
                for label in labels {
                    transaction
                        .execute(sql, params![id, label])
                        .map_err(&failed)?;
                }
            }
        }
        transaction.commit().map_err(&failed)
    }

    fn remove(&mut self, ids: &[i64]) -> Result<(), HistoryError> {
        let failed = self.failed("write to");
        let transaction = self.write().map_err(&failed)?;
        if let Some(id) = check(&transaction, ids).map_err(&failed)? {
            return Err(HistoryError::NoRun { id });
        }
        for id in ids {
            transaction
                .execute("DELETE FROM runs WHERE id = ?1", [id])
                .map_err(&failed)?;
        }
        transaction.commit().map_err(&failed)?;
        // The runs are gone already; a full disk only keeps the file as large as it was.
        let _ = self.connection.execute_batch("VACUUM");
        Ok(())
    }

    fn keep_usage(&mut self, rows: &[UsageRow]) -> Result<(), HistoryError> {
        self.replace_usage(rows)
    }

    fn usage(&self, time: Range<i64>, tenant: Option<&str>) -> Result<Vec<UsageRow>, HistoryError> {
        self.usage_in(time, tenant)
    }
}
