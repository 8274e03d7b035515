//! What is in the store, as far as one program has heard.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::pace::is_sharp;
use super::wire::{
    GRANT_DIR, HostGrant, HostReport, LEADER_DIR, LEDGER_KEY, Leadership, Ledger, MARKER,
    MEMBER_DIR, Member, REPORT_DIR, SCHEMA, SCHEMA_KEY, Wire, WireError, is_host_name,
};

/// One key that was written or has gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// It has a value.
    Put {
        /// Key below the prefix: `report/kvm1`.
        key: String,
        /// Value.
        value: Vec<u8>,
        /// Lease under which it is; 0 for none.
        lease: i64,
    },
    /// It is gone.
    Gone {
        /// Key below the prefix.
        key: String,
    },
}

impl Change {
    /// Key below the prefix.
    pub fn key(&self) -> &str {
        match self {
            Self::Put { key, .. } | Self::Gone { key } => key,
        }
    }
}

/// All that has changed up to a revision. A reader never sees a part of a revision.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changes {
    /// The store's revision after them.
    pub revision: i64,
    /// They are everything there is: what was known before is forgotten.
    pub all: bool,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}

/// A value under a lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Leased<T> {
    /// The lease; 0 for none.
    pub lease: i64,
    /// The value; none where it cannot be read.
    pub value: Option<T>,
}

/// What the store has of one host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostView {
    /// Its registration: there while its lease lives.
    pub member: Option<Leased<Member>>,
    /// Its last report.
    pub report: Option<Leased<HostReport>>,
    /// Its grant; none inside where it cannot be read.
    pub grant: Option<Option<HostGrant>>,
}

/// How a host may join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joining {
    /// Nobody has its name.
    Free,
    /// Its own machine has it: an earlier daemon's lease has not ended. Fall back, then revoke it.
    Own {
        /// That lease.
        lease: i64,
    },
    /// Another machine has it.
    Taken {
        /// The other's machine-id(5); empty where its entry cannot be read.
        machine: String,
    },
}

/// The store up to a revision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct View {
    revision: i64,
    complete: bool,
    ledger: Option<Result<Ledger, WireError>>,
    hosts: BTreeMap<String, HostView>,
    leaders: BTreeMap<String, Option<Leadership>>,
    garbage: BTreeMap<String, WireError>,
}

impl View {
    /// Takes what has changed.
    pub fn take(&mut self, changes: &Changes) {
        if changes.all {
            *self = Self {
                complete: true,
                ..Self::default()
            };
        }
        self.revision = changes.revision;
        for change in &changes.changes {
            match change {
                Change::Put { key, value, lease } => self.put(key, value, *lease),
                Change::Gone { key } => self.gone(key),
            }
        }
    }

    /// What hosts said of which a report has changed.
    pub(super) fn reports(&self, changes: &Changes) -> BTreeMap<String, HostReport> {
        let keys = changes.changes.iter().map(Change::key);
        let hosts = keys.filter_map(|key| key.strip_prefix(REPORT_DIR));
        let said = hosts.filter_map(|host| {
            let report = self.hosts.get(host)?.report()?;
            Some((host.to_owned(), report.clone()))
        });
        said.collect()
    }

    /// Whether a leader that has heard these changes cannot wait: a host has come or gone, or says what differs much
    /// from what it said `before`.
    pub(super) fn is_urgent(
        &self,
        changes: &Changes,
        before: &BTreeMap<String, HostReport>,
    ) -> bool {
        let said = |host: &str| {
            let now = self.hosts.get(host);
            let report = now.and_then(HostView::report);
            match (before.get(host), report) {
                (Some(old), Some(new)) => is_sharp(old, new, now.and_then(HostView::grant)),
                (old, new) => old.is_some() != new.is_some(),
            }
        };
        let urgent = |key: &str| {
            key.starts_with(MEMBER_DIR) || key.strip_prefix(REPORT_DIR).is_some_and(said)
        };
        changes.all || changes.changes.iter().any(|change| urgent(change.key()))
    }

    /// Revision of the store that it shows.
    pub fn revision(&self) -> i64 {
        self.revision
    }

    /// Everything was read once.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The last transaction of a leader; none before the first.
    ///
    /// # Errors
    /// A ledger that cannot be read: nobody may write then.
    pub fn ledger(&self) -> Result<Option<Ledger>, &WireError> {
        match &self.ledger {
            None => Ok(None),
            Some(Ok(ledger)) => Ok(Some(*ledger)),
            Some(Err(error)) => Err(error),
        }
    }

    /// Every host of which there is a key, by name.
    pub fn hosts(&self) -> &BTreeMap<String, HostView> {
        &self.hosts
    }

    /// Who stands for election, in the order of their keys; none where that cannot be read.
    pub fn leaders(&self) -> impl Iterator<Item = Option<&Leadership>> {
        self.leaders.values().map(Option::as_ref)
    }

    /// Keys below the prefix that cannot be read, and why.
    pub fn garbage(&self) -> &BTreeMap<String, WireError> {
        &self.garbage
    }

    /// Whether a host may join under its name.
    pub fn joining(&self, host: &str, machine: &str) -> Joining {
        let member = self.hosts.get(host).and_then(|host| host.member.as_ref());
        let Some(member) = member else {
            return Joining::Free;
        };
        match &member.value {
            Some(value) if value.machine == machine => Joining::Own {
                lease: member.lease,
            },
            other => Joining::Taken {
                machine: other
                    .as_ref()
                    .map_or_else(String::new, |of| of.machine.clone()),
            },
        }
    }

