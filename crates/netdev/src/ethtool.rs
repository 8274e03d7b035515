//! What drivers say about their interfaces, and their feature switches (SIOCETHTOOL ioctl,
//! include/uapi/linux/ethtool.h). The ioctl instead of the netlink family: one small system
//! call per question, on every kernel.

mod coalesce;
mod link_mode;
mod request;
mod rss;
mod set;

use std::collections::BTreeMap;
use std::io;

pub use coalesce::Coalesce;
use libc::{HWTSTAMP_FILTER_ALL, SOF_TIMESTAMPING_RX_HARDWARE, SOF_TIMESTAMPING_TX_HARDWARE};
use request::{ETH_GSTRING_LEN, Request};
pub use rss::RssTable;

use crate::ifreq::Interfaces;
use crate::link::check_name;
use crate::net_error::NetError;
use crate::netns::NetNs;

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
const ETHTOOL_GLINKSETTINGS: u32 = 0x4c;
const ETH_SS_STATS: u32 = 1;
const ETH_SS_FEATURES: u32 = 4;
/// SPEED_UNKNOWN: all bits set.
const SPEED_UNKNOWN: u32 = u32::MAX;

/// Driver of an interface; a part the driver leaves out is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// Driver name.
    pub driver: String,
    /// Driver version; in-tree drivers report the kernel's.
    pub version: String,
    /// Firmware version.
    pub firmware: String,
    /// Address on the bus: `0000:01:00.0`.
    pub bus: String,
}

/// State of a feature switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// In effect.
    pub active: bool,
    /// Can be changed.
    pub changeable: bool,
}

/// Queues of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    /// Most receive, transmit and combined queues there can be.
    pub max: QueueCounts,
    /// Queues there are.
    pub current: QueueCounts,
}

/// Queues by what they serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueCounts {
    /// Receive only.
    pub rx: u32,
    /// Transmit only.
    pub tx: u32,
    /// Both.
    pub combined: u32,
}

/// Descriptor rings of an interface, in descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rings {
    /// Longest receive ring.
    pub rx_max: u32,
    /// Longest transmit ring.
    pub tx_max: u32,
    /// Receive ring.
    pub rx: u32,
    /// Transmit ring.
    pub tx: u32,
}

/// Speeds of a link in Mbit/s; absent where the driver does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speeds {
    /// Now.
    pub now_mbps: Option<u32>,
    /// Of the fastest mode that driver and PHY support.
    pub max_mbps: Option<u32>,
}

/// Which frames an interface stamps with a clock of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardwareStamps {
    /// Sent ones.
    pub tx: bool,
    /// Received ones: all, or some kinds of PTP messages only.
    pub rx: bool,
    /// Every received one, whatever is in it.
    pub rx_all: bool,
    /// Received ones, by filter: bit n is hwtstamp_rx_filters n.
    pub rx_filters: u32,
    /// Number of the clock that stamps, as in /dev/ptpN.
    pub clock: Option<u32>,
}

/// The drivers of one namespace. Stays in that namespace whatever thread uses it.
#[derive(Debug)]
pub struct Ethtool {
    interfaces: Interfaces,
    ns: NetNs,
}

