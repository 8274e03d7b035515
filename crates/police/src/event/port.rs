//! Events at one port.

use std::fmt;

use nicety_model::BitRate;
use nicety_model::journal::Outcome;

use super::Priority;
use crate::adopt::By;

/// Said of a policer that the NIC has not taken.
pub const SOFTWARE_ONLY: &str =
    "limited in software only: frames that the NIC switches itself pass";

/// Events at one port.
#[derive(Debug, Clone, PartialEq)]
pub enum PortEvent {
    /// It is not there any more.
    Gone,
    /// Its name is no port of the host now: why.
    Absent(String),
    /// It is there again.
    Back,
    /// It has another name, and its former limit was put back.
    Renamed {
        /// The name that it has now.
        now: String,
        /// Result of putting it back.
        outcome: Outcome,
    },
    /// It has not the limit that it should have.
    Trouble(PortTrouble),
    /// It has it again.
    TroubleOver,
    /// Its limiter lets nothing through although something waits.
    LimiterStuck,
    /// It has another limit than it was left with, and gets it again.
    LimitLost {
        /// What it was left with.
        had: BitRate,
        /// What it has; 0 for none.
        found: BitRate,
    },
    /// It sends more than its limit for several periods.
    NotEnforced {
        /// What it sends in bits per second.
        rate_bps: Option<f64>,
        /// Its limit in bits per second.
        limit_bps: f64,
    },
    /// It does not any more.
    EnforcedAgain {
        /// What it sends in bits per second.
        rate_bps: Option<f64>,
        /// Its limit in bits per second.
        limit_bps: f64,
    },
    /// Another program has set a limit, below which it is limited now.
    Adopted {
        /// Whose limit it is.
        by: By,
        /// Its rate.
        most: BitRate,
    },
    /// Another program has set a limit, which is replaced now and given back at the end.
    Replaced {
        /// Whose limit it is.
        by: By,
        /// Its rate.
        most: BitRate,
    },
    /// That limit is not there any more.
    NotAdopted,
    /// It is gone, and with it what was to be given back.
    NothingBack {
        /// What that was: `6mbit of libvirt`.
        limit: String,
    },
    /// The host alone limits it.
    SoftwareOnly,
    /// It has no counter.
    Uncounted,
}

/// Why a port has not the limit that it should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortTrouble {
    /// It cannot be limited now: why.
    Waits(String),
    /// Kind of another program's qdisc in its place.
    Foreign(String),
    /// The kernel's message of refusal.
    Refused(String),
    /// The kernel has made another limit of it.
    ReadBack {
        /// What was written.
        wanted: BitRate,
        /// What was read.
        found: BitRate,
    },
}

impl PortTrouble {
    /// Why the port waits.
    pub fn waits(&self) -> Option<String> {
        match self {
            Self::Waits(why) => Some(why.clone()),
            Self::Foreign(kind) => Some(format!("somebody else's {kind} qdisc is in the way")),
            Self::Refused(_) | Self::ReadBack { .. } => None,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, port: &str) -> fmt::Result {
        match self {
            Self::Waits(why) => write!(f, "port {port} waits: {why}"),
            Self::Foreign(kind) => {
                write!(f, "port {port}: somebody else's {kind} qdisc is in the way")
            }
            Self::Refused(why) => f.write_str(why),
            Self::ReadBack { wanted, found } => {
                write!(
                    f,
                    "port {port}: {wanted} was written, the kernel says {found}"
                )
            }
        }
    }
}

impl PortEvent {
    pub(super) fn name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Gone | Self::Absent(_) => "port-gone",
            Self::Back => "port-back",
            Self::Renamed { .. } => "port-renamed",
            Self::Trouble(_) => "trouble",
            Self::TroubleOver => "trouble-over",
            Self::LimiterStuck => "limiter-stuck",
            Self::LimitLost { .. } => "limit-lost",
            Self::NotEnforced { .. } => "not-enforced",
            Self::EnforcedAgain { .. } => "enforced-again",
            Self::Adopted { .. } => "limit-adopted",
            Self::Replaced { .. } => "limit-replaced",
            Self::NotAdopted => "adopted-limit-gone",
            Self::NothingBack { .. } => "not-given-back",
            Self::SoftwareOnly => "software-only",
            Self::Uncounted => return None,
        })
    }

    pub(super) fn priority(&self) -> Priority {
        match self {
            Self::Gone
            | Self::Absent(_)
            | Self::Back
            | Self::Renamed { .. }
            | Self::EnforcedAgain { .. }
            | Self::Adopted { .. }
            | Self::Replaced { .. }
            | Self::NothingBack { .. }
            | Self::NotAdopted => Priority::Notice,
            Self::TroubleOver => Priority::Info,
            Self::Trouble(_)
            | Self::LimiterStuck
            | Self::LimitLost { .. }
            | Self::NotEnforced { .. }
            | Self::SoftwareOnly
            | Self::Uncounted => Priority::Warning,
        }
    }

    pub(super) fn rates(&self) -> (Option<f64>, Option<f64>) {
        match self {
            Self::NotEnforced {
                rate_bps,
                limit_bps,
            }
            | Self::EnforcedAgain {
                rate_bps,
                limit_bps,
            } => (*rate_bps, Some(*limit_bps)),
            _ => (None, None),
        }
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, port: &str) -> fmt::Result {
        match self {
            Self::Adopted { by, most } => {
                write!(
                    f,
                    "port {port}: {by} limits it to {most}; it shares below that"
                )
            }
            Self::Replaced { by, most } => {
                write!(
                    f,
                    "port {port}: {by} limited it to {most}; nicety does that now and gives it back at the end"
                )
            }
            Self::NothingBack { limit } => {
                write!(
                    f,
                    "port {port}: its limit of {limit} went with it and is not given back"
                )
            }
            Self::NotAdopted => {
                write!(
                    f,
                    "port {port}: what another program had limited it to is gone"
                )
            }
            Self::Gone => write!(f, "port {port} is gone"),
            Self::Absent(why) => write!(f, "port {port} waits: {why}"),
            Self::Back => write!(f, "port {port} is back"),
            Self::Renamed { now, outcome } => {
                write!(f, "port {port} is called {now} now and ")?;
                match outcome {
                    Outcome::Failed { why } => write!(f, "cannot be put back as it was: {why}"),
                    Outcome::Foreign { found } => write!(f, "has {found} now, which is left"),
                    _ => f.write_str("has the limit that was found there"),
                }
            }
            Self::Trouble(trouble) => trouble.write(f, port),
            Self::TroubleOver => write!(f, "port {port}: all right again"),
            Self::LimiterStuck => write!(f, "port {port}: its limiter is stuck and is renewed"),
            Self::LimitLost { had, found } if found.0 == 0 => {
                write!(
                    f,
                    "port {port}: its limit of {had} was gone and is set again"
                )
            }
            Self::LimitLost { had, found } => write!(
                f,
                "port {port}: it had {found} instead of its limit of {had}, which is set again"
            ),
            Self::NotEnforced { .. } => write!(f, "port {port}: limit not enforced"),
            Self::EnforcedAgain { .. } => write!(f, "port {port}: its limit is kept again"),
            Self::SoftwareOnly => write!(f, "port {port}: {SOFTWARE_ONLY}"),
            Self::Uncounted => write!(
                f,
                "port {port}: nobody here counts what it sends; it counts as wanting all it may have"
            ),
        }
    }
}
