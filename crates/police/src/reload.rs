//! Changes of a new policy while the daemon runs. Limits stay as they are until it changes
//! them.

use nicety_model::BitRate;

use crate::guest::Soft;
use crate::policy::{Policy, PortName, Tenant};

/// Parts of the old policy that go on under the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reload {
    /// For each port of the new policy the number that it had in the old one; none for a new port.
    pub ports: Vec<Option<usize>>,
    /// The tenants differ or stand in another order, so that none may see another's data.
    pub other_tenants: bool,
}

impl Reload {
    /// From one policy to another.
    pub fn between(old: &Policy, new: &Policy) -> Self {
        let names = |policy: &Policy| -> Vec<String> {
            let tenants = policy.tenants.iter();
            tenants.map(|tenant| tenant.name.clone()).collect()
        };
        let was: Vec<&PortName> = old.ports().map(|(_, port)| port).collect();
        let ports = new
            .ports()
            .map(|(_, port)| was.iter().position(|was| *was == port));
        Self {
            ports: ports.collect(),
            other_tenants: names(old) != names(new),
        }
    }
}

/// The soft limits of a policy's tenants: as they were under the policy `before`, or else as they
/// were `kept`; without a channel there is none, because the tenant could not lift it.
pub fn soft_limits(
    policy: &Policy,
    kept: impl Fn(&str) -> Option<BitRate>,
    before: Option<(&Policy, &[Soft])>,
) -> Vec<Soft> {
    let soft = |tenant: &Tenant| {
        let hard = tenant.cap.unwrap_or(policy.capacity);
        if tenant.guest.is_none() {
            return Soft::new(hard, None);
        }
        let was = before.and_then(|(policy, softs)| {
            let mut tenants = policy.tenants.iter();
            let had = |was: &Tenant| was.name == tenant.name && was.guest.is_some();
            softs.get(tenants.position(had)?)
        });
        was.map_or_else(
            || Soft::new(hard, kept(&tenant.name)),
            |was| was.below(hard),
        )
    };
    policy.tenants.iter().map(soft).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn policy(tenants: &[(&str, &[&str])]) -> Policy {
        let tenants = tenants
            .iter()
            .map(|(name, ports)| format!("[[tenant]]\nname = \"{name}\"\nports = {ports:?}\n"));
        let tenants: String = tenants.collect();
        Policy::parse(
            "p.toml",
            &format!("[link]\ncapacity = \"1gbit\"\n{tenants}"),
        )
        .unwrap()
    }

    #[test]
    fn ports_keep_what_is_known_of_them_and_tenants_their_history() {
        let old = policy(&[("a", &["tap0", "tap1"]), ("b", &["eth0/vf3"])]);
        type Tenants<'a> = &'a [(&'a str, &'a [&'a str])];
        #[rustfmt::skip]
        let table: [(Tenants<'_>, &[Option<usize>], bool); 4] = [
            (&[("a", &["tap0", "tap1"]), ("b", &["eth0/vf3"])], &[Some(0), Some(1), Some(2)], false),
            // A port changes hands, another one is new.
            (&[("a", &["tap0"]), ("b", &["tap1", "tap2"])], &[Some(0), Some(1), None], false),
            (&[("b", &["eth0/vf3"]), ("a", &["tap0"])], &[Some(2), Some(0)], true),
            (&[("a", &["eth0/vf4"])], &[None], true),
        ];
        for (new, ports, other_tenants) in table {
            let reload = Reload::between(&old, &policy(new));
            assert_eq!(reload.ports, ports);
            assert_eq!(reload.other_tenants, other_tenants);
        }
    }

    #[test]
    fn soft_limits_go_on_as_far_as_their_tenants_have_a_channel() {
        let tenant = |name: &str, rest: &str| {
            format!("[[tenant]]\nname = \"{name}\"\nports = \"{name}\"\n{rest}\n")
        };
        let parse = |tenants: [String; 3]| {
            let text = format!("[link]\ncapacity = \"1gbit\"\n{}", tenants.concat());
            Policy::parse("p.toml", &text).unwrap()
        };
        let guest = |name| format!("guest = \"/run/{name}\"");
        let mbit = |mbit| Some(BitRate::from_mbit(mbit));
        let kept = |name: &str| if name == "c" { None } else { mbit(30) };
        let old = parse([
            tenant("a", &guest("a")),
            tenant("b", ""),
            tenant("c", &guest("c")),
        ]);
        let limits = |softs: &[Soft]| -> Vec<_> {
            softs.iter().map(|soft| soft.at(Duration::ZERO)).collect()
        };
        let first = soft_limits(&old, kept, None);
        assert_eq!(limits(&first), [mbit(30), None, None]);
        let was = [mbit(50), mbit(60), mbit(70)].map(|soft| Soft::new(old.capacity, soft));
        let new = parse([
            tenant("c", &format!("{}\ncap = \"40mbit\"", guest("c"))),
            tenant("b", &guest("b")),
            tenant("a", ""),
        ]);
        // Cut, as kept, and gone with its channel.
        let next = soft_limits(&new, kept, Some((&old, &was)));
        assert_eq!(limits(&next), [mbit(40), mbit(30), None]);
    }
}
