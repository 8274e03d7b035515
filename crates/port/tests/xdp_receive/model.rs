//! The program beside the plain model, frame by frame.

use nicety_account::{Account, Latency, StreamTotals};
use nicety_model::StreamCounts;
use nicety_netdev::cpu_set;
use nicety_netdev::privilege::Privilege;
use nicety_packet::{CheckCorruption, Seen, Stamp};
use nicety_port::PortFault;
use nicety_port::xdp::receive::{Bench, FRAMES_MAX, Receiver, XDP_DROP, XDP_PASS};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::frames::{self, ARRIVAL_NS, Maker, Plan, STREAMS, TRIAL};
use nicety_testkit::runner::Skip;

use crate::{Outcome, can_run, traffic};

/// Numbers from here on are impossible.
const LIMIT: u64 = 5000;

const BENCH: Bench = Bench {
    arrival_ns: ARRIVAL_NS,
    jumps: 1 << 14,
    fragments: false,
    renumber: false,
    lane_per_cpu: false,
};

/// Gives a frame to both, and compares what they do with it.
fn feed(receiver: &Receiver, account: &mut Account, maker: &nicety_packet::Expect, frame: &[u8]) {
    let seen = maker.classify(frame, CheckCorruption::Full);
    let expected = if seen == Seen::Foreign {
        XDP_PASS
    } else {
        XDP_DROP
    };
    let (action, _) = receiver.feed(frame, 1).unwrap();
    assert_eq!(action, expected, "{seen:?} {frame:02x?}");
    account.on_frame(&seen, ARRIVAL_NS);
    assert_eq!(receiver.received_so_far(), account.arrivals(), "{seen:?}");
}

fn totals(sent: [u64; 2]) -> Vec<StreamTotals> {
    STREAMS
        .iter()
        .zip(sent)
        .map(|(stream, sent)| StreamTotals {
            stream: *stream,
            intended: sent,
            sent,
        })
        .collect()
}

fn close_to(ours: f64, model: f64) -> bool {
    // Half a bucket of ours, 1/256, and one of the model's histogram, 1/1000.
    (ours - model).abs() <= model * 0.005 + 0.001
}

fn same_latency(receiver: &Latency, account: &Account) {
    let (Some(ours), Some(model)) = (receiver.summary(), account.latency()) else {
        assert_eq!(receiver.summary().is_some(), account.latency().is_some());
        return;
    };
    assert_eq!(receiver.clock_errors(), account.clock_errors());
    assert_eq!((ours.min, ours.max), (model.min, model.max));
    assert_eq!(ours.samples, model.samples);
    assert!((ours.mean - model.mean).abs() <= model.mean * 1e-12);
    for (ours, model) in [
        (ours.p50, model.p50),
        (ours.p90, model.p90),
        (ours.p99, model.p99),
        (ours.p999, model.p999),
    ] {
        assert!(close_to(ours, model), "{ours} for {model}");
    }
}

/// One trial of `plans` on both.
fn trial(receiver: &mut Receiver, size: u16, flows: u32, plans: &[Plan], sent: [u64; 2]) {
    let mut account = Account::new(TRIAL, &STREAMS).unwrap();
    for stream in STREAMS {
        account.expect_at_most(stream, LIMIT);
    }
    receiver.reset(TRIAL, LIMIT).unwrap();
    let template = frames::template(size, flows);
    let expect = template.expect();
    let mut maker = Maker::new(template);
    for plan in plans {
        for frame in maker.make(plan) {
            feed(receiver, &mut account, &expect, &frame);
        }
    }
    let (counts, latency) = receiver.finish(&totals(sent)).unwrap();
    let model: Vec<StreamCounts> = account.finish(&totals(sent)).unwrap();
    assert_eq!(counts, model);
    same_latency(&latency, &account);
    assert!(receiver.notes().is_empty(), "{:?}", receiver.notes());
}

