//! What devlink(8) tells of an SR-IOV NIC in switchdev mode: which port of its switch is a virtual
//! function's, which interface represents it there, and the rate it is held to (devlink-rate(8)).
//!
//! Generic netlink family `devlink`, include/uapi/linux/devlink.h. In Linux 6.12 only mlx5, ice and
//! netdevsim have rates; all others answer EOPNOTSUPP or an empty list.

mod message;

use std::fmt;
use std::io;

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::protocols::NETLINK_GENERIC;

use crate::genetlink::Family;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::RawMessage;
use message::DevlinkPort;

pub use message::LeafRate;

/// Who answers: the kernel, or in tests a script.
trait Transport: fmt::Debug {
    fn ask(&self, message: RawMessage, flags: u16) -> io::Result<Vec<RawMessage>>;
    fn change(&self, message: RawMessage) -> io::Result<()>;
}

impl Transport for Channel {
    fn ask(&self, message: RawMessage, flags: u16) -> io::Result<Vec<RawMessage>> {
        Channel::query(self, message, flags)
    }

    fn change(&self, message: RawMessage) -> io::Result<()> {
        Channel::change(self, message, 0)
    }
}

/// The devlink of one namespace.
#[derive(Debug)]
pub struct Devlink {
    transport: Box<dyn Transport + Send>,
    family: Family,
}

/// A virtual function as its NIC's switch knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionPort {
    /// Number of the function.
    pub vf: u32,
    /// Interface that represents it (Documentation/networking/representors.rst); none when it is in
    /// another namespace.
    pub representor: Option<String>,
    /// Number of that interface.
    pub representor_index: Option<u32>,
    /// What it is held to; none when the driver has no rate of its own for it.
    pub rate: Option<LeafRate>,
    index: u32,
}

impl Devlink {
    /// The kernel's; none when it has no devlink.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn open(ns: &NetNs) -> Result<Option<Self>, NetError> {
        let channel = Channel::open(ns, NETLINK_GENERIC)?;
        match Family::find(&channel, "devlink") {
            Ok(family) => Ok(Some(Self {
                transport: Box::new(channel),
                family,
            })),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(NetError::new("find netlink family", "devlink", error)),
        }
    }

    /// The functions of a NIC, named by bus and device as devlink(8) does (`pci/0000:03:00.0`), when it is in
    /// switchdev mode; none when it is not, or when its driver has no devlink, or the kernel does not tell
    /// this user.
    ///
    /// # Errors
    /// What the driver says.
    pub fn functions(&self, nic: &str) -> Result<Option<Vec<FunctionPort>>, NetError> {
        let failed = |e| NetError::new("read switch of", nic, e);
        let answers = match self.transport.ask(message::eswitch(self.family, nic), 0) {
            Err(error) if is_absent(&error) => return Ok(None),
            // The kernel tells the mode to root alone, who alone can change anything either.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Ok(None),
            other => other.map_err(failed)?,
        };
        if !answers.iter().any(message::is_switchdev) {
            return Ok(None);
        }
        let list = |message| match self.transport.ask(message, NLM_F_DUMP) {
            Err(error) if is_absent(&error) => Ok(Vec::new()),
            other => other.map_err(failed),
        };
        let ports = list(message::ports(self.family))?;
        let rates = list(message::rates(self.family))?;
        let rates: Vec<_> = rates
            .iter()
            .filter_map(|one| message::leaf(one, nic))
            .collect();
        let ports: Vec<DevlinkPort> = ports
            .iter()
            .filter_map(|one| message::port(one, nic))
            .collect();
        let own = own_number(nic, &ports);
        let of_nic = ports.into_iter().filter(|port| Some(port.pf) == own);
        Ok(Some(
            of_nic
                .map(|port| FunctionPort {
                    vf: port.vf,
                    rate: rates
                        .iter()
                        .find(|(index, _)| *index == port.index)
                        .map(|(_, rate)| *rate),
                    representor: port.interface,
                    representor_index: port.interface_index,
                    index: port.index,
                })
                .collect(),
        ))
    }

    /// Holds a function to a rate. Read it back.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`], [`NetError::Unsupported`], or what the driver says.
    pub fn set(&self, nic: &str, port: &FunctionPort, rate: LeafRate) -> Result<(), NetError> {
        self.transport
            .change(message::set_rate(self.family, nic, port.index, rate))
            .map_err(|e| NetError::new("set rate of", format!("{nic}/vf{}", port.vf), e))
    }
}

/// The number that the NIC's own functions carry: one devlink instance may know the functions of
/// several ports of a card, which are told apart by the PCI function's number then.
fn own_number(nic: &str, ports: &[DevlinkPort]) -> Option<u16> {
    let first = ports.first()?.pf;
    if ports.iter().all(|port| port.pf == first) {
        return Some(first);
    }
    nic.rsplit_once('.')?.1.parse().ok()
}

/// The driver has no such thing, or no devlink at all.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::ENODEV | libc::ENOENT)
    )
}

/// A port for the tests of those who use ports.
/// Reads bytes as an answer about a switch, a port or a rate.
#[doc(hidden)]
pub fn hostile(bytes: &[u8]) {
    let answer = RawMessage::new(30, bytes);
    message::is_switchdev(&answer);
    message::port(&answer, "0000:01:00.0");
    message::leaf(&answer, "0000:01:00.0");
}

#[cfg(test)]
pub(crate) fn fake_port(
    vf: u32,
    representor: Option<&str>,
    rate: Option<LeafRate>,
) -> FunctionPort {
    FunctionPort {
        vf,
        representor: representor.map(str::to_owned),
        representor_index: representor.map(|_| 40 + vf),
        rate,
        index: 100 + vf,
    }
}

#[cfg(test)]
mod tests;
