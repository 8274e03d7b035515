//! Keys and peers of WireGuard interfaces (include/uapi/linux/wireguard.h).

use std::net::{IpAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::protocols::NETLINK_GENERIC;

use crate::genetlink::Family;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::{Attributes, RawMessage};
use crate::route::Prefix;

const WG_CMD_GET_DEVICE: u8 = 0;
const WG_CMD_SET_DEVICE: u8 = 1;

const WGDEVICE_A_IFNAME: u16 = 2;
const WGDEVICE_A_PRIVATE_KEY: u16 = 3;
const WGDEVICE_A_PUBLIC_KEY: u16 = 4;
const WGDEVICE_A_LISTEN_PORT: u16 = 6;
const WGDEVICE_A_PEERS: u16 = 8;

const WGPEER_A_PUBLIC_KEY: u16 = 1;
const WGPEER_A_ENDPOINT: u16 = 4;
const WGPEER_A_PERSISTENT_KEEPALIVE_INTERVAL: u16 = 5;
const WGPEER_A_LAST_HANDSHAKE_TIME: u16 = 6;
const WGPEER_A_ALLOWEDIPS: u16 = 9;

const WGALLOWEDIP_A_FAMILY: u16 = 1;
const WGALLOWEDIP_A_IPADDR: u16 = 2;
const WGALLOWEDIP_A_CIDR_MASK: u16 = 3;

/// A key of Curve25519.
pub type Key = [u8; 32];

/// Who is at the other end.
#[derive(Debug, Clone)]
pub struct Peer {
    /// By this key it is known.
    pub public_key: Key,
    /// Where it listens.
    pub endpoint: SocketAddrV4,
    /// What is sent to it, and taken from it.
    pub networks: Vec<Prefix>,
    /// Seconds after which something is sent to it anyway, beginning with a handshake as soon as the interface is up;
    /// without it there is none before the first packet.
    pub keepalive_s: Option<u16>,
}

/// The WireGuard interfaces of one namespace.
#[derive(Debug)]
pub struct Wireguard {
    channel: Channel,
    family: Family,
    ns: NetNs,
}

impl Wireguard {
    /// Those of `ns`.
    ///
    /// # Errors
    /// [`NetError::Unsupported`] or [`NetError::NotFound`] for a kernel without WireGuard.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        let channel = Channel::open(ns, NETLINK_GENERIC)?;
        let family = Family::find(&channel, "wireguard")
            .map_err(|e| NetError::new("ask about WireGuard in", ns, e))?;
        Ok(Self {
            channel,
            family,
            ns: ns.clone(),
        })
    }

    /// Gives an interface its private key and the UDP port on which it listens, and returns the public key that goes
    /// with it, which the kernel works out.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`].
    pub fn set_key(&self, name: &str, private: &Key, port: u16) -> Result<Key, NetError> {
        let mut message = self.about(WG_CMD_SET_DEVICE, name);
        message.put(WGDEVICE_A_PRIVATE_KEY, private);
        message.put(WGDEVICE_A_LISTEN_PORT, &port.to_ne_bytes());
        self.channel
            .change(message, 0)
            .map_err(|e| self.error("set key of", name, e))?;
        let answers = self
            .channel
            .query(self.about(WG_CMD_GET_DEVICE, name), NLM_F_DUMP)
            .map_err(|e| self.error("read key of", name, e))?;
        let key = answers
            .iter()
            .find_map(|answer| answer.value(WGDEVICE_A_PUBLIC_KEY)?.try_into().ok());
        key.ok_or_else(|| NetError::bad_reply("read key of", self.ns.has(name), "no key in it"))
    }

    /// Adds a peer to an interface.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`].
    pub fn add_peer(&self, name: &str, peer: &Peer) -> Result<(), NetError> {
        let mut message = self.about(WG_CMD_SET_DEVICE, name);
        message.nest(WGDEVICE_A_PEERS, |peers| {
            peers.nest(0, |one| {
                one.put(WGPEER_A_PUBLIC_KEY, &peer.public_key);
                one.put(WGPEER_A_ENDPOINT, &socket_address(peer.endpoint));
                if let Some(seconds) = peer.keepalive_s {
                    let value = seconds.to_ne_bytes();
                    one.put(WGPEER_A_PERSISTENT_KEEPALIVE_INTERVAL, &value);
                }
                one.nest(WGPEER_A_ALLOWEDIPS, |networks| {
                    for network in &peer.networks {
                        networks.nest(0, |one| put_network(one, *network));
                    }
                });
            });
        });
        self.channel
            .change(message, 0)
            .map_err(|e| self.error("add a peer to", name, e))
    }

    /// Whether an interface and all of its peers have agreed on keys, so that packets go through at once.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`].
    pub fn is_ready(&self, name: &str) -> Result<bool, NetError> {
        let answers = self
            .channel
            .query(self.about(WG_CMD_GET_DEVICE, name), NLM_F_DUMP)
            .map_err(|e| self.error("read peers of", name, e))?;
        let peers: Vec<bool> = answers
            .iter()
            .filter_map(|answer| answer.value(WGDEVICE_A_PEERS))
            .flat_map(Attributes::of)
            .map(|(_, peer)| {
                // struct __kernel_timespec, all zeroes before the first.
                let time = Attributes::of(peer).find(WGPEER_A_LAST_HANDSHAKE_TIME);
                time.is_some_and(|time| time.iter().any(|byte| *byte != 0))
            })
            .collect();
        Ok(!peers.is_empty() && !peers.contains(&false))
    }

    /// Waits until [`Self::is_ready`].
    ///
    /// # Errors
    /// [`NetError::TimedOut`] after `limit`, and as [`Self::is_ready`].
    pub fn wait_ready(&self, name: &str, limit: Duration) -> Result<(), NetError> {
        let begin = Instant::now();
        while !self.is_ready(name)? {
            if begin.elapsed() >= limit {
                return Err(NetError::TimedOut {
                    operation: "wait for the handshake of",
                    object: self.ns.has(name),
                    after: limit,
                });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn about(&self, command: u8, name: &str) -> RawMessage {
        let mut message = RawMessage::genl(self.family, command);
        message.put_str(WGDEVICE_A_IFNAME, name);
        message
    }

    fn error(&self, operation: &'static str, name: &str, source: std::io::Error) -> NetError {
        NetError::new(operation, self.ns.has(name), source)
    }
}

fn put_network(message: &mut RawMessage, network: Prefix) {
    let (family, address) = match network.address {
        IpAddr::V4(four) => (libc::AF_INET, four.octets().to_vec()),
        IpAddr::V6(six) => (libc::AF_INET6, six.octets().to_vec()),
    };
    message.put(WGALLOWEDIP_A_FAMILY, &(family as u16).to_ne_bytes());
    message.put(WGALLOWEDIP_A_IPADDR, &address);
    message.put(WGALLOWEDIP_A_CIDR_MASK, &[network.bits]);
}

/// `struct sockaddr_in`.
fn socket_address(address: SocketAddrV4) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
    bytes[4..8].copy_from_slice(&address.ip().octets());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_the_kernel_reads_them() {
        let bytes = socket_address("192.0.2.7:51820".parse().unwrap());
        assert_eq!(bytes[..2], (libc::AF_INET as u16).to_ne_bytes());
        assert_eq!(bytes[2..8], [0xca, 0x6c, 192, 0, 2, 7]);
        assert_eq!(bytes[8..], [0; 8]);
        let mut message = RawMessage::genl(Family::fake(), WG_CMD_SET_DEVICE);
        let network = Prefix {
            address: "198.18.0.0".parse().unwrap(),
            bits: 16,
        };
        put_network(&mut message, network);
        assert_eq!(
            message.u16(WGALLOWEDIP_A_FAMILY),
            Some(libc::AF_INET as u16)
        );
        assert_eq!(
            message.value(WGALLOWEDIP_A_IPADDR),
            Some(&[198, 18, 0, 0][..])
        );
        assert_eq!(message.u8(WGALLOWEDIP_A_CIDR_MASK), Some(16));
    }
}
