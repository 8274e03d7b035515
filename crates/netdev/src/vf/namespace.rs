//! Which network namespace has the interface of a PCI function: the kernel tells the device behind an
//! interface (`IFLA_PARENT_DEV_NAME`, Linux 5.14).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use netlink_sys::protocols::NETLINK_ROUTE;

use super::{IFLA_IFNAME, RTM_GETLINK};
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::{Attributes, RawMessage, text};

/// Where ip-netns(8) keeps names.
const NAMED: &str = "/run/netns";
/// Bytes of struct ifinfomsg.
const LINK_HEADER: usize = 16;
const IFLA_PARENT_DEV_NAME: u16 = 56;
const IFLA_PARENT_DEV_BUS_NAME: u16 = 57;

/// Named namespaces with their interfaces, `blue (eth0)`, by PCI address. Those that this user may not
/// enter are left out.
pub(super) fn by_address() -> BTreeMap<String, String> {
    let names = fs::read_dir(NAMED).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found = BTreeMap::new();
    for name in names {
        for (address, interface) in interfaces(&name).unwrap_or_default() {
            found.insert(address, format!("{name} ({interface})"));
        }
    }
    found
}

fn interfaces(name: &str) -> Result<Vec<(String, String)>, NetError> {
    let ns = NetNs::at(&Path::new(NAMED).join(name))?;
    let all = RawMessage::new(RTM_GETLINK, &[0; LINK_HEADER]);
    Channel::open(&ns, NETLINK_ROUTE)?
        .dump(all, Vec::new, |found, part| {
            found.extend(function(part.body));
        })
        .map_err(|e| NetError::new("list interfaces of namespace", name, e))
}

/// PCI address and name of an interface that has one.
fn function(body: &[u8]) -> Option<(String, String)> {
    let attributes = Attributes::of(body.get(LINK_HEADER..)?);
    let bus = text(attributes.find(IFLA_PARENT_DEV_BUS_NAME)?);
    let address = text(attributes.find(IFLA_PARENT_DEV_NAME)?);
    let interface = text(attributes.find(IFLA_IFNAME)?);
    (bus == "pci").then(|| (address.to_owned(), interface.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_tells_the_device_behind_it() {
        let message = |bus: Option<&str>| {
            let mut message = RawMessage::new(16, &[0; LINK_HEADER]);
            message.put_str(IFLA_IFNAME, "eth5");
            if let Some(bus) = bus {
                message.put_str(IFLA_PARENT_DEV_NAME, "0000:01:10.2");
                message.put_str(IFLA_PARENT_DEV_BUS_NAME, bus);
            }
            message.body
        };
        let found = function(&message(Some("pci"))).unwrap();
        assert_eq!(found, ("0000:01:10.2".to_owned(), "eth5".to_owned()));
        assert_eq!(function(&message(Some("virtio"))), None);
        assert_eq!(function(&message(None)), None);
        assert_eq!(function(&[]), None);
    }
}
