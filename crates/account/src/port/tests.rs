use nicety_model::FrameSize;
use nicety_packet::{CheckCorruption, FlowRange, Side, Template, TemplateSpec};

use super::*;

fn ours(stream: u8, trial: u8, sequence: u32, tx_ns: u64) -> Seen {
    Seen::Ours(Stamp {
        stream,
        trial,
        sequence,
        tx_ns,
    })
}

fn totals(stream: u8, sent: u64) -> StreamTotals {
    StreamTotals {
        stream,
        intended: sent + 1,
        sent,
    }
}

#[test]
fn what_is_not_a_frame_of_this_trial_is_counted_apart() {
    let mut account = Account::with_window(7, &[4, 0], 64).unwrap();
    for seen in [
        ours(4, 7, 0, 0),
        ours(4, 6, 1, 0),
        ours(9, 7, 1, 0),
        ours(0, 7, 1, 0),
        Seen::Foreign,
        Seen::Corrupt,
        Seen::Corrupt,
        Seen::Learning,
    ] {
        account.on_frame(&seen, 1000);
    }
    let counts = PortCounts {
        foreign: 3,
        corrupt: 2,
        learning: 1,
    };
    assert_eq!(account.counts(), counts);
    assert_eq!(account.arrivals(), 2);
    let streams = account.finish(&[totals(0, 2), totals(4, 1)]).unwrap();
    assert_eq!(
        streams[0].frames,
        FrameCounts {
            intended: 2,
            sent: 1,
            received: 1,
            corrupt: 2,
            foreign: 3,
            ..FrameCounts::default()
        }
    );
    assert_eq!((streams[0].stream, streams[1].stream), (4, 0));
    let other = streams[1].frames;
    assert_eq!((other.received, other.lost), (1, 1));
    assert_eq!((other.corrupt, other.foreign), (0, 0));
}

#[test]
fn each_frame_has_one_latency() {
    let mut account = Account::with_window(1, &[0, 1], 64).unwrap();
    account.expect_at_most(0, 10);
    let wrap = 1_u64 << 48;
    account.on_frame(&ours(0, 1, 0, 1_000), 3_000);
    account.on_frame(&ours(0, 1, 2, wrap - 1_000), 7 * wrap + 3_000);
    account.on_frame(&ours(0, 1, 1, 5_000), 13_000);
    // A second copy and an impossible one have none, a broken clock is counted apart.
    account.on_frame(&ours(0, 1, 1, 5_000), 99_000);
    account.on_frame(&ours(0, 1, 10, 5_000), 99_000);
    account.on_frame(&ours(1, 1, 0, 5_000), 4_999);
    let latency = account.latency().unwrap();
    assert_eq!(latency.samples, 3);
    assert_eq!((latency.min, latency.max), (2.0, 8.0));
    assert_eq!(account.clock_errors(), 1);
    assert_eq!(account.streams[1].latency.clock_errors(), 1);
    let streams = account.finish(&[totals(0, 10), totals(1, 1)]).unwrap();
    assert_eq!(streams[0].frames.corrupt, 1);
    assert_eq!(streams[0].frames.duplicate, 1);
    assert_eq!(streams[0].frames.reordered, 1);
    assert_eq!(streams[1].frames.received, 1);
}

#[test]
fn several_ports_have_one_latency() {
    let mut all = Latency::new().unwrap();
    for (stream, took) in [(0, 1_000), (1, 3_000)] {
        let mut account = Account::with_window(1, &[stream], 64).unwrap();
        account.on_frame(&ours(stream, 1, 0, 0), took);
        account.merge_latency_into(&mut all);
    }
    let summary = all.summary().unwrap();
    assert_eq!((summary.samples, summary.mean), (2, 2.0));
}

#[test]
fn a_reset_account_takes_the_next_trial_only() {
    let mut account = Account::with_window(1, &[0], 64).unwrap();
    account.on_frame(&ours(0, 1, 5, 0), 1);
    account.on_frame(&Seen::Corrupt, 1);
    account.finish(&[totals(0, 9)]).unwrap();
    account.reset(2);
    assert_eq!(account.counts(), PortCounts::default());
    assert_eq!(account.latency(), None);
    account.on_frame(&ours(0, 1, 6, 0), 1);
    account.on_frame(&ours(0, 2, 0, 0), 1);
    let streams = account.finish(&[totals(0, 1)]).unwrap();
    let frames = streams[0].frames;
    assert_eq!((frames.received, frames.lost), (1, 0));
    assert_eq!((frames.foreign, frames.corrupt), (1, 0));
}

