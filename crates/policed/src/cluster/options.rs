//! What is needed to enter a cluster, from the policy and this machine.

use std::path::PathBuf;
use std::time::Duration;

use crate::etcd::{Credentials, Settings, Tls};
use nicety_host::journal::boot_id;
use nicety_host::roots::ProcRoot;
use nicety_police::Policy;
use nicety_police::cluster::HostSettings;
use nicety_police::cluster::wire::is_host_name;

use crate::Error;

/// How long one request to etcd may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How a host enters a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How etcd is reached.
    pub session: Settings,
    /// What the host brings.
    pub host: HostSettings,
}

impl Options {
    /// For a host of that name, in the network namespace with that inode; none where the policy names no cluster.
    ///
    /// # Errors
    /// [`Error::HostName`] for a name that cannot stand in a key.
    pub fn of(policy: &Policy, name: Option<String>, netns: u64) -> Result<Option<Self>, Error> {
        let name = name.unwrap_or_default();
        let Some(host) = policy.cluster_host(name.clone(), machine(netns)) else {
            return Ok(None);
        };
        if !is_host_name(&name) {
            return Err(Error::HostName(name));
        }
        let session = session(policy, name);
        Ok(session.map(|session| Self { session, host }))
    }
}

/// How etcd is reached; none where the policy names no cluster.
pub fn session(policy: &Policy, host: String) -> Option<Settings> {
    let cluster = policy.cluster.as_ref()?;
    let own = cluster.identity.as_ref();
    let user = cluster.user.as_ref();
    Some(Settings {
        endpoints: cluster.endpoints.clone(),
        prefix: cluster.prefix.trim_end_matches('/').to_owned(),
        host,
        tls: Tls {
            ca: cluster.ca.as_ref().map(PathBuf::from),
            own: own.map(|own| ((&own.cert).into(), (&own.key).into())),
        },
        user: user.map(|user| Credentials {
            user: user.name.clone(),
            password_file: (&user.password_file).into(),
        }),
        ttl: cluster.lease,
        timeout: TIMEOUT.min(cluster.lease / 3),
    })
}

/// What tells this machine from another of the same name; and one network namespace of it from another, as each has
/// a daemon of its own.
fn machine(netns: u64) -> String {
    let id = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let id = match id.trim() {
        "" => boot_id(&ProcRoot::live()).trim().to_owned(),
        id => id.to_owned(),
    };
    format!("{id}-{netns}")
}
