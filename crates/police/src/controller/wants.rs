//! What tenants want beyond this host.

use nicety_model::BitRate;

use super::Controller;

impl Controller {
    /// What a tenant would send here as far as that shows; none when a port of it wants more than it gets. As
    /// [`demand_bps`](crate::TenantDecision::demand_bps), but without the part of the link that every port has to
    /// begin: where many hosts share one total, those parts of all idle hosts would come to more than the total.
    pub fn wants(&self, tenant: usize) -> Option<BitRate> {
        let ports = self.ports.get(self.ranges.get(tenant)?.clone())?;
        let mut there = ports.iter().filter(|port| port.present);
        let sum = there.try_fold(0.0, |sum, port| match port.kept() {
            Some(kept) => Some(sum + kept),
            None => Some(sum + port.demand.shown()?.clamp(0.0, port.cap)),
        });
        sum.map(BitRate::from_bps)
    }
}
