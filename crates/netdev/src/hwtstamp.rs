//! Which frames a NIC stamps (SIOCGHWTSTAMP and SIOCSHWTSTAMP,
//! Documentation/networking/timestamping.rst).

mod stamp_log;

use std::io;

pub use stamp_log::{Changed, StampLog};

use crate::ifreq::Interfaces;
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
    interfaces: Interfaces,
}

impl HwTstamp {
    /// The NICs of `ns`.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] when the namespace is not the caller's to enter.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        let interfaces = Interfaces::open(ns, "open a socket in namespace")?;
        Ok(Self { interfaces })
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

    fn call(&self, interface: &str, request: libc::c_ulong, config: &mut Config) -> io::Result<()> {
        check_name(interface).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
        let data = std::ptr::from_mut(config).cast();
        #[allow(unsafe_code)] // edge: no safe wrapper knows these two
        // SAFETY: a struct hwtstamp_config that lives through the call.
        unsafe {
            self.interfaces.call(interface, request, data)
        }
    }
}