impl Ethtool {
    /// The drivers of `ns`.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] when the namespace is not the caller's to enter.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            interfaces: Interfaces::open(ns, "open ethtool socket in namespace")?,
            ns: ns.clone(),
        })
    }

    /// Driver, version, firmware and bus address.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn driver(&self, interface: &str) -> Result<Driver, NetError> {
        // struct ethtool_drvinfo: cmd, five strings of 32 bytes, ...; 196 bytes.
        let answer = self.call(
            interface,
            "read driver of",
            Request::new(ETHTOOL_GDRVINFO, 196),
        )?;
        Ok(Driver {
            driver: answer.text(4),
            version: answer.text(36),
            firmware: answer.text(68),
            bus: answer.text(100),
        })
    }

    /// Link speed in Mbit/s; absent when the driver does not know. A veth says 10000 and does
    /// not keep to it.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn speed_mbps(&self, interface: &str) -> Result<Option<u32>, NetError> {
        Ok(self.speeds(interface)?.now_mbps)
    }

    /// Link speed, and the fastest that driver and PHY support.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn speeds(&self, interface: &str) -> Result<Speeds, NetError> {
        const OPERATION: &str = "read link speed of";
        // struct ethtool_link_settings: 48 bytes, then three masks of `words` words. The first
        // call tells the number of words as a negative number (ethtool.h, handshake).
        let handshake = Request::new(ETHTOOL_GLINKSETTINGS, 48);
        let words = self.call(interface, OPERATION, handshake)?.bytes[15] as i8;
        let words = words.unsigned_abs();
        let mut request = Request::new(ETHTOOL_GLINKSETTINGS, 48 + 3 * 4 * usize::from(words));
        request.bytes[15] = words;
        let answer = self.call(interface, OPERATION, request)?;
        let speed = answer.word(4);
        // The first mask: what is supported.
        let supported = (0..usize::from(words)).map(|word| answer.word(48 + 4 * word));
        Ok(Speeds {
            now_mbps: (speed != SPEED_UNKNOWN && speed != 0).then_some(speed),
            max_mbps: link_mode::fastest(supported),
        })
    }

    /// Which frames the hardware stamps.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn hardware_stamps(&self, interface: &str) -> Result<HardwareStamps, NetError> {
        // struct ethtool_ts_info: cmd, so_timestamping, phc_index, tx_types, 3 words, rx_filters,
        // 3 words; 44 bytes.
        let request = Request::new(ETHTOOL_GET_TS_INFO, 44);
        let answer = self.call(interface, "read time stamps of", request)?;
        let bits = answer.word(4);
        Ok(HardwareStamps {
            tx: bits & SOF_TIMESTAMPING_TX_HARDWARE != 0,
            rx: bits & SOF_TIMESTAMPING_RX_HARDWARE != 0,
            rx_all: answer.word(28) & 1 << HWTSTAMP_FILTER_ALL != 0,
            rx_filters: answer.word(28),
            // -1 where there is none.
            clock: Some(answer.word(8)).filter(|index| *index <= i32::MAX as u32),
        })
    }

    /// Queues.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn channels(&self, interface: &str) -> Result<Channels, NetError> {
        let request = Request::new(ETHTOOL_GCHANNELS, 36);
        let answer = self.call(interface, "read channels of", request)?;
        // struct ethtool_channels: cmd, then rx, tx, other, combined: most, and present.
        let counts = |at| QueueCounts {
            rx: answer.word(at),
            tx: answer.word(at + 4),
            combined: answer.word(at + 12),
        };
        Ok(Channels {
            max: counts(4),
            current: counts(20),
        })
    }

    /// Descriptor rings.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`] for interfaces without rings.
    pub fn rings(&self, interface: &str) -> Result<Rings, NetError> {
        // struct ethtool_ringparam: cmd, then rx, mini, jumbo, tx: most, and present.
        let request = Request::new(ETHTOOL_GRINGPARAM, 36);
        let answer = self.call(interface, "read rings of", request)?;
        Ok(Rings {
            rx_max: answer.word(4),
            tx_max: answer.word(16),
            rx: answer.word(20),
            tx: answer.word(32),
        })
    }

    /// Feature switches by the kernel's name: `rx-gro`, `tx-tcp-segmentation`, ...
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn features(&self, interface: &str) -> Result<BTreeMap<String, Feature>, NetError> {
        let names = self.strings(interface, ETH_SS_FEATURES)?;
        let answer = self.feature_blocks(interface, names.len())?;
        // struct ethtool_get_features_block: available, requested, active, never_changed.
        let bit = |index: usize, field: usize| {
            answer.word(8 + index / 32 * 16 + field * 4) & (1 << (index % 32)) != 0
        };
        Ok(names
            .into_iter()
            .enumerate()
            .filter(|(_, name)| !name.is_empty())
            .map(|(index, name)| {
                let feature = Feature {
                    active: bit(index, 2),
                    changeable: bit(index, 0) && !bit(index, 3),
                };
                (name, feature)
            })
            .collect())
    }

    /// Switches features on or off, all in one call, and returns the old value of each.
    ///
    /// # Errors
    /// [`NetError::NotApplied`] when the kernel keeps another value (a fixed feature, or one that
    /// depends on another), [`NetError::NotFound`] for a feature this kernel does not know,
    /// [`NetError::NotPermitted`].
    pub fn set_features(
        &self,
        interface: &str,
        wanted: &[(&str, bool)],
    ) -> Result<Vec<(String, bool)>, NetError> {
        const OPERATION: &str = "set features of";
        let names = self.strings(interface, ETH_SS_FEATURES)?;
        let before = self.features(interface)?;
        let blocks = names.len().div_ceil(32);
        let mut request = Request::new(ETHTOOL_SFEATURES, 8 + 8 * blocks);
        request.put_word(4, blocks as u32);
        let mut old = Vec::new();
        for (feature, on) in wanted {
            let (Some(index), Some(state)) = (
                names.iter().position(|name| name == feature),
                before.get(*feature),
            ) else {
                let object = format!("feature {feature} of {}", self.ns.has(interface));
                return Err(NetError::new(
                    "find",
                    object,
                    io::Error::from_raw_os_error(libc::ENOENT),
                ));
            };
            // struct ethtool_set_features_block: valid, requested.
            let (block, mask) = (8 + index / 32 * 8, 1 << (index % 32));
            request.put_word(block, request.word(block) | mask);
            if *on {
                request.put_word(block + 4, request.word(block + 4) | mask);
            }
            old.push(((*feature).to_owned(), state.active));
        }
        self.call(interface, OPERATION, request)?;
        let after = self.features(interface)?;
        for (feature, on) in wanted {
            let active = after.get(*feature).map(|state| state.active);
            if active != Some(*on) {
                return Err(NetError::NotApplied {
                    operation: OPERATION,
                    object: self.ns.has(interface),
                    wanted: format!("{feature}={on}"),
                    actual: format!("{active:?}"),
                });
            }
        }
        Ok(old)
    }

    /// The driver's own counters (`ethtool -S`) by name; empty when it has none.
    ///
    /// # Errors
    /// [`NetError::NotFound`].
    pub fn statistics(&self, interface: &str) -> Result<BTreeMap<String, u64>, NetError> {
        let names = match self.strings(interface, ETH_SS_STATS) {
            Err(error) if error.is_unsupported() => return Ok(BTreeMap::new()),
            names => names?,
        };
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut request = Request::new(ETHTOOL_GSTATS, 8 + 8 * with_room(names.len()));
        request.put_word(4, names.len() as u32);
        let answer = self.call(interface, "read statistics of", request)?;
        // vmxnet3 has the same names once for each queue.
        let mut sums = BTreeMap::new();
        for (index, name) in names.into_iter().enumerate() {
            let sum: &mut u64 = sums.entry(name).or_default();
            *sum = sum.saturating_add(answer.long(8 + 8 * index));
        }
        Ok(sums)
    }

    fn feature_blocks(&self, interface: &str, count: usize) -> Result<Request, NetError> {
        let blocks = count.div_ceil(32);
        let mut request = Request::new(ETHTOOL_GFEATURES, 8 + 16 * blocks);
        request.put_word(4, blocks as u32);
        self.call(interface, "read features of", request)
    }

    fn strings(&self, interface: &str, set: u32) -> Result<Vec<String>, NetError> {
        const OPERATION: &str = "read ethtool names of";
        // struct ethtool_sset_info: cmd, reserved, mask (u64), one count per bit set.
        let mut request = Request::new(ETHTOOL_GSSET_INFO, 20);
        request.bytes[8..16].copy_from_slice(&(1u64 << set).to_ne_bytes());
        let info = self.call(interface, OPERATION, request)?;
        if info.long(8) == 0 {
            return Ok(Vec::new());
        }
        let count = info.word(16) as usize;
        // struct ethtool_gstrings: cmd, string_set, len, strings.
        let mut request = Request::new(ETHTOOL_GSTRINGS, 12 + ETH_GSTRING_LEN * with_room(count));
        request.put_word(4, set);
        request.put_word(8, count as u32);
        let answer = self.call(interface, OPERATION, request)?;
        Ok((0..count)
            .map(|index| answer.text(12 + ETH_GSTRING_LEN * index))
            .collect())
    }

    fn call(
        &self,
        interface: &str,
        operation: &'static str,
        mut request: Request,
    ) -> Result<Request, NetError> {
        check_name(interface)?;
        let data = request.bytes.as_mut_ptr().cast();
        #[allow(unsafe_code)] // edge: SIOCETHTOOL
        // SAFETY: the buffer lives through the call and is as large as the command's structure, with
        // room to spare where the kernel decides how much it writes.
        let done = unsafe {
            self.interfaces
                .call(interface, libc::SIOCETHTOOL as _, data)
        };
        done.map_err(|e| NetError::new(operation, self.ns.has(interface), e))?;
        Ok(request)
    }
}

/// Twice the room for `count` entries: the kernel fills in as many as there are at that moment
/// and trusts the buffer, and a driver may have added some since they were counted.
fn with_room(count: usize) -> usize {
    2 * count + 64
}
