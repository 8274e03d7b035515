use super::*;
use proptest::prelude::*;

fn ask(text: &str) -> Result<Command, String> {
    Request::parse(text.as_bytes())
        .map(|request| request.command)
        .map_err(|reply| reply.error.unwrap())
}

#[test]
fn requests_are_read() {
    let limit = |limit, lease| Ok(Command::Limit { limit, lease });
    let rate = Some(BitRate::from_mbit(200));
    assert_eq!(ask("1 a status"), Ok(Command::Status));
    assert_eq!(ask("1  a\tlimit 200mbit\r"), limit(rate, None));
    let minute = Some(Duration::from_secs(60));
    assert_eq!(ask("1 a limit 200mbit for 60s"), limit(rate, minute));
    assert_eq!(ask("1 a limit none"), limit(None, None));
    for (wrong, why) in [
        ("", "another version"),
        ("2 a status", "another version"),
        ("1", "no ID"),
        ("1 a-b status", "no ID"),
        ("1 12345678901234567 status", "no ID"),
        ("1 a", "not known"),
        ("1 a status of b", "not known"),
        ("1 a limit 200", "has no unit"),
        ("1 a limit -5mbit", "is not a valid rate"),
        ("1 a limit 1kbit", "too little"),
        ("1 a limit 0mbit", "too little"),
        ("1 a limit 5mbit for 0s", "a limit is for"),
        ("1 a limit 5mbit for 1000h", "is longer than 168h"),
        ("1 ä status", "no line of ASCII"),
    ] {
        let error = ask(wrong).unwrap_err();
        assert!(error.contains(why), "{wrong:?}: {error}");
    }
}

fn request(text: &str) -> Request {
    Request::parse(format!("1 x {text}").as_bytes()).unwrap()
}

#[test]
fn what_holds_until_it_is_changed_comes_back_after_a_lease() {
    let rate = |mbit| Some(BitRate::from_mbit(mbit));
    let at = Duration::from_secs;
    let mut soft = Soft::new(BitRate::from_mbit(500), None);
    let ask = |soft: &mut Soft, text| soft.apply(&request(text), at(100)).unwrap();
    ask(&mut soft, "limit 30mbit");
    ask(&mut soft, "limit 20mbit for 2s");
    assert_eq!((soft.at(at(101)), soft.at(at(102))), (rate(20), rate(30)));
    assert_eq!(soft.kept(), rate(30));
    // A lease may lift it too.
    ask(&mut soft, "limit none for 10m");
    assert_eq!((soft.at(at(699)), soft.at(at(700))), (None, rate(30)));
    assert_eq!(soft.kept(), rate(30));
    // Whatever holds until it is changed holds now.
    ask(&mut soft, "limit 40mbit");
    assert_eq!((soft.at(at(100)), soft.kept()), (rate(40), rate(40)));
    ask(&mut soft, "limit 20mbit for 2s");
    ask(&mut soft, "limit none");
    assert_eq!((soft.at(at(100)), soft.kept()), (None, None));
}

#[test]
fn a_lower_hard_limit_cuts_what_was_asked_for_and_a_higher_one_gives_it_back() {
    let rate = BitRate::from_mbit;
    let now = Duration::ZERO;
    let mut soft = Soft::new(rate(500), Some(rate(40)));
    soft.apply(&request("limit 30mbit for 1h"), now).unwrap();
    let lower = soft.below(rate(10));
    assert_eq!(lower.at(now), Some(rate(10)));
    assert_eq!(lower.kept(), Some(rate(40)));
    let again = lower.below(rate(500));
    assert_eq!(again.at(now), Some(rate(30)));
    assert_eq!(again.at(Duration::from_secs(3600)), Some(rate(40)));
}

#[test]
fn a_soft_limit_goes_down_and_up_but_never_above_the_hard_one() {
    let hard = BitRate::from_mbit(500);
    let now = Duration::from_secs(100);
    let mut soft = Soft::new(hard, None);
    for (text, then) in [
        ("limit 100mbit", Some(100)),
        ("limit 500mbit", Some(500)),
        ("status", Some(500)),
        ("limit none", None),
        ("limit 7mbit for 10s", Some(7)),
    ] {
        soft.apply(&request(text), now).unwrap();
        assert_eq!(soft.at(now), then.map(BitRate::from_mbit), "{text}");
    }
    let refused = soft.apply(&request("limit 501mbit"), now).unwrap_err();
    assert!(
        refused
            .error
            .unwrap()
            .starts_with("501mbit is above the hard limit of 500mbit")
    );
    assert_eq!(soft.at(now), Some(BitRate::from_mbit(7)));
    assert_eq!(soft.at(now + Duration::from_secs(11)), None);
    assert_eq!(soft.kept(), None);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 0..8)) {
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for piece in &pieces {
            all.extend_from_slice(piece);
            for line in lines.push(piece) {
                if let Line::Whole(line) = line {
                    prop_assert!(line.len() <= LONGEST);
                    let _ = Request::parse(&line);
                }
            }
        }
        // As the lines of the whole, whatever the pieces.
        let whole = Lines::default().push(&all);
        let mut again = Lines::default();
        let pieced: Vec<Line> = pieces.iter().flat_map(|piece| again.push(piece)).collect();
        prop_assert_eq!(whole, pieced);
    }

    #[test]
    fn words_in_any_order_are_read_or_refused(words in prop::collection::vec(
        prop::sample::select(vec!["1", "a", "status", "limit", "none", "for", "5mbit", "60s", "-1", "1e400gbit", "∞"]), 0..9)) {
        let text = words.join(" ");
        if let Ok(request) = Request::parse(text.as_bytes()) {
            prop_assert_eq!(Request::parse(request.line().as_bytes()), Ok(request));
        }
    }

    #[test]
    fn no_request_raises_a_limit_above_the_hard_one(kbit in 64u64..10_000_000, hard in 64u64..10_000_000) {
        let hard = BitRate(hard * 1000);
        let mut soft = Soft::new(hard, None);
        let request = Request::parse(format!("1 a limit {kbit}kbit").as_bytes()).unwrap();
        let _ = soft.apply(&request, Duration::ZERO);
        prop_assert!(soft.at(Duration::ZERO).is_none_or(|limit| limit <= hard));
    }
}
