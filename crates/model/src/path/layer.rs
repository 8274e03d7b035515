//! Which path is another one with a layer on top.

use std::collections::BTreeMap;

use super::{KIND, PathSpec};

/// Values that stand for the same as none at all.
const NEUTRAL: [(&str, &str); 13] = [
    ("rules", "0"),
    ("nat", "none"),
    ("flowtable", "off"),
    ("gro", "off"),
    ("acl", "none"),
    ("machine", "q35"),
    ("packed", "off"),
    ("indirect_desc", "on"),
    ("mrg_rxbuf", "on"),
    ("ioeventfd", "on"),
    ("rss", "off"),
    ("iommu", "off"),
    ("vmm", "qemu"),
];

/// What one path has and another has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// Tags, and what takes them off.
    Tags,
    /// A tunnel, and a second switch behind it.
    Tunnel,
    /// A second link, and the driver that bundles both.
    Bundle,
    /// A logical switch.
    LogicalSwitch,
    /// A guest.
    Guest,
    /// A parameter: `rules=100`.
    Parameter(String),
}

impl PathSpec {
    /// What this path has on top of `base`, where it is the same path but for one thing.
    pub fn layer_over(&self, base: &Self) -> Option<Layer> {
        let own = tidy(self);
        let of_base = tidy(base);
        if self.kind() == base.kind() {
            let added: Vec<_> = own
                .iter()
                .filter(|(key, word)| of_base.get(*key) != Some(*word))
                .collect();
            let kept = of_base.iter().all(|(key, word)| own.get(key) == Some(word));
            return match added[..] {
                [(key, word)] if kept => Some(Layer::Parameter(format!("{key}={word}"))),
                // How rules are looked through says nothing without them.
                [(_, _), (key, word)] if kept && own.contains_key("lookup") && *key == "rules" => {
                    let lookup = &own["lookup"];
                    Some(Layer::Parameter(format!("{key}={word},lookup={lookup}")))
                }
                _ => None,
            };
        }
        let plain = of_base.len() == 1;
        match (self, base) {
            (Self::VlanBridge { .. }, Self::Bridge) => Some(Layer::Tags),
            (Self::Tunnel(ask), Self::Bridge) if !ask.encapsulation().is_routed() && !ask.gro() => {
                Some(Layer::Tunnel)
            }
            (
                Self::Ovn { datapath, .. },
                Self::Ovs {
                    datapath: of_base,
                    tagged: false,
                },
            ) if datapath == of_base && !own.contains_key("acl") => Some(Layer::LogicalSwitch),
            (Self::Bond { .. } | Self::Team { .. }, Self::Bridge) => Some(Layer::Bundle),
            (Self::Tunnel(ask), Self::Routed(_))
                if ask.encapsulation().is_routed() && !ask.gro() && plain =>
            {
                Some(Layer::Tunnel)
            }
            (Self::Vm(ask), _) if plain => {
                let switch = ask.switch.map_or("bridge", |switch| switch.word());
                (ask.vms.unwrap_or(1) == 1 && ask.pf.is_none() && switch == base.kind())
                    .then_some(Layer::Guest)
            }
            _ => None,
        }
    }
}

/// A path's words without those that change nothing.
fn tidy(path: &PathSpec) -> BTreeMap<&str, String> {
    let mut words = path.words();
    words.retain(|key, word| *key == KIND || !NEUTRAL.contains(&(*key, word.as_str())));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Words;

    fn path(words: &[(&str, &str)]) -> PathSpec {
        let words: Words = words
            .iter()
            .map(|(key, word)| ((*key).to_owned(), (*word).to_owned()))
            .collect();
        PathSpec::try_from(&words).unwrap()
    }

    #[test]
    fn one_thing_more_is_a_layer() {
        let plain = path(&[("kind", "routed"), ("rules", "0")]);
        let rules = path(&[("kind", "routed"), ("rules", "100")]);
        let set = path(&[("kind", "routed"), ("rules", "100"), ("lookup", "set")]);
        let snat = path(&[("kind", "routed"), ("nat", "snat")]);
        let both = path(&[("kind", "routed"), ("nat", "snat"), ("flowtable", "on")]);
        let parameter = |word: &str| Some(Layer::Parameter(word.to_owned()));
        assert_eq!(rules.layer_over(&plain), parameter("rules=100"));
        assert_eq!(set.layer_over(&plain), parameter("rules=100,lookup=set"));
        assert_eq!(snat.layer_over(&plain), parameter("nat=snat"));
        assert_eq!(both.layer_over(&snat), parameter("flowtable=on"));
        assert_eq!(both.layer_over(&plain), None);
        assert_eq!(plain.layer_over(&rules), None);
        assert_eq!(plain.layer_over(&plain), None);
    }

    #[test]
    fn tunnels_tags_and_guests_are_layers() {
        let bridge = path(&[("kind", "bridge")]);
        let routed = path(&[("kind", "routed")]);
        let vxlan = path(&[("kind", "tunnel"), ("encapsulation", "vxlan")]);
        let merged = path(&[
            ("kind", "tunnel"),
            ("encapsulation", "vxlan"),
            ("gro", "on"),
        ]);
        let wireguard = path(&[("kind", "tunnel"), ("encapsulation", "wireguard")]);
        let guest = path(&[("kind", "vm"), ("nic", "e1000")]);
        let packed = path(&[("kind", "vm"), ("nic", "e1000"), ("packed", "on")]);
        let split = path(&[("kind", "vm"), ("nic", "e1000"), ("packed", "off")]);
        let ovs = path(&[("kind", "ovs"), ("datapath", "kernel")]);
        let ovn = path(&[("kind", "ovn"), ("datapath", "kernel"), ("acl", "none")]);
        let ruled = path(&[
            ("kind", "ovn"),
            ("datapath", "kernel"),
            ("acl", "allow-related"),
        ]);
        assert_eq!(ovn.layer_over(&ovs), Some(Layer::LogicalSwitch));
        assert_eq!(ruled.layer_over(&ovs), None);
        assert_eq!(
            ruled.layer_over(&ovn),
            Some(Layer::Parameter("acl=allow-related".to_owned()))
        );
        let bond = path(&[("kind", "bond"), ("aggregation", "balance-xor")]);
        assert_eq!(bond.layer_over(&bridge), Some(Layer::Bundle));
        assert_eq!(
            packed.layer_over(&split),
            Some(Layer::Parameter("packed=on".to_owned()))
        );
        assert_eq!(split.layer_over(&guest), None);
        let vlan = path(&[("kind", "vlan-bridge")]);
        assert_eq!(vxlan.layer_over(&bridge), Some(Layer::Tunnel));
        assert_eq!(vxlan.layer_over(&routed), None);
        assert_eq!(wireguard.layer_over(&routed), Some(Layer::Tunnel));
        assert_eq!(wireguard.layer_over(&bridge), None);
        assert_eq!(merged.layer_over(&bridge), None);
        assert_eq!(
            merged.layer_over(&vxlan),
            Some(Layer::Parameter("gro=on".to_owned()))
        );
        assert_eq!(guest.layer_over(&bridge), Some(Layer::Guest));
        assert_eq!(vlan.layer_over(&bridge), Some(Layer::Tags));
        assert_eq!(bridge.layer_over(&vlan), None);
    }
}
