//! Which ports of the host the ports of a policy are, where that has names for them.

use crate::names::{Name, Resolution, Target};

use crate::policy::PortName;

/// What a port of a policy is on this host now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binding {
    /// The interface or function; none where the name is none now.
    pub to: Option<PortName>,
    /// The number that the interface had: another one may have its name a moment later.
    pub index: Option<u32>,
    /// Why it is none now.
    pub why: Option<String>,
    /// The port, by its number, that is the same one and comes first.
    pub same: Option<usize>,
}

impl Binding {
    /// The port as the kernel knows it; the name where it is none.
    pub fn port(&self, name: &PortName) -> PortName {
        self.to.clone().unwrap_or_else(|| name.clone())
    }
}

/// Finds the ports of a policy, in its order, by what is `known` of their names. A port of the host belongs to whoever
/// names it as it is, else to the first.
pub fn bind<'a>(
    ports: &[PortName],
    known: impl Fn(&Name) -> Option<&'a Resolution>,
) -> Vec<Binding> {
    let plain = |port: &PortName| match port {
        PortName::Named(_) => None,
        port => Some(port.clone()),
    };
    let mut bindings: Vec<Binding> = Vec::with_capacity(ports.len());
    for (at, port) in ports.iter().enumerate() {
        let PortName::Named(name) = port else {
            bindings.push(Binding {
                to: Some(port.clone()),
                ..Binding::default()
            });
            continue;
        };
        let (to, index) = match known(name) {
            Some(Resolution::Resolved(Target::Interface { name, index })) => {
                (PortName::Interface(name.clone()), Some(*index))
            }
            Some(Resolution::Resolved(Target::Function { pf, vf })) => {
                let (pf, vf) = (pf.clone(), *vf);
                (PortName::Vf { pf, vf }, None)
            }
            other => {
                bindings.push(Binding {
                    why: other.and_then(Resolution::why),
                    ..Binding::default()
                });
                continue;
            }
        };
        let named = ports
            .iter()
            .position(|port| plain(port).as_ref() == Some(&to));
        let before = || (0..at).find(|other| bindings[*other].to.as_ref() == Some(&to));
        bindings.push(match named.or_else(before) {
            None => Binding {
                to: Some(to),
                index,
                ..Binding::default()
            },
            Some(same) => Binding {
                why: Some(format!(
                    "it is {to}, which is {} too; remove one of them from the policy",
                    ports[same]
                )),
                same: Some(same),
                ..Binding::default()
            },
        });
    }
    bindings
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::names::Absent;

    use super::*;

    #[test]
    fn names_are_ports_of_the_host_and_each_of_these_is_one() {
        let interface = |name: &str, index| {
            Resolution::Resolved(Target::Interface {
                name: name.to_owned(),
                index,
            })
        };
        let function = || {
            Resolution::Resolved(Target::Function {
                pf: "eth0".to_owned(),
                vf: 1,
            })
        };
        let off = Resolution::Absent(Absent::ShutOff("db".to_owned()));
        let known: BTreeMap<Name, Resolution> = [
            ("libvirt:web/net0", interface("vnet0", 7)),
            ("ovs:vnet0", interface("vnet0", 7)),
            ("libvirt:web/net1", interface("tap1", 8)),
            ("libvirt:db/net0", off),
            ("pci:0000:3b:02.1", function()),
        ]
        .map(|(name, resolution)| (name.parse().unwrap(), resolution))
        .into();
        let ports: Vec<PortName> = [
            "libvirt:web/net1",
            "tap1",
            "libvirt:web/net0",
            "ovs:vnet0",
            "libvirt:db/net0",
            "pci:0000:3b:02.1",
            "pve:101/net0",
        ]
        .map(|port| port.parse().unwrap())
        .into();
        let bindings = bind(&ports, |name| known.get(name));
        let said: Vec<String> = bindings
            .iter()
            .map(|one| match (&one.to, &one.why) {
                (Some(to), _) => format!("{to} {:?}", one.index),
                (None, why) => why.clone().unwrap_or_default(),
            })
            .collect();
        assert_eq!(
            said,
            [
                "it is tap1, which is tap1 too; remove one of them from the policy",
                "tap1 None",
                "vnet0 Some(7)",
                "it is vnet0, which is libvirt:web/net0 too; remove one of them from the policy",
                "the domain \"db\" is shut off; its limit comes when it starts",
                "eth0/vf1 None",
                "",
            ]
        );
        assert_eq!((bindings[0].same, bindings[3].same), (Some(1), Some(2)));
    }
}
