//! What a policy says of the cluster: where its store is, and what a tenant has over all hosts.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::BitRate;

use super::Policy;
use crate::cluster::{HostSettings, Margin, Total};

/// Prefix of all keys when nothing is said.
pub const DEFAULT_PREFIX: &str = "/nicety/";
/// Time between two reports, in the mean, when nothing is said.
pub const DEFAULT_CLUSTER_PERIOD: Duration = Duration::from_secs(1);
/// Length of a host's lease when nothing is said.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(10);

/// Where hosts share the tenants' totals.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// Addresses of the store, as in `https://10.0.0.1:2379`; never empty, all alike with TLS or
    /// without.
    pub endpoints: Vec<String>,
    /// Prefix of all keys; ends with a slash.
    pub prefix: String,
    /// File of the certificates to trust; the system's when absent.
    pub ca: Option<String>,
    /// Files of the certificate and key by which the store knows this host.
    pub identity: Option<Identity>,
    /// Who this host is to the store.
    pub user: Option<User>,
    /// Time between two reports, in the mean.
    pub period: Duration,
    /// How long the store keeps a host that is not heard: whole seconds, at least 5 periods.
    pub lease: Duration,
    /// Number of hosts, where it is fixed.
    pub hosts: Option<u32>,
    /// Share of `total_max / hosts` that a host keeps when it hears nobody.
    pub safe_share: Option<f64>,
}

/// A client certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// File of the certificate.
    pub cert: String,
    /// File of its key.
    pub key: String,
}

/// A user with a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// File with the password.
    pub password_file: String,
}

/// What a tenant has over all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantTotal {
    /// Most that all hosts may send together.
    pub max: BitRate,
    /// What it always gets where it has the demand; never above `max`.
    pub guarantee: BitRate,
}

impl Policy {
    /// This host's part in the cluster, under `name` and with the `machine-id`; none without
    /// `[cluster]`.
    pub fn cluster_host(&self, name: String, machine: String) -> Option<HostSettings> {
        let cluster = self.cluster.as_ref()?;
        let tenants = self.tenants.iter().filter_map(|tenant| {
            let total = tenant.total?;
            let total = Total {
                max: total.max,
                guarantee: total.guarantee,
                weight: tenant.ports.len().max(1) as u32,
            };
            Some((tenant.name.clone(), total))
        });
        Some(HostSettings {
            name,
            machine,
            margin: Margin::default(),
            hosts: cluster.hosts,
            safe_share: cluster.safe_share,
            period: cluster.period,
            tenants: tenants.collect::<BTreeMap<_, _>>(),
        })
    }
}
