//! `[cluster]` as it stands in a file.

use std::time::Duration;

use nicety_model::source::{Diagnostic, List, Raw, Time, Wrong};
use nicety_model::{integers, kind};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::Policy;
use super::cluster::{
    Cluster, DEFAULT_CLUSTER_PERIOD, DEFAULT_LEASE, DEFAULT_PREFIX, Identity, User,
};
use super::file::{Period, PolicyFile, TenantFile, between};

/// Longest prefix, in bytes.
const PREFIX_BYTES: usize = 256;
/// A lease lasts at least so many periods, so that a few lost renewals are no loss of the lease.
const LEASE_PERIODS: u32 = 5;

/// Where hosts share the tenants' totals: an etcd that all of them reach.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterFile {
    /// Addresses of etcd, as in `https://10.0.0.1:2379`.
    #[schemars(with = "List<Endpoint>")]
    endpoints: Option<List<Endpoint>>,
    /// Prefix of all keys; `/nicety/` when absent. Hosts share totals with those of the same prefix.
    prefix: Option<Prefix>,
    /// File of the certificates to trust; the system's when absent.
    #[schemars(with = "Option<FileName>")]
    ca: Option<Spanned<FileName>>,
    /// File of the certificate by which etcd knows this host.
    #[schemars(with = "Option<FileName>")]
    cert: Option<Spanned<FileName>>,
    /// File of the key of `cert`.
    #[schemars(with = "Option<FileName>")]
    key: Option<Spanned<FileName>>,
    /// User of etcd.
    #[schemars(with = "Option<UserName>")]
    user: Option<Spanned<UserName>>,
    /// File with the password of `user`.
    #[schemars(with = "Option<FileName>")]
    password_file: Option<Spanned<FileName>>,
    /// Whether the password of `user` may go to `http://` endpoints, which others on the way can read; `false` when
    /// absent.
    #[serde(default)]
    allow_plain: bool,
    /// Time between two reports of a host in the mean, 100ms to 60s; `1s` when absent.
    period: Option<Period>,
    /// Lease: a silent host is removed after this time, 5s to 600s and at least 5 periods; `10s`
    /// when absent.
    #[schemars(with = "Option<Time>")]
    lease: Option<Spanned<LeaseTime>>,
    /// Number of hosts. A host that has never reached etcd then starts with its safe share, which
    /// the others leave free; without it such a host sends nothing for tenants with `total_max`.
    hosts: Option<Hosts>,
    /// Share of `total_max / hosts` that a host keeps when it does not reach etcd, 0 to 1; when absent
    /// the lower of `total_guarantee` and `total_max / hosts`. Never more than it had.
    safe_share: Option<SafeShare>,
}

integers! {
    Hosts 1 to 100_000, "the number of hosts, as in hosts = 40";
}

/// Checks a text: short, printable, of one line.
fn printable(raw: Raw<'_>, longest: usize, wanted: &str) -> Result<String, Wrong> {
    let text = raw.text()?;
    let fits =
        (1..=longest).contains(&text.len()) && !text.chars().any(nicety_model::visible::is_hidden);
    fits.then(|| text.to_owned()).ok_or_else(|| {
        Wrong::value(
            "{key} = {value} is empty, too long or not printable",
            format!("write {wanted}"),
        )
    })
}

/// An address of etcd.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
struct Endpoint(String);

kind!(
    Endpoint,
    "addresses in quotes, as in endpoints = [\"https://10.0.0.1:2379\"]",
    |raw| {
        let text = printable(raw, 300, Self::WANTED)?;
        let rest = text
            .strip_prefix("https://")
            .or(text.strip_prefix("http://"));
        let rest = rest.map(|rest| rest.trim_end_matches('/'));
        let wrong = || {
            Wrong::value(
                "{value} is not an address of etcd",
                "write one with scheme and port, as in \"https://10.0.0.1:2379\"",
            )
        };
        let (host, port) = rest
            .and_then(|rest| rest.rsplit_once(':'))
            .ok_or_else(wrong)?;
        let good = |host: &str| !host.is_empty() && !host.contains(['/', '@', ' ', '?', '#']);
        if good(host) && port.parse::<u16>().is_ok_and(|port| port > 0) {
            Ok(Self(text.trim_end_matches('/').to_owned()))
        } else {
            Err(wrong())
        }
    }
);

