//! The values in the store: JSON, so that `etcdctl get --prefix` can be read.
//!
//! | Key below the prefix | Written by | Lease | Value |
//! |---|---|---|---|
//! | `schema` | who comes first | none | [`MARKER`] |
//! | `ledger` | the leader, in every transaction | none | [`Ledger`] |
//! | `leader/…` | the election of etcd | the leader's | [`Leadership`] |
//! | `member/HOST` | the host, when its policy changes | the host's | [`Member`] |
//! | `report/HOST` | the host, at most once a period in the mean | the host's | [`HostReport`] |
//! | `grant/HOST` | the leader | **none**: outlives the host | [`HostGrant`] |

use std::collections::BTreeMap;

use nicety_model::BitRate;
use nicety_model::bounded::{believed, count};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, de};
use thiserror::Error;

/// Version of all values; a value of a newer one is not read.
pub const SCHEMA: u32 = 1;
/// Value of the key `schema`: what tells our prefix from anybody else's.
pub const MARKER: &str = "nicety cluster 1";
/// Key of the marker.
pub const SCHEMA_KEY: &str = "schema";
/// Key of the ledger.
pub const LEDGER_KEY: &str = "ledger";
/// Where the election keeps its keys.
pub const LEADER_DIR: &str = "leader/";
/// Where members are.
pub const MEMBER_DIR: &str = "member/";
/// Where reports are.
pub const REPORT_DIR: &str = "report/";
/// Where grants are.
pub const GRANT_DIR: &str = "grant/";
/// Longest name of a host (`HOST_NAME_MAX` of Linux), in bytes.
pub const HOST_NAME_BYTES: usize = 64;

/// A host that takes part: under its lease, so that its key says that the lease lives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Version.
    pub schema: u32,
    /// Tells one machine from another of the same name: machine-id(5).
    pub machine: String,
    /// Number of hosts, where the policy fixes it: hosts never seen then start with a safe share,
    /// which the leader keeps for them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hosts: Option<u32>,
    /// Share of `total_max / hosts` that a host keeps when it hears nobody, 0 to 1. Absent: the
    /// lower of `total_guarantee` and `total_max / hosts`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub safe_share: Option<f64>,
    /// Its tenants that have a total.
    pub tenants: BTreeMap<String, Total>,
}

/// What a host's policy says of a tenant over all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Total {
    /// Most that all hosts may send together.
    #[serde(rename = "max_bps", deserialize_with = "rate")]
    pub max: BitRate,
    /// What it always gets, over all hosts, where it has the demand.
    #[serde(rename = "guarantee_bps", deserialize_with = "rate", default)]
    pub guarantee: BitRate,
    /// Weight of this host: its ports of this tenant, so that a machine counts the same on
    /// every host. At least 1.
    pub weight: u32,
}

/// What a host sends and wants: also acknowledges the grant that it holds. At most one a period in the mean.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostReport {
    /// Version.
    pub schema: u32,
    /// Number of the grant that the kernel's limits hold now; 0 for none under this lease.
    #[serde(deserialize_with = "count")]
    pub holds: u64,
    /// Its tenants that have a total.
    pub tenants: BTreeMap<String, Usage>,
}

/// One tenant in a host's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Rate of its ports on this host.
    #[serde(rename = "use_bps", deserialize_with = "rate")]
    pub used: BitRate,
    /// What it would send here; absent when its grant holds it, which hides it.
    #[serde(
        rename = "demand_bps",
        deserialize_with = "maybe_rate",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub demand: Option<BitRate>,
}

/// What a host may send. Written by leaders only.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostGrant {
    /// Version.
    pub schema: u32,
    /// The host's lease for which it counts; under another one only the safe shares do.
    pub lease: i64,
    /// Number of this grant: the ledger's when it was written. Never used twice.
    #[serde(deserialize_with = "count")]
    pub number: u64,
    /// Tenants; one that is absent may send nothing.
    pub tenants: BTreeMap<String, Grant>,
}

/// One tenant in a host's grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// Most that its ports on this host may send together.
    #[serde(rename = "max_bps", deserialize_with = "rate")]
    pub max: BitRate,
    /// What they get in any case, where they have the demand.
    #[serde(
        rename = "guarantee_bps",
        deserialize_with = "rate",
        skip_serializing_if = "none",
        default
    )]
    pub guarantee: BitRate,
    /// What they may go on sending when the lease has ended; never above `max`.
    #[serde(
        rename = "safe_bps",
        deserialize_with = "rate",
        skip_serializing_if = "none",
        default
    )]
    pub safe: BitRate,
    /// Highest `max` of this grant and of all before it that the host may still hold; absent when
    /// that is `max`.
    #[serde(
        rename = "ceiling_bps",
        deserialize_with = "maybe_rate",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub ceiling: Option<BitRate>,
    /// The same for `safe`.
    #[serde(
        rename = "safe_ceiling_bps",
        deserialize_with = "maybe_rate",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub safe_ceiling: Option<BitRate>,
}

/// The last transaction of a leader: its number, and the step it was a part of.
///
/// A step's first transaction compares the ledger that the step has read, each later one the
/// ledger of the one before. So a transaction applies only to what its own step has read and
/// written. Another step with the same revision and digest writes the same grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Version.
    pub schema: u32,
    /// Transactions so far.
    #[serde(deserialize_with = "count")]
    pub sequence: u64,
    /// Revision of the store that the step has read.
    pub revision: i64,
    /// Digest of all grants of the step, below 2^53. It tells apart steps of different programs
    /// that have read the same revision.
    #[serde(deserialize_with = "count")]
    pub digest: u64,
}

