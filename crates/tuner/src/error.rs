//! Why tuning stopped.

use std::path::PathBuf;

use nicety_advisor::transaction::words;
use nicety_host::facts::SourceError;
use nicety_host::journal::JournalError;
use nicety_host::knob::KnobError;
use nicety_model::journal::{Outcome, Phase, Step};
use nicety_model::knob::Knob;
use nicety_model::path_mtu::PathProbe;
use nicety_netdev::net_error::NetError;
use nicety_netdev::path_mtu::ProbeError;

/// What an error asks of its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Other input.
    BadInput,
    /// Another environment: rights, room, a peer, programs.
    Environment,
    /// Nothing: the answer is no.
    Negative,
}

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
    #[error("neither XDG_STATE_HOME nor HOME is set; give --state a directory")]
    NoStateDirectory,
    /// A peer cannot be asked by a recorded host.
    #[error("--peer is asked by the running host; leave --sysroot or --peer away")]
    PeerOfRecord,
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
    #[error("{} is not there, nothing is kept; nicety tune persist keeps settings", path.display())]
    NothingKept {
        /// File that would hold it.
        path: PathBuf,
    },
    /// A file where a folder is needed.
    #[error(
        "{} is a file; persist writes below a folder, as nicety inspect --record makes one",
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
        "there is no {} in {}; see nicety tune history",
        id.map_or_else(|| "such transaction".to_owned(), |id| format!("transaction {id}")),
        path.display()
    )]
    NoTransaction {
        /// Its number, when it was named.
        id: Option<u32>,
        /// State directory.
        path: PathBuf,
    },
    /// A transaction's settings went with an earlier boot.
    #[error(
        "transaction {id} belongs to an earlier boot, its settings went with it; nicety tune boot --check looks at what persist keeps"
    )]
    OtherBoot {
        /// Transaction.
        id: u32,
    },
    /// A transaction's settings are another network namespace's.
    #[error(
        "transaction {id} belongs to another network namespace (inode {netns}); enter it with nsenter or ip netns exec"
    )]
    OtherNamespace {
        /// Transaction.
        id: u32,
        /// Inode of the namespace.
        netns: u64,
    },
    /// One transaction waits at a time.
    #[error(
        "transaction {id} is not finished; run nicety tune confirm {id} or nicety tune rollback {id} first"
    )]
    Unfinished {
        /// The one that waits.
        id: u32,
    },
    /// The host is not as the plan says.
    #[error("{settings} settings are not as the plan says, nothing was changed; plan again")]
    Moved {
        /// How many.
        settings: usize,
    },
    /// A transaction that was undone does not hold.
    #[error("transaction {id} is {}; there is nothing to verify", phase.word())]
    NothingToVerify {
        /// Transaction.
        id: u32,
        /// Where it stands.
        phase: Phase,
    },
    /// Only what is confirmed here can be kept.
    #[error(
        "transaction {id} is {} or of another boot or network namespace; only what is confirmed here can be kept",
        phase.word()
    )]
    NotToBeKept {
        /// Transaction.
        id: u32,
        /// Where it stands.
        phase: Phase,
    },
    /// There is no change to keep.
    #[error("there is nothing to keep; nicety tune apply and confirm change settings")]
    NothingToKeep,
    /// The peer does not answer before a change, so it would tell nothing after it.
    #[error("{0}: the path cannot be tried, nothing was changed")]
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
    #[error("the guard that would undo the changes did not start; nothing was changed")]
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
    #[error("{knob}: {to} was written, the kernel says {found}")]
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

impl Stop {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Setting(KnobError::Net(net)) if net.is_not_permitted() => ErrorKind::Environment,
            Self::Journal(_) => ErrorKind::Environment,
            _ => ErrorKind::Negative,
        }
    }
}

impl TuneError {
    /// What it asks of its reader.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TakenBack { stop, .. } | Self::NotCommitted { stop, .. } => stop.kind(),
            Self::Moved { .. }
            | Self::NothingToKeep
            | Self::DeadPath(_)
            | Self::LeftBehind { .. } => ErrorKind::Negative,
            Self::Journal(_)
            | Self::Net(_)
            | Self::Knob(_)
            | Self::Probe(_)
            | Self::Program(_)
            | Self::Guard { .. }
            | Self::NoGuard => ErrorKind::Environment,
            Self::Source(_)
            | Self::NoStateDirectory
            | Self::PeerOfRecord
            | Self::ReadFile { .. }
            | Self::BadFile { .. }
            | Self::NothingKept { .. }
            | Self::NoFolder { .. }
            | Self::Folder { .. }
            | Self::NoTransaction { .. }
            | Self::OtherBoot { .. }
            | Self::OtherNamespace { .. }
            | Self::Unfinished { .. }
            | Self::NothingToVerify { .. }
            | Self::NotToBeKept { .. } => ErrorKind::BadInput,
        }
    }
}

fn taken_back(undone: &Result<Vec<(Step, Outcome)>, JournalError>) -> String {
    match undone {
        Ok(outcomes) => format!("everything is as it was{}", words::left(outcomes)),
        Err(journal) => format!("the settings were put back, but {journal}"),
    }
}