/// A prefix of keys.
#[derive(Debug, Clone, JsonSchema)]
struct Prefix(String);

kind!(
    Prefix,
    "a prefix in quotes, as in prefix = \"/nicety/\"",
    |raw| {
        let text = printable(raw, PREFIX_BYTES, Self::WANTED)?;
        match text.trim_end_matches('/') {
            "" => Err(Wrong::value(
                "prefix = {value} is everything in etcd",
                "write one of your own, as in prefix = \"/nicety/\"",
            )),
            text => Ok(Self(format!("{text}/"))),
        }
    }
);

/// An absolute path.
#[derive(Debug, Clone, JsonSchema)]
struct FileName(String);

kind!(
    FileName,
    "an absolute path in quotes, as in \"/etc/nicety/ca.pem\"",
    |raw| {
        let text = printable(raw, 4095, Self::WANTED)?;
        if text.starts_with('/') {
            Ok(Self(text))
        } else {
            Err(Wrong::value(
                "{key} = {value} is not an absolute path",
                format!("write {}", Self::WANTED),
            ))
        }
    }
);

/// A user of etcd.
#[derive(Debug, Clone, JsonSchema)]
struct UserName(String);

kind!(
    UserName,
    "a name in quotes, as in user = \"nicety\"",
    |raw| { printable(raw, 255, Self::WANTED).map(Self) }
);

/// A lease.
#[derive(Debug, Clone, Copy)]
struct LeaseTime(Duration);

kind!(LeaseTime, "a duration in quotes, as in \"10s\"", |raw| {
    let time = between(raw, [5_000, 600_000], "10s")?;
    match time.subsec_nanos() {
        0 => Ok(Self(time)),
        // etcd counts them so.
        _ => Err(Wrong::value(
            "lease = {value} is not a whole number of seconds",
            "write one such as \"10s\"",
        )),
    }
});

/// A share of an equal part.
#[derive(Debug, Clone, Copy, JsonSchema)]
struct SafeShare(#[schemars(range(min = 0, max = 1))] f64);

kind!(
    SafeShare,
    "a share of total_max / hosts, as in safe_share = 0.5",
    |raw| {
        match raw.real()? {
            share if !share.is_finite() => Err(Wrong::Type),
            share if (0.0..=1.0).contains(&share) => Ok(Self(share)),
            _ => Err(Wrong::value(
                "safe_share = {value} is not between 0 and 1",
                format!("write {}", Self::WANTED),
            )),
        }
    }
);

impl ClusterFile {
    /// What does not go together in the table that begins here.
    pub(super) fn problems(&self, at: usize) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        match &self.endpoints {
            None => found.push(Diagnostic::new(
                at,
                "[cluster] has no endpoints",
                "add endpoints = [\"https://10.0.0.1:2379\"], the addresses of etcd",
            )),
            Some(endpoints) => found.extend(self.mixed(endpoints)),
        }
        let pairs = [
            ("cert", place(&self.cert), "key", place(&self.key)),
            (
                "user",
                place(&self.user),
                "password_file",
                place(&self.password_file),
            ),
        ];
        for (a, of_a, b, of_b) in pairs {
            let alone = match (of_a, of_b) {
                (Some(at), None) => Some((at, a, b)),
                (None, Some(at)) => Some((at, b, a)),
                _ => None,
            };
            found.extend(alone.map(|(at, there, missing)| {
                Diagnostic::new(
                    at,
                    format!("{there} without {missing}"),
                    format!("add {missing}, or remove {there}"),
                )
            }));
        }
        let (period, lease) = (self.period(), self.lease());
        if lease < period * LEASE_PERIODS {
            let at = place(&self.lease).unwrap_or(at);
            found.push(Diagnostic::new(
                at,
                format!(
                    "a lease of {lease:?} is shorter than {LEASE_PERIODS} periods of {period:?}"
                ),
                format!(
                    "write lease = \"{}s\" or more",
                    (period * LEASE_PERIODS).as_secs_f64().ceil()
                ),
            ));
        }
        found
    }

    /// TLS for some endpoints only, or certificates without any.
    fn mixed(&self, endpoints: &List<Endpoint>) -> Option<Diagnostic> {
        let plain = |Endpoint(text): &Endpoint| text.starts_with("http://");
        let first = endpoints.placed().find(|(endpoint, _)| plain(endpoint));
        let (Endpoint(text), at) = first?;
        if !endpoints.iter().all(plain) {
            return Some(Diagnostic::new(
                at,
                format!("{text} is not encrypted, and other endpoints are"),
                "write https:// for all of them",
            ));
        }
        if let (Some(user), false) = (place(&self.user), self.allow_plain) {
            return Some(Diagnostic::new(
                user,
                format!("the password of user goes to {text} in clear"),
                "write https://, or allow_plain = true where nobody else is on the way",
            ));
        }
        let unused = [("ca", &self.ca), ("cert", &self.cert)];
        let (key, _) = unused.into_iter().find(|(_, file)| file.is_some())?;
        Some(Diagnostic::new(
            at,
            format!("{key} is for encrypted endpoints, and {text} is none"),
            format!("write https://, or remove {key}"),
        ))
    }

    fn period(&self) -> Duration {
        self.period.map_or(DEFAULT_CLUSTER_PERIOD, |time| time.0)
    }

    fn lease(&self) -> Duration {
        let lease = self.lease.as_ref();
        lease.map_or(DEFAULT_LEASE, |time| time.get_ref().0)
    }

    /// The cluster of a table without problems.
    pub(super) fn cluster(&self) -> Cluster {
        let file = |file: &Option<Spanned<FileName>>| Some(file.as_ref()?.get_ref().0.clone());
        let identity = file(&self.cert).zip(file(&self.key));
        let user = self.user.as_ref().map(|user| user.get_ref().0.clone());
        let prefix = self.prefix.as_ref();
        let endpoints = self.endpoints.iter().flat_map(|endpoints| endpoints.iter());
        Cluster {
            endpoints: endpoints.map(|endpoint| endpoint.0.clone()).collect(),
            prefix: prefix.map_or_else(|| DEFAULT_PREFIX.to_owned(), |prefix| prefix.0.clone()),
            ca: file(&self.ca),
            identity: identity.map(|(cert, key)| Identity { cert, key }),
            user: (user.zip(file(&self.password_file))).map(|(name, password_file)| User {
                name,
                password_file,
            }),
            period: self.period(),
            lease: self.lease(),
            hosts: self.hosts.map(|hosts| hosts.0),
            safe_share: self.safe_share.map(|share| share.0),
        }
    }
}

