//! Which frames a NIC stamps (SIOCGHWTSTAMP and SIOCSHWTSTAMP,
//! Documentation/networking/timestamping.rst).

mod stamp_log;

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};

pub use stamp_log::{Changed, StampLog};

use crate::link::check_name;
use crate::net_error::NetError;
use crate::netns::NetNs;

// include/uapi/linux/sockios.h
const SIOCSHWTSTAMP: libc::c_ulong = 0x89b0;
const SIOCGHWTSTAMP: libc::c_ulong = 0x89b1;
/// HWTSTAMP_TX_ON of include/uapi/linux/net_tstamp.h.
pub const TX_ON: u32 = 1;

/// struct hwtstamp_config.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    flags: u32,
    /// Sent frames: 0 none, [`TX_ON`] those that ask for it, others in hwtstamp_tx_types.
    pub tx: u32,
    /// Received frames: hwtstamp_rx_filters, 0 none.
    pub rx: u32,
}

impl Config {
    /// These frames, without flags.
    pub fn new(tx: u32, rx: u32) -> Self {
        Self { flags: 0, tx, rx }
    }
}

/// The NICs of one namespace.
#[derive(Debug)]
pub struct HwTstamp {
    socket: OwnedFd,
}

impl HwTstamp {
    /// The NICs of `ns`.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] when the namespace is not the caller's to enter.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        let socket = ns
            .run(|| UdpSocket::bind(("0.0.0.0", 0)))?
            .map_err(|e| NetError::new("open a socket in namespace", ns, e))?;
        Ok(Self {
            socket: socket.into(),
        })
    }

    /// What the NIC stamps now.
    ///
    /// # Errors
    /// [`NetError::Unsupported`] for drivers without, [`NetError::NotFound`].
    pub fn get(&self, interface: &str) -> Result<Config, NetError> {
        let mut config = Config::default();
        self.call(interface, SIOCGHWTSTAMP, &mut config)
            .map_err(|e| NetError::new("read the time stamping of", interface, e))?;
        Ok(config)
    }

    /// Makes the NIC stamp what `config` says; returns what the driver made of it.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`], [`NetError::Unsupported`], or the driver's refusal.
    pub fn set(&self, interface: &str, mut config: Config) -> Result<Config, NetError> {
        self.call(interface, SIOCSHWTSTAMP, &mut config)
            .map_err(|e| NetError::new("set the time stamping of", interface, e))?;
        Ok(config)
    }

    #[allow(unsafe_code)] // No safe wrapper knows these two.
    fn call(&self, interface: &str, request: libc::c_ulong, config: &mut Config) -> io::Result<()> {
        check_name(interface).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
        // SAFETY: `ifreq` is plain old data, for which all zeros is a value.
        let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
        // check_name() left room for the final NUL.
        for (to, from) in ifreq.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        ifreq.ifr_ifru.ifru_data = std::ptr::from_mut(config).cast();
        // SAFETY: the descriptor is open, `ifreq` names a NUL-terminated interface and points to a
        // struct hwtstamp_config that lives through the call.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), request as _, &raw mut ifreq) };
        if done < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}
