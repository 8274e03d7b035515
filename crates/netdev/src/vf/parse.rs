//! From the kernel's message to functions.

use super::switch::Switch;
use crate::link::Mac;
use crate::policer::Policed;
use crate::raw::{Attributes, RawMessage, u32_at, u64_at};

const IFLA_NUM_VF: u16 = 21;
const IFLA_VFINFO_LIST: u16 = 22;
const IFLA_VF_INFO: u16 = 1;
const IFLA_VF_MAC: u16 = 1;
const IFLA_VF_VLAN: u16 = 2;
const IFLA_VF_SPOOFCHK: u16 = 4;
const IFLA_VF_LINK_STATE: u16 = 5;
const IFLA_VF_RATE: u16 = 6;
const IFLA_VF_STATS: u16 = 8;
const IFLA_VF_TRUST: u16 = 9;
/// Bytes of struct ifinfomsg.
const LINK_HEADER: usize = 16;
/// What a driver that does not fill in a setting leaves there (`rtnl_fill_vfinfo` sets -1).
const UNSET: u32 = u32::MAX;

/// What limits a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Limiter {
    /// Its NIC, by `IFLA_VF_RATE`.
    #[default]
    Driver,
    /// The NIC's switch, by devlink-rate(8).
    Devlink,
    /// A policer on the interface that represents it.
    Policer(Policed),
}

/// What the kernel tells of a NIC's functions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionList {
    /// How many functions there are.
    pub announced: u32,
    /// Those it tells about, in its order: a function whose driver cannot answer is left out.
    pub functions: Vec<FunctionState>,
    /// The switch that the functions hang on, when the NIC is in switchdev mode.
    pub switch: Option<Switch>,
}

/// One function. What is absent is not told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionState {
    /// Number.
    pub vf: u32,
    /// Hardware address.
    pub mac: Option<Mac>,
    /// VLAN id and priority; 0 is no VLAN.
    pub vlan: Option<(u32, u32)>,
    /// Spoof check.
    pub spoof_check: Option<bool>,
    /// Trusted.
    pub trust: Option<bool>,
    /// `auto`, `enable` or `disable`.
    pub link_state: Option<&'static str>,
    /// Highest rate in Mbit/s, 0 for none.
    pub max_mbit: Option<u32>,
    /// Lowest rate in Mbit/s, 0 for none.
    pub min_mbit: Option<u32>,
    /// Counters as the kernel shows them: zeros also where the driver has none.
    pub counters: Option<FunctionCounters>,
    /// Interface that represents it on the NIC's switch.
    pub representor: Option<String>,
    /// What limits it.
    pub limiter: Limiter,
}

/// `IFLA_VF_STATS`: seen from the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FunctionCounters {
    /// Frames received.
    pub rx_packets: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Broadcast frames received.
    pub broadcast: u64,
    /// Multicast frames received.
    pub multicast: u64,
    /// Dropped on receive.
    pub rx_dropped: u64,
    /// Dropped on transmit.
    pub tx_dropped: u64,
}

/// Reads an answer to `RTM_GETLINK`.
pub(super) fn function_list(message: &RawMessage) -> FunctionList {
    let mut reported = FunctionList::default();
    let mut attributes = message.attributes(LINK_HEADER);
    loop {
        let before = attributes.rest();
        let Some((kind, value)) = attributes.next() else {
            break;
        };
        match kind {
            IFLA_NUM_VF => reported.announced = u32_at(value, 0).unwrap_or(0),
            IFLA_VFINFO_LIST => {
                // The list's own length counts modulo 65 536 when it is longer: its items are
                // read by their own lengths, as many as were announced.
                reported.functions = list(before.get(4..).unwrap_or_default(), reported.announced);
                break;
            }
            _ => {}
        }
    }
    reported
}

fn list(bytes: &[u8], announced: u32) -> Vec<FunctionState> {
    let infos = Attributes::of(bytes).take_while(|(kind, _)| *kind == IFLA_VF_INFO);
    let infos = infos.take(announced as usize);
    infos.map_while(|(_, info)| function(info)).collect()
}

/// One `IFLA_VF_INFO`; nothing when it does not begin as one does.
fn function(info: &[u8]) -> Option<FunctionState> {
    let mut attributes = Attributes::of(info);
    let (IFLA_VF_MAC, first) = attributes.next()? else {
        return None;
    };
    // struct ifla_vf_mac: number, 32 bytes of address.
    let mut function = FunctionState {
        vf: u32_at(first, 0)?,
        mac: first
            .get(4..10)
            .and_then(|mac| mac.try_into().ok())
            .map(Mac),
        ..FunctionState::default()
    };
    for (kind, value) in attributes {
        let second = u32_at(value, 4);
        match kind {
            IFLA_VF_VLAN => function.vlan = second.zip(u32_at(value, 8)),
            IFLA_VF_SPOOFCHK => function.spoof_check = setting(second),
            IFLA_VF_TRUST => function.trust = setting(second),
            IFLA_VF_LINK_STATE => {
                function.link_state = match second {
                    Some(0) => Some("auto"),
                    Some(1) => Some("enable"),
                    Some(2) => Some("disable"),
                    _ => None,
                };
            }
            IFLA_VF_RATE => {
                function.min_mbit = second;
                function.max_mbit = u32_at(value, 8);
            }
            IFLA_VF_STATS => function.counters = Some(counters(value)),
            _ => {}
        }
    }
    Some(function)
}

fn setting(value: Option<u32>) -> Option<bool> {
    value
        .filter(|value| *value != UNSET)
        .map(|value| value != 0)
}

/// Kind 0 is a counter here, not an end.
fn counters(value: &[u8]) -> FunctionCounters {
    let mut counters = FunctionCounters::default();
    for (kind, value) in Attributes::of(value) {
        let Some(count) = u64_at(value, 0) else {
            continue;
        };
        match kind {
            0 => counters.rx_packets = count,
            1 => counters.tx_packets = count,
            2 => counters.rx_bytes = count,
            3 => counters.tx_bytes = count,
            4 => counters.broadcast = count,
            5 => counters.multicast = count,
            7 => counters.rx_dropped = count,
            8 => counters.tx_dropped = count,
            _ => {}
        }
    }
    counters
}
