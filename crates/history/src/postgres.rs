//! A history on a PostgreSQL server, for a team.
//!
//! Every change is one transaction that may be repeated: when the server goes away in the middle,
//! it is begun anew on a new connection, until the patience ends. Nothing is lost either way,
//! because a run's directory stays.

mod address;
mod caution;
mod environment;
mod link;
mod marks;
mod passfile;
mod service;
mod tables;
mod tls;
mod url;

use std::cell::RefCell;
use std::error::Error as _;
use std::fmt;
use std::io;
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nicety_model::Verdict;
use nicety_model::bill::UsageRow;
use nicety_model::compare::Metric;
use nicety_model::history::{KeptRun, TrendPoint};
use nicety_store::RunFiles;
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, IsolationLevel, Row, Transaction};

use crate::error::HistoryError;
use crate::{Added, History, HistoryPoint, Judge, NewRun, OF_CELLS, pack};

use link::Link;

pub use caution::Caution;
pub use environment::Environment;
pub use tls::TlsTrouble;
pub use url::{has_password, is_url, without_password};

/// How long a server that went away is waited for.
pub const PATIENCE: Duration = Duration::from_secs(15);
/// How long a writer waits for others, as a multiple of the patience: many jobs may end at once.
const FOR_OTHERS: u32 = 4;
/// Pauses between the attempts: the first, doubled up to the last, each longer or shorter by up to
/// a half, so that clients which failed together do not come back together.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// A history on a server.
pub struct Postgres {
    place: String,
    link: Link,
    patience: Duration,
    cautions: Vec<Caution>,
    client: RefCell<Client>,
}

/// Why a piece of work ended early.
pub(crate) enum Fault {
    /// The database or the way to it.
    Database(postgres::Error),
    /// What was asked.
    Refused(HistoryError),
}

