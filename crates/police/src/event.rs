//! Events of the daemon: typed until one place writes them into the log.

mod cluster;
mod port;

use std::fmt;
use std::path::PathBuf;

use nicety_model::BitRate;
use nicety_model::counted::plural;
use nicety_model::journal::Outcome;

use crate::cluster::ClusterEvent;
use crate::explain::readable;
use crate::liveness::Silence;

pub use port::{PortEvent, PortTrouble, SOFTWARE_ONLY};

/// How much an event matters (syslog(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Needs attention.
    Warning = 4,
    /// Changes the shares.
    Notice = 5,
    /// Good to know.
    Info = 6,
}

/// The names by which journalctl(1) selects events: every [`Event::name`] is one of them.
pub const EVENTS: [&str; 40] = [
    "port-gone",
    "port-back",
    "port-renamed",
    "nic-gone",
    "nic-stuck",
    "nic-back",
    "interfaces-stuck",
    "interfaces-back",
    "names-stuck",
    "names-back",
    "trouble",
    "trouble-over",
    "limiter-stuck",
    "limit-lost",
    "limit-adopted",
    "limit-replaced",
    "not-given-back",
    "adopted-limit-gone",
    "not-enforced",
    "enforced-again",
    "software-only",
    "guest-refused",
    "burst-spent",
    "bills-trouble",
    "bills-trouble-over",
    "clock-stepped",
    "policy-taken",
    "policy-refused",
    "etcd-joined",
    "etcd-trouble",
    "guard-trouble",
    "granted",
    "fell-back",
    "not-lowered",
    "leader",
    "host-joined",
    "host-lost",
    "policies-differ",
    "overcommitted",
    "unreadable-keys",
];

