//! What ovs-vsctl(8) prints of the database of Open vSwitch, as JSON (RFC 7047, 5.1).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::names::name::Name;
use crate::names::resolution::{Absent, Found};

/// Types of interface that are one of the kernel's.
const KERNELS: [&str; 4] = ["", "system", "internal", "tap"];

/// Ports and interfaces of the database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Switch {
    /// Interfaces of each port, by the port's name.
    ports: BTreeMap<String, Vec<String>>,
    /// Interfaces by their UUID.
    interfaces: BTreeMap<String, Plugged>,
}

/// An interface of the database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Plugged {
    name: String,
    kind: String,
    iface_id: Option<String>,
}

/// What is no answer of `ovs-vsctl`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what ovs-vsctl says cannot be read: {0}")]
pub struct BadJson(String);

#[derive(Deserialize)]
struct Table {
    headings: Vec<String>,
    data: Vec<Vec<Value>>,
}

impl Table {
    fn rows(&self) -> impl Iterator<Item = BTreeMap<&str, &Value>> {
        let row = |row: &'_ [Value]| -> Vec<usize> { (0..row.len()).collect() };
        self.data.iter().map(move |cells| {
            let columns = row(cells).into_iter().zip(&self.headings);
            columns
                .map(|(at, heading)| (heading.as_str(), &cells[at]))
                .collect()
        })
    }
}

impl Switch {
    /// The columns that are asked for, of `Port` and of `Interface`.
    pub const PORT: &str = "name,interfaces";
    /// Of `Interface`.
    pub const INTERFACE: &str = "_uuid,name,type,external_ids";

    /// Interfaces of the host with the identity that Neutron or another has given them.
    pub fn names(&self) -> impl Iterator<Item = (String, Name)> + '_ {
        let plugged = self.interfaces.values();
        plugged.filter_map(|of| Some((of.name.clone(), Name::Neutron(of.iface_id.clone()?))))
    }

    /// Reads the tables `Port` and `Interface`, one behind the other.
    ///
    /// # Errors
    /// When that is not what it is.
    pub fn parse(text: &str) -> Result<Self, BadJson> {
        let bad = |error: serde_json::Error| BadJson(error.to_string());
        let mut tables = serde_json::Deserializer::from_str(text).into_iter::<Table>();
        let mut next = || match tables.next() {
            Some(table) => table.map_err(bad),
            None => Err(BadJson("a table is missing".to_owned())),
        };
        let (ports, interfaces) = (next()?, next()?);
        let mut switch = Self::default();
        for row in ports.rows() {
            let name = row.get("name").and_then(|name| name.as_str());
            let of = row.get("interfaces").map(|of| uuids(of));
            if let (Some(name), Some(of)) = (name, of) {
                switch.ports.insert(name.to_owned(), of);
            }
        }
        for row in interfaces.rows() {
            let uuid = row.get("_uuid").map(|uuid| uuids(uuid));
            let text = |column: &str| row.get(column).and_then(|cell| cell.as_str());
            let (Some([uuid]), Some(name)) = (uuid.as_deref(), text("name")) else {
                continue;
            };
            let interface = Plugged {
                name: name.to_owned(),
                kind: text("type").unwrap_or_default().to_owned(),
                iface_id: row.get("external_ids").and_then(|ids| iface_id(ids)),
            };
            switch.interfaces.insert(uuid.clone(), interface);
        }
        Ok(switch)
    }

    /// What a name is here.
    pub fn port(&self, name: &Name) -> Found {
        match name {
            Name::Ovs(port) => {
                let of = self.ports.get(port).into_iter().flatten();
                let of = of.filter_map(|uuid| self.interfaces.get(uuid)).collect();
                only(of, Absent::NoSwitchPort(port.clone()))
            }
            Name::Neutron(id) => {
                let all = self.interfaces.values();
                let has = |one: &&Plugged| {
                    let has = one.iface_id.as_deref();
                    has.is_some_and(|has| has.eq_ignore_ascii_case(id))
                };
                only(all.filter(has).collect(), Absent::NoIfaceId(id.clone()))
            }
            _ => Found::Absent(Absent::NotAsked),
        }
    }
}

