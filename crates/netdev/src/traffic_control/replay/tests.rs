use super::*;
use crate::tc::{INGRESS, TCA_EGRESS_REDIR, TCA_U32_SEL};

const TCA_ACT_STATS: u16 = 4;
const TCA_U32_PCNT: u16 = 9;
const TCA_U32_FLAGS: u16 = 11;
/// Priority 50, all protocols.
const INFO: u32 = 50 << 16 | 3 << 8;

/// As the kernel tells of a filter that sends all to interface 9.
fn told(action: u32, references: u32, statistics: u8) -> RawMessage {
    let mut message = tc(RTM_NEWTFILTER, 7, 0x8010_0800, INGRESS, INFO);
    message.put_str(TCA_KIND, "u32");
    message.put(TCA_CHAIN, &[0; 4]);
    message.nest(TCA_OPTIONS, |options| {
        let mut selector = vec![1, 0, 1, 0];
        selector.resize(32, 0);
        options.put(TCA_U32_SEL, &selector);
        options.put(TCA_U32_HASH, &0x8010_0000u32.to_ne_bytes());
        options.put(TCA_U32_FLAGS, &8u32.to_ne_bytes());
        options.put(TCA_U32_PCNT, &[statistics; 24]);
        options.nest(TCA_U32_ACT, |list| {
            list.nest(1, |one| {
                one.put_str(TCA_ACT_KIND, "mirred");
                one.nest(TCA_ACT_STATS, |stats| stats.put(1, &[statistics; 16]));
                one.nest(TCA_ACT_OPTIONS, |mirred| {
                    let words = [action, 0, 4, references, 1, TCA_EGRESS_REDIR, 9];
                    mirred.put(TCA_MIRRED_PARMS, &words.map(u32::to_ne_bytes).concat());
                    mirred.put(1, &[statistics; 32]);
                });
            });
        });
    });
    message
}

#[test]
fn what_the_kernel_counts_or_chooses_is_left_out() {
    let request = filter(&told(3, 1, 1).body).unwrap();
    let later = filter(&told(12, 1, 200).body).unwrap();
    assert_eq!(request, later);
    // Its node, and no table; no flag is asked for.
    assert_eq!(u32_at(&request.body, 8), Some(0x800));
    let options = request.attributes(TC_HEADER).find(TCA_OPTIONS).unwrap();
    let kinds: Vec<u16> = Attributes::of(options).map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [TCA_U32_SEL, TCA_U32_ACT]);
    let parsed = super::super::filter_of(&request.body).unwrap();
    assert!(parsed.is_for_every_frame());
    assert_eq!(parsed.priority, 50);
    // Another target is another filter.
    let mut other = told(3, 1, 1);
    let at = other.body.windows(4).rposition(|word| word == [9, 0, 0, 0]);
    other.body[at.unwrap()] = 10;
    assert_ne!(filter(&other.body).unwrap(), request);
}

#[test]
fn exactly_the_filter_is_removed() {
    let request = remove(&told(3, 1, 1).body).unwrap();
    assert_eq!(request.kind, RTM_DELTFILTER);
    assert_eq!(u32_at(&request.body, 8), Some(0x8010_0800));
    assert_eq!(u32_at(&request.body, 16), Some(INFO));
    assert_eq!(request.attributes(TC_HEADER).find(TCA_OPTIONS), None);
}

#[test]
fn what_could_not_be_the_same_again_is_refused() {
    let shared = told(3, 2, 1).body;
    assert_eq!(filter(&shared), Err(NoWayBack::SharedAction));
    let parts = |body: &[u8]| can_return(&[Recorded::Filter(body.to_vec())]);
    assert_eq!(parts(&shared), Err(NoWayBack::SharedAction));
    assert_eq!(parts(&told(3, 1, 1).body), Ok(()));
    let mut unknown = told(3, 1, 1);
    unknown.put(77, &[0; 4]);
    let wanted = NoWayBack::Attribute {
        attribute: 77,
        of: "filter",
    };
    assert_eq!(parts(&unknown.body), Err(wanted));
    let mut flower = tc(RTM_NEWTFILTER, 7, 1, INGRESS, INFO);
    flower.put_str(TCA_KIND, "flower");
    assert_eq!(parts(&flower.body), Err(NoWayBack::Kind));
    let mut block = tc(libc::RTM_NEWQDISC, 7, INGRESS, 0xffff_fff1, 1);
    block.put_str(TCA_KIND, "ingress");
    assert_eq!(can_return(&[Recorded::Qdisc(block.body.clone())]), Ok(()));
    block.put(TCA_INGRESS_BLOCK, &5u32.to_ne_bytes());
    assert_eq!(
        can_return(&[Recorded::Qdisc(block.body)]),
        Err(NoWayBack::SharedBlock)
    );
}

#[test]
fn a_policer_gets_the_tables_that_the_kernel_asks_for() {
    // Drop above 750,000 bytes a second; one refers to it.
    let mut police = [4u32, 2, 0, 15_000, 65_535].map(u32::to_ne_bytes).concat();
    police.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
    police.extend_from_slice(&750_000u32.to_ne_bytes());
    police.resize(44, 0);
    police.extend_from_slice(&[1, 1, 0].map(u32::to_ne_bytes).concat());
    let told = |kind: &str, list: u16, old: bool| {
        let mut message = tc(RTM_NEWTFILTER, 7, 1, INGRESS, INFO);
        message.put_str(TCA_KIND, kind);
        message.nest(TCA_OPTIONS, |options| {
            if old {
                options.nest(list, |one| one.put(TCA_POLICE_TBF, &police))
            } else {
                options.nest(list, |list| {
                    list.nest(1, |one| {
                        one.put_str(TCA_ACT_KIND, "police");
                        one.nest(TCA_ACT_OPTIONS, |one| one.put(TCA_POLICE_TBF, &police));
                    });
                })
            }
        });
        message
    };
    for (kind, list, old) in [
        ("matchall", 2, false),
        ("basic", 3, false),
        ("basic", 4, true),
    ] {
        let told = told(kind, list, old);
        let anew = filter(&told.body).unwrap();
        let parsed = |body: &[u8]| super::super::filter_of(body).unwrap();
        assert_eq!(parsed(&anew.body).actions, parsed(&told.body).actions);
        assert!(parsed(&anew.body).is_for_every_frame());
        assert!(anew.body.len() > TABLE, "{kind}");
    }
    // Its number and references are the kernel's.
    police[48] = 2;
    let shared = unshared(&police, [44, 48]);
    assert_eq!(shared, Err(NoWayBack::SharedAction));
}

#[test]
fn a_message_cut_or_bent_anywhere_is_no_panic() {
    let whole = told(3, 1, 1).body;
    for at in 0..whole.len() {
        let _ = filter(&whole[..at]);
        let mut bent = whole.clone();
        bent[at] ^= 0xff;
        let _ = filter(&bent);
        let _ = remove(&bent);
    }
}
