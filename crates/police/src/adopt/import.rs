//! A policy from what other programs have set on a host.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use nicety_model::{BitRate, SCHEMA, number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Adopted, Interface, Unknown, Way, look};

/// What `nicety police import --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    /// Schema version.
    pub schema: u32,
    /// Limits that were recognised, by port.
    pub limits: Vec<ImportedLimit>,
    /// What is no limit that a policy could take over, by port.
    pub others: Vec<NotImported>,
}

/// A limit of another program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedLimit {
    /// The interface.
    pub port: String,
    /// Whose limit it is: `libvirt`, `Proxmox`, `Open vSwitch`, `Neutron`, `CNI`, or `tc` for what somebody has set
    /// by hand or with a program that is not known.
    pub by: String,
    /// Whether it limits what the owner of the port sends; else what it receives.
    pub sends: bool,
    /// What the owner gets at most, in bits per second.
    pub rate_bps: u64,
    /// Bytes that may pass at once beyond it.
    pub burst_bytes: u64,
    /// Nothing can come before it: it can only be replaced, with `adopt = "replace"`.
    #[serde(skip_serializing_if = "is_false", default)]
    pub only_replaced: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_false(value: &bool) -> bool {
    !value
}

impl ImportedLimit {
    /// What the owner gets at most.
    fn most(&self) -> BitRate {
        BitRate(self.rate_bps)
    }

    /// The limit in words. A burst that lasts is why its owner is seen to exceed it: `10mbit, burst 256 MB (3 min 25 s at
    /// this rate)`.
    fn words(&self) -> String {
        let burst = self.burst_bytes as f64;
        let lasts = burst * 8.0 / self.most().bps().max(1.0);
        let lasts = match lasts {
            seconds if seconds >= 0.95 => format!(" ({} at this rate)", number::seconds(seconds)),
            _ => String::new(),
        };
        format!("{}, burst {}{lasts}", self.most(), number::bytes(burst))
    }

    /// Theirs stays alone unless the policy limits what is received, too.
    fn received(&self) -> String {
        let (by, most, words) = (&self.by, self.most(), self.words());
        let how = if self.only_replaced {
            "to take its place, write adopt = \"replace\" and:"
        } else {
            "to share below that, write:"
        };
        format!(
            "# {by} limits what it receives to {words}, which stays; {how}\n# rx_max = \"{most}\"\n"
        )
    }
}

/// What is at a port and no limit to take over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotImported {
    /// The interface.
    pub port: String,
    /// What it is.
    pub why: String,
}

/// Looks at all interfaces of a host, or at those that are named.
pub fn import(host: &BTreeMap<u32, Interface>, only: &[String]) -> ImportReport {
    let mut report = ImportReport {
        schema: SCHEMA,
        limits: Vec::new(),
        others: Vec::new(),
    };
    let mut ports: Vec<(&String, u32)> = host
        .iter()
        .map(|(index, port)| (&port.name, *index))
        .collect();
    ports.sort();
    // Where the filters of a port send frames is a part of its limit, and no port.
    let parts = host.values().flat_map(|port| port.control.redirects());
    let parts: BTreeSet<u32> = parts.collect();
    for (name, index) in ports {
        if parts.contains(&index) || !only.is_empty() && !only.contains(name) {
            continue;
        }
        let found = look(index, host);
        for what in [found.sends, found.receives].into_iter().flatten() {
            report.add(name, what);
        }
    }
    report
}

impl ImportReport {
    fn add(&mut self, port: &str, found: Result<Adopted, Unknown>) {
        let port = port.to_owned();
        match found {
            Ok(limit) => self.limits.push(ImportedLimit {
                port,
                by: limit.by.to_string(),
                sends: limit.way == Way::Sends,
                rate_bps: limit.rate.0,
                burst_bytes: limit.burst_bytes,
                only_replaced: limit.bars().is_some(),
            }),
            Err(why) => self.others.push(NotImported {
                port,
                why: why.to_string(),
            }),
        }
    }

    /// Whether there is a limit that a policy can hold.
    pub fn has_senders(&self) -> bool {
        self.limits.iter().any(|limit| limit.sends)
    }

    /// Limits of what is received at ports where nobody limits what is sent, a line for each.
    pub fn received_alone(&self) -> Vec<String> {
        let sends = |port: &str| self.limits.iter().any(|it| it.sends && it.port == port);
        let alone = self
            .limits
            .iter()
            .filter(|limit| !limit.sends && !sends(&limit.port));
        alone
            .map(|limit| {
                format!(
                    "{} receives at most {}, by {}",
                    limit.port,
                    limit.words(),
                    limit.by
                )
            })
            .collect()
    }

