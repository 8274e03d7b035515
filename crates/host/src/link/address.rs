//! Addresses of interfaces.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
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
}
