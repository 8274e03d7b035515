//! What tenants receive, shared by the same controller as what they send: a policy seen from the other end.
//!
//! A tenant's `rx_max` or `rx_max_pps` alone limits that tenant. A guarantee holds only against those who are limited: as soon as one
//! tenant has an `rx_guarantee`, all take part.

use nicety_model::BitRate;

use crate::controller::Decision;
use crate::explain::explain;
use crate::policy::{Policy, PortName, Tenant};
use crate::report::ReceivedState;

/// How the name of a port ends where what it receives is meant.
const MARK: &str = "/received";

impl Policy {
    /// The policy of what tenants receive, in the words of one of what they send: the same tenants and ports, in the
    /// same order. None where no tenant takes part.
    pub fn received(&self) -> Option<Self> {
        let takes_part = |tenant: usize| self.limits_received(tenant);
        (0..self.tenants.len()).any(takes_part).then(|| Self {
            cluster: None,
            tenants: self.tenants.iter().map(turned).collect(),
            ..self.clone()
        })
    }

    /// Whether what a tenant receives is limited.
    pub fn limits_received(&self, tenant: usize) -> bool {
        let guaranteed = |tenant: &Tenant| tenant.received.guarantee > BitRate(0);
        let own = self.tenants.get(tenant).map(|tenant| tenant.received);
        own.is_some_and(|own| own.cap.is_some() || own.max_pps.is_some())
            || self.tenants.iter().any(guaranteed)
    }
}

fn turned(tenant: &Tenant) -> Tenant {
    Tenant {
        guarantee: tenant.received.guarantee,
        cap: tenant.received.cap,
        max_pps: tenant.received.max_pps,
        credit: tenant.received.credit,
        total: None,
        guest: None,
        ..tenant.clone()
    }
}

/// What is decided of a period, for those who ask: tenants and ports that take no part are left out. `lost` says of
/// each port how often its limit was lost.
pub fn told(
    policy: &Policy,
    received: &Policy,
    mut decision: Decision,
    lost: impl Iterator<Item = u64>,
) -> ReceivedState {
    let limited = |tenant: usize| policy.limits_received(tenant);
    let explained = explain(received, &decision).into_iter().enumerate();
    let explained = explained.filter_map(|(tenant, one)| limited(tenant).then_some(one));
    let caps = decision.tenants.iter().enumerate();
    let caps = caps.filter_map(|(tenant, one)| limited(tenant).then_some(one.cap_bps));
    let lost = decision.ports.iter().zip(lost);
    let lost = lost.filter_map(|(port, lost)| limited(port.tenant).then_some(lost));
    let (tenants, hard_bps, lost) = (explained.collect(), caps.collect(), lost.collect());
    decision.writes.clear();
    decision.ports.retain(|port| limited(port.tenant));
    ReceivedState {
        tenants,
        hard_bps,
        lost,
        decision,
        packets: None,
    }
}

/// The name under which what was found at a port is noted, where that limits what it receives. No interface and no
/// function is called so.
pub fn noted(port: &str) -> String {
    format!("{port}{MARK}")
}

/// The port whose receiving is meant by such a name; none where another one is.
pub fn port_of(noted: &str) -> Option<&str> {
    noted.strip_suffix(MARK)
}

/// Why what a function receives cannot be limited.
pub fn no_function(port: &PortName) -> String {
    format!(
        "what {port} receives cannot be limited: NICs and the kernel limit only what a virtual function sends"
    )
}

/// Why what an interface receives cannot be limited, by its kind in the kernel; none where it can.
pub fn unfit(interface: &str, kind: &str) -> Option<String> {
    let why = match kind {
        "veth" | "tun" => return None,
        "macvtap" | "macvlan" => {
            "it comes straight from the interface below, past every queueing discipline"
        }
        _ => "only what goes into a tap or veth can be",
    };
    Some(format!(
        "what {interface} receives cannot be limited: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(keys: [&str; 2]) -> Policy {
        let [a, b] = keys;
        let text = format!(
            "[link]\ncapacity = \"100mbit\"\n\
             [[tenant]]\nname = \"a\"\nguarantee = \"5mbit\"\nports = [\"a0\", \"a1\"]\n{a}\n\
             [[tenant]]\nname = \"b\"\ncap = \"7mbit\"\nports = \"b0\"\n{b}\n"
        );
        Policy::parse("p.toml", &text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn who_takes_part_follows_from_what_is_asked_for() {
        let part = |policy: &Policy| [0, 1].map(|tenant| policy.limits_received(tenant));
        for (keys, wanted) in [
            (["", ""], [false, false]),
            (["rx_max = \"9mbit\"", ""], [true, false]),
            (["", "rx_max = \"9mbit\""], [false, true]),
            // Nobody can be sure of anything beside one that is not limited.
            (["rx_guarantee = \"9mbit\"", ""], [true, true]),
            (["rx_guarantee = \"0mbit\"", ""], [false, false]),
        ] {
            let policy = policy(keys);
            assert_eq!(part(&policy), wanted, "{keys:?}");
            assert_eq!(policy.received().is_some(), wanted != [false, false]);
            assert!(!policy.limits_received(2) || wanted == [true, true]);
        }
    }

    #[test]
    fn what_is_received_has_numbers_of_its_own_and_the_same_ports() {
        let policy = policy(["rx_guarantee = \"9mbit\"\nrx_max = \"20mbit\"", ""]);
        let received = policy.received().unwrap();
        assert!(received.ports().eq(policy.ports()));
        let of = |tenant: usize| {
            (
                received.tenants[tenant].guarantee,
                received.tenants[tenant].cap,
            )
        };
        assert_eq!(of(0), (BitRate::from_mbit(9), Some(BitRate::from_mbit(20))));
        assert_eq!(of(1), (BitRate(0), None));
    }

    #[test]
    fn no_port_is_called_as_its_receiving_is() {
        let noted = noted("tap0");
        assert_eq!(port_of(&noted), Some("tap0"));
        assert_eq!(port_of("tap0"), None);
        assert!(noted.parse::<PortName>().is_err());
    }
}
