//! What a host knows from its policy and its machine.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::BitRate;
use serde::{Deserialize, Serialize};

use super::wire::{Member, SCHEMA, Total};

/// Share of a lease that a host leaves unused: it falls back when `1 - margin` of the lease has
/// passed since it sent the last renewal that was answered.
///
/// With clocks that run at `1 ± d` of real time, the store ends the lease no earlier than `L / (1 + d)`
/// after the renewal, and the host falls back no later than `L * (1 - margin) / (1 - d)` after it.
/// For `d` = 10 % a margin of 0.182 is the least; the default leaves a thirteenth of the lease
/// for setting the limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Margin(pub f64);

impl Default for Margin {
    fn default() -> Self {
        Self(0.25)
    }
}

impl Margin {
    /// How long after the renewal was sent a host may hold its grant, for a lease of `ttl`.
    pub fn held_for(self, ttl: Duration) -> Duration {
        ttl.mul_f64((1.0 - self.0).clamp(0.0, 1.0))
    }
}

/// What a host brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostSettings {
    /// Its name, under which its keys are.
    pub name: String,
    /// Tells it from another machine of the same name.
    pub machine: String,
    /// Share of a lease that it leaves unused.
    pub margin: Margin,
    /// Number of hosts, where the policy fixes it.
    pub hosts: Option<u32>,
    /// Share of `total_max / hosts` to keep when it hears nobody.
    pub safe_share: Option<f64>,
    /// Time between two reports, and between two decisions of a leader, in the mean.
    pub period: Duration,
    /// Its tenants that have a total.
    pub tenants: BTreeMap<String, Total>,
}

impl HostSettings {
    /// What it says of itself in the store.
    pub fn member(&self) -> Member {
        Member {
            schema: SCHEMA,
            machine: self.machine.clone(),
            hosts: self.hosts,
            safe_share: self.safe_share,
            tenants: self.tenants.clone(),
        }
    }
}

impl Member {
    /// What a host that no leader has heard of may send of a tenant: a safe share where the
    /// number of hosts is fixed, else nothing.
    pub fn unknown_share(&self, tenant: &str) -> BitRate {
        let Some(total) = self.tenants.get(tenant) else {
            return BitRate(0);
        };
        self.hosts.map_or(BitRate(0), |hosts| {
            safe_share(total, self.safe_share, u64::from(hosts))
        })
    }
}

/// Safe share of one of `hosts` hosts: `share` of `max / hosts`, or else the lower of the guarantee
/// and `max / hosts`. Never above `max / hosts`, rounded down.
pub fn safe_share(total: &Total, share: Option<f64>, hosts: u64) -> BitRate {
    let part = total.max.0 / hosts.max(1);
    BitRate(match share {
        Some(share) => part.min((part as f64 * share.clamp(0.0, 1.0)) as u64),
        None => part.min(total.guarantee.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safe_share_is_never_more_than_an_equal_part() {
        let total = |guarantee| Total {
            max: BitRate(1000),
            guarantee: BitRate(guarantee),
            weight: 1,
        };
        assert_eq!(safe_share(&total(0), None, 3), BitRate(0));
        assert_eq!(safe_share(&total(50), None, 3), BitRate(50));
        assert_eq!(safe_share(&total(900), None, 3), BitRate(333));
        assert_eq!(safe_share(&total(900), Some(0.5), 3), BitRate(166));
        assert_eq!(safe_share(&total(0), Some(2.0), 3), BitRate(333));
        assert_eq!(safe_share(&total(900), None, 0), BitRate(900));
    }

    #[test]
    fn the_default_margin_covers_clocks_ten_percent_off() {
        let (ttl, off) = (Duration::from_secs(10), 0.1);
        let host = Margin::default().held_for(ttl).as_secs_f64() / (1.0 - off);
        let store = ttl.as_secs_f64() / (1.0 + off);
        assert!(store - host > ttl.as_secs_f64() / 14.0, "{host} {store}");
        let least = Margin(0.182).held_for(ttl).as_secs_f64() / (1.0 - off);
        assert!(least < store, "{least} {store}");
    }
}