fn only(of: Vec<&Plugged>, none: Absent) -> Found {
    match of[..] {
        [] => Found::Absent(none),
        [one] if KERNELS.contains(&one.kind.as_str()) => Found::Interface(one.name.clone()),
        [one] => Found::Absent(Absent::Kind(one.kind.clone())),
        _ => Found::Several(of.iter().map(|one| one.name.clone()).collect()),
    }
}

/// `["uuid","…"]`, or several of them in `["set",[…]]`.
fn uuids(cell: &Value) -> Vec<String> {
    let one = |cell: &Value| match (cell.get(0)?.as_str()?, cell.get(1)?) {
        ("uuid", uuid) => Some(uuid.as_str()?.to_owned()),
        _ => None,
    };
    let set = || match (cell.get(0)?.as_str()?, cell.get(1)?) {
        ("set", all) => Some(all.as_array()?.iter().filter_map(one).collect()),
        _ => None,
    };
    one(cell)
        .map(|one| vec![one])
        .or_else(set)
        .unwrap_or_default()
}

/// `["map",[["iface-id","…"],…]]`.
fn iface_id(cell: &Value) -> Option<String> {
    let pairs = cell.get(1)?.as_array()?;
    let pair = pairs
        .iter()
        .find(|pair| pair.get(0).and_then(Value::as_str) == Some("iface-id"))?;
    Some(pair.get(1)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLES: &str = include_str!("../../tests/ovs/tables.json");

    fn found(name: &str) -> Found {
        Switch::parse(TABLES).unwrap().port(&name.parse().unwrap())
    }

    #[test]
    fn ports_are_found_by_their_name_and_by_their_identity() {
        let interface = |name: &str| Found::Interface(name.to_owned());
        assert_eq!(found("ovs:vnet3"), interface("vnet3"));
        assert_eq!(
            found("neutron:4ac5b7d0-1c2d-4e3f-8a9b-0c1d2e3f4a5b"),
            interface("vnet3")
        );
        let several = ["eth0", "eth1"].map(str::to_owned).to_vec();
        assert_eq!(found("ovs:bond0"), Found::Several(several));
        let kind = Absent::Kind("dpdkvhostuserclient".to_owned());
        assert_eq!(found("ovs:vhu0"), Found::Absent(kind));
        let none = Absent::NoSwitchPort("vnet9".to_owned());
        assert_eq!(found("ovs:vnet9"), Found::Absent(none));
        let id = "00000000-1c2d-4e3f-8a9b-0c1d2e3f4a5b";
        let none = Absent::NoIfaceId(id.to_owned());
        assert_eq!(found(&format!("neutron:{id}")), Found::Absent(none));
    }

    #[test]
    fn identities_have_their_interfaces() {
        let switch = Switch::parse(TABLES).unwrap();
        let names: Vec<(String, String)> = switch
            .names()
            .map(|(interface, name)| (interface, name.to_string()))
            .collect();
        let vnet3 = ("vnet3", "neutron:4ac5b7d0-1c2d-4e3f-8a9b-0c1d2e3f4a5b");
        assert!(
            names.contains(&(vnet3.0.to_owned(), vnet3.1.to_owned())),
            "{names:?}"
        );
    }

    #[test]
    fn half_an_answer_is_none() {
        for text in [
            "",
            "{}",
            "[]",
            TABLES.lines().next().unwrap(),
            "{\"headings\":1}",
        ] {
            assert!(Switch::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(cut in 0..3_000usize, bad in 0..127u8) {
            let mut bytes = TABLES.as_bytes().to_vec();
            let at = cut.min(bytes.len() - 1);
            bytes[at] = bad;
            if let Ok(switch) = Switch::parse(&String::from_utf8_lossy(&bytes)) {
                let _ = switch.port(&"ovs:bond0".parse().unwrap());
            }
        }
    }
}