#[test]
fn bad_set_ups_are_refused() {
    let new = |streams: &[u8]| Account::with_window(0, streams, 64).map(|_| ());
    assert_eq!(new(&[]), Err(AccountError::NoStreams));
    assert_eq!(
        new(&[255]),
        Err(AccountError::ReservedStream { stream: 255 })
    );
    assert_eq!(new(&[3, 3]), Err(AccountError::StreamTwice { stream: 3 }));
    let mut account = Account::with_window(0, &[3], 64).unwrap();
    assert_eq!(
        account.finish(&[totals(2, 0)]),
        Err(AccountError::NoTotals { stream: 3 })
    );
}

#[test]
fn frames_from_template_to_account() {
    let template = Template::new(TemplateSpec {
        frame_size: FrameSize::new(128).unwrap(),
        source_mac: nicety_packet::MacAddr::local(1),
        destination_mac: nicety_packet::MacAddr::local(2),
        vlan: None,
        flows: FlowRange::new(3, Side::A).unwrap(),
        mark: nicety_packet::RunMark::NONE,
    })
    .unwrap();
    let mut account = Account::with_window(1, &[0], 64).unwrap();
    let mut frame = vec![0; template.frame_bytes()];
    template.prepare(&mut frame).unwrap();
    // Of every ten frames one is lost, one damaged, one doubled.
    for sequence in 0..1000 {
        let Seen::Ours(stamp) = ours(0, 1, sequence, u64::from(sequence) * 100) else {
            unreachable!()
        };
        template.stamp(&mut frame, &stamp).unwrap();
        let copies = match sequence % 10 {
            3 => 0,
            8 => 2,
            _ => 1,
        };
        if sequence % 10 == 5 {
            frame[100] ^= 4;
        }
        for _ in 0..copies {
            let seen = template.expect().classify(&frame, CheckCorruption::Full);
            account.on_frame(&seen, stamp.tx_ns + 2_000);
        }
        if sequence % 10 == 5 {
            frame[100] ^= 4;
        }
    }
    let streams = account.finish(&[totals(0, 1000)]).unwrap();
    let frames = streams[0].frames;
    assert_eq!((frames.received, frames.lost), (800, 200));
    assert_eq!((frames.corrupt, frames.duplicate), (100, 100));
    assert_eq!(streams[0].loss_bursts.bursts, 200);
    assert_eq!(account.latency().unwrap().p50, 2.0);
}

#[test]
fn first_arrivals_are_counted_by_the_time_of_sending() {
    use crate::slots::SLOT_BITS;
    let slot = |n: u64| n << SLOT_BITS;
    let mut account = Account::with_window(1, &[0, 1], 64).unwrap();
    account.expect_at_most(0, 200);
    let frames = [
        (0, slot(3)),
        (2, slot(4)),
        (1, slot(4) - 1),
        // Counted once, and not again.
        (1, slot(4) - 1),
        (200, slot(4)),
        // One that had been given up, and a copy of it.
        (199, slot(9)),
        (3, slot(5)),
        (3, slot(5)),
    ];
    for (sequence, tx_ns) in frames {
        account.on_frame(&ours(0, 1, sequence, tx_ns), tx_ns);
    }
    account.on_frame(&ours(1, 1, 0, slot(5)), slot(5));
    account.on_frame(&ours(1, 2, 1, slot(5)), slot(5));
    let by_slot = |account: &Account, stream| -> Vec<u64> {
        let arrived = account.arrived(stream).unwrap();
        (3..10).map(|slot| arrived.of(slot)).collect()
    };
    // What came too late may be either of the two, so it counts as often as one is missing.
    let received: u64 = by_slot(&account, 0).iter().sum();
    assert_eq!(received, account.arrivals() - 1);
    assert_eq!(by_slot(&account, 0)[..2], [2, 1]);
    assert_eq!(by_slot(&account, 1), [0, 0, 1, 0, 0, 0, 0]);
    assert!(account.arrived(2).is_none());
    account.reset(2);
    assert_eq!(by_slot(&account, 0), [0; 7]);
}
