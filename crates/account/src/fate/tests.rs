use nicety_model::fate::XdpEvent;
use proptest::prelude::*;

use super::*;

fn dropped(device: &str, function: &str) -> FateCause {
    FateCause::Dropped {
        device: Some(device.to_owned()),
        function: Some(function.to_owned()),
        reason: None,
    }
}

fn tally(arrived: &[u64], made: u64, causes: &[u8]) -> Tally {
    let mut tally = Tally::default();
    tally.add(&Noted {
        arrived,
        made,
        causes,
    });
    tally
}

fn told((lines, left): (Vec<LossEntry>, u64)) -> (Vec<(String, u64)>, u64) {
    let lines = lines.into_iter().map(|line| (line.place, line.frames));
    (lines.collect(), left)
}

fn line(place: &str, frames: u64) -> (String, u64) {
    (place.to_owned(), frames)
}

#[test]
fn a_number_that_arrived_is_not_lost_whatever_was_noted() {
    // Numbers 0 and 2 arrived; 1 and 3 did not; 4 was never made.
    let tally = tally(&[0b0101], 4, &[7, 7, 0, 9, 9]);
    assert_eq!((tally.lost[7], tally.lost[9], tally.lost[0]), (1, 1, 0));
    assert_eq!((tally.arrived[7], tally.arrived[0]), (1, 1));
    assert_eq!(tally.all_lost(), 2);
}

#[test]
fn numbers_without_a_place_are_told_apart() {
    let tally = tally(&[u64::MAX, 0], 100, &[0; 70]);
    assert_eq!((tally.lost[0], tally.beyond), (6, 30));
    // Nothing is known of words that are not there.
    assert_eq!(self::tally(&[], 10, &[1; 4]).beyond, 6);
}

#[test]
fn a_place_where_most_arrived_is_the_receipt() {
    let mut causes = [1; 64];
    causes[..10].fill(2);
    let tally = tally(&[u64::MAX << 9], 64, &causes);
    assert_eq!(tally.receipts().collect::<Vec<_>>(), [1]);
}

#[test]
fn the_same_cause_is_one_line_and_the_rest_is_left() {
    let mut tally = Tally::default();
    (tally.lost[1], tally.lost[2], tally.lost[3], tally.lost[0]) = (5, 6, 7, 4);
    let causes = [
        (1, dropped("d0", "veth_xmit")),
        (2, dropped("d0", "veth_xmit")),
    ];
    let (lines, left) = told(explain(&tally, &causes, &Beside::default()));
    let named = [line("d0 veth_xmit", 11), line("other causes", 7)];
    assert_eq!((lines.as_slice(), left), (named.as_slice(), 4));
}

fn xdp(event: XdpEvent) -> FateCause {
    FateCause::Xdp {
        device: "x1".to_owned(),
        event,
    }
}

#[test]
fn what_the_numbers_do_not_show_comes_in_the_order_of_certainty() {
    let mut tally = Tally::default();
    (tally.lost[0], tally.lost[1]) = (100, 10);
    let beside = Beside {
        refused: vec![("a".to_owned(), 45)],
        xdp: vec![
            (xdp(XdpEvent::TransmitRefused), 5),
            (xdp(XdpEvent::Exception), 0),
        ],
        sockets: Vec::new(),
        given_up: 20,
        merged: 10,
        program: None,
        counters: vec![
            LossEntry::counted("b1 rx_dropped", 10),
            LossEntry::counted("d1 rx_dropped", 80),
        ],
    };
    let causes = [(1, dropped("b1", "veth_xmit"))];
    let (lines, left) = told(explain(&tally, &causes, &beside));
    let named = [
        line("a tx_dropped", 45),
        line("d1 rx_dropped", 20),
        line("b1 veth_xmit", 10),
        line("merged frames", 10),
        line("x1 tx_dropped", 5),
    ];
    assert_eq!((lines.as_slice(), left), (named.as_slice(), 0));
}

#[test]
fn a_program_that_gets_xdp_frames_may_have_dropped_the_rest() {
    let mut tally = Tally::default();
    tally.lost[0] = 9;
    let beside = Beside {
        refused: vec![("a".to_owned(), 4)],
        program: Some("d0".to_owned()),
        ..Beside::default()
    };
    let (lines, left) = told(explain(&tally, &[], &beside));
    let named = [line("d0 XDP program", 5), line("a tx_dropped", 4)];
    assert_eq!((lines.as_slice(), left), (named.as_slice(), 0));
}

