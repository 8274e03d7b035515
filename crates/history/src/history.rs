//! A history that is open: its connection, and how work on it is done.
//!
//! Every change is one transaction that may be repeated: when a server goes away in the middle, it is begun anew on a new
//! connection, until the patience ends. Nothing is lost either way, because a run's directory stays.

use std::cell::RefCell;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use sqlx::AnyConnection;
use sqlx::any::AnyConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use tokio::runtime::Runtime;

use crate::error::{HistoryError, is_busy, is_lost};
use crate::place::{Caution, Place};
use crate::schema;

/// How long a server that went away is waited for.
pub const PATIENCE: Duration = Duration::from_secs(15);
/// How long a writer waits for others, as a multiple of the patience: many jobs may end at once.
const FOR_OTHERS: u32 = 4;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// Pauses between the attempts: the first, doubled up to the last, each longer or shorter by up to a half, so that clients
/// which failed together do not come back together.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// Why a piece of work ended early.
pub(crate) enum Fault {
    /// The database or the way to it.
    Database(sqlx::Error),
    /// What was asked.
    Refused(HistoryError),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<HistoryError> for Fault {
    fn from(error: HistoryError) -> Self {
        Self::Refused(error)
    }
}

/// A history that is open.
pub struct History {
    pub(crate) place: Place,
    patience: Duration,
    cautions: Vec<Caution>,
    runtime: Runtime,
    connection: RefCell<AnyConnection>,
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("place", &self.place())
            .finish_non_exhaustive()
    }
}

/// Opens the history that a name means: a file, or a PostgreSQL server by URL. It must be there unless `make` is set.
///
/// # Errors
/// [`HistoryError`].
pub fn open(name: &Path, make: bool) -> Result<History, HistoryError> {
    open_with(name, make, PATIENCE)
}

/// The same, with the time that a server which went away is waited for; others who write are waited for four times as long.
///
/// # Errors
/// [`HistoryError`].
pub fn open_with(name: &Path, make: bool, patience: Duration) -> Result<History, HistoryError> {
    sqlx::any::install_default_drivers();
    let place = Place::parse(name)?;
    prepare(&place, make)?;
    let failed = |error: sqlx::Error| HistoryError::sorted("open", &place.shown(), error, None);
    let runtime = runtime(&place).map_err(|error| failed(error.into()))?;
    let opened: Result<_, Fault> = runtime.block_on(async {
        let mut connection = first(&place, make, patience).await?;
        schema::prepare(&mut connection, &place, make).await?;
        let clear = place.may_be_in_clear() && !is_encrypted(&mut connection).await?;
        Ok((connection, clear))
    });
    let (connection, clear) = opened.map_err(|fault| match fault {
        Fault::Database(error) => failed(error),
        Fault::Refused(error) => error,
    })?;
    Ok(History {
        cautions: clear.then_some(Caution::NotEncrypted).into_iter().collect(),
        place,
        patience,
        runtime,
        connection: RefCell::new(connection),
    })
}

/// A file needs no sockets: its client is a thread.
fn runtime(place: &Place) -> std::io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time();
    if matches!(place, Place::Server(_)) {
        builder.enable_io();
    }
    builder.build()
}

/// A file is there, or its directory.
fn prepare(place: &Place, make: bool) -> Result<(), HistoryError> {
    let Place::File(path) = place else {
        return Ok(());
    };
    if !are_regular(path) {
        return Err(HistoryError::NotAStore {
            place: place.shown(),
            why: "it, its journal or its log is not a regular file",
        });
    }
    if !make && !path.exists() {
        return Err(HistoryError::Missing {
            place: place.shown(),
        });
    }
    let parent = path
        .parent()
        .filter(|parent| make && !parent.as_os_str().is_empty());
    parent
        .map_or(Ok(()), nicety_store::make_dirs)
        .map_err(|error| HistoryError::Denied {
            operation: "create",
            place: place.shown(),
            why: error.to_string(),
        })
}

/// Whether a file is none but a regular one, and those that SQLite opens beside it (sqlite.org/tempfiles.html): it would
/// wait for a FIFO, and write through a link.
fn are_regular(path: &Path) -> bool {
    let beside = ["-journal", "-wal", "-shm"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        Path::new(&name).symlink_metadata()
    });
    let mut found = beside.into_iter().chain([path.metadata()]).flatten();
    found.all(|of| of.is_file())
}

/// What counts as long as a connection lasts. Without `synchronous`, a power loss brings SQLite's journal back after its
/// commit: a run that was said to be kept would be gone (sqlite.org/pragma.html#pragma_synchronous). What a file says is
/// not trusted (sqlite.org/security.html), and only [`History::write`] changes it.
fn settings(place: &Place, patience: Duration) -> String {
    let wait = (FOR_OTHERS * patience).as_millis().max(1);
    match place {
        Place::File(_) => {
            format!(
                "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON; \
                 PRAGMA busy_timeout = {wait}; PRAGMA foreign_keys = ON; PRAGMA synchronous = EXTRA"
            )
        }
        Place::Server(_) => format!("SET search_path TO nicety; SET lock_timeout = {wait}"),
    }
}

