//! What a tenant sends and wants on one host.

use nicety_model::BitRate;
use serde::{Deserialize, Serialize};

use crate::TenantDecision;

/// What a tenant sends and wants on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LocalDemand {
    /// Rate of its ports together.
    pub used: BitRate,
    /// What it would send here if its grant did not hold it: never more than this host's link would
    /// let through. None when only its grant holds it.
    pub demand: Option<BitRate>,
}

impl LocalDemand {
    /// From a decision of this host's controller, which took `granted` for the tenant's cap, and what it
    /// [wants](crate::Controller::wants). A tenant that the link holds below its grant can use no more than
    /// the link gives it.
    pub fn of(decided: &TenantDecision, wants: Option<BitRate>, granted: BitRate) -> Self {
        let limit = BitRate::from_bps(decided.limit_bps);
        let by_link = (limit < granted).then_some(limit);
        let soft = decided.soft_bps.map(BitRate::from_bps);
        Self {
            used: BitRate::from_bps(decided.rate_bps),
            demand: wants.into_iter().chain(by_link).chain(soft).min(),
        }
    }
}
