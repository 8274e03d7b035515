//! What all messages about queueing disciplines and their filters have in common
//! (include/uapi/linux/rtnetlink.h, pkt_sched.h, pkt_cls.h).

use crate::raw::RawMessage;

pub(crate) const RTM_NEWQDISC: u16 = 36;
pub(crate) const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
pub(crate) const RTM_NEWTFILTER: u16 = 44;
pub(crate) const RTM_DELTFILTER: u16 = 45;
const RTM_GETTFILTER: u16 = 46;
/// TC_H_ROOT.
pub(crate) const ROOT: u32 = 0xffff_ffff;
/// TC_H_INGRESS, where an ingress or clsact qdisc hangs.
pub(crate) const INGRESS_PARENT: u32 = 0xffff_fff1;
/// The handle such a qdisc has.
pub(crate) const INGRESS: u32 = 0xffff_0000;
pub(crate) const TCA_KIND: u16 = 1;
pub(crate) const TCA_OPTIONS: u16 = 2;
pub(crate) const TCA_ACT_KIND: u16 = 1;
pub(crate) const TCA_ACT_OPTIONS: u16 = 2;
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

/// The qdisc at the root of one interface.
pub(crate) fn get_root(index: u32) -> RawMessage {
    tc(RTM_GETQDISC, index, 0, ROOT, 0)
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
