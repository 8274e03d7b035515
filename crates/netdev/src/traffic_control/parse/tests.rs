use nicety_model::BitRate;

use super::*;
use crate::raw::RawMessage;
use crate::tc::tc;

const NEW: u16 = 36;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().copied().flat_map(u32::to_ne_bytes).collect()
}

/// struct tc_ratespec, in bytes a second.
fn spec(rate: u32) -> [u32; 3] {
    [0, 0, rate]
}

#[test]
fn a_token_bucket_has_a_rate_and_a_depth() {
    let mut message = tc(NEW, 5, 0x8001_0000, Handle::ROOT.0, 0);
    message.put_str(TCA_KIND, "tbf");
    message.nest(TCA_OPTIONS, |options| {
        // 1 MB/s, 16,384 bytes of it in 256,000 ticks.
        let all = [&spec(1_000_000)[..], &spec(0), &[65_536, 256_000, 0]].concat();
        options.put(TCA_TBF_PARMS, &words(&all));
    });
    let (index, qdisc) = qdisc(&message.body).unwrap();
    assert_eq!(
        (index, qdisc.kind.as_str(), qdisc.parent),
        (5, "tbf", Handle::ROOT)
    );
    assert_eq!(qdisc.handle.to_string(), "8001:");
    let Some(QdiscLimit::Bucket(bucket)) = qdisc.limit else {
        panic!("{qdisc:?}");
    };
    assert_eq!(
        (bucket.rate, bucket.burst_bytes),
        (BitRate::from_mbit(8), 16_384)
    );
    assert_eq!(qdisc.raw, message.body);
}

#[test]
fn a_class_has_a_rate_and_a_ceiling_that_may_be_wide() {
    let mut message = tc(NEW, 5, 0x1_0001, 0x1_0000, 0);
    message.put_str(TCA_KIND, "htb");
    message.nest(TCA_OPTIONS, |options| {
        let all = [
            &spec(125_000)[..],
            &spec(u32::MAX),
            &[1_000_000, 1, 0, 0, 0],
        ]
        .concat();
        options.put(TCA_HTB_PARMS, &words(&all));
        options.put(TCA_HTB_CEIL64, &5_000_000_000u64.to_ne_bytes());
    });
    let class = class(&message.body).unwrap();
    assert_eq!(class.rate.unwrap().rate, BitRate::from_mbit(1));
    assert_eq!(class.rate.unwrap().burst_bytes, 8_000);
    assert_eq!(class.ceil.unwrap().rate, BitRate::from_mbit(40_000));
    assert_eq!(
        (class.handle, class.parent),
        (Handle::new(1, 1), Handle::new(1, 0))
    );
}

/// A filter of `kind` of priority 49 for all protocols.
fn head(kind: &str) -> RawMessage {
    let info = (49 << 16) | u32::from(3u16.to_be());
    let mut message = tc(NEW, 5, 1, Handle::AT_INGRESS.0, info);
    message.put_str(TCA_KIND, kind);
    message
}

fn put_police(to: &mut RawMessage, drops: bool) {
    let what = if drops { TC_ACT_SHOT } else { 0 };
    let all = [
        &[0, what, 0, 15_625, 65_535][..],
        &spec(1_000_000),
        &spec(0),
        &[0; 3],
    ]
    .concat();
    to.put(TCA_POLICE_TBF, &words(&all));
}