/// Value of the election's key: who leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leadership {
    /// Version.
    pub schema: u32,
    /// The leader's host.
    pub host: String,
}

fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<BitRate, D::Error> {
    count(from).map(BitRate)
}

fn maybe_rate<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BitRate>, D::Error> {
    let rate = Option::<u64>::deserialize(from)?;
    let rate = rate.map(believed).transpose().map_err(de::Error::custom)?;
    Ok(rate.map(BitRate))
}

fn none(rate: &BitRate) -> bool {
    rate.0 == 0
}

/// A value that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// Of a newer program.
    #[error("written by a newer nicety (schema {0}; this one reads {SCHEMA}); update this host")]
    Newer(u64),
    /// No value of ours.
    #[error("not a value of nicety: {0}")]
    Garbage(String),
}

/// A value of the store with its version.
pub trait Wire: Serialize + DeserializeOwned {
    /// Its version.
    fn schema(&self) -> u32;

    /// Its bytes: JSON on one line. The same value always gives the same bytes, so that a
    /// transaction can compare them.
    fn encode(&self) -> Vec<u8> {
        // Maps with text keys and numbers: nothing here can fail to serialise.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a value.
    ///
    /// # Errors
    /// Bytes that are no such value, or one of a newer program.
    fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        /// The version alone, which newer programs keep.
        #[derive(Deserialize)]
        struct Version {
            schema: u64,
        }
        let garbage = |error: serde_json::Error| WireError::Garbage(error.to_string());
        let version: Version = serde_json::from_slice(bytes).map_err(garbage)?;
        if version.schema > u64::from(SCHEMA) {
            return Err(WireError::Newer(version.schema));
        }
        serde_json::from_slice(bytes).map_err(garbage)
    }
}

macro_rules! wire {
    ($($name:ident),*) => {$(
        impl Wire for $name {
            fn schema(&self) -> u32 {
                self.schema
            }
        }
    )*};
}

wire!(Member, HostReport, HostGrant, Ledger, Leadership);

impl Grant {
    /// The highest `max` that the host may hold while its lease lives and it has not acknowledged
    /// this grant.
    pub fn ceiling(&self) -> BitRate {
        self.ceiling.unwrap_or(self.max).max(self.max)
    }

    /// The most that the host may send when its lease has ended.
    pub fn safe_ceiling(&self) -> BitRate {
        self.safe_ceiling.unwrap_or(self.safe).max(self.safe)
    }

    /// The same with ceilings that are written only where they differ.
    pub(super) fn with_ceilings(mut self, ceiling: u64, safe_ceiling: u64) -> Self {
        self.ceiling = (ceiling > self.max.0).then_some(BitRate(ceiling));
        self.safe_ceiling = (safe_ceiling > self.safe.0).then_some(BitRate(safe_ceiling));
        self
    }

    /// Says nothing, and that nothing is held.
    pub(super) fn is_nothing(&self) -> bool {
        self.ceiling().0 == 0 && self.safe_ceiling().0 == 0
    }
}

/// Whether a text can name a host: as hostname(7) has it, so no slash, space or control.
pub fn is_host_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    (1..=HOST_NAME_BYTES).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short_and_come_back() {
        let grant = Grant {
            max: BitRate(5),
            guarantee: BitRate(2),
            safe: BitRate(1),
            ..Grant::default()
        };
        let host = HostGrant {
            schema: SCHEMA,
            lease: 7,
            number: 3,
            tenants: BTreeMap::from([("blue".to_owned(), grant.with_ceilings(9, 1))]),
        };
        let text = String::from_utf8(host.encode()).unwrap();
        assert_eq!(
            text,
            r#"{"schema":1,"lease":7,"number":3,"tenants":{"blue":{"max_bps":5,"guarantee_bps":2,"safe_bps":1,"ceiling_bps":9}}}"#
        );
        assert_eq!(HostGrant::decode(text.as_bytes()), Ok(host));
    }

    #[test]
    fn newer_values_and_garbage_are_told_apart() {
        let newer = HostReport::decode(br#"{"schema":2,"other":true}"#);
        assert_eq!(newer, Err(WireError::Newer(2)));
        for bytes in [
            &b""[..],
            b"\xff\xfe",
            b"[]",
            b"{\"schema\":1}",
            b"{\"schema\":\"x\"}",
        ] {
            let read = HostReport::decode(bytes);
            assert!(matches!(read, Err(WireError::Garbage(_))), "{read:?}");
        }
    }

    #[test]
    fn a_number_that_cannot_be_meant_is_named() {
        let most = u64::MAX;
        let ledger = format!(r#"{{"schema":1,"sequence":{most},"revision":1,"digest":1}}"#);
        let text = Ledger::decode(ledger.as_bytes()).unwrap_err().to_string();
        assert!(
            text.contains("18446744073709551615 is beyond 9007199254740992"),
            "{text}"
        );
        for key in [
            "max_bps",
            "guarantee_bps",
            "safe_bps",
            "ceiling_bps",
            "safe_ceiling_bps",
        ] {
            let first = if key == "max_bps" {
                ""
            } else {
                r#""max_bps":1,"#
            };
            let grant = format!(
                r#"{{"schema":1,"lease":7,"number":1,"tenants":{{"a":{{{first}"{key}":{most}}}}}}}"#
            );
            HostGrant::decode(grant.as_bytes()).unwrap_err();
        }
    }

    #[test]
    fn hosts_have_names_of_hosts() {
        for good in ["a", "kvm-17.example.net", &"x".repeat(64)] {
            assert!(is_host_name(good), "{good}");
        }
        for bad in ["", "a/b", "a b", "ä", &"x".repeat(65)] {
            assert!(!is_host_name(bad), "{bad}");
        }
    }
}
