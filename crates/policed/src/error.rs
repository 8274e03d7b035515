//! Why something was refused or failed.

use std::io;
use std::path::PathBuf;

use nicety_host::journal::JournalError;
use nicety_host::knob::KnobError;
use nicety_model::{Coded, Problem, ProblemCode};
use nicety_netdev::net_error::NetError;
use nicety_police::admission::Refusal;
use nicety_police::driver;
use nicety_police::liveness::Silence;
use nicety_police::policy::PolicyError;
use nicety_port::PortError;
use nicety_store::StoreError;

/// Why something was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The policy's text.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The policy's file.
    #[error("cannot read {}: {source}", file.display())]
    PolicyUnreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something else than a policy.
    #[error("{} is not a policy: {what}", file.display())]
    NoPolicy {
        /// The file.
        file: PathBuf,
        /// What it is.
        what: String,
    },
    /// The policy does not go together with this host.
    #[error("{}", refused(policy, refusal))]
    Refused {
        /// File of the policy.
        policy: String,
        /// Why.
        refusal: Refusal,
    },
    /// What tenants use cannot be kept.
    #[error("bills: {0}")]
    Bills(#[from] nicety_history::HistoryError),
    /// Another policy while a run is recorded.
    #[error("this run is being recorded with --out; restart the daemon to change the policy")]
    Recording,
    /// What was asked for cannot be done.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// A limit that the driver does not take.
    #[error("{port}: {refusal}")]
    Limit {
        /// The function.
        port: String,
        /// Why.
        refusal: driver::Refusal,
    },
    /// The kernel does not answer.
    #[error("{0}; a driver or the firmware of a NIC may hang, see dmesg")]
    Silent(Silence),
    /// Interfaces, functions, limits.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A single setting.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// The journal and its directory.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The page of the record.
    #[error(transparent)]
    Report(#[from] nicety_report::ReportError),
    /// The capture.
    #[error(transparent)]
    Capture(#[from] PortError),
    /// Threads, sockets, signals.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A socket for a guest.
    #[error(
        "cannot make the socket {path} of tenant {tenant:?}: {source}; correct guest = in the policy"
    )]
    Socket {
        /// Its path.
        path: String,
        /// Whose it is.
        tenant: String,
        /// Why.
        source: io::Error,
    },
    /// The channel of virtual machines.
    #[error(
        "cannot listen on vsock port {port}: {source}; load the module vhost_vsock, or give guests a socket"
    )]
    Vsock {
        /// Its port.
        port: u32,
        /// Why.
        source: io::Error,
    },
    /// A second daemon.
    #[error(
        "another nicety police runs in this network namespace; stop it first (it holds {holds})"
    )]
    Running {
        /// What keeps this one out.
        holds: String,
    },
    /// What keeps a second daemon out cannot be taken.
    #[error("cannot take {what} that keeps a second daemon out: {source}")]
    Claim {
        /// The lock or socket.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A second daemon with the same state.
    #[error(
        "another nicety police, perhaps in another network namespace, has the state directory {}; give --state another one",
        .0.display()
    )]
    StateTaken(PathBuf),
    /// A host without a name that can stand in a key.
    #[error(
        "the host cannot enter the cluster as {0:?}; give it a --label of letters, digits, dots and hyphens"
    )]
    HostName(String),
    /// No daemon runs.
    #[error(
        "no nicety police runs with the state directory {}; start one, or give its --state",
        .0.display()
    )]
    NotRunning(PathBuf),
    /// The state is no state.
    #[error("{} is damaged: {source}", file.display())]
    StateDamaged {
        /// Its file.
        file: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A daemon cannot be asked.
    #[error("{}", unasked(.0))]
    NotAsked(NotAsked),
    /// The thread that writes the record has ended.
    #[error("the record's writer failed; what it wrote before is whole")]
    RecordWriter,
}

/// Why a daemon cannot be asked for something.
#[derive(Debug)]
pub enum NotAsked {
    /// Its state names no process.
    NoProcess,
    /// It has just ended.
    Ended,
    /// It does not answer.
    Silent,
    /// The kernel refuses.
    Refused {
        /// The process.
        pid: u32,
        /// What it says.
        source: rustix::io::Errno,
    },
}

impl Error {
    /// A problem with what to do about it.
    pub(crate) fn refused(
        code: ProblemCode,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Problem(Problem::new(code, what).with(remedy))
    }
}

impl Coded for Error {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Policy(_) | Self::HostName(_) => ProblemCode::BadValue,
            Self::PolicyUnreadable { .. } | Self::NoPolicy { .. } | Self::Recording => {
                ProblemCode::UnusableFile
            }
            Self::Refused { refusal, .. } => match refusal {
                Refusal::Silent { .. } => ProblemCode::KernelSilent,
                Refusal::Tenant { .. } => ProblemCode::TenantRefused,
            },
            Self::Problem(problem) => problem.code,
            Self::Limit { .. } => ProblemCode::LimitRefused,
            Self::Silent(_) => ProblemCode::KernelSilent,
            Self::Net(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Bills(error) => error.code(),
            Self::Capture(error) => error.code(),
            Self::Knob(_) | Self::Io(_) => ProblemCode::KernelRefused,
            Self::Vsock { .. } => ProblemCode::KernelLacks,
            Self::Running { .. } | Self::StateTaken(_) => ProblemCode::InUse,
            Self::NotRunning(_) | Self::NotAsked(_) => ProblemCode::NoDaemon,
            Self::Journal(_)
            | Self::Report(_)
            | Self::Socket { .. }
            | Self::Claim { .. }
            | Self::StateDamaged { .. }
            | Self::RecordWriter => ProblemCode::StorageRefuses,
        }
    }
}

/// A kernel that does not answer is no fault of the policy, which is not named then.
fn refused(policy: &str, refusal: &Refusal) -> String {
    match refusal {
        Refusal::Silent { .. } => refusal.to_string(),
        Refusal::Tenant { .. } => format!("{policy}: {refusal}"),
    }
}

fn unasked(why: &NotAsked) -> String {
    match why {
        NotAsked::NoProcess => "the daemon has no number".to_owned(),
        NotAsked::Ended => "the daemon has just ended".to_owned(),
        NotAsked::Silent => "the daemon does not answer; see nicety police status".to_owned(),
        NotAsked::Refused { pid, source } => {
            format!("cannot ask process {pid}: {source}; ask as the user who started it")
        }
    }
}