#[test]
fn policers_are_read_from_actions_and_from_before_there_were_any() {
    for (kind, place, old) in [
        ("basic", 4, true),
        ("basic", 3, false),
        ("matchall", 2, false),
    ] {
        let mut message = head(kind);
        message.nest(TCA_OPTIONS, |options| {
            options.nest(place, |nest| {
                if old {
                    put_police(nest, true)
                } else {
                    nest.nest(1, |action| {
                        action.put_str(TCA_ACT_KIND, "police");
                        action.nest(TCA_ACT_OPTIONS, |options| put_police(options, true));
                    })
                }
            });
        });
        let filter = filter(&message.body).unwrap();
        assert!(filter.is_for_every_frame(), "{kind}");
        assert_eq!((filter.priority, filter.handle), (49, 1));
        let [Action::Police(police)] = filter.actions[..] else {
            panic!("{kind}: {filter:?}");
        };
        assert!(police.drops && police.packets.is_none());
        assert_eq!(police.longest, 65_535);
        let rate = police.rate.unwrap();
        assert_eq!(
            (rate.rate, rate.burst_bytes),
            (BitRate::from_mbit(8), 1_000)
        );
    }
}

#[test]
fn a_basic_filter_without_matches_takes_all() {
    let with = |count: u16| {
        let mut message = head("basic");
        message.nest(TCA_OPTIONS, |options| {
            options.nest(TCA_BASIC_EMATCHES, |tree| {
                tree.put(
                    TCA_EMATCH_TREE_HDR,
                    &[count, 0].map(u16::to_ne_bytes).concat(),
                );
            });
            options.nest(4, |nest| put_police(nest, true));
        });
        filter(&message.body).unwrap().takes_all
    };
    assert!(with(0) && !with(1));
}

#[test]
fn packets_are_counted_in_ticks_of_their_rate() {
    let mut message = head("matchall");
    message.nest(TCA_OPTIONS, |options| {
        options.nest(2, |nest| {
            nest.nest(1, |action| {
                action.put_str(TCA_ACT_KIND, "police");
                action.nest(TCA_ACT_OPTIONS, |options| {
                    options.put(TCA_POLICE_TBF, &words(&[0; 14]));
                    options.put(TCA_POLICE_PKTRATE64, &1_000u64.to_ne_bytes());
                    // 100 ms.
                    options.put(TCA_POLICE_PKTBURST64, &1_562_500u64.to_ne_bytes());
                });
            });
        });
    });
    let [Action::Police(police)] = filter(&message.body).unwrap().actions[..] else {
        panic!();
    };
    assert_eq!((police.rate, police.packets), (None, Some((1_000, 100))));
}

#[test]
fn a_selector_takes_all_when_no_key_looks_at_a_bit() {
    let selected = |flags: u8, mask: u32, keys: u8| {
        let mut message = head("u32");
        message.nest(TCA_OPTIONS, |options| {
            let mut selector = vec![flags, 0, keys, 0];
            selector.resize(SELECTOR, 0);
            selector.extend(mask.to_ne_bytes());
            selector.resize(SELECTOR + KEY, 0);
            options.put(TCA_U32_SEL, &selector);
            options.nest(7, |nest| {
                nest.nest(1, |action| {
                    action.put_str(TCA_ACT_KIND, "mirred");
                    action.nest(TCA_ACT_OPTIONS, |mirred| {
                        mirred.put(
                            TCA_MIRRED_PARMS,
                            &words(&[0, 0, 4, 0, 0, TCA_EGRESS_REDIR, 12]),
                        );
                    });
                });
            });
        });
        filter(&message.body).unwrap()
    };
    let all = selected(1, 0, 1);
    assert!(all.takes_all);
    assert_eq!(all.actions, [Action::Redirect(12)]);
    assert!(!selected(1, 0xff, 1).takes_all);
    // Another table decides.
    assert!(!selected(0, 0, 1).takes_all);
    // The head of a chain, and a table, take no frame.
    assert!(filter(&head("u32").body).is_none());
    let mut table = head("u32");
    table.nest(TCA_OPTIONS, |options| options.put(3, &words(&[1])));
    assert!(filter(&table.body).is_none());
}

#[test]
fn cut_messages_say_nothing() {
    let mut message = head("basic");
    message.nest(TCA_OPTIONS, |options| {
        options.nest(4, |nest| put_police(nest, true))
    });
    for length in 0..message.body.len() {
        let body = &message.body[..length];
        qdisc(body);
        class(body);
        filter(body);
    }
}
