//! Why tuning stopped.

use std::path::PathBuf;

use nicety_advisor::transaction::words;
use nicety_host::facts::SourceError;
use nicety_host::journal::JournalError;
use nicety_host::knob::KnobError;
use nicety_model::journal::{Outcome, Phase, Step};
use nicety_model::knob::Knob;
use nicety_model::path_mtu::PathProbe;
use nicety_model::{Coded, ProblemCode};
use nicety_netdev::net_error::NetError;
use nicety_netdev::path_mtu::ProbeError;

/// Why tuning stopped.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The state directory cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Settings of this network namespace cannot be reached.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A setting cannot be read.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// The peer cannot be asked.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// No host is recorded there.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Nobody says where an ordinary user's state is.
    #[error("neither XDG_STATE_HOME nor HOME is set; name a directory with --state")]
    NoStateDirectory,
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    ReadFile {
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A plan or a file of kept settings cannot be used.
    #[error("{} {why}", path.display())]
    BadFile {
        /// File.
        path: PathBuf,
        /// What is the matter, and what to do.
        why: String,
    },
    /// Nothing is kept.
    #[error("nothing is kept for the next boot: there is no {}; nicety tune persist writes it", path.display())]
    NothingKept {
        /// File that would hold it.
        path: PathBuf,
    },
    /// A file where a folder is needed.
    #[error(
        "{} is a file; name a folder, as nicety inspect -o DIR writes one",
        path.display()
    )]
    NoFolder {
        /// File.
        path: PathBuf,
    },
    /// The folder to write below cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    Folder {
        /// Folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No transaction has this number, or none fits.
    #[error(
        "there is no {} in {}; nicety tune status lists all",
        id.map_or_else(|| "open or active transaction".to_owned(), |id| format!("transaction {id}")),
        path.display()
    )]
    NoTransaction {
        /// Its number, when it was named.
        id: Option<u32>,
        /// State directory.
        path: PathBuf,
    },
    /// A transaction's settings went with an earlier boot.
    #[error("transaction {id} ended with an earlier boot, so nothing is left to undo")]
    OtherBoot {
        /// Transaction.
        id: u32,
    },
    /// A transaction's settings are another network namespace's.
    #[error(
        "transaction {id} changed another network namespace (inode {netns}); enter it with nsenter or ip netns exec"
    )]
    OtherNamespace {
        /// Transaction.
        id: u32,
        /// Inode of the namespace.
        netns: u64,
    },
    /// One transaction waits at a time.
    #[error(
        "transaction {id} waits for an answer; first run nicety tune apply --confirm {id} or nicety tune undo {id}"
    )]
    Unfinished {
        /// The one that waits.
        id: u32,
    },
    /// The host is not as the plan says.
    #[error("{} not as the plan says, so nothing was changed; make a new plan", are(*settings))]
    Moved {
        /// How many.
        settings: usize,
    },
    /// The process may not change what a transaction has changed.
    #[error("transaction {id} cannot be undone: {source}")]
    NotUndone {
        /// Transaction.
        id: u32,
        /// What is missing.
        #[source]
        source: KnobError,
    },
    /// Only what is confirmed here can be kept.
    #[error(
        "transaction {id} is {}, or of another boot or network namespace; persist keeps only what is confirmed here",
        phase.word()
    )]
    NotToBeKept {
        /// Transaction.
        id: u32,
        /// Where it stands.
        phase: Phase,
    },
    /// There is no change to keep.
    #[error(
        "there is nothing to keep; first run nicety tune apply, then nicety tune apply --confirm"
    )]
    NothingToKeep,
    /// The peer does not answer before a change, so it would tell nothing after it.
    #[error("{0}, so the path cannot be tested; nothing was changed")]
    DeadPath(PathProbe),
    /// The program's own file is not found.
    #[error("cannot find this program: {0}")]
    Program(std::io::Error),
    /// The guard did not come up.
    #[error("{what}: {source}")]
    Guard {
        /// What was tried.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The guard ended before it was ready.
    #[error("the guard that undoes unconfirmed changes did not start; nothing was changed")]
    NoGuard,
    /// An apply stopped and was undone.
    #[error("{stop}; {}", taken_back(undone))]
    TakenBack {
        /// Why it stopped.
        stop: Box<Stop>,
        /// What became of the settings.
        undone: Result<Vec<(Step, Outcome)>, JournalError>,
    },
    /// Changes that need no confirmation stopped and were undone.
    #[error("{stop}{}", words::left(outcomes))]
    NotCommitted {
        /// Why they stopped.
        stop: Box<Stop>,
        /// What became of the settings.
        outcomes: Vec<(Step, Outcome)>,
    },
    /// Between two measurements somebody else's value was found.
    #[error("transaction {id} was undone{}", words::left(outcomes))]
    LeftBehind {
        /// Transaction.
        id: u32,
        /// What became of the settings.
        outcomes: Vec<(Step, Outcome)>,
    },
}

/// Why changes stopped.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// A setting was refused.
    #[error(transparent)]
    Setting(#[from] KnobError),
    /// A setting kept another value.
    #[error("{knob}: wrote {to}, but the kernel reports {found}")]
    ReadBack {
        /// Setting.
        knob: Knob,
        /// Value that was written.
        to: String,
        /// Value that was read.
        found: String,
    },
    /// The peer could not be asked any more.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The path does not carry the larger MTU.
    #[error("{0}")]
    Path(String),
    /// The journal could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Coded for Stop {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Setting(KnobError::Net(net)) if net.is_not_permitted() => net.code(),
            Self::Journal(_) => ProblemCode::StorageRefuses,
            _ => ProblemCode::TakenBack,
        }
    }
}

impl Coded for TuneError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::TakenBack { stop, .. } | Self::NotCommitted { stop, .. } => stop.code(),
            Self::LeftBehind { .. } => ProblemCode::TakenBack,
            Self::Moved { .. } => ProblemCode::SettingsMoved,
            Self::NothingToKeep => ProblemCode::NothingToKeep,
            Self::DeadPath(_) => ProblemCode::DeadPath,
            Self::Journal(_) => ProblemCode::StorageRefuses,
            Self::Net(error)
            | Self::Knob(KnobError::Net(error))
            | Self::NotUndone {
                source: KnobError::Net(error),
                ..
            } => error.code(),
            Self::Knob(_) | Self::NotUndone { .. } => ProblemCode::KernelRefused,
            Self::Probe(_) => ProblemCode::Unreachable,
            Self::Program(_) | Self::Guard { .. } | Self::NoGuard => ProblemCode::NoGuard,
            Self::NoStateDirectory => ProblemCode::BadValue,
            Self::Source(_)
            | Self::ReadFile { .. }
            | Self::BadFile { .. }
            | Self::NothingKept { .. }
            | Self::NoFolder { .. }
            | Self::Folder { .. } => ProblemCode::UnusableFile,
            Self::NoTransaction { .. }
            | Self::OtherBoot { .. }
            | Self::OtherNamespace { .. }
            | Self::NotToBeKept { .. } => ProblemCode::NoTransaction,
            Self::Unfinished { .. } => ProblemCode::TransactionOpen,
        }
    }
}

/// `1 setting is`, `2 settings are`.
fn are(settings: usize) -> String {
    match settings {
        1 => "1 setting is".to_owned(),
        more => format!("{more} settings are"),
    }
}

fn taken_back(undone: &Result<Vec<(Step, Outcome)>, JournalError>) -> String {
    match undone {
        Ok(outcomes) => format!("all changes were undone{}", words::left(outcomes)),
        Err(journal) => format!("all changes were undone, but {journal}"),
    }
}
