//! The messages (include/uapi/linux/pkt_sched.h, pkt_cls.h, tc_act/tc_mirred.h).

use libc::{RTM_DELQDISC, RTM_DELTFILTER, RTM_NEWQDISC, RTM_NEWTFILTER, TCA_KIND, TCA_OPTIONS};
use nicety_model::knob::{NOQUEUE, PACKET_BYTES, WIRE_BYTES};
pub(super) use nicety_model::traffic_control::FIRST;
use nicety_model::traffic_control::{Handle, OURS};

use super::Shape;
use crate::raw::{Attributes, LINK_HEADER, RawMessage, u32_at};
pub(super) use crate::tc::{
    INGRESS, INGRESS_PARENT, ROOT, TC_HEADER, dump_filters, dump_qdiscs, get_qdisc, ingress,
};
use crate::tc::{
    TC_ACT_STOLEN, TCA_ACT_KIND, TCA_ACT_OPTIONS, TCA_EGRESS_REDIR, TCA_MIRRED_PARMS,
    TCA_TBF_PARMS, TCA_TBF_PRATE64, TCA_TBF_RATE64, TCA_U32_ACT, TCA_U32_SEL, tc,
};

/// A filter at the ingress of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) target: Target,
    /// Lower ones are asked first.
    pub(super) priority: u16,
}

/// Where a filter sends what it catches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// To an interface.
    To(u32),
    /// To an interface of ours that is gone: nothing passes.
    Lost,
    /// Elsewhere, or it does something else.
    Other,
}

/// Handle of our buckets: `6e63:`, by which they are told from others.
pub(super) const BUCKET: u32 = Handle::new(OURS, 0).0;

pub(super) const IFLA_STATS_LINK_64: u16 = 1;
const TCA_TBF_BURST: u16 = 6;
const TCA_TBF_PBURST: u16 = 7;
/// Packets that may pass at once: as many as come in 4 ms, and at least.
const LEAST_PACKETS: u64 = 32;
const TCA_ACT_COOKIE: u16 = 6;
/// By which our filter is known when the interface it names is gone.
const COOKIE: &[u8] = b"nicety";
/// TC_LINKLAYER_ETHERNET: the kernel computes the times itself and wants no table.
const LINKLAYER_ETHERNET: u8 = 1;

/// All interfaces.
pub(super) fn dump_links() -> RawMessage {
    RawMessage::new(libc::RTM_GETLINK, &[0; LINK_HEADER])
}

/// The counters of all interfaces and nothing else.
pub(super) fn dump_stats() -> RawMessage {
    const RTM_GETSTATS: u16 = 94;
    let filter: u32 = 1 << (IFLA_STATS_LINK_64 - 1);
    RawMessage::new(RTM_GETSTATS, &[0, 0, filter].map(u32::to_ne_bytes).concat())
}

pub(super) fn remove(index: u32, parent: u32, handle: u32) -> RawMessage {
    tc(RTM_DELQDISC, index, handle, parent, 0)
}

/// A root where nothing waits.
pub(super) fn unqueue(index: u32) -> RawMessage {
    let mut request = tc(RTM_NEWQDISC, index, 0, ROOT, 0);
    request.put_str(TCA_KIND, NOQUEUE);
    request
}

/// A token bucket at the root of an interface, or at a class of another program's discipline there, `burst` and `queue` in bytes. Packets are limited by its second bucket, the one of the
/// peak rate, which has a size of frames of its own (net/sched/sch_tbf.c, `tbf_dequeue`; include/net/sch_generic.h,
/// `psched_l2t_ns`): none counts as less than `PACKET_BYTES` there.
pub(super) fn bucket(
    (index, parent): (u32, u32),
    shape: Shape,
    burst: u64,
    queue: u64,
) -> RawMessage {
    let mut request = tc(RTM_NEWQDISC, index, BUCKET, parent, 0);
    request.put_str(TCA_KIND, "tbf");
    let bytes_per_second = (shape.rate.0 / 8).max(1);
    let overhead = if shape.wire { WIRE_BYTES } else { 0 };
    let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_ne_bytes();
    request.nest(TCA_OPTIONS, |options| {
        // struct tc_tbf_qopt: rate, peak rate (none), limit, buffer and mtu (told in bytes below).
        let mut parameters = vec![0, LINKLAYER_ETHERNET];
        parameters.extend_from_slice(&overhead.to_ne_bytes());
        parameters.extend_from_slice(&[0; 4]);
        parameters.extend_from_slice(&word(bytes_per_second));
        let unit = u64::from(PACKET_BYTES);
        let peak = shape.packets.map(|packets| packets.saturating_mul(unit));
        match peak {
            Some(peak) => {
                parameters.extend_from_slice(&[0, LINKLAYER_ETHERNET]);
                parameters.extend_from_slice(&overhead.to_ne_bytes());
                parameters.extend_from_slice(&[0; 2]);
                parameters.extend_from_slice(&PACKET_BYTES.to_ne_bytes());
                parameters.extend_from_slice(&word(peak));
            }
            None => parameters.extend_from_slice(&[0; 12]),
        }
        parameters.extend_from_slice(&word(queue));
        parameters.extend_from_slice(&[0; 8]);
        options.put(TCA_TBF_PARMS, &parameters);
        options.put(TCA_TBF_BURST, &word(burst));
        if bytes_per_second > u64::from(u32::MAX) {
            options.put(TCA_TBF_RATE64, &bytes_per_second.to_ne_bytes());
        }
        if let Some(peak) = peak {
            // No less than the other bucket holds: a longer packet would wait for ever.
            let at_once = (peak / 250).max(LEAST_PACKETS * unit).max(burst);
            options.put(TCA_TBF_PBURST, &word(at_once));
            if peak > u64::from(u32::MAX) {
                options.put(TCA_TBF_PRATE64, &peak.to_ne_bytes());
            }
        }
    });
    request
}