    /// A policy that shares below these limits, one tenant for each port. `capacity` is the rate of the link; the sum
    /// of all limits where nobody says.
    pub fn policy(&self, capacity: Option<BitRate>) -> String {
        let senders = || self.limits.iter().filter(|limit| limit.sends);
        let receivers = |port: &str| {
            let of = move |limit: &&ImportedLimit| !limit.sends && limit.port == port;
            self.limits.iter().filter(of).collect::<Vec<_>>()
        };
        let sum = BitRate(senders().map(|limit| limit.most().0).sum());
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut text = String::from("[link]\n");
        let known = capacity.unwrap_or(sum);
        let hint = match capacity {
            Some(_) => "",
            None => "  # the sum of the limits below; write what your uplink carries",
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "capacity = \"{known}\"{hint}");
        text.push_str(
            "adopt = \"cap\"  # the limits below stay as they are; nicety shares below them\n",
        );
        for limit in senders() {
            let name = quoted(&limit.port);
            let _ = write!(text, "\n[[tenant]]\nname = {name}\nports = [{name}]\n");
            if limit.only_replaced {
                text.push_str(
                    "adopt = \"replace\"  # nothing could come before it; given back at the end\n",
                );
            }
            let _ = writeln!(text, "# {} limits it to {}", limit.by, limit.words());
            for limit in receivers(&limit.port) {
                text.push_str(&limit.received());
            }
        }
        let alone = self.received_alone();
        if !alone.is_empty() {
            text.push_str("\n# Limits of what other ports receive, which stay as they are:\n");
        }
        for line in alone {
            let _ = writeln!(text, "# {line}");
        }
        if !self.others.is_empty() {
            text.push_str("\n# Not taken over:\n");
        }
        for other in &self.others {
            let _ = writeln!(text, "# {}: {}", other.port, other.why);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::policy::Adopt;

    fn limit(port: &str, by: &str, sends: bool, mbit: u64) -> ImportedLimit {
        ImportedLimit {
            port: port.to_owned(),
            by: by.to_owned(),
            sends,
            rate_bps: mbit * 1_000_000,
            burst_bytes: 16_384,
            only_replaced: by == "CNI",
        }
    }

    #[test]
    fn what_is_imported_is_a_policy() {
        let report = ImportReport {
            schema: SCHEMA,
            limits: vec![
                limit("tap\"1", "libvirt", true, 80),
                limit("tap2", "Proxmox", true, 20),
                limit("tap2", "Proxmox", false, 30),
                limit("veth3", "CNI", true, 50),
                limit("tap4", "tc", false, 9),
            ],
            others: vec![NotImported {
                port: "tap3".to_owned(),
                why: "2 filters of it do more than limit all frames to one rate".to_owned(),
            }],
        };
        let text = report.policy(None);
        let policy =
            Policy::parse("p.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(policy.capacity, BitRate::from_mbit(150));
        let adopt: Vec<Adopt> = policy.tenants.iter().map(|tenant| tenant.adopt).collect();
        assert_eq!(adopt, [Adopt::Cap, Adopt::Cap, Adopt::Replace]);
        assert!(text.contains("\n# rx_max = \"30mbit\"\n"), "{text}");
        let alone = "# tap4 receives at most 9mbit, burst 16.4 kB, by tc\n";
        assert!(text.contains(alone), "{text}");
        let burst = "# libvirt limits it to 80mbit, burst 16.4 kB\n";
        assert!(text.contains(burst), "{text}");
        assert!(text.contains("# tap3: 2 filters of it"), "{text}");
        let known = report.policy(Some(BitRate::from_mbit(1000)));
        assert!(
            known.starts_with("[link]\ncapacity = \"1gbit\"\nadopt"),
            "{known}"
        );
    }

    #[test]
    fn a_burst_that_lasts_is_told_with_its_time() {
        let deep = ImportedLimit {
            burst_bytes: 256_000_000,
            ..limit("veth3", "tc", false, 10)
        };
        assert_eq!(
            deep.words(),
            "10mbit, burst 256 MB (3 min 25 s at this rate)"
        );
        let report = ImportReport {
            schema: SCHEMA,
            limits: vec![deep],
            others: Vec::new(),
        };
        assert!(!report.has_senders());
        assert_eq!(
            report.received_alone(),
            ["veth3 receives at most 10mbit, burst 256 MB (3 min 25 s at this rate), by tc"]
        );
    }
}
