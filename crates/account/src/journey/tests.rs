use nicety_model::FateCause;

use super::*;

fn stations() -> Vec<Station> {
    let dropped = |device: &str, reason: &str| FateCause::Dropped {
        device: Some(device.to_owned()),
        function: Some("f".to_owned()),
        reason: Some(reason.to_owned()),
    };
    let of = |does: &str, device: &str, arrives, cause| Station {
        name: format!("{does} at {device}"),
        device: device.to_owned(),
        arrives,
        cause,
        ..Station::default()
    };
    vec![
        of("received", "d0", false, None),
        of("sent", "d1", false, None),
        of("arrived", "b", true, None),
        of(
            "thrown away",
            "d1",
            false,
            Some(dropped("d1", "QDISC_DROP")),
        ),
        Station {
            copies: true,
            ..of("thrown away", "d2", false, Some(dropped("d2", "OTHERHOST")))
        },
    ]
}

/// Frame `n` is sent `n` µs after the trace began.
fn seen(n: u64, times: &[(usize, u64)]) -> Vec<Seen> {
    let sent = 1_000_000 + n * 1000;
    let at = |(station, after): &(usize, u64)| Seen {
        frame: n,
        sent_ns: sent,
        at_ns: sent + after,
        station: *station,
        cpu: 1,
        merged: 0,
    };
    times.iter().map(at).collect()
}

fn burst(made: u64, arrived: Option<&[u64]>) -> Burst<'_> {
    Burst {
        before: 10,
        made,
        arrived,
        begun_ns: 1_000_000,
    }
}

#[test]
fn every_frame_ends_somewhere() {
    let all = [
        seen(0, &[(0, 100), (1, 400), (2, 1000), (1, 2000)]),
        seen(1, &[(0, 100), (3, 150)]),
        seen(2, &[(0, 100), (1, 300)]),
        // 3 is seen nowhere. A copy of 4 was thrown away.
        seen(4, &[(0, 100), (4, 120), (1, 300), (2, 900)]),
        // The copy says nothing of where the frame itself is.
        seen(5, &[(0, 100), (4, 120)]),
    ];
    let journeys = join(all.concat(), &stations(), &burst(6, Some(&[0b1_0001])));
    let ends: Vec<String> = journeys
        .iter()
        .map(|of| match &of.end {
            JourneyEnd::Received { total_ns } => format!("received {total_ns:?}"),
            JourneyEnd::Dropped { cause } => cause.place(),
            JourneyEnd::LastSeen { station } => station.clone(),
            JourneyEnd::Unseen => "unseen".to_owned(),
        })
        .collect();
    let expected = [
        "received Some(1000)",
        "d1 f",
        "sent at d1",
        "unseen",
        "received Some(900)",
        "received at d0",
    ];
    assert_eq!(ends, expected);
    let first: Vec<(&str, u64)> = journeys[0]
        .stations
        .iter()
        .map(|of| (of.device.as_str(), of.after_ns))
        .collect();
    assert_eq!(first, [("d0", 100), ("d1", 300), ("b", 600)]);
    assert_eq!((journeys[1].number, journeys[1].sent_s), (12, Some(1e-6)));
    assert_eq!(journeys[3].sent_s, None);
    assert_eq!(journeys[4].stations.len(), 3);

    let mut tally = Tally::new().unwrap();
    journeys.iter().for_each(|journey| tally.add(journey));
    assert_eq!(tally.sent(), 6);
    let summary = tally.finish(1.5, 0);
    assert_eq!((summary.sent, summary.received, summary.lost), (6, 2, 4));
    assert_eq!(
        summary.causes.iter().map(|of| of.frames).sum::<u64>(),
        summary.lost
    );
    assert_eq!(summary.causes[0].place, "d1 f");
    assert!(summary.p50_ns.is_some() && summary.p99_ns.is_none());
}

#[test]
fn times_into_a_guest_and_out_of_it_tell_how_wrong_they_may_be() {
    let mut stations = stations();
    for (device, at) in [("guest eth0", 5), ("guest eth1", 6)] {
        stations.push(Station {
            device: device.to_owned(),
            clock_error_ns: Some(70),
            ..stations[0].clone()
        });
        assert_eq!(stations.len(), at + 1);
    }
    let times = [(0, 100), (5, 300), (6, 400), (1, 700), (2, 900)];
    let journeys = join(seen(0, &times), &stations, &burst(1, None));
    let errors = journeys[0].stations.iter().map(|of| of.error_ns);
    let errors: Vec<_> = errors.collect();
    assert_eq!(errors, [None, Some(70), None, Some(70), None]);
}

#[test]
fn the_receivers_word_counts_where_it_gives_one() {
    // It was seen to come, and the receiver has not counted it; or it was not seen, and it has.
    let all = [seen(0, &[(0, 100), (2, 1000)]), seen(1, &[(0, 100)])];
    let ends = |arrived| {
        let journeys = join(all.concat(), &stations(), &burst(2, arrived));
        journeys.into_iter().map(|of| of.end).collect::<Vec<_>>()
    };
    let last = |station: &str| JourneyEnd::LastSeen {
        station: station.to_owned(),
    };
    let received = |total_ns| JourneyEnd::Received { total_ns };
    assert_eq!(ends(Some(&[0b10])), [last("arrived at b"), received(None)]);
    assert_eq!(ends(None), [received(Some(1000)), last("received at d0")]);
    assert_eq!(
        ends(Some(&[])),
        [last("arrived at b"), last("received at d0")]
    );
    assert!(join(Vec::new(), &stations(), &burst(0, None)).is_empty());
}
