use super::*;

fn tap() -> PortName {
    PortName::Interface("tap0".to_owned())
}

fn there(index: Option<u32>) -> Snapshot {
    Snapshot {
        seen: Seen {
            present: true,
            limit: Some(BitRate::from_mbit(5)),
            ..Seen::default()
        },
        index,
        ..Snapshot::without(Place::There("none".to_owned()))
    }
}

fn waits(why: &str) -> Snapshot {
    Snapshot::without(Place::Waits(why.to_owned()))
}

fn look(watch: &mut PortWatch, port: &PortName, snapshot: Snapshot) -> Observation {
    watch.observe(port, snapshot, |_, _| Ok(()))
}

#[test]
fn what_happens_to_a_port_is_said_once() {
    let trouble = |why: &str| PortEvent::Trouble(PortTrouble::Waits(why.to_owned()));
    let foreign = || Snapshot::without(Place::Foreign("htb".to_owned()));
    let gone = || Snapshot::without(Place::Gone);
    let mut watch = PortWatch::default();
    let steps = [
        (there(Some(7)), vec![], true),
        (gone(), vec![PortEvent::Gone], false),
        (gone(), vec![], false),
        (
            waits("no link"),
            vec![PortEvent::Back, trouble("no link")],
            false,
        ),
        (waits("no link"), vec![], false),
        (
            foreign(),
            vec![PortEvent::Trouble(PortTrouble::Foreign("htb".to_owned()))],
            false,
        ),
        // Nothing is known to be otherwise.
        (Snapshot::silent(None), vec![], false),
        (there(Some(8)), vec![PortEvent::TroubleOver], true),
    ];
    for (at, (snapshot, events, present)) in steps.into_iter().enumerate() {
        let observed = look(&mut watch, &tap(), snapshot);
        assert_eq!(observed.events, events, "step {at}");
        assert_eq!(observed.seen.present, present, "step {at}");
        assert_eq!(observed.left, events == [PortEvent::Gone], "step {at}");
    }
}

#[test]
fn another_interface_of_the_same_name_counts_as_gone_first() {
    let mut watch = PortWatch::default();
    look(&mut watch, &tap(), there(Some(7)));
    let observed = look(&mut watch, &tap(), there(Some(9)));
    assert!(observed.replaced && observed.left && !observed.seen.present);
    let observed = look(&mut watch, &tap(), there(Some(9)));
    assert_eq!(observed.events, [PortEvent::Back]);
    assert!(!observed.replaced && observed.seen.present);
}

#[test]
fn a_port_whose_original_cannot_be_noted_is_not_changed() {
    let mut watch = PortWatch::default();
    let full = |_: &str, _| Err("the disk is full".to_owned());
    let observed = watch.observe(&tap(), there(Some(7)), full);
    assert!(observed.not_noted && !observed.seen.present);
    let why = "what was found there cannot be noted: the disk is full";
    let trouble = PortTrouble::Waits(why.to_owned());
    assert_eq!(observed.events, [PortEvent::Trouble(trouble)]);
    assert_eq!(watch.interface(), None);
}

#[test]
fn the_limit_of_a_function_that_comes_again_is_not_believed() {
    let vf = PortName::Vf {
        pf: "eth0".to_owned(),
        vf: 3,
    };
    for (port, index, limit) in [
        (vf, None, None),
        (tap(), Some(7), Some(BitRate::from_mbit(5))),
    ] {
        let mut watch = PortWatch::default();
        look(&mut watch, &port, waits("no link"));
        let observed = look(&mut watch, &port, there(index));
        assert_eq!(observed.seen.limit, limit, "{port}");
    }
}

#[test]
fn a_port_that_has_not_changed_is_not_looked_at_until_its_limit_is_written() {
    let mut watch = PortWatch::default();
    let still = |watch: &mut PortWatch| watch.unchanged(|(_, seen)| Some(seen)).is_some();
    assert!(!still(&mut watch));
    look(&mut watch, &tap(), there(Some(7)));
    assert!(still(&mut watch));
    look(
        &mut watch,
        &tap(),
        Snapshot::silent(Some("for long".to_owned())),
    );
    assert_eq!(watch.interface(), Some(7));
    watch.writes();
    assert!(!still(&mut watch));
}

