//! Which path is another one with a layer on top.

use std::collections::BTreeMap;

use super::{KIND, PathSpec};

/// Values that stand for the same as none at all.
const NEUTRAL: [(&str, &str); 12] = [
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

    #[test]
    fn one_thing_more_is_a_layer() {
        let parameter = |word: &str| Some(Layer::Parameter(word.to_owned()));
        let (vxlan, wireguard) = (
            "tunnel,encapsulation=vxlan",
            "tunnel,encapsulation=wireguard",
        );
        let merged = "tunnel,encapsulation=vxlan,gro=on";
        let both = "routed,nat=snat,flowtable=on";
        let (ovs, ovn) = ("ovs,datapath=kernel", "ovn,datapath=kernel,acl=none");
        let ruled = "ovn,datapath=kernel,acl=allow-related";
        let (guest, split) = ("vm,nic=e1000", "vm,nic=e1000,packed=off");
        #[rustfmt::skip]
        let table = [
            ("routed,rules=100", "routed,rules=0", parameter("rules=100")),
            ("routed,rules=100,lookup=set", "routed,rules=0", parameter("rules=100,lookup=set")),
            ("routed,nat=snat", "routed,rules=0", parameter("nat=snat")),
            (both, "routed,nat=snat", parameter("flowtable=on")),
            (both, "routed,rules=0", None),
            ("routed,rules=0", "routed,rules=100", None),
            ("routed,rules=0", "routed,rules=0", None),
            (ovn, ovs, Some(Layer::LogicalSwitch)),
            (ruled, ovs, None),
            (ruled, ovn, parameter("acl=allow-related")),
            ("bond,aggregation=balance-xor", "bridge", Some(Layer::Bundle)),
            ("vm,nic=e1000,packed=on", split, parameter("packed=on")),
            (split, guest, None),
            (guest, "bridge", Some(Layer::Guest)),
            (vxlan, "bridge", Some(Layer::Tunnel)),
            (vxlan, "routed", None),
            (wireguard, "routed", Some(Layer::Tunnel)),
            (wireguard, "bridge", None),
            (merged, "bridge", None),
            (merged, vxlan, parameter("gro=on")),
            ("vlan-bridge", "bridge", Some(Layer::Tags)),
            ("bridge", "vlan-bridge", None),
        ];
        for (path, base, layer) in table {
            let [more, less] = [path, base].map(|name| name.parse::<PathSpec>().unwrap());
            assert_eq!(more.layer_over(&less), layer, "{path} over {base}");
        }
    }
}
