//! What is worth a line or a count: typed until one place writes it.

use nicety_model::BitRate;
use serde::{Deserialize, Serialize};

/// Something that happened in the cluster, as one host saw it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterEvent {
    /// This host has a lease.
    Joined {
        /// The lease.
        lease: i64,
    },
    /// Its record is not in the store: no leader has admitted it yet, or it was forgotten.
    NotAdmitted,
    /// It holds the grants of the leader.
    Granted {
        /// Number of the grant.
        number: u64,
    },
    /// Its lease has not been renewed in time, or has ended: it sends its safe shares.
    FellBack {
        /// Why.
        why: FellBack,
    },
    /// Limits that cannot be lowered keep a grant from being acknowledged.
    NotLowered {
        /// The tenant.
        tenant: String,
    },
    /// It leads.
    Leads,
    /// It does not lead any more.
    LeadsNoMore,
    /// Another leader has written meanwhile, so nothing was changed.
    Overtaken,
    /// A host has joined.
    HostJoined {
        /// Its name.
        host: String,
    },
    /// A host's lease has ended: it counts with its safe shares.
    HostLost {
        /// Its name.
        host: String,
    },
    /// Hosts' policies differ about a tenant: the smaller value counts.
    PoliciesDiffer {
        /// The tenant; none for a key of `[cluster]`.
        tenant: Option<String>,
        /// The key: `total_max`.
        key: PolicyKey,
        /// A host with the smaller value.
        host: String,
        /// A host with a greater value.
        other: String,
    },
    /// Hosts that the leader cannot reach, and their safe shares, use up a tenant's total.
    Overcommitted {
        /// The tenant.
        tenant: String,
        /// Its total.
        total: BitRate,
    },
    /// There are more hosts than `hosts` says.
    TooManyHosts {
        /// What the policy says.
        hosts: u32,
        /// How many there are.
        known: u32,
    },
    /// A value that cannot be read keeps the leader from raising any grant.
    CannotRaise {
        /// Its key.
        key: String,
    },
    /// Keys below the prefix that cannot be read.
    Garbage {
        /// How many.
        count: usize,
        /// One of them.
        key: String,
        /// A newer program has written it, with this schema.
        newer: Option<u64>,
    },
}

/// A key of the policy on which hosts must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKey {
    /// `total_max` of a tenant.
    TotalMax,
    /// `total_guarantee` of a tenant.
    TotalGuarantee,
    /// `hosts` of `[cluster]`.
    Hosts,
}

/// Why a host sends its safe shares only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FellBack {
    /// No renewal was answered for so long that the lease may end.
    NotRenewed,
    /// The store says that the lease has ended.
    LeaseEnded,
    /// Its grant has gone from the store.
    GrantGone,
}