pub fn as_the_model(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    for (size, flows, fragments, cases) in [
        (64, 1, false, 40),
        (65, 3, false, 10),
        (68, 1000, false, 10),
        (73, 1, false, 10),
        (128, 1, false, 20),
        (1518, 16, false, 10),
        (128, 1, true, 5),
        (9018, 1, true, 10),
    ] {
        let bench = Bench { fragments, ..BENCH };
        let receiver = Receiver::unattached(traffic(size, flows), &STREAMS, bench).unwrap();
        let receiver = std::cell::RefCell::new(receiver);
        let plans = prop::collection::vec(frames::plan(), 0..300);
        let config = Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        };
        let result =
            TestRunner::new(config).run(&(plans, [0..LIMIT + 1, 0..LIMIT + 1]), |(plans, sent)| {
                trial(&mut receiver.borrow_mut(), size, flows, &plans, sent);
                Ok(())
            });
        if let Err(error) = result {
            panic!("{size} bytes, fragments {fragments}: {error}");
        }
    }
    Ok(())
}

pub fn flipped_bits(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    for (size, fragments) in [(64, false), (127, false), (9018, true)] {
        let template = frames::template(size, 1);
        let bench = Bench { fragments, ..BENCH };
        let mut receiver = Receiver::unattached(traffic(size, 1), &[0], bench).unwrap();
        receiver.reset(TRIAL, LIMIT).unwrap();
        let stamp = Stamp {
            stream: 0,
            trial: TRIAL,
            sequence: 0,
            tx_ns: ARRIVAL_NS,
        };
        let mut frame = vec![0; template.frame_bytes()];
        template.write(&mut frame, &stamp).unwrap();
        // Of a large frame every bit of the head and around the edges of the program's steps.
        let bits =
            (14 * 8..frame.len() * 8).filter(|bit| size < 200 || *bit < 900 || bit % 61 == 0);
        let mut flipped = 0;
        for bit in bits {
            frame[bit / 8] ^= 1 << (bit % 8);
            let (action, _) = receiver.feed(&frame, 1).unwrap();
            assert_eq!(action, XDP_DROP, "bit {bit} of {size} bytes");
            frame[bit / 8] ^= 1 << (bit % 8);
            flipped += 1;
        }
        receiver.feed(&frame, 1).unwrap();
        let (counts, _) = receiver.finish(&[one(1)]).unwrap();
        let frames = counts[0].frames;
        assert_eq!((frames.corrupt, frames.received), (flipped, 1), "{size}");
    }
    Ok(())
}

pub fn no_checksum(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let template = frames::template(64, 1);
    let receiver = &mut Receiver::unattached(traffic(64, 1), &[0], BENCH).unwrap();
    let mut frame = vec![0; template.frame_bytes()];
    // Zero and all ones are equal in one's complement: only the rule that zero means "none"
    // tells that the checksum was taken away.
    let all_ones = (0..).find(|sequence| {
        let stamp = Stamp {
            stream: 0,
            trial: TRIAL,
            sequence: *sequence,
            tx_ns: ARRIVAL_NS,
        };
        template.write(&mut frame, &stamp).unwrap();
        frame[40..42] == [0xff, 0xff]
    });
    let limit = u64::from(all_ones.unwrap()) + 1;
    receiver.reset(TRIAL, limit).unwrap();
    receiver.feed(&frame, 1).unwrap();
    frame[40..42].fill(0);
    receiver.feed(&frame, 1).unwrap();
    let (counts, _) = receiver.finish(&[one(limit)]).unwrap();
    let frames = counts[0].frames;
    assert_eq!(
        (frames.received, frames.corrupt, frames.duplicate),
        (1, 1, 0)
    );
    Ok(())
}

