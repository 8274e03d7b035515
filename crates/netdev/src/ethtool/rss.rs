//! Receive side scaling: which queue a flow goes to.

use super::Ethtool;
use super::request::Request;
use crate::net_error::NetError;

const ETHTOOL_GRXFH: u32 = 0x29;
const ETHTOOL_GRXFHINDIR: u32 = 0x38;
const UDP_V4_FLOW: u32 = 0x02;
/// RXH_L4_B_0_1 and RXH_L4_B_2_3: source and destination port.
const PORTS: u64 = (1 << 6) | (1 << 7);
/// More entries than any driver has; the kernel's answer is not trusted beyond it.
const MOST_ENTRIES: u32 = 65_536;

/// The indirection table: queue of each hash value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RssTable(pub Vec<u32>);

impl Ethtool {
    /// The indirection table.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn rss_table(&self, interface: &str) -> Result<RssTable, NetError> {
        const OPERATION: &str = "read the RSS table of";
        // struct ethtool_rxfh_indir: cmd, size, entries. Size 0 asks for the size.
        let size = self.call(interface, OPERATION, Request::new(ETHTOOL_GRXFHINDIR, 8))?;
        let entries = size.word(4).min(MOST_ENTRIES);
        let mut request = Request::new(ETHTOOL_GRXFHINDIR, 8 + 4 * entries as usize);
        request.put_word(4, entries);
        let answer = self.call(interface, OPERATION, request)?;
        let entry = |index: u32| answer.word(8 + 4 * index as usize);
        Ok(RssTable((0..entries).map(entry).collect()))
    }

    /// Whether the hash of UDP over IPv4 takes both ports in.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::Unsupported`].
    pub fn udp4_hashes_ports(&self, interface: &str) -> Result<bool, NetError> {
        // struct ethtool_rxnfc: cmd, flow_type, data (u64), a flow specification; 192 bytes.
        let mut request = Request::new(ETHTOOL_GRXFH, 192);
        request.put_word(4, UDP_V4_FLOW);
        let answer = self.call(interface, "read the RSS hash of", request)?;
        Ok(answer.long(8) & PORTS == PORTS)
    }
}
