//! Parses the words of a path.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::{
    Aggregation, DpdkParams, KIND, Nics, PathSpec, RoutedParams, SubMode, Tagging, TunnelParams,
    VmParams,
};

/// A path's parameters in words, with its `kind`, as they are in JSON.
pub type Words = BTreeMap<String, String>;

/// Words that are no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPath {
    /// Nothing says what it is.
    #[error("a path without kind")]
    NoKind,
    /// A kind that is not known.
    #[error("there are no paths of kind {0:?}")]
    Kind(String),
    /// A parameter that is not known.
    #[error("a path of kind {kind} has no {key}")]
    Key {
        /// The kind.
        kind: String,
        /// The parameter.
        key: String,
    },
    /// A value that is not known.
    #[error("a path of kind {kind} has no {key} = {value:?}")]
    Value {
        /// The kind.
        kind: String,
        /// The parameter.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// A parameter that is needed beside those that are there.
    #[error("a path of kind {kind} without {key}")]
    Missing {
        /// The kind.
        kind: String,
        /// The parameter.
        key: &'static str,
    },
}

/// Words that are taken one after the other, so that none is passed over.
pub(crate) struct Reader<'w> {
    kind: &'w str,
    words: &'w Words,
    used: RefCell<Vec<&'static str>>,
}

impl<'w> Reader<'w> {
    /// A parameter, where it was given. Other words for the same value are none.
    pub(super) fn take<T: FromStr + Display>(
        &self,
        key: &'static str,
    ) -> Result<Option<T>, NoPath> {
        self.used.borrow_mut().push(key);
        let Some(word) = self.words.get(key) else {
            return Ok(None);
        };
        let value = word.parse().ok();
        let value = value.filter(|value: &T| value.to_string() == *word);
        value.map(Some).ok_or_else(|| NoPath::Value {
            kind: self.kind.to_owned(),
            key,
            value: word.clone(),
        })
    }

    /// A parameter that has to be there.
    fn need<T: FromStr + Display>(&self, key: &'static str) -> Result<T, NoPath> {
        self.take(key)?.ok_or_else(|| NoPath::Missing {
            kind: self.kind.to_owned(),
            key,
        })
    }

    fn nics(&self) -> Result<Option<Nics>, NoPath> {
        let Some(pci) = self.take("pci")? else {
            return Ok(None);
        };
        Ok(Some(Nics {
            pci,
            a: self.need("a")?,
            b: self.need("b")?,
        }))
    }

    /// Whether an Open vSwitch knows its ports' VLANs.
    fn tagged(&self) -> Result<bool, NoPath> {
        match self.take("tagging")? {
            None => Ok(false),
            Some(Tagging::Filtering) => Ok(true),
            Some(other) => Err(NoPath::Value {
                kind: self.kind.to_owned(),
                key: "tagging",
                value: other.to_string(),
            }),
        }
    }

    /// The mode of a macvlan or an ipvlan, each of which has its own.
    fn mode(&self, ipvlan: bool) -> Result<Option<SubMode>, NoPath> {
        match self.take::<SubMode>("mode")? {
            Some(other) if other.is_ipvlan() != ipvlan => Err(NoPath::Value {
                kind: self.kind.to_owned(),
                key: "mode",
                value: other.to_string(),
            }),
            mode => Ok(mode),
        }
    }

    /// How links are bundled. The driver team needs a program beside it for what it spreads by a hash.
    fn aggregation(&self, team: bool) -> Result<Option<Aggregation>, NoPath> {
        match self.take::<Aggregation>("aggregation")? {
            Some(other) if team && !other.is_of_team() => Err(NoPath::Value {
                kind: self.kind.to_owned(),
                key: "aggregation",
                value: other.to_string(),
            }),
            aggregation => Ok(aggregation),
        }
    }

    fn path(&self) -> Result<PathSpec, NoPath> {
        Ok(match self.kind {
            "bridge" => PathSpec::Bridge,
            "ports" => PathSpec::Ports {
                a: self.need("a")?,
                b: self.need("b")?,
            },
            "vlan-bridge" => PathSpec::VlanBridge {
                tagging: self.take("tagging")?,
            },
            "ovs" => PathSpec::Ovs {
                datapath: self.take("datapath")?,
                tagged: self.tagged()?,
            },
            "ovn" => PathSpec::Ovn {
                datapath: self.take("datapath")?,
                acl: self.take("acl")?,
            },
            "ovs-dpdk" => PathSpec::OvsDpdk(DpdkParams::read(self)?),
            "testpmd" => PathSpec::Testpmd {
                dpdk: DpdkParams::read(self)?,
                nics: self.nics()?,
            },
            "routed" => PathSpec::Routed(RoutedParams::read(self)?),
            "tunnel" => PathSpec::Tunnel(TunnelParams::read(self)?),
            "macvlan" => PathSpec::Macvlan {
                mode: self.mode(false)?,
            },
            "ipvlan" => PathSpec::Ipvlan {
                mode: self.mode(true)?,
            },
            "tc-redirect" => PathSpec::TcRedirect {
                filter: self.take("filter")?,
            },
            "xdp-redirect" => PathSpec::XdpRedirect,
            "bond" => PathSpec::Bond {
                aggregation: self.aggregation(false)?,
            },
            "team" => PathSpec::Team {
                aggregation: self.aggregation(true)?,
            },
            "netkit" => PathSpec::Netkit {
                mode: self.mode(true)?,
            },
            "vm" => PathSpec::Vm(VmParams::read(self)?),
            other => return Err(NoPath::Kind(other.to_owned())),
        })
    }
}

impl TryFrom<&Words> for PathSpec {
    type Error = NoPath;

    fn try_from(words: &Words) -> Result<Self, NoPath> {
        let reader = Reader {
            kind: words.get(KIND).ok_or(NoPath::NoKind)?,
            words,
            used: RefCell::new(vec![KIND]),
        };
        let path = reader.path()?;
        let used = reader.used.into_inner();
        let mut keys = words.keys();
        match keys.find(|key| !used.contains(&key.as_str())) {
            None => Ok(path),
            Some(key) => Err(NoPath::Key {
                kind: reader.kind.to_owned(),
                key: key.clone(),
            }),
        }
    }
}

/// By its name, as results have it: `tunnel,encapsulation=gre`.
impl FromStr for PathSpec {
    type Err = NoPath;

    fn from_str(name: &str) -> Result<Self, NoPath> {
        let mut parts = name.split(',');
        let kind = parts.next().unwrap_or_default();
        let words = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
        let words = [(KIND, kind)].into_iter().chain(words);
        let words = words.map(|(key, word)| (key.to_owned(), word.to_owned()));
        Self::try_from(&words.collect::<Words>())
    }
}

/// Of what was measured: runs of other versions are opened too, so what is no path of this one
/// is kept as it is.
impl<'de> Deserialize<'de> for PathSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Words::deserialize(deserializer)?;
        Ok(Self::try_from(&words).unwrap_or(Self::Foreign(words)))
    }
}
