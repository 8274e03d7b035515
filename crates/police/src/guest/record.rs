//! What a guest may see of itself, and its soft limit.

use std::fmt;
use std::time::Duration;

use nicety_model::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::controller::TenantDecision;
use crate::explain::readable;
use crate::guest::{Command, Reply, Request};

/// A guest's own record. Rates are in bits per second on the wire, as the host sees them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// What it sends.
    pub rate_bps: f64,
    /// What it would send; absent when it is as much as it gets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub demand_bps: Option<f64>,
    /// What it may never exceed.
    pub hard_bps: f64,
    /// Its own soft limit; absent when it has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub soft_bps: Option<f64>,
    /// For how long the soft limit, or none, still holds; absent when nothing ends it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lease_s: Option<f64>,
    /// What it always gets when it wants it.
    pub guarantee_bps: f64,
    /// What it may send now.
    pub effective_bps: f64,
    /// What of that it does not use.
    pub unused_bps: f64,
    /// Time between two of the host's decisions.
    pub period_s: f64,
}

/// A line of each figure.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let demand = match self.demand_bps {
            Some(bps) => format!("at most {}", readable(bps)),
            None => "more than it gets".to_owned(),
        };
        let soft = self.soft_bps.map_or("none".to_owned(), readable);
        let left = self.lease_s.map(|left| format!(", for {left:.0} s more"));
        writeln!(f, "sends       {}", readable(self.rate_bps))?;
        writeln!(f, "wants       {demand}")?;
        writeln!(f, "hard limit  {}", readable(self.hard_bps))?;
        writeln!(f, "soft limit  {soft}{}", left.unwrap_or_default())?;
        writeln!(f, "guarantee   {}", readable(self.guarantee_bps))?;
        writeln!(f, "may send    {}", readable(self.effective_bps))?;
        writeln!(f, "unused      {}", readable(self.unused_bps))
    }
}

/// The soft limit of a tenant: one that holds until it is changed, and one for a while before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Soft {
    /// Hard limit. When it changes, the requested soft limit stays and is cut when used.
    hard: BitRate,
    permanent: Option<BitRate>,
    lease: Option<Lease>,
}

/// A limit, or none, for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lease {
    limit: Option<BitRate>,
    until: Duration,
}

impl Soft {
    /// One that holds until it is changed, below a hard limit.
    pub fn new(hard: BitRate, permanent: Option<BitRate>) -> Self {
        Self {
            hard,
            permanent,
            lease: None,
        }
    }

    /// The same below another hard limit.
    #[must_use]
    pub fn below(self, hard: BitRate) -> Self {
        Self { hard, ..self }
    }

    /// The limit at a time; none when there is none.
    pub fn at(&self, now: Duration) -> Option<BitRate> {
        let limit = match self.leased(now) {
            Some(lease) => lease.limit,
            None => self.permanent,
        };
        limit.map(|limit| limit.min(self.hard))
    }

    fn leased(&self, now: Duration) -> Option<Lease> {
        self.lease.filter(|lease| now < lease.until)
    }

    /// The limit that nothing but the guest ends.
    pub fn kept(&self) -> Option<BitRate> {
        self.permanent
    }

    /// Does what a guest asks for. A lease leaves the limit that holds until it is changed, which comes
    /// back after it; without a lease that one is changed, and a lease ends.
    ///
    /// # Errors
    /// The refusal; nothing has changed then.
    pub fn apply(&mut self, request: &Request, now: Duration) -> Result<(), Reply> {
        let Command::Limit { limit, lease } = request.command else {
            return Ok(());
        };
        let hard = self.hard;
        if let Some(limit) = limit.filter(|limit| *limit > hard) {
            return Err(Reply::error(
                &request.id,
                format!("{limit} is above the hard limit of {hard}; write at most that, or none"),
            ));
        }
        if lease.is_none() {
            self.permanent = limit;
        }
        // For a while no limit, where there is none anyway, is none.
        let differs = limit.is_some() || self.permanent.is_some();
        self.lease = lease.filter(|_| differs).map(|time| Lease {
            limit,
            until: now + time,
        });
        Ok(())
    }

    /// The record of a tenant.
    pub fn record(
        &self,
        tenant: &TenantDecision,
        guarantee: BitRate,
        period: Duration,
        now: Duration,
    ) -> Record {
        let soft = self.at(now).map(BitRate::bps);
        // What was just asked for holds from the next period on, and is told at once.
        let effective = tenant.limit_bps.min(soft.unwrap_or(f64::INFINITY));
        let left = self.leased(now).map(|lease| lease.until);
        Record {
            rate_bps: tenant.rate_bps,
            demand_bps: tenant.demand_bps,
            hard_bps: tenant.cap_bps,
            soft_bps: soft,
            lease_s: left.map(|until| until.saturating_sub(now).as_secs_f64()),
            guarantee_bps: guarantee.bps(),
            effective_bps: effective,
            unused_bps: (effective - tenant.rate_bps).max(0.0),
            period_s: period.as_secs_f64(),
        }
    }
}
