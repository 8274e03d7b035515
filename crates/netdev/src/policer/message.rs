//! The messages (include/uapi/linux/pkt_cls.h, tc_act/tc_gact.h; net/sched/act_police.c,
//! net/sched/cls_matchall.c).

use std::time::Duration;

use libc::{RTM_DELTFILTER, RTM_NEWQDISC, RTM_NEWTFILTER, TCA_KIND, TCA_OPTIONS};
use nicety_model::BitRate;
use nicety_model::traffic_control::{self, TICK_NS};

use super::Policer;
use crate::raw::{Attributes, RawMessage, text, u32_at};
use crate::tc::{
    INGRESS, INGRESS_PARENT, Stats, TC_ACT_SHOT, TC_HEADER, TCA_ACT_KIND, TCA_ACT_OPTIONS,
    TCA_POLICE_RATE64, TCA_POLICE_TBF, rate, tc,
};

/// Priority of the filter: the only one that drivers take.
const FIRST: u32 = 1;
/// Handle of the filter, by which it is told from others: `nc`.
const OURS: u32 = traffic_control::OURS as u32;
const ETH_P_ALL: u16 = 3;
const TCA_MATCHALL_ACT: u16 = 2;
const TCA_MATCHALL_FLAGS: u16 = 3;
const TCA_CLS_FLAGS_IN_HW: u32 = 1 << 2;
const TCA_ACT_STATS: u16 = 4;
const TCA_POLICE_RATE: u16 = 2;
const TCA_POLICE_RESULT: u16 = 5;
const TC_ACT_OK: u32 = 0;
const LINKLAYER_ETHERNET: u8 = 1;
/// The kernel wants a table of times (TC_RTAB_SIZE bytes, a cell size that is not 0) and computes them
/// itself all the same (`qdisc_get_rtab` of net/sched/sch_api.c).
const TABLE: usize = 1024;
const CELL: u8 = 3;
/// No frame is longer, segmented ones neither: longer ones than this are dropped whatever the rate.
const LONGEST: u32 = 0xffff;
/// Number of the interface and kind of a qdisc at its ingress.
pub(super) fn ingress_qdisc(kind: u16, body: &[u8]) -> Option<(u32, String)> {
    let fits = kind == RTM_NEWQDISC && u32_at(body, 12)? == INGRESS_PARENT;
    let attributes = Attributes::of(body.get(TC_HEADER..).filter(|_| fits)?);
    Some((
        u32_at(body, 4)?,
        text(attributes.find(TCA_KIND)?).to_owned(),
    ))
}

fn filter(kind: u16, index: u32) -> RawMessage {
    let info = (FIRST << 16) | u32::from(ETH_P_ALL.to_be());
    let mut request = tc(kind, index, OURS, INGRESS, info);
    request.put_str(TCA_KIND, "matchall");
    request
}

pub(super) fn remove_filter(index: u32) -> RawMessage {
    filter(RTM_DELTFILTER, index)
}

/// A filter for every frame; neither skip_sw nor skip_hw: the driver is asked, and the kernel holds what
/// comes to the host.
pub(super) fn add_filter(index: u32, rate: BitRate, burst: Duration) -> RawMessage {
    let word = |value: u128| u32::try_from(value).unwrap_or(u32::MAX).to_ne_bytes();
    let bytes_per_second = (rate.0 / 8).max(1);
    // struct tc_police: index, what to do above the rate, limit, burst, mtu, rate, peak rate, two
    // counts, capab; struct tc_ratespec: cell, link layer, overhead, alignment, mpu, rate.
    let mut police = [0, TC_ACT_SHOT, 0].map(u32::to_ne_bytes).concat();
    police.extend_from_slice(&word(burst.as_nanos() / u128::from(TICK_NS)));
    police.extend_from_slice(&LONGEST.to_ne_bytes());
    police.extend_from_slice(&[CELL, LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0]);
    police.extend_from_slice(&word(bytes_per_second.into()));
    police.resize(56, 0);
    let mut request = filter(RTM_NEWTFILTER, index);
    request.nest(TCA_OPTIONS, |options| {
        options.nest(TCA_MATCHALL_ACT, |actions| {
            actions.nest(1, |action| {
                action.put_str(TCA_ACT_KIND, "police");
                action.nest(TCA_ACT_OPTIONS, |options| {
                    options.put(TCA_POLICE_TBF, &police);
                    options.put(TCA_POLICE_RATE, &[0; TABLE]);
                    options.put(TCA_POLICE_RESULT, &TC_ACT_OK.to_ne_bytes());
                    if bytes_per_second > u64::from(u32::MAX) {
                        options.put(TCA_POLICE_RATE64, &bytes_per_second.to_ne_bytes());
                    }
                });
            });
        });
    });
    request
}