pub fn two_cpus(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let allowed = cpu_set::allowed(None).unwrap();
    let [first, second, ..] = allowed[..] else {
        return Err(Skip("only one CPU may be used".into()));
    };
    let bench = Bench {
        lane_per_cpu: true,
        ..BENCH
    };
    let mut receiver = Receiver::unattached(traffic(64, 1), &[0], bench).unwrap();
    receiver.reset(TRIAL, LIMIT).unwrap();
    // The second CPU gets its half after the first: late for the stream, in order for the CPU,
    // but for the last; and every frame of the first once more.
    for (cpu, numbers) in [(first, vec![0, 2, 4, 6, 8]), (second, vec![1, 3, 7, 9, 5])] {
        cpu_set::pin(None, &[cpu]).unwrap();
        feed_numbers(&receiver, numbers);
        feed_numbers(&receiver, [0, 2, 4, 6, 8]);
    }
    cpu_set::pin(None, &allowed).unwrap();
    let (counts, _) = receiver.finish(&[one(10)]).unwrap();
    let frames = counts[0].frames;
    assert_eq!((frames.received, frames.lost), (10, 0));
    assert_eq!((frames.duplicate, frames.reordered), (10, 1));
    assert_eq!(counts[0].reorder_extent_max, 2);
    let notes = receiver.notes();
    assert!(
        notes.len() == 1 && notes[0].to_string().contains("2 CPUs"),
        "{notes:?}"
    );
    Ok(())
}

fn one(sent: u64) -> StreamTotals {
    StreamTotals {
        stream: 0,
        intended: sent,
        sent,
    }
}

/// Feeds intact frames with these numbers.
fn feed_numbers(receiver: &Receiver, numbers: impl IntoIterator<Item = u32>) {
    let template = frames::template(64, 1);
    let mut frame = vec![0; template.frame_bytes()];
    for sequence in numbers {
        let stamp = Stamp {
            stream: 0,
            trial: TRIAL,
            sequence,
            tx_ns: ARRIVAL_NS - 1000,
        };
        template.write(&mut frame, &stamp).unwrap();
        assert_eq!(receiver.feed(&frame, 1).unwrap().0, XDP_DROP);
    }
}

pub fn long_trials(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let mut receiver = Receiver::unattached(traffic(64, 1), &[0], BENCH).unwrap();
    // Short, then long, then short again: nothing of one is seen in the next.
    for frames in [1000, 100_000_000_u64, 1000] {
        receiver.reset(TRIAL, frames).unwrap();
        let last = frames as u32 - 1;
        feed_numbers(&receiver, [0, last / 2, last, last + 1, last]);
        let (counts, _) = receiver.finish(&[one(frames)]).unwrap();
        let frames_of = counts[0].frames;
        assert_eq!((frames_of.received, frames_of.lost), (3, frames - 3));
        assert_eq!((frames_of.duplicate, frames_of.corrupt), (1, 1));
        assert_eq!(counts[0].loss_bursts.bursts, 2);
        assert_eq!(
            counts[0].loss_bursts.longest,
            u64::from(last - last / 2 - 1)
        );
    }
    let refused = receiver.reset(TRIAL, FRAMES_MAX + 1).unwrap_err();
    assert!(
        matches!(refused.fault, PortFault::TrialTooLong { .. }),
        "{refused}"
    );
    receiver.reset(TRIAL, 10).unwrap();
    feed_numbers(&receiver, 0..10);
    assert_eq!(receiver.received_so_far(), 10);
    Ok(())
}

pub fn short_memory(privilege: Privilege) -> Outcome {
    can_run(privilege)?;
    let bench = Bench { jumps: 8, ..BENCH };
    let mut receiver = Receiver::unattached(traffic(64, 1), &[0], bench).unwrap();
    receiver.reset(TRIAL, LIMIT).unwrap();
    // Every second number: each but the first is a jump.
    feed_numbers(&receiver, (0..40).map(|n| n * 2));
    // Its jump is the 3rd from the end: three arrivals back.
    feed_numbers(&receiver, [73]);
    let (counts, _) = receiver.finish(&[one(LIMIT)]).unwrap();
    assert_eq!(counts[0].reorder_extent_max, 3);
    assert!(receiver.notes().is_empty());
    receiver.reset(TRIAL, LIMIT).unwrap();
    feed_numbers(&receiver, (0..40).map(|n| n * 2).chain([1]));
    let (counts, _) = receiver.finish(&[one(LIMIT)]).unwrap();
    // In truth 39; the oldest jump remembered is 8 arrivals back.
    assert_eq!(counts[0].reorder_extent_max, 8);
    let notes = receiver.notes();
    assert!(
        notes.len() == 1 && notes[0].to_string().contains("at least"),
        "{notes:?}"
    );
    Ok(())
}