fn place<T>(value: &Option<Spanned<T>>) -> Option<usize> {
    value.as_ref().map(|value| value.span().start)
}

impl PolicyFile {
    /// Tenants' totals without a cluster, or a cluster without any.
    pub(super) fn problems_of_cluster(&self, policy: &Policy) -> Vec<Diagnostic> {
        let mut tenants = self.tenant.iter().map(toml::Spanned::get_ref);
        let total = tenants.find_map(|tenant| place(&tenant.total_max));
        let found = match (&self.cluster, total) {
            (None, Some(at)) => Diagnostic::new(
                at,
                "total_max without [cluster]",
                "add [cluster] and below it endpoints = [\"https://10.0.0.1:2379\"], or write cap for \
                 this host alone",
            ),
            (Some(cluster), None) if !policy.tenants.is_empty() => Diagnostic::new(
                cluster.span().start,
                "[cluster], and no tenant has total_max",
                "add total_max = \"1gbit\" to a tenant, or remove [cluster]",
            ),
            _ => return Vec::new(),
        };
        vec![found]
    }
}

impl TenantFile {
    /// What does not go together in a tenant's totals.
    pub(super) fn problems_of_total(&self) -> Option<Diagnostic> {
        let guarantee = place(&self.total_guarantee);
        let Some(total) = &self.total_max else {
            return guarantee.map(|at| {
                let remedy = "add total_max = \"1gbit\", the most that all hosts send together";
                Diagnostic::new(at, "total_guarantee without total_max", remedy)
            });
        };
        let max = total.get_ref().0;
        let above = self.total_guarantee.as_ref().map(|rate| rate.get_ref().0);
        if let Some(above) = above.filter(|above| *above > max) {
            return Some(Diagnostic::new(
                guarantee.unwrap_or(total.span().start),
                format!("total_guarantee = {above} is above total_max = {max}"),
                "lower it, or raise total_max",
            ));
        }
        let own = place(&self.guarantee)?;
        Some(Diagnostic::new(
            own,
            "guarantee in a tenant with total_max",
            "write total_guarantee: each host's part of it follows from the demand there",
        ))
    }
}
