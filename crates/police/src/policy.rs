//! Policies: how much of a link each tenant may have, in the TOML that `nicety police run`
//! reads.

mod bills_file;
mod burst_file;
mod cluster;
mod cluster_file;
mod compatible;
mod file;
mod parse;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::names::{Name, NameError};
use nicety_model::interface_name::check_interface_name;
use nicety_model::{BitRate, Problem};
use serde::{Deserialize, Serialize};

pub use cluster::{
    Cluster, DEFAULT_CLUSTER_PERIOD, DEFAULT_LEASE, DEFAULT_PREFIX, Identity, TenantTotal, User,
};
pub use file::PolicyFile;

use crate::credit::Credit;

/// A policy that cannot be used: where, what, and what to do.
pub type PolicyError = nicety_model::PlanError;

/// Most tenants of a policy.
pub const MAX_TENANTS: usize = 4_096;
/// The lowest limit of any port, and therefore the lowest capacity and cap.
pub const LEAST_RATE: BitRate = BitRate(64_000);
/// Share of the link that is left free when nothing is said.
pub const DEFAULT_HEADROOM: f64 = 0.03;
/// Part of its fair share that an idle tenant may begin with when nothing is said.
pub const DEFAULT_IDLE_SHARE: f64 = 1.0;
/// Length of a control period when nothing is said.
pub const DEFAULT_PERIOD: Duration = Duration::from_secs(1);
/// For how many days samples stay in the state directory when nothing is said.
pub const DEFAULT_KEEP_DAYS: u32 = 100;
/// How long a port may send at the link's rate before its limit bites, when nothing is said.
pub const DEFAULT_BURST: Duration = Duration::from_millis(4);

/// A checked policy: no tenant and no port comes twice, the guarantees fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Rate of the shared link, preamble and gap included (L1).
    pub capacity: BitRate,
    /// Packets a second that the host carries, which are shared too; none where nobody says.
    pub packets: Option<u64>,
    /// Share of the link left free, `0.0..=0.5`: what keeps the queue of the link itself short.
    pub headroom: f64,
    /// Part of its fair share that a tenant which sends little may begin with, 0.01 to 1: what is above is held by its
    /// limit at once, and what is below makes those wait who begin.
    pub idle_share: f64,
    /// Time between two decisions, 100 ms to 60 s.
    pub period: Duration,
    /// Count what the kernel drops of the tenants' packets.
    pub drops: bool,
    /// Where hosts share the tenants' totals; none: this host alone.
    pub cluster: Option<Cluster>,
    /// What every tenant sends and receives is kept; none: it is not.
    pub bills: Option<Bills>,
    /// Tenants, in the order of the file.
    pub tenants: Vec<Tenant>,
}

/// What is kept for bills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bills {
    /// Where samples go besides the state directory: a file, or a PostgreSQL server by URL.
    pub store: Option<String>,
    /// For how many days samples stay in the state directory.
    pub keep_days: u32,
}

/// A tenant with one or several ports.
#[derive(Debug, Clone, PartialEq)]
pub struct Tenant {
    /// Name.
    pub name: String,
    /// Share of what is not guaranteed, relative to the others'; above 0.
    pub weight: f64,
    /// Rate that the tenant always gets when it has the demand.
    pub guarantee: BitRate,
    /// Highest rate of the tenant; the link when absent.
    pub cap: Option<BitRate>,
    /// Packets a second that it sends at most.
    pub max_pps: Option<u64>,
    /// What it has of what the link brings; by default nothing limits that.
    pub received: Received,
    /// What it has on all hosts of the cluster together.
    pub total: Option<TenantTotal>,
    /// How long a port may send at the link's rate before its limit bites.
    pub burst: Duration,
    /// What it may send above its cap for a while, where it has saved that.
    pub credit: Option<Credit>,
    /// What to do with limits that other programs have set at its ports.
    pub adopt: Adopt,
    /// Ports, never empty.
    pub ports: Vec<PortName>,
    /// Where its guest may ask and set a soft limit.
    pub guest: Option<GuestChannel>,
}