#[test]
fn counters_that_see_the_same_frames_explain_nothing_more() {
    let mut tally = Tally::default();
    (tally.lost[0], tally.lost[1]) = (3, 100);
    let beside = Beside {
        counters: vec![LossEntry::counted("d1 qdisc tbf", 100)],
        ..Beside::default()
    };
    let causes = [(1, dropped("d1", "__dev_queue_xmit"))];
    let (_, left) = explain(&tally, &causes, &beside);
    assert_eq!(left, 3);
    // The same frames under the name of another interface.
    let causes = [(1, dropped("b", "veth_xmit"))];
    let (_, left) = explain(&tally, &causes, &beside);
    assert_eq!(left, 3);
}

#[test]
fn what_has_no_number_belongs_to_the_way_that_alone_lost_such_frames() {
    let way = |nameless: u64, named: u64| {
        let mut way = OneWay::default();
        (way.tally.lost[0], way.tally.lost[1]) = (nameless, named);
        way
    };
    let causes = [(1, dropped("d1", "nft_do_chain"))];
    let beside = Beside {
        sockets: vec![("b".to_owned(), 4)],
        ..Beside::default()
    };
    let ledgers = |ways: &[OneWay]| {
        let mut all = Tally::default();
        for way in ways {
            all.join(&way.tally);
        }
        let (mut whole, left) = explain(&all, &causes, &beside);
        whole.push(LossEntry::counted("unexplained", left));
        let ledgers = by_way(ways, &causes, &whole).into_iter();
        ledgers.map(|lines| told((lines, 0)).0).collect::<Vec<_>>()
    };
    assert_eq!(
        ledgers(&[way(5, 2), way(0, 3)]),
        [
            vec![
                line("tester receive ring", 4),
                line("d1 nft_do_chain", 2),
                line("unexplained", 1)
            ],
            vec![line("d1 nft_do_chain", 3)],
        ]
    );
    assert_eq!(
        ledgers(&[way(5, 2), way(1, 3)]),
        [
            vec![line("either way", 5), line("d1 nft_do_chain", 2)],
            vec![line("d1 nft_do_chain", 3), line("either way", 1)],
        ]
    );
}

proptest! {
    /// The ledgers of both ways have as many frames as each lost.
    #[test]
    fn the_books_of_each_way_are_closed(
        lost in proptest::collection::vec(0_u64..60, 6),
        refused in 0_u64..80, merged in 0_u64..50,
    ) {
        let way = |lost: &[u64], port: &str| {
            let mut way = OneWay {
                refused: vec![(port.to_owned(), refused)],
                ..OneWay::default()
            };
            way.tally.lost[..3].copy_from_slice(lost);
            way
        };
        let ways = [way(&lost[..3], "a"), way(&lost[3..], "b")];
        let mut all = Tally::default();
        for way in &ways {
            all.join(&way.tally);
        }
        let causes = [(1, dropped("d0", "f")), (2, dropped("d1", "g"))];
        let beside = Beside {
            refused: vec![("a".to_owned(), refused), ("b".to_owned(), refused)],
            merged,
            ..Beside::default()
        };
        let (mut whole, left) = explain(&all, &causes, &beside);
        if left > 0 {
            whole.push(LossEntry::counted("unexplained", left));
        }
        for (way, ledger) in ways.iter().zip(by_way(&ways, &causes, &whole)) {
            let told: u64 = ledger.iter().map(|line| line.frames).sum();
            prop_assert_eq!(told, way.tally.all_lost());
        }
    }

    /// Every lost number is in exactly one line, or left.
    #[test]
    fn the_books_are_closed(
        causes in proptest::collection::vec(any::<u8>(), 0..300),
        arrived in proptest::collection::vec(any::<u64>(), 0..6),
        made in 0_u64..320,
        refused in 0_u64..50, merged in 0_u64..50, counted in 0_u64..200, given_up in 0_u64..20,
    ) {
        let tally = tally(&arrived, made, &causes);
        let lost = (0..made).filter(|n| {
            let word = arrived.get((n / 64) as usize).copied().unwrap_or(0);
            word >> (n % 64) & 1 == 0
        }).count() as u64;
        prop_assert_eq!(tally.all_lost(), lost);
        let names: Vec<_> = (1..200).map(|n| (n, dropped("d0", &format!("f{}", n % 17)))).collect();
        let beside = Beside {
            refused: vec![("a".to_owned(), refused)],
            xdp: vec![(xdp(XdpEvent::RedirectFailed), refused / 3)],
            sockets: vec![("b".to_owned(), merged / 2)],
            given_up,
            merged,
            program: (counted % 3 == 0).then(|| "d0".to_owned()),
            counters: vec![LossEntry::counted("x rx_dropped", counted)],
        };
        let given_up = given_up.min(tally.lost[0]);
        let (lines, left) = explain(&tally, &names, &beside);
        let named: u64 = lines.iter().map(|line| line.frames).sum();
        prop_assert_eq!(named + left, lost - given_up);
        prop_assert!(lines.iter().all(|line| line.frames > 0));
    }
}