impl From<postgres::Error> for Fault {
    fn from(error: postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<HistoryError> for Fault {
    fn from(error: HistoryError) -> Self {
        Self::Refused(error)
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// Whether the server or the way to it failed, rather than what was asked of it; then the same
/// work may succeed later. Codes: PostgreSQL documentation, Appendix A.
fn is_lost(error: &postgres::Error) -> bool {
    match error.code() {
        Some(code) => {
            [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::T_R_DEADLOCK_DETECTED,
            ]
            .contains(code)
                || code.code().starts_with("08")
        }
        // A certificate is the same at the next attempt.
        None if TlsTrouble::of(error, false).is_some() => false,
        None => {
            error.is_closed()
                || error
                    .source()
                    .is_some_and(<dyn std::error::Error>::is::<io::Error>)
        }
    }
}

/// Waits before the next attempt.
fn wait(pause: &mut Duration) {
    sleep(pause.mul_f64(0.5 + fastrand::f64()));
    *pause = (2 * *pause).min(LAST_PAUSE);
}

/// Whether a server that is there cannot take one more connection now.
fn is_busy(error: &postgres::Error) -> bool {
    let busy = [SqlState::TOO_MANY_CONNECTIONS, SqlState::CANNOT_CONNECT_NOW];
    error.code().is_some_and(|code| busy.contains(code))
}

/// The first connection: it waits for others that the server is busy with.
fn first_connection(link: &Link, patience: Duration) -> Result<link::Connected, postgres::Error> {
    let begin = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match link.connect() {
            Err(error) if is_busy(&error) && begin.elapsed() + pause < FOR_OTHERS * patience => {
                wait(&mut pause);
            }
            ended => return ended,
        }
    }
}

/// For how long a statement may wait for others, as the server takes it. Each looks at what is
/// there after it has waited, whatever the database's default.
fn begin(client: &mut Client, patience: Duration) -> Result<Transaction<'_>, postgres::Error> {
    let builder = client.build_transaction();
    let mut transaction = builder
        .isolation_level(IsolationLevel::ReadCommitted)
        .start()?;
    let limit = (FOR_OTHERS * patience).as_millis().max(1);
    transaction.batch_execute(&format!("SET LOCAL lock_timeout = {limit}"))?;
    Ok(transaction)
}

impl Postgres {
    /// Opens a store at a URL as libpq takes it, with the rest from a service, `environment` and
    /// the files they name. The tables must be there unless `make` is set. A server that goes away
    /// later is waited for with `patience`.
    ///
    /// # Errors
    /// [`HistoryError::BadUrl`], [`HistoryError::BadSetting`], [`HistoryError::Tls`],
    /// [`HistoryError::Unreachable`], [`HistoryError::Missing`], and when it is no store or newer.
    pub fn open(
        url: &str,
        environment: &Environment,
        make: bool,
        patience: Duration,
    ) -> Result<Self, HistoryError> {
        let mut address = address::parse(url, environment)?;
        let place = address::words(&address.config);
        let mut cautions = std::mem::take(&mut address.cautions);
        let link = Link::new(address)?;
        let failed = |error| failure("open", &place, error, &link, None);
        let connected = first_connection(&link, patience).map_err(failed)?;
        cautions.extend(connected.caution);
        let mut client = connected.client;
        tables::prepare(&mut client, &place, make, patience).map_err(|fault| match fault {
            Fault::Refused(error) => error,
            Fault::Database(error) => failed(error),
        })?;
        Ok(Self {
            place,
            link,
            patience,
            cautions,
            client: RefCell::new(client),
        })
    }

    /// Does the work, and when the server goes away does it again on a new connection. `work` is
    /// told whether it may have been done already.
    pub(crate) fn retried<T>(
        &self,
        operation: &'static str,
        mut work: impl FnMut(&mut Client, bool) -> Result<T, Fault>,
    ) -> Result<T, HistoryError> {
        let begin = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut client = self.client.borrow_mut();
        let mut outcome = work(&mut client, false);
        loop {
            let error = match outcome {
                Ok(done) => return Ok(done),
                Err(Fault::Refused(error)) => return Err(error),
                Err(Fault::Database(error)) => error,
            };
            if !is_lost(&error) || begin.elapsed() + pause > self.patience {
                return Err(failure(
                    operation,
                    &self.place,
                    error,
                    &self.link,
                    Some(self.patience),
                ));
            }
            wait(&mut pause);
            outcome = match self.link.connect() {
                Ok(new) => {
                    *client = new.client;
                    work(&mut client, true)
                }
                Err(error) => Err(error.into()),
            };
        }
    }

    /// Everything a question finds, row by row through `take`.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        of: &[&(dyn ToSql + Sync)],
        take: impl Fn(&Row) -> Result<T, postgres::Error>,
    ) -> Result<Vec<T>, HistoryError> {
        self.retried("read", |client, _| {
            let rows = client.query(sql, of)?;
            Ok(rows.iter().map(&take).collect::<Result<_, _>>()?)
        })
    }

    fn write<T>(
        &self,
        mut work: impl FnMut(&mut Transaction<'_>, bool) -> Result<T, Fault>,
    ) -> Result<T, HistoryError> {
        self.retried("write to", |client, again| {
            let mut transaction = begin(client, self.patience)?;
            // One writer at a time; readers are not kept waiting.
            transaction.batch_execute("LOCK TABLE nicety.runs IN SHARE ROW EXCLUSIVE MODE")?;
            let done = work(&mut transaction, again)?;
            transaction.commit()?;
            Ok(done)
        })
    }

    /// The files of a run but for one.
    fn all_but(&self, id: i64, left_out: &str) -> Result<RunFiles, HistoryError> {
        let sql = "SELECT name, packed FROM nicety.files WHERE run = $1 AND name <> $2";
        let take = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
        pack::files(id, &self.place, self.all(sql, &[&id, &left_out], take)?)
    }
}

/// What TLS has to do with an error. The server asks for a certificate with a message of its own
/// (PostgreSQL's hba.c); in another language it is an ordinary refusal.
fn trouble(error: &postgres::Error, link: &Link) -> Option<TlsTrouble> {
    let shown = link.shows_certificate();
    let is_refusal = error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
    let asks = !shown && is_refusal && address::why(error).contains("client certificate");
    match asks {
        true => Some(TlsTrouble::CertificateAsked),
        false => TlsTrouble::of(error, shown),
    }
}

/// Sorts what the server says into the kinds a user acts on differently. `patience` is how long
/// a server was waited for that had been there.
fn failure(
    operation: &'static str,
    place: &str,
    error: postgres::Error,
    link: &Link,
    patience: Option<Duration>,
) -> HistoryError {
    let place = place.to_owned();
    let why = address::why(&error);
    if let Some(trouble) = trouble(&error, link) {
        return HistoryError::Tls {
            operation,
            place,
            trouble,
        };
    }
    if is_lost(&error) {
        return match patience {
            None => HistoryError::Unreachable { place, why },
            Some(patience) => HistoryError::Gone {
                operation,
                place,
                why,
                patience,
            },
        };
    }
    let Some(code) = error.code().cloned() else {
        return match patience {
            // Names that do not resolve, passwords that are missing.
            None => HistoryError::Unreachable { place, why },
            Some(_) => HistoryError::Other {
                operation,
                place,
                source: error.into(),
            },
        };
    };
    let not_admitted = [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    ];
    let refused = [
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    if code == SqlState::LOCK_NOT_AVAILABLE {
        HistoryError::Locked { place }
    } else if code == SqlState::DISK_FULL {
        HistoryError::Full { place }
    } else if code == SqlState::INVALID_CATALOG_NAME {
        HistoryError::NoDatabase { place, why }
    } else if not_admitted.contains(&code) {
        HistoryError::NotAdmitted {
            operation,
            place,
            why,
        }
    } else if refused.contains(&code) {
        HistoryError::Forbidden {
            operation,
            place,
            why,
        }
    } else {
        HistoryError::Other {
            operation,
            place,
            source: error.into(),
        }
    }
}

/// Checks that all runs are there, inside the transaction that is going to change them.
fn check(transaction: &mut Transaction<'_>, ids: &[i64]) -> Result<(), Fault> {
    let rows = transaction.query("SELECT id FROM nicety.runs WHERE id = ANY($1)", &[&ids])?;
    let known: Result<Vec<i64>, _> = rows.iter().map(|row| row.try_get(0)).collect();
    let known = known?;
    match ids.iter().find(|id| !known.contains(id)) {
        Some(id) => Err(HistoryError::NoRun { id: *id }.into()),
        None => Ok(()),
    }
}

/// The run's row, new or brought up to date, without its files and figures.
fn head(
    transaction: &mut Transaction<'_>,
    run: &NewRun<'_>,
    identity: &str,
    known: Option<i64>,
) -> Result<i64, postgres::Error> {
    let head = &run.run.run;
    if let Some(id) = known {
        for sql in [
            "DELETE FROM nicety.files WHERE run = $1",
            "DELETE FROM nicety.figures WHERE run = $1",
        ] {
            transaction.execute(sql, &[&id])?;
        }
        transaction.execute(
            "UPDATE nicety.runs SET complete = $2 WHERE id = $1",
            &[&id, &head.complete],
        )?;
        return Ok(id);
    }
    let row = transaction.query_one(
        "INSERT INTO nicety.runs (identity, name, started, preset, loss_goal, complete, nicety, \
         kernel, cpu_model) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
        &[
            &identity,
            &head.name,
            &head.started,
            &head.preset,
            &head.loss_goal,
            &head.complete,
            &head.host.nicety,
            &head.host.kernel,
            &head.host.cpu_model,
        ],
    )?;
    row.try_get(0)
}

/// Files, then all figures in one statement: a plan has thousands.
fn body(
    transaction: &mut Transaction<'_>,
    run: &NewRun<'_>,
    id: i64,
    packed: &[(&str, Vec<u8>)],
) -> Result<(), postgres::Error> {
    for (name, packed) in packed {
        transaction.execute(
            "INSERT INTO nicety.files VALUES ($1, $2, $3)",
            &[&id, name, packed],
        )?;
    }
    let figures = run.figures;
    let cells: Vec<&str> = figures.iter().map(|f| f.cell.as_str()).collect();
    let metrics: Vec<&str> = figures.iter().map(|f| f.metric.word()).collect();
    let means: Vec<Option<f64>> = figures.iter().map(|f| f.mean).collect();
    let mins: Vec<Option<f64>> = figures.iter().map(|f| f.min).collect();
    let maxs: Vec<Option<f64>> = figures.iter().map(|f| f.max).collect();
    let repeats: Vec<i64> = figures.iter().map(|f| f.repeats.into()).collect();
    let verdicts: Vec<&str> = figures.iter().map(|f| f.verdict.word()).collect();
    transaction.execute(
        "INSERT INTO nicety.figures SELECT $1, * FROM unnest($2::text[], $3::text[], \
         $4::float8[], $5::float8[], $6::float8[], $7::int8[], $8::text[])",
        &[
            &id, &cells, &metrics, &means, &mins, &maxs, &repeats, &verdicts,
        ],
    )?;
    Ok(())
}

/// Labels of a run in one column.
const LABELS: &str = "ARRAY(SELECT label FROM nicety.labels WHERE labels.run = runs.id \
     ORDER BY label)";

/// A cell's numbers, oldest first.
fn points_sql() -> String {
    format!(
        "SELECT runs.id, started, mean, min, max, repeats, verdict, preset, loss_goal, \
         {LABELS} FROM nicety.figures JOIN nicety.runs ON runs.id = figures.run \
         WHERE cell = $1 AND metric = $2 ORDER BY started, runs.id"
    )
}

fn history_point(row: &Row) -> Result<HistoryPoint, postgres::Error> {
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
            labels: row.try_get(9)?,
        },
        preset: row.try_get(7)?,
        loss_goal: row.try_get(8)?,
    })
}