/// What a tenant has of what the link brings.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Received {
    /// Rate that it always gets when that much comes for it.
    pub guarantee: BitRate,
    /// Highest rate; the link when absent.
    pub cap: Option<BitRate>,
    /// Packets a second at most.
    pub max_pps: Option<u64>,
    /// What may come above the cap for a while, where that was saved.
    pub credit: Option<Credit>,
}

/// What to do with limits of other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adopt {
    /// Refuse the port: it has an owner already.
    #[default]
    Refuse,
    /// Take them for the port's hard limit, and share below that. Theirs stay as they are.
    Cap,
    /// The same, and theirs goes until it is given back. A tenant's own cap counts in the place of theirs.
    Replace,
}

/// How a tenant's guest reaches the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestChannel {
    /// A Unix socket that the daemon makes.
    Unix {
        /// Absolute path.
        path: String,
        /// User who owns the socket and may use it, besides root: root inside a container, or whom
        /// QEMU runs as.
        uid: u32,
    },
    /// The vsock of a virtual machine, from which its root may connect.
    Vsock {
        /// Number of the machine (`guest-cid` of QEMU); 1 for this one.
        cid: u32,
    },
}

/// Where a tenant sends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PortName {
    /// An interface of the host: a tap, a veth, a macvtap.
    Interface(String),
    /// A virtual function: `eth0/vf3`.
    Vf {
        /// Interface of the physical function.
        pf: String,
        /// Number.
        vf: u32,
    },
    /// Whatever this name is on the host now: `libvirt:web01/net0`.
    Named(Box<Name>),
}

/// Text that names no port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortNameError {
    /// No interface and no function: the text.
    NoPort(String),
    /// It begins as a name does.
    Name(NameError),
}

impl PortNameError {
    /// What is wrong with the text, and what to write.
    pub fn problem(&self) -> Problem {
        match self {
            Self::NoPort(text) => Problem::value(
                format!("{text:?} is not a port"),
                "write an interface of at most 15 bytes, eth0/vf3, or a name such as libvirt:web01/net0",
            ),
            Self::Name(error) => error.problem(),
        }
    }
}

nicety_model::display_problem!(PortNameError);

impl Policy {
    /// Shared rate: the link without its head-room, in bits per second.
    pub fn shared_bps(&self) -> f64 {
        self.capacity.bps() * (1.0 - self.headroom)
    }

    /// Every port with the number of its tenant, in the order of the file.
    pub fn ports(&self) -> impl Iterator<Item = (usize, &PortName)> {
        let tenants = self.tenants.iter().enumerate();
        tenants.flat_map(|(index, tenant)| tenant.ports.iter().map(move |port| (index, port)))
    }
}

impl fmt::Display for GuestChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { path, .. } => f.write_str(path),
            Self::Vsock { cid } => write!(f, "vsock:{cid}"),
        }
    }
}

impl FromStr for PortName {
    type Err = PortNameError;

    fn from_str(text: &str) -> Result<Self, PortNameError> {
        if Name::is_meant(text) {
            let name = text.parse().map_err(PortNameError::Name)?;
            return Ok(Self::Named(Box::new(name)));
        }
        let error = || PortNameError::NoPort(text.chars().take(60).collect());
        let (name, vf) = match text.split_once("/vf") {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        check_interface_name(name).map_err(|_| error())?;
        let name = name.to_owned();
        match vf {
            None => Ok(Self::Interface(name)),
            Some(number) if number.bytes().all(|b| b.is_ascii_digit()) => {
                let vf = number.parse().map_err(|_| error())?;
                Ok(Self::Vf { pf: name, vf })
            }
            Some(_) => Err(error()),
        }
    }
}

impl TryFrom<String> for PortName {
    type Error = PortNameError;
    fn try_from(text: String) -> Result<Self, PortNameError> {
        text.parse()
    }
}

impl From<PortName> for String {
    fn from(port: PortName) -> Self {
        port.to_string()
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => f.pad(name),
            Self::Vf { pf, vf } => f.pad(&format!("{pf}/vf{vf}")),
            Self::Named(name) => name.fmt(f),
        }
    }
}