async fn connect(
    place: &Place,
    make: bool,
    patience: Duration,
) -> Result<AnyConnection, sqlx::Error> {
    let options = AnyConnectOptions::from_str(&place.url(make))?.disable_statement_logging();
    let mut connection = in_time(CONNECT, options.connect()).await?;
    // Numbers and words of this module alone.
    let settings = AssertSqlSafe(settings(place, patience));
    connection.execute(sqlx::raw_sql(settings)).await?;
    Ok(connection)
}

/// Whether a file is only read on this connection from now on.
pub(crate) async fn query_only(
    connection: &mut AnyConnection,
    place: &Place,
    on: bool,
) -> Result<(), sqlx::Error> {
    if let Place::File(_) = place {
        let sql = if on {
            "PRAGMA query_only = ON"
        } else {
            "PRAGMA query_only = OFF"
        };
        connection.execute(sql).await?;
    }
    Ok(())
}

/// The first connection: it waits for others that the server is busy with.
async fn first(
    place: &Place,
    make: bool,
    patience: Duration,
) -> Result<AnyConnection, sqlx::Error> {
    let begin = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match connect(place, make, patience).await {
            Err(error) if is_busy(&error) && begin.elapsed() + pause < FOR_OTHERS * patience => {
                wait(&mut pause).await;
            }
            ended => return ended,
        }
    }
}

async fn is_encrypted(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    let sql = "SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()";
    sqlx::query_scalar(sql).fetch_one(connection).await
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// Waits before the next attempt.
async fn wait(pause: &mut Duration) {
    tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
    *pause = (2 * *pause).min(LAST_PAUSE);
}

/// A peer that is silent for so long is gone.
async fn in_time<T, E: From<sqlx::Error>>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let late = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()).into();
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or_else(|elapsed| Err(late(elapsed)))
}

impl History {
    /// Where it is, for the reader.
    pub fn place(&self) -> String {
        self.place.shown()
    }

    /// What to tell whoever opened it.
    pub fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    /// Closes it, with the threads that its client has.
    pub fn close(self) {
        let Self {
            runtime,
            connection,
            ..
        } = self;
        // What was done is kept already.
        let _ = runtime.block_on(connection.into_inner().close());
        drop(runtime);
        let end = Instant::now() + Duration::from_secs(1);
        // The client of SQLite says that it has ended just before its thread does.
        while threads() > 1 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Does the work, and when the server goes away does it again on a new connection. `work` is given whether it may have
    /// been done already.
    pub(crate) fn retried<T>(
        &self,
        operation: &'static str,
        mut work: impl AsyncFnMut(&mut AnyConnection, bool) -> Result<T, Fault>,
    ) -> Result<T, HistoryError> {
        let begin = Instant::now();
        let mut connection = self.connection.borrow_mut();
        let limit = 2 * FOR_OTHERS * self.patience.max(CONNECT);
        self.runtime.block_on(async {
            let mut pause = FIRST_PAUSE;
            let mut outcome = in_time(limit, work(&mut connection, false)).await;
            loop {
                let error = match outcome {
                    Ok(done) => return Ok(done),
                    Err(Fault::Refused(error)) => return Err(error),
                    Err(Fault::Database(error)) => error,
                };
                if !is_lost(&error) || begin.elapsed() + pause > self.patience {
                    return Err(HistoryError::sorted(
                        operation,
                        &self.place(),
                        error,
                        Some(self.patience),
                    ));
                }
                wait(&mut pause).await;
                outcome = match connect(&self.place, false, self.patience).await {
                    Ok(new) => {
                        *connection = new;
                        in_time(limit, work(&mut connection, true)).await
                    }
                    Err(error) => Err(error.into()),
                };
            }
        })
    }

    /// The same in one transaction, of one writer at a time; readers are not kept waiting.
    pub(crate) fn write<T>(
        &self,
        mut work: impl AsyncFnMut(&mut AnyConnection, bool) -> Result<T, Fault>,
    ) -> Result<T, HistoryError> {
        let (begin, lock) = match self.place {
            Place::File(_) => ("BEGIN IMMEDIATE", None),
            Place::Server(_) => (
                "BEGIN ISOLATION LEVEL READ COMMITTED",
                Some("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE"),
            ),
        };
        self.retried("write to", async |connection, again| {
            query_only(connection, &self.place, false).await?;
            let mut transaction = connection.begin_with(begin).await?;
            if let Some(lock) = lock {
                transaction.execute(lock).await?;
            }
            let done = work(&mut transaction, again).await?;
            transaction.commit().await?;
            query_only(connection, &self.place, true).await?;
            Ok(done)
        })
    }
}