#[test]
fn a_limiter_is_stuck_when_something_waits_and_nothing_goes() {
    let at = |bytes, backlog| {
        Seen::counted(Sample {
            backlog,
            ..Sample::passed(Duration::ZERO, bytes, 0)
        })
    };
    let second = Duration::from_secs(1);
    // The largest packet takes 1.6 s at 1 Mbit/s, and 25 s at 64 kbit/s.
    for (limit, periods) in [(1_000_000, 4), (64_000, 25)] {
        let mut watch = PortWatch::default();
        let mut stuck = |seen| watch.is_stuck(&seen, BitRate(limit), second);
        assert!(!stuck(at(9, Some(1500))));
        for _ in 1..periods {
            assert!(!stuck(at(9, Some(1500))), "{limit}");
        }
        assert!(stuck(at(9, Some(1500))), "{limit}");
        // It is renewed, and counts anew.
        assert!(!stuck(at(9, Some(1500))));
        for _ in 0..=periods {
            assert!(!stuck(at(9, Some(0))) && !stuck(at(9, None)));
        }
    }
}

#[test]
fn a_limit_that_somebody_has_changed_is_said_and_counted() {
    let mbit = BitRate::from_mbit;
    let with = |limit| {
        let mut snapshot = there(Some(7));
        snapshot.seen.limit = limit;
        snapshot
    };
    let lost = |had, found| PortEvent::LimitLost { had, found };
    let mut watch = PortWatch::default();
    let see = |watch: &mut PortWatch, snapshot| look(watch, &tap(), snapshot).events;
    // What is found at first is nobody's fault, and what is written is no loss.
    assert_eq!(see(&mut watch, with(Some(mbit(9)))), []);
    watch.writes();
    watch.wrote(mbit(5), false);
    assert_eq!(see(&mut watch, with(Some(mbit(5)))), []);
    assert_eq!(watch.limit_state().lost, 0);
    // Removed, and set again.
    let gone = BitRate(0);
    let events = see(&mut watch, with(Some(gone)));
    assert_eq!(events, [lost(mbit(5), gone)]);
    assert_eq!(see(&mut watch, with(Some(gone))), []);
    watch.writes();
    watch.wrote(mbit(5), false);
    assert_eq!(
        see(&mut watch, with(Some(mbit(8)))),
        [lost(mbit(5), mbit(8))]
    );
    assert_eq!(watch.limit_state().lost, 2);
    // A write that failed, a kernel that is silent, a function whose limit is not believed: nobody knows.
    watch.writes();
    assert_eq!(see(&mut watch, with(Some(mbit(3)))), []);
    look(&mut watch, &tap(), Snapshot::silent(None));
    assert_eq!(see(&mut watch, with(None)), []);
    assert_eq!(see(&mut watch, with(Some(mbit(4)))), []);
    assert_eq!(watch.limit_state().lost, 2);
    // Another program's qdisc in its place.
    assert!(!watch.limit_state().unlimited);
    let foreign = Snapshot::without(Place::Foreign("clsact".to_owned()));
    look(&mut watch, &tap(), foreign.clone());
    assert_eq!(
        (watch.limit_state().lost, watch.limit_state().unlimited),
        (3, true)
    );
    look(&mut watch, &tap(), foreign);
    look(&mut watch, &tap(), with(Some(gone)));
    assert_eq!(
        (watch.limit_state().lost, watch.limit_state().unlimited),
        (3, false)
    );
    // Who comes again is another one.
    look(&mut watch, &tap(), Snapshot::without(Place::Gone));
    look(&mut watch, &tap(), with(Some(mbit(1))));
    assert_eq!(watch.limit_state().lost, 3);
    // A kernel that does not answer leaves the limit where it is.
    look(
        &mut watch,
        &tap(),
        Snapshot::silent(Some("for long".to_owned())),
    );
    assert!(!watch.limit_state().unlimited);
}

#[test]
fn what_a_guard_lowers_is_not_lost() {
    let mbit = BitRate::from_mbit;
    for (found, lost) in [(mbit(3), 0), (mbit(5), 0), (mbit(8), 1), (BitRate(0), 1)] {
        let mut watch = PortWatch::default();
        watch.wrote(mbit(5), true);
        let mut snapshot = there(Some(7));
        snapshot.seen.limit = Some(found);
        look(&mut watch, &tap(), snapshot);
        assert_eq!(watch.limit_state().lost, lost, "{found}");
    }
}
