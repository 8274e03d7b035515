//! A bill from slots: sums and the 95th percentile.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use nicety_model::bill::{Billed, SLOT_SECONDS, TenantBill, Traffic, Usage, UsageRow};
use nicety_model::total;

/// What is billed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouped {
    /// A tenant on all hosts: its samples are those of all hosts together.
    ByTenant,
    /// A tenant on each host.
    ByHost,
}

/// The bills of a time, in seconds since 1970, from its slots in any order. `now` is when the last samples can be from:
/// later ones are not missing.
pub fn statement(
    rows: &[UsageRow],
    time: Range<i64>,
    now: i64,
    grouped: Grouped,
) -> Vec<TenantBill> {
    let mut tenants: BTreeMap<(&str, Option<&str>), Tenant> = BTreeMap::new();
    for row in rows.iter().filter(|row| time.contains(&row.start)) {
        let host = (grouped == Grouped::ByHost).then_some(row.host.as_str());
        let tenant = tenants.entry((&row.tenant, host)).or_default();
        tenant.hosts.insert(&row.host);
        tenant.slots.entry(row.start).or_default().add(&row.usage);
    }
    let due = time.end.min(now).saturating_sub(time.start).max(0) as u64 / SLOT_SECONDS as u64;
    let tenants = tenants.into_iter();
    tenants
        .map(|((name, _), tenant)| tenant.bill(name, due))
        .collect()
}

#[derive(Default)]
struct Tenant<'r> {
    hosts: BTreeSet<&'r str>,
    slots: BTreeMap<i64, Usage>,
}

impl Tenant<'_> {
    fn bill(&self, name: &str, due: u64) -> TenantBill {
        let samples = self.slots.len() as u64;
        let limited = total(self.slots.values().map(|usage| usage.limited_ms));
        TenantBill {
            tenant: name.to_owned(),
            hosts: self.hosts.iter().map(|host| (*host).to_owned()).collect(),
            sent: self.billed(|usage| &usage.sent),
            received: self.billed(|usage| &usage.received),
            limited_s: limited as f64 / 1e3,
            samples,
            missing: due.saturating_sub(samples),
        }
    }

    fn billed(&self, of: fn(&Usage) -> &Traffic) -> Billed {
        let mut sum = Traffic::default();
        for usage in self.slots.values() {
            sum.add(of(usage));
        }
        let rates = |bytes: fn(&Traffic) -> u64| {
            let slots = self.slots.values();
            let rate =
                |usage: &Usage| bytes(of(usage)) as f64 * 8.0 / seconds(usage, self.hosts.len());
            slots.map(rate).collect::<Vec<f64>>()
        };
        let all = rates(|traffic| traffic.bytes);
        Billed {
            bytes: sum.bytes,
            unseen_bytes: sum.unseen,
            frames: sum.frames,
            max_bps: all.iter().copied().fold(0.0, f64::max),
            p95_bps: percentile(all),
            p95_least_bps: percentile(rates(|traffic| traffic.least)),
            p95_most_bps: percentile(rates(|traffic| traffic.most)),
        }
    }
}

/// What a sample stands for: its slot, or longer where the clock was set back and it came twice.
fn seconds(usage: &Usage, hosts: usize) -> f64 {
    let watched = usage.watched_ms as f64 / 1e3 / hosts.max(1) as f64;
    watched.max(SLOT_SECONDS as f64)
}

/// The highest sample when the top 5 % are left out, as transit is billed; 0 without samples.
fn percentile(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let left_out = samples.len() / 20;
    samples.iter().rev().nth(left_out).copied().unwrap_or(0.0)
}
