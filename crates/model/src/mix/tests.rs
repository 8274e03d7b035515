use proptest::prelude::*;

use super::*;

fn mix(text: &str) -> Mix {
    text.parse().unwrap()
}

#[test]
fn named_mixes_are_those_published() {
    for (name, shares, mean) in [
        ("simple", "7:64,4:594,1:1518", 361.833),
        ("tolly", "55:64,5:78,17:576,23:1518", 486.16),
        ("ipsec", "5867:90,200:92,2366:594,1567:1418", 417.384),
    ] {
        let mix = mix(name);
        assert_eq!(mix.to_string(), shares);
        assert_eq!(mix.name(), Some(name));
        assert!(
            (mix.mean_bytes() - mean).abs() < 0.001,
            "{name}: {}",
            mix.mean_bytes()
        );
    }
    assert_eq!(NAMED.map(|(name, _)| name), NAMES);
    assert_eq!(mix("7:64,4:594,1:1518"), mix("simple"));
    // However it was written.
    assert_eq!(mix(" 2:1518, 8:594 ,14:64"), mix("simple"));
    assert_eq!(mix("1:64,1:1518").called(), "1:64,1:1518");
    assert_eq!(mix("simple").called(), "simple");
}

#[test]
fn bad_mixes_are_refused_in_one_line() {
    #[rustfmt::skip]
    let table = [
        ("", "\"\" is not a mix of frame sizes; write simple, tolly, ipsec or weights"),
        ("simpel", "(did you mean simple?)"),
        ("64", "\"64\" is not a mix"),
        ("7:64,x:594", "\"x:594\" in \"7:64,x:594\" is not a weight and frame size"),
        ("7:64,", "\"\" in \"7:64,\" is not a weight and frame size"),
        ("0:64,1:1518", "\"0:64\" has the weight 0"),
        ("0:64,0:1518", "has the weight 0"),
        ("1:63,1:1518", "\"1:63\": frames have 64 to 9018 bytes"),
        ("1:64,1:70000", "\"1:70000\": frames have 64 to 9018 bytes"),
        ("1:64,2:64", "64 bytes are in the mix twice"),
        ("1:64", "2 to 8 frame sizes, not 1"),
        ("1:64,1:65,1:66,1:67,1:68,1:69,1:70,1:71,1:72", "2 to 8 frame sizes, not 9"),
        ("10000:64,1:1518", "repeats after 10001 frames, more than 10000"),
        ("-1:64,1:1518", "not a weight and frame size"),
        ("4294967295:64,4294967294:65", "repeats after 8589934589 frames"),
    ];
    for (text, part) in table {
        let error = text.parse::<Mix>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert!(!error.contains('\n'));
    }
}

#[test]
fn sizes_take_turns() {
    let mix = mix("simple");
    let sequence: String = mix
        .sequence()
        .iter()
        .map(|place| char::from(b'0' + place))
        .collect();
    assert_eq!(sequence.len(), 12);
    assert!(!sequence.contains("000"), "{sequence}");
    assert!(!sequence.contains("11"), "{sequence}");
    let genome = mix.genome().unwrap();
    assert!(genome.starts_with("A=594 a"), "{genome}");
    assert_eq!(genome.matches('a').count(), 7);
    assert_eq!(genome.matches('g').count(), 1);
    assert_eq!(super::Mix::genome(&"ipsec".parse().unwrap()), None);
}

#[test]
fn rates_are_those_of_the_mean_frame() {
    let mix = mix("simple");
    // A tester's manual: 64, 594 and 1518 bytes with 61, 21 and 18 % are 457.02 bytes on the wire.
    let manual: Mix = "61:64,21:594,18:1518".parse().unwrap();
    assert!((manual.l1_bits() / 8.0 - 457.02).abs() < 1e-9);
    assert!((manual.line_rate(1_000.0).0 - 273_511.0).abs() < 1.0);
    let rate = mix.line_rate(10_000.0);
    assert!((mix.l1_mbps(rate) - 10_000.0).abs() < 1e-6);
    let bits: f64 = mix
        .split(12)
        .iter()
        .zip(mix.shares())
        .map(|(n, s)| *n as f64 * s.size.l1_bits())
        .sum();
    assert!((mix.l1_bits() - bits / 12.0).abs() < 1e-9);
    assert!((mix.l2_mbps(Fps(1e6)) - 361.833_333 * 8.0).abs() < 1e-3);
}

fn any_mix() -> impl Strategy<Value = Mix> {
    let shares = prop::collection::btree_map(64..=9018_u16, 1..=1200_u32, 2..=MAX_SIZES);
    shares.prop_map(|shares| {
        let shares = shares.into_iter();
        let shares: Vec<_> = shares
            .map(|(size, weight)| (weight, FrameSize::new(size).unwrap()))
            .collect();
        Mix::new(&shares).unwrap()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(mix in any_mix()) {
        prop_assert_eq!(mix.to_string().parse(), Ok(mix));
        prop_assert_eq!(mix.called().parse(), Ok(mix));
        let json = serde_json::to_string(&mix).unwrap();
        prop_assert_eq!(serde_json::from_str::<Mix>(&json).unwrap(), mix);
    }

    #[test]
    fn shares_are_exact_over_a_period_and_near_within(mix in any_mix(), periods in 0..4_u64, rest in 0..10_000_u64) {
        let sequence = mix.sequence();
        prop_assert_eq!(sequence.len() as u32, mix.period());
        for (place, share) in mix.shares().enumerate() {
            let frames = sequence.iter().filter(|n| usize::from(**n) == place).count();
            prop_assert_eq!(frames as u32, share.frames);
        }
        let sent = periods * u64::from(mix.period()) + rest % u64::from(mix.period());
        let split = mix.split(sent);
        prop_assert_eq!(split.iter().sum::<u64>(), sent);
        // No size is ever more than a few frames from its share.
        for (count, share) in split.iter().zip(mix.shares()) {
            let fair = sent as f64 * f64::from(share.frames) / f64::from(mix.period());
            prop_assert!((*count as f64 - fair).abs() <= MAX_SIZES as f64, "{count} of {fair}");
        }
        let by_hand: Vec<u64> = (0..mix.shares().count()).map(|place| {
            (0..sent).filter(|n| usize::from(sequence[(*n % sequence.len() as u64) as usize]) == place).count() as u64
        }).collect();
        prop_assert_eq!(split, by_hand);
    }
}
