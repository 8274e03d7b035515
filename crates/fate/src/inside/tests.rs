use nicety_model::FrameSize;
use nicety_packet::RunMark;
use serde_json::json;

use super::super::wire::{Ask, Follow};
use super::*;

fn noted() -> Value {
    json!({"told": {
        "causes": [{"number": 3, "device": "eth1", "function": "br_dev_queue_push_xmit", "reason": "PKT_TOO_BIG"},
                   {"number": 4, "device": null, "function": null, "reason": null}],
        "rows": ["2 5 3 1 1 4", ""],
        "rows_left_out": 0,
        "stations": [{"does": "receives", "device": "eth0", "function": null, "reason": null},
                     {"does": "frees", "device": "eth1", "function": "f", "reason": "OTHERHOST"}],
        "seen": "0 7 1000 999999 0 0 1 0 7 1000 1000500 1 0 1",
        "unnoted": 2,
    }})
}

fn changed(pointer: &str, to: Value) -> Result<Told, String> {
    let mut answer = noted();
    *answer.pointer_mut(pointer).unwrap() = to;
    read("guest", &answer)
}

#[test]
fn an_answer_is_read() {
    let Ok(Told::Noted {
        fates,
        seen,
        stations,
        unnoted,
        ..
    }) = read("guest1", &noted())
    else {
        panic!("{:?}", read("guest1", &noted()));
    };
    let places: Vec<String> = fates
        .causes
        .iter()
        .map(|(_, cause)| cause.place())
        .collect();
    assert_eq!(
        places,
        ["guest1 eth1 br_dev_queue_push_xmit", "guest1 kfree_skb"]
    );
    let row = |first, frames, cause| Row {
        first,
        frames,
        cause,
    };
    assert_eq!(fates.rows, [vec![row(2, 5, 3), row(8, 1, 4)], Vec::new()]);
    assert_eq!(stations[0].name, "received at guest1 eth0");
    assert!(stations[1].copies && stations[1].cause.is_some());
    assert_eq!(
        (seen.len(), seen[1].station, seen[1].at_ns),
        (2, 1, 1_000_500)
    );
    assert_eq!((seen[0].frame, unnoted), (7, 2));
    assert_eq!(read("g", &json!("begun")), Ok(Told::Begun));
    assert_eq!(read("g", &json!({"clock": 5})), Ok(Told::Clock(5)));
    let why = "the kernel has no type information";
    assert_eq!(read("g", &json!({"refused": why})), Err(why.to_owned()));
}

#[test]
fn no_other_answer_is_taken() {
    for (pointer, to) in [
        ("/told/rows/0", json!("2 5")),
        ("/told/rows/0", json!("2 5 0")),
        ("/told/rows/0", json!("2 0 3")),
        ("/told/rows/0", json!("2  5 3")),
        ("/told/rows/0", json!("2 +5 3")),
        ("/told/rows/0", json!("2 5 256")),
        ("/told/rows/0", json!("18446744073709551615 1 3")),
        ("/told/causes/0/number", json!(0)),
        ("/told/causes/0/number", json!(4)),
        ("/told/causes/0/number", json!(255)),
        ("/told/causes/0/device", json!("eth1 x")),
        ("/told/causes/0/device", json!("a-name-too-long-")),
        ("/told/causes/0/function", json!("\u{1b}[2J")),
        ("/told/causes/0/reason", json!("r\u{f6}")),
        ("/told/causes/0/reason", json!("x".repeat(65))),
        ("/told/stations/0/does", json!("eats")),
        ("/told/seen", json!("0 7 1000 999999 2 0 1")),
        ("/told/seen", json!("0 7 1000 999999 0 0")),
        ("/told/seen", json!("0 4294967296 1000 999999 0 0 1")),
        ("/told/seen", json!("0 7 281474976710656 999999 0 0 1")),
        ("/told/seen", json!("0 7 1000 18446744073709551615 0 0 1")),
        ("/told/seen", json!("9 7 1000 999999 0 0 1")),
        ("/told/rows", json!(vec![""; 256])),
        ("/told", json!({})),
    ] {
        let read = changed(pointer, to.clone());
        assert_eq!(read, Err(SENSELESS.to_owned()), "{pointer} {to}");
    }
    for answer in [
        json!(null),
        json!({"told": null, "begun": null}),
        json!({"clock": u64::MAX}),
        json!({"refused": "two\nlines"}),
        json!({"refused": "x".repeat(301)}),
        // What another program answers.
        json!({"failed": {"why": "missing field `to`", "remedy": null}}),
    ] {
        assert_eq!(read("g", &answer), Err(SENSELESS.to_owned()), "{answer}");
    }
}

#[test]
fn questions_come_through() {
    let size = FrameSize::new(64).unwrap();
    for mark in [RunMark::NONE, RunMark::of(0), RunMark::of(510)] {
        let follow = Follow::new(7, 1000, size, (2, mark)).drops(true);
        assert_eq!(follow.tester().mark, mark);
        let ask = Ask::Begin(follow);
        assert_eq!(Ask::read(&ask.value()), Some(ask));
    }
    assert_eq!(Ask::read(&json!({"to": "x", "token": "y"})), None);
}
