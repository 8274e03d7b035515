//! Events of a cluster in words.

use nicety_model::counted::plural;

use super::Priority;
use crate::cluster::ClusterEvent;
use crate::cluster::event::{FellBack, PolicyKey};
use crate::cluster::wire::SCHEMA;
use crate::explain::readable;

/// Field for journalctl(1) to select by; none for what is for the terminal only.
pub(super) fn name(event: &ClusterEvent) -> Option<&'static str> {
    Some(match event {
        ClusterEvent::FellBack { .. } => "fell-back",
        ClusterEvent::Granted { .. } => "granted",
        ClusterEvent::NotLowered { .. } => "not-lowered",
        ClusterEvent::Leads | ClusterEvent::LeadsNoMore => "leader",
        ClusterEvent::HostJoined { .. } => "host-joined",
        ClusterEvent::HostLost { .. } => "host-lost",
        ClusterEvent::PoliciesDiffer { .. } | ClusterEvent::TooManyHosts { .. } => {
            "policies-differ"
        }
        ClusterEvent::Overcommitted { .. } => "overcommitted",
        ClusterEvent::CannotRaise { .. } | ClusterEvent::Garbage { .. } => "unreadable-keys",
        ClusterEvent::Joined { .. } | ClusterEvent::NotAdmitted | ClusterEvent::Overtaken => {
            return None;
        }
    })
}

/// How much it matters.
pub(super) fn priority(event: &ClusterEvent) -> Priority {
    match event {
        ClusterEvent::FellBack { .. }
        | ClusterEvent::NotLowered { .. }
        | ClusterEvent::HostLost { .. }
        | ClusterEvent::PoliciesDiffer { .. }
        | ClusterEvent::TooManyHosts { .. }
        | ClusterEvent::Overcommitted { .. }
        | ClusterEvent::CannotRaise { .. }
        | ClusterEvent::Garbage { .. } => Priority::Warning,
        ClusterEvent::Overtaken => Priority::Info,
        _ => Priority::Notice,
    }
}

/// In words.
pub(super) fn words(event: &ClusterEvent) -> String {
    match event {
        ClusterEvent::Joined { .. } => "cluster: this host has a lease".to_owned(),
        ClusterEvent::NotAdmitted => {
            "cluster: waiting for the leader's first grant; safe shares hold until then".to_owned()
        }
        ClusterEvent::Granted { .. } => "cluster: the leader's grant holds".to_owned(),
        ClusterEvent::FellBack { why } => {
            let why = match why {
                FellBack::NotRenewed => "etcd has not answered for too long",
                FellBack::LeaseEnded => "the lease has ended at etcd",
                FellBack::GrantGone => "this host's grant is gone from etcd",
            };
            format!("cluster: {why}; tenants with a total fall back to their safe shares")
        }
        ClusterEvent::NotLowered { tenant } => format!(
            "cluster: a limit of tenant {tenant} is above its grant and cannot be lowered; other hosts wait for that"
        ),
        ClusterEvent::Leads => "cluster: this host leads".to_owned(),
        ClusterEvent::LeadsNoMore => "cluster: this host does not lead any more".to_owned(),
        ClusterEvent::Overtaken => "cluster: another leader has written meanwhile".to_owned(),
        ClusterEvent::HostJoined { host } => format!("cluster: host {host} has joined"),
        ClusterEvent::HostLost { host } => format!(
            "cluster: host {host} is lost and counts with its safe shares; if it is gone for good: \
             nicety police forget {host}"
        ),
        ClusterEvent::PoliciesDiffer {
            tenant,
            key,
            host,
            other,
        } => {
            let key = match key {
                PolicyKey::TotalMax => "total_max",
                PolicyKey::TotalGuarantee => "total_guarantee",
                PolicyKey::Hosts => "hosts",
            };
            let of = match tenant {
                Some(tenant) => format!("{key} of tenant {tenant}"),
                None => format!("{key} of [cluster]"),
            };
            format!(
                "cluster: {of} differs between {host} and {other}; the smaller value counts, correct the policies"
            )
        }
        ClusterEvent::Overcommitted { tenant, total } => format!(
            "cluster: safe shares of hosts that do not answer use up the {} of tenant {tenant}",
            readable(total.0 as f64)
        ),
        ClusterEvent::TooManyHosts { hosts, known } => format!(
            "cluster: hosts = {hosts}, but {known} are known; raise it in every policy, or forget hosts that are gone"
        ),
        ClusterEvent::CannotRaise { key } => format!(
            "cluster: no grant is raised while the key {key} cannot be read; run the same nicety on all hosts, \
             or remove what is not its own with etcdctl del"
        ),
        ClusterEvent::Garbage {
            key,
            newer: Some(schema),
            ..
        } => format!(
            "cluster: a newer nicety wrote the key {key} (schema {schema}, this one reads {SCHEMA}); \
             run the same nicety on all hosts"
        ),
        ClusterEvent::Garbage { count, key, .. } => format!(
            "cluster: cannot read {} below the prefix, as {key}; remove what is not nicety's with etcdctl del",
            plural(*count, "key")
        ),
    }
}