/// A filter for every frame that comes in at `(index, parent)` and is redirected to another interface.
pub(super) fn redirect(at: (u32, u32), target: u32) -> RawMessage {
    let mut request = filter(RTM_NEWTFILTER, at);
    request.nest(TCA_OPTIONS, |options| {
        // struct tc_u32_sel with one key whose mask is 0: TC_U32_TERMINAL, nkeys 1.
        let mut selector = vec![1, 0, 1, 0];
        selector.resize(16 + 16, 0);
        options.put(TCA_U32_SEL, &selector);
        options.nest(TCA_U32_ACT, |actions| {
            actions.nest(1, |action| {
                action.put_str(TCA_ACT_KIND, "mirred");
                action.put(TCA_ACT_COOKIE, COOKIE);
                action.nest(TCA_ACT_OPTIONS, |mirred| {
                    // struct tc_mirred: tc_gen (index, capab, action, refcnt, bindcnt), eaction,
                    // ifindex.
                    let words = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, target];
                    mirred.put(TCA_MIRRED_PARMS, &words.map(u32::to_ne_bytes).concat());
                });
            });
        });
    });
    request
}

/// Removes it, and leaves those of others.
pub(super) fn remove_redirect(at: (u32, u32)) -> RawMessage {
    filter(RTM_DELTFILTER, at)
}

fn filter(kind: u16, (index, parent): (u32, u32)) -> RawMessage {
    const ETH_P_ALL: u16 = 3;
    let info = (u32::from(FIRST) << 16) | u32::from(ETH_P_ALL.to_be());
    let mut request = tc(kind, index, 0, parent, info);
    request.put_str(TCA_KIND, "u32");
    request
}

/// Where the filters of a dump redirect to, in the order in which they are asked. The hash tables of cls_u32 are
/// no filters.
pub(super) fn redirects(filters: &[RawMessage]) -> Vec<Redirect> {
    filters.iter().filter_map(redirect_of).collect()
}

/// What a message says of a filter; none where it is about none.
pub(super) fn redirect_of(filter: &RawMessage) -> Option<Redirect> {
    let attributes = filter.attributes(TC_HEADER);
    // The head of a chain has no options.
    let options = attributes.find(TCA_OPTIONS);
    let options = Attributes::of(options.filter(|_| filter.kind == RTM_NEWTFILTER)?);
    let is_u32 = attributes.find(TCA_KIND) == Some(b"u32\0");
    if is_u32 && options.find(TCA_U32_SEL).is_none() {
        return None;
    }
    let target = if is_u32 { target(options) } else { None };
    Some(Redirect {
        target: target.unwrap_or(Target::Other),
        priority: u32_at(&filter.body, 16).map_or(0, |info| (info >> 16) as u16),
    })
}

/// Where a filter of cls_u32 redirects to. The kernel says 0 for an interface that is gone
/// (net/sched/act_mirred.c, `mirred_device_event`).
fn target(options: Attributes<'_>) -> Option<Target> {
    let action = Attributes::of(options.find(TCA_U32_ACT)?).find(1)?;
    let action = Attributes::of(action);
    if action.find(TCA_ACT_KIND)? != b"mirred\0" {
        return None;
    }
    let mirred = Attributes::of(action.find(TCA_ACT_OPTIONS)?).find(TCA_MIRRED_PARMS)?;
    if u32_at(mirred, 20)? != TCA_EGRESS_REDIR {
        return None;
    }
    match u32_at(mirred, 24)? {
        0 => (action.find(TCA_ACT_COOKIE) == Some(COOKIE)).then_some(Target::Lost),
        index => Some(Target::To(index)),
    }
}