/// Filters of a dump: heads of chains have no options.
pub(super) fn count(messages: &[RawMessage]) -> usize {
    let is_filter = |message: &&RawMessage| {
        message.kind == RTM_NEWTFILTER && message.attributes(TC_HEADER).find(TCA_OPTIONS).is_some()
    };
    messages.iter().filter(is_filter).count()
}

/// The policer set here among the filters of a dump.
pub(super) fn policer(messages: &[RawMessage]) -> Option<Policer> {
    let mut policer = messages.iter().find_map(ours)?;
    policer.shared = count(messages) > 1;
    Some(policer)
}

fn ours(message: &RawMessage) -> Option<Policer> {
    let attributes = message.attributes(TC_HEADER);
    let is = message.kind == RTM_NEWTFILTER
        && attributes.find(TCA_KIND).map(text) == Some("matchall")
        && u32_at(&message.body, 8)? == OURS
        && u32_at(&message.body, 16)? >> 16 == FIRST;
    let options = Attributes::of(attributes.find(TCA_OPTIONS).filter(|_| is)?);
    let flags = options.find(TCA_MATCHALL_FLAGS);
    let flags = flags.and_then(|flags| u32_at(flags, 0)).unwrap_or(0);
    let mut actions = Attributes::of(options.find(TCA_MATCHALL_ACT)?);
    let (_, action) = actions.next()?;
    let action = Attributes::of(action);
    let alone = actions.next().is_none() && action.find(TCA_ACT_KIND).map(text) == Some("police");
    let police = Attributes::of(action.find(TCA_ACT_OPTIONS).filter(|_| alone)?);
    // struct tc_police: five words before its rate.
    let spec = police.find(TCA_POLICE_TBF).and_then(|all| all.get(20..));
    let rate = rate(spec.unwrap_or_default(), police.find(TCA_POLICE_RATE64))?;
    let stats = Stats::of(action.find(TCA_ACT_STATS));
    Some(Policer {
        rate,
        in_hardware: flags & TCA_CLS_FLAGS_IN_HW != 0,
        frames: stats.frames,
        bytes: stats.bytes,
        drops: stats.drops,
        shared: false,
    })
}

#[cfg(test)]
mod tests {
    use libc::RTM_DELQDISC;

    use super::*;
    use crate::tc::ingress;

    #[test]
    fn a_policer_is_read_as_it_is_written() {
        for mbit in [1, 500, 100_000] {
            let rate = BitRate::from_mbit(mbit);
            let message = add_filter(7, rate, Duration::from_millis(100));
            let head = tc(RTM_NEWTFILTER, 7, 0, INGRESS, 0);
            let read = policer(&[head.clone(), message.clone()]).unwrap();
            assert_eq!(
                (read.rate, read.in_hardware, read.shared),
                (rate, false, false)
            );
            // Beside it a filter of somebody else.
            let mut other = message.clone();
            other.body[8] ^= 1;
            assert_eq!(policer(std::slice::from_ref(&other)), None);
            assert!(policer(&[other, message]).unwrap().shared);
        }
        assert_eq!(policer(&[]), None);
    }

    #[test]
    fn a_message_cut_or_bent_anywhere_is_no_panic() {
        let whole = add_filter(7, BitRate::from_mbit(5), Duration::from_millis(100));
        for at in 0..whole.body.len() {
            let mut cut = whole.clone();
            cut.body.truncate(at);
            let _ = policer(&[cut]);
            let mut bent = whole.clone();
            bent.body[at] ^= 0xff;
            let _ = policer(&[bent]);
        }
    }

    #[test]
    fn only_a_qdisc_at_the_ingress_counts() {
        let qdisc = ingress(RTM_NEWQDISC, 9);
        let read = ingress_qdisc(RTM_NEWQDISC, &qdisc.body);
        assert_eq!(read, Some((9, "ingress".to_owned())));
        assert_eq!(ingress_qdisc(RTM_DELQDISC, &qdisc.body), None);
        let root = tc(RTM_NEWQDISC, 9, 0, u32::MAX, 0);
        assert_eq!(ingress_qdisc(RTM_NEWQDISC, &root.body), None);
        assert_eq!(ingress_qdisc(RTM_NEWQDISC, &qdisc.body[..15]), None);
    }
}
