//! What a guest is told of itself, and its soft limit.

use std::time::Duration;

use nicety_model::BitRate;
use serde::{Deserialize, Serialize};

use crate::controller::TenantDecision;
use crate::guest::{Ask, Reply, Request};

/// A guest's own record. Rates are in bits per second on the wire, as the host sees them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// For how long the soft limit still holds; absent when nothing ends it.
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

/// The soft limit of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Soft {
    limit: Option<BitRate>,
    until: Option<Duration>,
}

impl Soft {
    /// One that holds until it is changed.
    pub fn permanent(limit: Option<BitRate>) -> Self {
        Self { limit, until: None }
    }

    /// The same below a hard limit that may have become stricter.
    #[must_use]
    pub fn within(self, hard: BitRate) -> Self {
        Self {
            limit: self.limit.map(|limit| limit.min(hard)),
            ..self
        }
    }

    /// The limit at a time; none when there is none, or its lease is over.
    pub fn at(&self, now: Duration) -> Option<BitRate> {
        self.limit
            .filter(|_| self.until.is_none_or(|until| now < until))
    }

    /// The limit when nothing but the guest ends it.
    pub fn kept(&self) -> Option<BitRate> {
        self.limit.filter(|_| self.until.is_none())
    }

    /// Does what a guest asks for; `hard` is what it may never exceed.
    ///
    /// # Errors
    /// The refusal; nothing has changed then.
    pub fn ask(&mut self, request: &Request, hard: BitRate, now: Duration) -> Result<(), Reply> {
        let Ask::Limit { limit, lease } = request.ask else {
            return Ok(());
        };
        if let Some(limit) = limit.filter(|limit| *limit > hard) {
            return Err(Reply::error(
                &request.id,
                format!("{limit} is above the hard limit of {hard}; write at most that, or none"),
            ));
        }
        *self = Self {
            limit,
            until: lease.filter(|_| limit.is_some()).map(|time| now + time),
        };
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
        let left = self.until.filter(|_| soft.is_some());
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
