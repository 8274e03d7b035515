//! What tenants have sent and received over time, as it is kept and billed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of a slot in seconds: transit is billed by samples of five minutes, aligned to the hour in UTC.
pub const SLOT_SECONDS: i64 = 300;

/// What passed one way in a slot, as counters tell it.
///
/// Bytes are those of Ethernet frames without preamble, FCS and gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Bytes that were counted: over all slots no fewer have passed.
    pub bytes: u64,
    /// Frames that were counted.
    pub frames: u64,
    /// Bytes that may have passed besides, while nobody could count.
    pub unseen: u64,
    /// Bytes that passed in this slot at least: the others of `bytes` may belong to a neighbour.
    pub least: u64,
    /// Bytes that passed in this slot at most.
    pub most: u64,
}

/// What a tenant used in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// What it sent.
    pub sent: Traffic,
    /// What it received.
    pub received: Traffic,
    /// For how long a limit held it back, in milliseconds.
    pub limited_ms: u64,
    /// For how long somebody looked, in milliseconds.
    pub watched_ms: u64,
}

/// A slot of a tenant on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageRow {
    /// The host.
    pub host: String,
    /// The tenant.
    pub tenant: String,
    /// When the slot begins, in seconds since 1970 (UTC); a multiple of [`SLOT_SECONDS`].
    pub start: i64,
    /// What was used.
    pub usage: Usage,
}

/// `nicety police bill --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bill {
    /// Schema version.
    pub schema: u32,
    /// Where the samples are kept.
    pub store: String,
    /// Begin, RFC 3339 in UTC.
    pub from: String,
    /// End, RFC 3339 in UTC; not part of it.
    pub to: String,
    /// Length of a sample in seconds.
    pub slot_s: i64,
    /// Every tenant, by its name, and its host where hosts are billed apart.
    pub tenants: Vec<TenantBill>,
}

/// What a tenant is billed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantBill {
    /// The tenant.
    pub tenant: String,
    /// Hosts that it was on.
    pub hosts: Vec<String>,
    /// What it sent.
    pub sent: Billed,
    /// What it received.
    pub received: Billed,
    /// For how long a limit held it back, in seconds, over all hosts.
    pub limited_s: f64,
    /// Samples that there are.
    pub samples: u64,
    /// Samples that there are not: no daemon looked. They count in no percentile.
    pub missing: u64,
}

/// One direction of a bill.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Billed {
    /// Bytes: no fewer have passed.
    pub bytes: u64,
    /// Bytes that may have passed besides.
    pub unseen_bytes: u64,
    /// Frames.
    pub frames: u64,
    /// 95th percentile of the samples in bits per second: the highest one when the top 5 % are left out.
    pub p95_bps: f64,
    /// The 95th percentile if every sample were as low as it can have been.
    pub p95_least_bps: f64,
    /// The same if every sample were as high as it can have been.
    pub p95_most_bps: f64,
    /// The highest sample, in bits per second.
    pub max_bps: f64,
}

impl Traffic {
    /// Adds what was counted elsewhere, or later, to the same slot.
    pub fn add(&mut self, more: &Self) {
        let parts = [
            (&mut self.bytes, more.bytes),
            (&mut self.frames, more.frames),
            (&mut self.unseen, more.unseen),
            (&mut self.least, more.least),
            (&mut self.most, more.most),
        ];
        for (sum, part) in parts {
            *sum = sum.saturating_add(part);
        }
    }
}

impl Usage {
    /// Adds what was used elsewhere, or later, in the same slot.
    pub fn add(&mut self, more: &Self) {
        self.sent.add(&more.sent);
        self.received.add(&more.received);
        self.limited_ms = self.limited_ms.saturating_add(more.limited_ms);
        self.watched_ms = self.watched_ms.saturating_add(more.watched_ms);
    }
}