/// A count of the database as the reader has it.
fn count(row: &Row, column: usize) -> Result<u32, postgres::Error> {
    let count: i64 = row.try_get(column)?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

impl History for Postgres {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    fn add(&mut self, run: &NewRun<'_>, labels: &[String]) -> Result<Added, HistoryError> {
        let identity = crate::identity(run.run);
        let mut packed = Vec::new();
        for (name, bytes) in run.files {
            let bytes = pack::pack(bytes).map_err(|error| HistoryError::Other {
                operation: "write to",
                place: self.place.clone(),
                source: error.into(),
            })?;
            packed.push((name.as_str(), bytes));
        }
        // What an attempt found whose commit may or may not have been heard of.
        let mut first = None;
        self.write(|transaction, _| {
            let known = transaction.query_opt(
                "SELECT id FROM nicety.runs WHERE identity = $1",
                &[&identity],
            )?;
            let known: Option<i64> = known.map(|row| row.try_get(0)).transpose()?;
            let same = match known {
                Some(id) => {
                    let kept = transaction.query(
                        "SELECT name, packed FROM nicety.files WHERE run = $1 ORDER BY name",
                        &[&id],
                    )?;
                    let kept: Option<RunFiles> = kept
                        .iter()
                        .map(|row| {
                            let packed = pack::unpack(row.try_get(1).ok()?);
                            Some((row.try_get(0).ok()?, packed.ok()?))
                        })
                        .collect();
                    // A copy that is damaged is one that differs.
                    kept.as_ref() == Some(run.files)
                }
                None => false,
            };
            let id = match known {
                Some(id) if same => id,
                known => {
                    let id = head(transaction, run, &identity, known)?;
                    body(transaction, run, id, &packed)?;
                    id
                }
            };
            transaction.execute(
                "INSERT INTO nicety.labels SELECT $1, * FROM unnest($2::text[]) \
                 ON CONFLICT DO NOTHING",
                &[&id, &labels],
            )?;
            let added = Added::of(id, known.is_some(), same);
            Ok(match (first, added) {
                (Some(earlier @ (Added::New(was) | Added::Replaced(was))), Added::Same(id))
                    if was == id =>
                {
                    earlier
                }
                _ => {
                    first = Some(added);
                    added
                }
            })
        })
    }

    fn list(&self) -> Result<Vec<KeptRun>, HistoryError> {
        let sql = format!(
            "SELECT id, name, started, preset, loss_goal, complete, nicety, kernel, cpu_model, \
             (SELECT count(*) FROM nicety.figures WHERE run = runs.id AND {OF_CELLS}), \
             (SELECT count(*) FROM nicety.figures WHERE run = runs.id AND {OF_CELLS} \
              AND verdict IN ('ok', 'wide')), \
             {LABELS}, \
             (SELECT coalesce(sum(octet_length(packed)), 0)::int8 FROM nicety.files \
              WHERE run = runs.id) \
             FROM nicety.runs ORDER BY started DESC, id DESC"
        );
        self.all(&sql, &[], |row| {
            Ok(KeptRun {
                id: row.try_get(0)?,
                name: row.try_get(1)?,
                started: row.try_get(2)?,
                preset: row.try_get(3)?,
                loss_goal: row.try_get(4)?,
                complete: row.try_get(5)?,
                nicety: row.try_get(6)?,
                kernel: row.try_get(7)?,
                cpu_model: row.try_get(8)?,
                cells: count(row, 9)?,
                cells_ok: count(row, 10)?,
                labels: row.try_get(11)?,
                stored_bytes: u64::try_from(row.try_get::<_, i64>(12)?).unwrap_or(0),
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
        self.all(&points_sql(), &[&cell, &metric.word()], history_point)
    }

    fn mark(&mut self, cell: &str, metric: Metric, judge: Judge<'_>) -> Result<(), HistoryError> {
        let sql = points_sql();
        self.write(|transaction, _| {
            let rows = transaction.query(&sql, &[&cell, &metric.word()])?;
            let points: Result<Vec<_>, _> = rows.iter().map(history_point).collect();
            marks::replace(transaction, cell, metric, &judge(points?))?;
            Ok(())
        })
    }

    fn cells(&self) -> Result<Vec<String>, HistoryError> {
        let sql = "SELECT DISTINCT cell FROM nicety.figures ORDER BY cell";
        self.all(sql, &[], |row| row.try_get(0))
    }

    fn label(
        &mut self,
        ids: &[i64],
        add: &[String],
        remove: &[String],
    ) -> Result<(), HistoryError> {
        self.write(|transaction, _| {
            check(transaction, ids)?;
            transaction.execute(
                "DELETE FROM nicety.labels WHERE run = ANY($1) AND label = ANY($2)",
                &[&ids, &remove],
            )?;
            transaction.execute(
                "INSERT INTO nicety.labels SELECT * FROM unnest($1::int8[]) AS run \
                 CROSS JOIN unnest($2::text[]) AS label ON CONFLICT DO NOTHING",
                &[&ids, &add],
            )?;
            Ok(())
        })
    }

    fn remove(&mut self, ids: &[i64]) -> Result<(), HistoryError> {
        self.write(|transaction, again| {
            // A first attempt may have succeeded without a word: then they are gone.
            if !again {
                check(transaction, ids)?;
            }
            transaction.execute("DELETE FROM nicety.runs WHERE id = ANY($1)", &[&ids])?;
            Ok(())
        })
    }

    fn keep_usage(&mut self, rows: &[UsageRow]) -> Result<(), HistoryError> {
        self.replace_usage(rows)
    }

    fn usage(&self, time: Range<i64>, tenant: Option<&str>) -> Result<Vec<UsageRow>, HistoryError> {
        self.usage_in(time, tenant)
    }
}