/// Something worth a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Of one port.
    Port {
        /// Its name.
        port: String,
        /// The interface or function that it is now, where the policy has a name for it.
        interface: Option<String>,
        /// Its tenant, where the policy says.
        tenant: Option<String>,
        /// What.
        event: PortEvent,
    },
    /// Of what the owner of a port receives.
    Received {
        /// Its name.
        port: String,
        /// As for [`Self::Port`].
        interface: Option<String>,
        /// Its tenant, where the policy says.
        tenant: Option<String>,
        /// What.
        event: PortEvent,
    },
    /// A NIC has gone with all its functions.
    NicGone(String),
    /// It has come again.
    NicBack(String),
    /// The kernel does not answer.
    KernelSilent {
        /// The NIC whose functions it was asked for; none for the interfaces.
        nic: Option<String>,
        /// For how long, and to what.
        silence: Silence,
    },
    /// It answers again.
    KernelAnswers {
        /// The NIC; none for the interfaces.
        nic: Option<String>,
    },
    /// Somebody who knows names of ports does not answer.
    NamesSilent {
        /// Who.
        source: String,
        /// Why.
        why: String,
    },
    /// It answers again.
    NamesAnswer(String),
    /// Periods do not come to their end: why.
    Trouble(String),
    /// They do again.
    TroubleOver,
    /// A guest's request was refused.
    GuestRefused {
        /// Its tenant.
        tenant: String,
        /// Why.
        why: String,
    },
    /// A tenant that had saved burst credit has spent it.
    BurstSpent {
        /// The tenant.
        tenant: String,
        /// What it is limited to now.
        max: BitRate,
        /// Of what it receives.
        received: bool,
    },
    /// What tenants use cannot be kept, and stays in memory: why.
    BillsTrouble(String),
    /// It can again.
    BillsTroubleOver,
    /// What is kept cannot be sent on to the second store: why.
    BillsUnsent(String),
    /// It can again.
    BillsSent,
    /// The clock on the wall was set while bills are kept.
    ClockStepped {
        /// By how many milliseconds; below 0 back.
        ms: i64,
    },
    /// Another policy is in force.
    PolicyTaken {
        /// Its file.
        file: String,
        /// Rate of the shared link.
        capacity: BitRate,
        /// Tenants.
        tenants: usize,
        /// Ports.
        ports: usize,
    },
    /// Another policy was refused: why.
    PolicyRefused(String),
    /// The daemon begins.
    Sharing {
        /// Rate of the shared link.
        capacity: BitRate,
        /// Tenants.
        tenants: usize,
        /// Ports.
        ports: usize,
        /// Time between two decisions.
        period: std::time::Duration,
    },
    /// So many ports are taken over from a daemon that was killed.
    Adopted(usize),
    /// The guarantees do not fit.
    GuaranteesScaled,
    /// The policy wants dropped packets to be counted, and they are not: why.
    DropsUncounted(String),
    /// No guest is served any more: why.
    GuestsUnserved(String),
    /// The lock that keeps a second daemon out is in a directory that is not this user's alone.
    LockUnsafe {
        /// The directory.
        directory: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The thread that guests speak to keeps its capabilities: why.
    GuestsPrivileged(String),
    /// Soft limits cannot be kept.
    SoftLimitsNotKept {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// A journal cannot be read, and is left as it is: why.
    JournalSkipped(String),
    /// Nothing more is recorded.
    RecordEnds,
    /// So many periods were not recorded.
    RecordGaps(u64),
    /// The page of the record was written.
    RecordPage(PathBuf),
    /// A port could not be put back.
    NotRestored {
        /// Its name.
        port: String,
        /// What it has.
        outcome: Outcome,
    },
    /// Ports that the kernel does not answer for.
    NotAnswered(Vec<String>),
    /// Number of ports that were put back.
    Restored(usize),
    /// So many ports keep their limits.
    Kept(usize),
    /// Of a cluster.
    Cluster(ClusterEvent),
    /// The host speaks to etcd through this endpoint.
    EtcdJoined(String),
    /// Something keeps it from etcd: what, why, what to do.
    EtcdTrouble(String),
    /// Nothing would lower the ports of a daemon that stands still, or tell the next one what it may send, so nothing
    /// above the safe shares is set: why.
    GuardTrouble(String),
}

impl Event {
    /// Fields for journalctl(1) to select by; none for lines meant only for the terminal.
    pub fn name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Port { event, .. } | Self::Received { event, .. } => return event.name(),
            Self::NicGone(_) => "nic-gone",
            Self::NicBack(_) | Self::KernelAnswers { nic: Some(_) } => "nic-back",
            Self::KernelSilent { nic: Some(_), .. } => "nic-stuck",
            Self::KernelSilent { nic: None, .. } => "interfaces-stuck",
            Self::KernelAnswers { nic: None } => "interfaces-back",
            Self::NamesSilent { .. } => "names-stuck",
            Self::NamesAnswer(_) => "names-back",
            Self::Trouble(_) => "trouble",
            Self::TroubleOver => "trouble-over",
            Self::GuestRefused { .. } => "guest-refused",
            Self::BurstSpent { .. } => "burst-spent",
            Self::BillsTrouble(_) | Self::BillsUnsent(_) => "bills-trouble",
            Self::BillsTroubleOver | Self::BillsSent => "bills-trouble-over",
            Self::ClockStepped { .. } => "clock-stepped",
            Self::PolicyTaken { .. } => "policy-taken",
            Self::PolicyRefused(_) => "policy-refused",
            Self::Cluster(event) => return cluster::name(event),
            Self::EtcdJoined(_) => "etcd-joined",
            Self::EtcdTrouble(_) => "etcd-trouble",
            Self::GuardTrouble(_) => "guard-trouble",
            _ => return None,
        })
    }

    /// How much it matters.
    pub fn priority(&self) -> Priority {
        match self {
            Self::Port { event, .. } | Self::Received { event, .. } => event.priority(),
            Self::KernelSilent { .. }
            | Self::NamesSilent { .. }
            | Self::Trouble(_)
            | Self::BillsTrouble(_)
            | Self::BillsUnsent(_)
            | Self::ClockStepped { .. }
            | Self::LockUnsafe { .. }
            | Self::JournalSkipped(_)
            | Self::EtcdTrouble(_)
            | Self::GuardTrouble(_)
            | Self::PolicyRefused(_) => Priority::Warning,
            Self::Cluster(event) => cluster::priority(event),
            Self::TroubleOver
            | Self::BillsTroubleOver
            | Self::BillsSent
            | Self::BurstSpent { .. }
            | Self::NamesAnswer(_) => Priority::Info,
            _ => Priority::Notice,
        }
    }

    /// The port that it is about.
    pub fn port(&self) -> Option<&str> {
        match self {
            Self::Port { port, .. } | Self::Received { port, .. } => Some(port),
            _ => None,
        }
    }

    /// `received` where it is about what an owner receives.
    pub fn direction(&self) -> Option<&'static str> {
        let received = matches!(
            self,
            Self::Received { .. } | Self::BurstSpent { received: true, .. }
        );
        received.then_some("received")
    }

    /// The interface or function that a port with a name is.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::Port { interface, .. } | Self::Received { interface, .. } => interface.as_deref(),
            _ => None,
        }
    }

    /// The tenant that it is about.
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Self::Port { tenant, .. } | Self::Received { tenant, .. } => tenant.as_deref(),
            Self::GuestRefused { tenant, .. } | Self::BurstSpent { tenant, .. } => Some(tenant),
            _ => None,
        }
    }

    /// Rate and limit of the port or tenant in bits per second, for events about them.
    pub fn rates(&self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Port { event, .. } | Self::Received { event, .. } => event.rates(),
            Self::BurstSpent { max, .. } => (None, Some(max.bps())),
            _ => (None, None),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |nic: &Option<String>| match nic {
            Some(nic) => format!("NIC {nic}"),
            None => "interfaces".to_owned(),
        };
        match self {
            Self::Port {
                port,
                interface: Some(interface),
                event,
                ..
            } => event.write(f, &format!("{port} ({interface})")),
            Self::Port { port, event, .. } => event.write(f, port),
            Self::Received {
                port,
                interface,
                event,
                ..
            } => {
                let interface = interface.as_ref();
                let is = interface.map_or_else(String::new, |is| format!(" ({is})"));
                event.write(f, &format!("{port}{is}, receiving"))
            }
            Self::NamesSilent { source, why } => {
                write!(
                    f,
                    "names of {source}: {why}; ports stay as they were told last"
                )
            }
            Self::NamesAnswer(source) => write!(f, "names of {source}: told again"),
            Self::NicGone(nic) => write!(f, "NIC {nic} is gone"),
            Self::NicBack(nic) => write!(f, "NIC {nic} is back"),
            Self::KernelSilent { nic, silence } => {
                let its = if nic.is_some() { "its" } else { "their" };
                let group = group(nic);
                write!(f, "{group}: {silence}; {its} ports keep their limits")
            }
            Self::KernelAnswers { nic } => write!(f, "{}: the kernel answers again", group(nic)),
            Self::Trouble(why) | Self::JournalSkipped(why) => f.write_str(why),
            Self::TroubleOver => f.write_str("the kernel answers again"),
            Self::BillsTrouble(why) => {
                write!(f, "bills: {why}; samples are kept in memory meanwhile")
            }
            Self::BillsTroubleOver => f.write_str("bills: samples are kept again"),
            Self::BillsUnsent(why) => {
                write!(f, "bills: {why}; samples are kept here and sent later")
            }
            Self::BillsSent => f.write_str("bills: samples are sent again"),
            Self::ClockStepped { ms } => write!(
                f,
                "bills: the clock was set {} by {} s; samples go on where it is now, and none is deleted for a day",
                if *ms < 0 { "back" } else { "forward" },
                ms.unsigned_abs() / 1_000
            ),
            Self::BurstSpent {
                tenant,
                max,
                received,
            } => {
                let does = if *received { "receives" } else { "sends" };
                write!(
                    f,
                    "tenant {tenant}: its burst credit is spent; it {does} at most {max} until it has saved some"
                )
            }
            Self::GuestRefused { tenant, why } => write!(f, "guest of {tenant}: refused: {why}"),
            Self::PolicyTaken {
                file,
                capacity,
                tenants,
                ports,
            } => write!(
                f,
                "{file} is taken: {} shared among {} with {}",
                readable(capacity.0 as f64),
                plural(*tenants, "tenant"),
                plural(*ports, "port")
            ),
            Self::PolicyRefused(why) => write!(f, "policy not reloaded: {why}"),
            Self::Sharing {
                capacity,
                tenants,
                ports,
                period,
            } => write!(
                f,
                "sharing {} among {} with {}, every {period:?}; \
                 Ctrl-C restores the previous limits",
                readable(capacity.0 as f64),
                plural(*tenants, "tenant"),
                plural(*ports, "port")
            ),
            Self::Adopted(ports) => {
                let ports = plural(*ports, "port");
                write!(f, "taking over {ports} from a daemon that was killed")
            }
            Self::GuaranteesScaled => {
                f.write_str("the guarantees asked for do not fit and are scaled down")
            }
            Self::DropsUncounted(why) => write!(f, "dropped packets are not counted: {why}"),
            Self::GuestsUnserved(why) => write!(f, "guests are not served any more: {why}"),
            Self::GuestsPrivileged(why) => {
                write!(
                    f,
                    "the thread that serves guests keeps its capabilities: {why}"
                )
            }
            Self::LockUnsafe { directory, why } => {
                let directory = directory.display();
                write!(
                    f,
                    "warning: {directory} {why}, so it is not used; only the socket @nicety-police keeps a \
                     second daemon out. Remedy: remove {directory}, then start the daemon again"
                )
            }
            Self::SoftLimitsNotKept { file, why } => {
                let file = file.display();
                write!(
                    f,
                    "cannot write {file}: {why}; soft limits end with the daemon"
                )
            }
            Self::RecordEnds => {
                f.write_str("the record ends here: it cannot be written; sharing goes on")
            }
            Self::RecordGaps(periods) => {
                let periods = plural(*periods, "period");
                write!(f, "the record lacks {periods}: the disk was too slow")
            }
            Self::RecordPage(page) => write!(f, "report: {}", page.display()),
            Self::NotRestored { port, outcome } => match outcome {
                Outcome::Foreign { found } => {
                    write!(
                        f,
                        "port {port}: there is a {found} now, which is left alone"
                    )
                }
                Outcome::Failed { why } => {
                    write!(f, "port {port} could not be restored: {why}")
                }
                other => write!(f, "port {port}: {other:?}"),
            },
            Self::NotAnswered(ports) => write!(
                f,
                "the kernel does not answer: {} may have the limits of nicety still; when it answers again, \
                 nicety police restore puts back what was there",
                ports.join(", ")
            ),
            Self::Restored(ports) => {
                let ports = plural(*ports, "port");
                write!(f, "restored the original limits of {ports}")
            }
            Self::Cluster(event) => f.write_str(&cluster::words(event)),
            Self::EtcdJoined(endpoint) => write!(f, "cluster: connected to etcd at {endpoint}"),
            Self::EtcdTrouble(what) => write!(f, "cluster: {what}"),
            Self::GuardTrouble(why) => write!(
                f,
                "cluster: {why}; tenants with a total keep to their safe shares until that is mended"
            ),
            Self::Kept(ports) => {
                write!(f, "the limits of {} stay", plural(*ports, "port"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
