//! Addresses of interfaces.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::Links;
use crate::net_error::NetError;

impl Links {
    /// Gives an interface an address with its prefix length in bits. An IPv6 address is usable
    /// at once: there is nobody else on a link made here who could have it (IFA_F_NODAD).
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Exists`], [`NetError::NotPermitted`], or the kernel's
    /// refusal where IPv6 is switched off.
    pub fn add_address(&self, name: &str, address: IpAddr, prefix: u8) -> Result<(), NetError> {
        let mut message = AddressMessage::default();
        message.header.index = self.get(name)?.index;
        message.header.prefix_len = prefix;
        message.header.family = match address {
            IpAddr::V4(_) => AddressFamily::Inet,
            IpAddr::V6(_) => AddressFamily::Inet6,
        };
        if address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        message.attributes = vec![
            AddressAttribute::Local(address),
            AddressAttribute::Address(address),
        ];
        self.channel
            .change(
                RouteNetlinkMessage::NewAddress(message),
                NLM_F_CREATE | NLM_F_EXCL,
            )
            .map_err(|e| self.error("add address to", name, e))
    }

    /// The addresses that an interface was given: all but those of IPv6 that the kernel makes up for
    /// the link alone.
    ///
    /// # Errors
    /// [`NetError::NotFound`].
    pub fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NetError> {
        let index = self.get(name)?.index;
        let all = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let answers = self
            .channel
            .query(all, NLM_F_DUMP)
            .map_err(|e| self.error("list addresses of", name, e))?;
        let of_interface = |answer| match answer {
            RouteNetlinkMessage::NewAddress(message) if message.header.index == index => {
                let mut attributes = message.attributes.into_iter();
                // Of a point-to-point link this one is the neighbour's, which will do.
                attributes.find_map(|attribute| match attribute {
                    AddressAttribute::Address(address) => Some(address),
                    _ => None,
                })
            }
            _ => None,
        };
        let given = |address: &IpAddr| match address {
            IpAddr::V4(_) => true,
            IpAddr::V6(six) => !six.is_unicast_link_local(),
        };
        Ok(answers
            .into_iter()
            .filter_map(of_interface)
            .filter(given)
            .collect())
    }
}
