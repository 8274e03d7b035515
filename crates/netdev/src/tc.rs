//! What all messages about queueing disciplines and their filters have in common
//! (include/uapi/linux/rtnetlink.h, pkt_sched.h, pkt_cls.h).

use libc::{RTM_GETQDISC, RTM_GETTFILTER, TCA_KIND};
use nicety_model::BitRate;

use crate::raw::{Attributes, RawMessage, u32_at, u64_at};

/// TC_H_ROOT.
pub(crate) const ROOT: u32 = 0xffff_ffff;
/// TC_H_INGRESS, where an ingress or clsact qdisc hangs.
pub(crate) const INGRESS_PARENT: u32 = 0xffff_fff1;
/// The handle such a qdisc has.
pub(crate) const INGRESS: u32 = 0xffff_0000;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
pub(crate) const TCA_ACT_KIND: u16 = 1;
pub(crate) const TCA_ACT_OPTIONS: u16 = 2;
pub(crate) const TCA_TBF_PARMS: u16 = 1;
pub(crate) const TCA_TBF_RATE64: u16 = 4;
pub(crate) const TCA_TBF_PRATE64: u16 = 5;
pub(crate) const TCA_U32_SEL: u16 = 5;
pub(crate) const TCA_U32_ACT: u16 = 7;
pub(crate) const TCA_POLICE_TBF: u16 = 1;
pub(crate) const TCA_POLICE_RATE64: u16 = 8;
pub(crate) const TCA_MIRRED_PARMS: u16 = 2;
pub(crate) const TCA_EGRESS_REDIR: u32 = 1;
pub(crate) const TC_ACT_SHOT: u32 = 2;
pub(crate) const TC_ACT_STOLEN: u32 = 4;
/// Bytes of struct tcmsg.
pub(crate) const TC_HEADER: usize = 20;

/// A message with its struct tcmsg.
pub(crate) fn tc(kind: u16, index: u32, handle: u32, parent: u32, info: u32) -> RawMessage {
    let words = [0, index, handle, parent, info].map(u32::to_ne_bytes);
    RawMessage::new(kind, &words.concat())
}

pub(crate) fn dump_qdiscs() -> RawMessage {
    tc(RTM_GETQDISC, 0, 0, 0, 0)
}

/// The qdisc at the root of one interface, or at a class there.
pub(crate) fn get_qdisc(index: u32, parent: u32) -> RawMessage {
    tc(RTM_GETQDISC, index, 0, parent, 0)
}

pub(crate) fn dump_filters(index: u32, parent: u32) -> RawMessage {
    tc(RTM_GETTFILTER, index, 0, parent, 0)
}

/// Makes or removes the ingress qdisc.
pub(crate) fn ingress(kind: u16, index: u32) -> RawMessage {
    let mut request = tc(kind, index, INGRESS, INGRESS_PARENT, 0);
    request.put_str(TCA_KIND, "ingress");
    request
}

/// A rate of struct tc_ratespec, or of the attribute for those that do not fit there; both in bytes a second.
pub(crate) fn rate(spec: &[u8], wide: Option<&[u8]>) -> Option<BitRate> {
    let bytes = match wide {
        Some(wide) => u64_at(wide, 0)?,
        None => u64::from(u32_at(spec, 8)?),
    };
    Some(BitRate(bytes.saturating_mul(8)))
}

/// What a qdisc or an action counts (include/uapi/linux/gen_stats.h); 0 where it does not say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stats {
    pub(crate) bytes: u64,
    pub(crate) frames: u64,
    /// Modulo 2³².
    pub(crate) drops: u32,
    /// Bytes that wait.
    pub(crate) backlog: u32,
}

impl Stats {
    /// Of the attribute that holds them, if there is one.
    pub(crate) fn of(nest: Option<&[u8]>) -> Self {
        let stats = Attributes::of(nest.unwrap_or_default());
        let [basic, queue, wide] = [TCA_STATS_BASIC, TCA_STATS_QUEUE, TCA_STATS_PKT64]
            .map(|kind| stats.find(kind).unwrap_or_default());
        let narrow = u32_at(basic, 8).map(u64::from);
        Self {
            bytes: u64_at(basic, 0).unwrap_or(0),
            frames: u64_at(wide, 0).or(narrow).unwrap_or(0),
            drops: u32_at(queue, 8).unwrap_or(0),
            backlog: u32_at(queue, 4).unwrap_or(0),
        }
    }
}