    fn put(&mut self, key: &str, bytes: &[u8], lease: i64) {
        self.garbage.remove(key);
        if key == SCHEMA_KEY {
            if let Err(wrong) = check_marker(bytes) {
                self.garbage.insert(key.to_owned(), wrong);
            }
        } else if key == LEDGER_KEY {
            // A transaction compares the ledger's bytes: one with fields of another version never compares equal.
            let read = Ledger::decode(bytes).and_then(|ledger| {
                if ledger.encode() == bytes {
                    Ok(ledger)
                } else {
                    Err(WireError::Garbage("fields of another version".to_owned()))
                }
            });
            if let Err(error) = &read {
                self.garbage.insert(key.to_owned(), error.clone());
            }
            self.ledger = Some(read);
        } else if let Some(name) = key.strip_prefix(LEADER_DIR) {
            let value = self.read(key, bytes);
            self.leaders.insert(name.to_owned(), value);
        } else if let Some((dir, name)) = split(key) {
            match dir {
                MEMBER_DIR => {
                    let value = self.read(key, bytes);
                    self.host(name).member = Some(Leased { lease, value });
                }
                REPORT_DIR => {
                    let value = self.read(key, bytes);
                    self.host(name).report = Some(Leased { lease, value });
                }
                _ => {
                    let value = self.read(key, bytes);
                    self.host(name).grant = Some(value);
                }
            }
        } else {
            let unknown = WireError::Garbage("no key of nicety".to_owned());
            self.garbage.insert(key.to_owned(), unknown);
        }
    }

    fn gone(&mut self, key: &str) {
        self.garbage.remove(key);
        if key == LEDGER_KEY {
            self.ledger = None;
        } else if let Some(name) = key.strip_prefix(LEADER_DIR) {
            self.leaders.remove(name);
        } else if let Some((dir, name)) = split(key) {
            let host = self.host(name);
            match dir {
                MEMBER_DIR => host.member = None,
                REPORT_DIR => host.report = None,
                _ => host.grant = None,
            }
            if *host == HostView::default() {
                self.hosts.remove(name);
            }
        }
    }

    fn host(&mut self, name: &str) -> &mut HostView {
        self.hosts.entry(name.to_owned()).or_default()
    }

    /// A value; a key that cannot be read is noted.
    fn read<T: Wire>(&mut self, key: &str, bytes: &[u8]) -> Option<T> {
        T::decode(bytes)
            .map_err(|error| self.garbage.insert(key.to_owned(), error))
            .ok()
    }
}

/// Whether a marker is ours, and of this version.
fn check_marker(bytes: &[u8]) -> Result<(), WireError> {
    let text = String::from_utf8_lossy(bytes);
    let number = |text: &str| {
        text.rsplit_once(' ')
            .and_then(|(_, number)| number.parse().ok())
    };
    let family = MARKER.trim_end_matches(|c: char| c.is_ascii_digit());
    match number(&text).filter(|_| text.starts_with(family)) {
        _ if text == MARKER => Ok(()),
        Some(schema) if schema > u64::from(SCHEMA) => Err(WireError::Newer(schema)),
        _ => Err(WireError::Garbage("another program's marker".to_owned())),
    }
}

/// Directory and host of a key that is a host's.
fn split(key: &str) -> Option<(&'static str, &str)> {
    let dirs = [MEMBER_DIR, REPORT_DIR, GRANT_DIR];
    dirs.into_iter()
        .find_map(|dir| Some((dir, key.strip_prefix(dir)?)))
        .filter(|(_, name)| is_host_name(name))
}

impl HostView {
    /// The lease that keeps it in the cluster now.
    pub fn lease(&self) -> Option<i64> {
        self.member.as_ref().map(|member| member.lease)
    }

    /// What it says of itself, as far as that can be read.
    pub fn member(&self) -> Option<&Member> {
        self.member.as_ref()?.value.as_ref()
    }

    /// Its report, when that is of its present lease.
    pub fn report(&self) -> Option<&HostReport> {
        let report = self.report.as_ref()?;
        let fresh = Some(report.lease) == self.lease();
        report.value.as_ref().filter(|_| fresh)
    }

    /// Its grant, when that can be read and is of its present lease.
    pub fn grant(&self) -> Option<&HostGrant> {
        let grant = self.grant.as_ref()?.as_ref()?;
        (Some(grant.lease) == self.lease()).then_some(grant)
    }

    /// It has said that its limits are those of its last grant.
    pub fn acknowledged(&self) -> bool {
        let (Some(grant), Some(report)) = (self.grant(), self.report()) else {
            return false;
        };
        report.holds == grant.number
    }
}

/// Whether a prefix may be used: either it has our marker, or there is nothing below it.
///
/// # Errors
/// The key that is somebody else's.
pub fn check_prefix<'a>(
    marker: Option<&[u8]>,
    mut keys: impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    match marker {
        Some(found) if found == MARKER.as_bytes() => Ok(()),
        Some(_) => Err(SCHEMA_KEY.to_owned()),
        None => keys.next().map_or(Ok(()), |key| Err(key.to_owned())),
    }
}

#[cfg(test)]
mod tests;
