use nicety_model::traffic_control::{
    Action, Bucket, Class, Filter, OURS, Police, Qdisc, QdiscLimit,
};

use super::*;

const ALL: u16 = 3;
const PORT: u32 = 7;
const IFB: u32 = 9;

fn bucket(mbit: u64, burst_bytes: u64) -> Bucket {
    Bucket {
        rate: BitRate::from_mbit(mbit),
        burst_bytes,
    }
}

fn qdisc(kind: &str, handle: Handle, parent: Handle, limit: Option<QdiscLimit>) -> Qdisc {
    Qdisc {
        kind: kind.to_owned(),
        handle,
        parent,
        limit,
        raw: kind.as_bytes().to_vec(),
    }
}

fn ingress() -> Qdisc {
    qdisc("ingress", Handle::AT_INGRESS, Handle::INGRESS, None)
}

fn filter(kind: &str, priority: u16, action: Action) -> Filter {
    Filter {
        kind: kind.to_owned(),
        handle: 0,
        parent: Handle::AT_INGRESS,
        priority,
        protocol: ALL,
        takes_all: true,
        actions: vec![action],
        program: None,
        raw: vec![1],
    }
}

fn police(mbit: u64, burst: u64, longest: u32) -> Action {
    Action::Police(Police {
        rate: Some(bucket(mbit, burst)),
        packets: None,
        longest,
        drops: true,
    })
}

fn class(minor: u16, parent: Handle, rate: u64, ceil: u64, burst: u64) -> Class {
    Class {
        kind: "htb".to_owned(),
        handle: Handle::new(1, minor),
        parent,
        rate: Some(bucket(rate, burst)),
        ceil: Some(bucket(ceil, 1600)),
        raw: vec![2],
    }
}

fn htb(default: u32) -> Qdisc {
    let limit = Some(QdiscLimit::Classes { default });
    qdisc("htb", Handle::new(1, 0), Handle::ROOT, limit)
}

fn tbf(handle: Handle, mbit: u64) -> Qdisc {
    let limit = Some(QdiscLimit::Bucket(bucket(mbit, 16_384)));
    qdisc("tbf", handle, Handle::ROOT, limit)
}

fn at(switch: Option<Switch>, control: TrafficControl) -> Found {
    look(PORT, &BTreeMap::from([(PORT, port(switch, control))]))
}

fn port(switch: Option<Switch>, control: TrafficControl) -> Interface {
    Interface {
        name: "tap0".to_owned(),
        switch,
        control,
    }
}

fn policed(filter: Filter) -> TrafficControl {
    TrafficControl {
        qdiscs: vec![ingress()],
        filters: vec![filter],
        ..TrafficControl::default()
    }
}

#[test]
fn policers_are_those_of_the_program_whose_numbers_all_fit() {
    let (ovs, bridge) = (Some(Switch::OpenVSwitch), Some(Switch::Bridge));
    let mebi = 1 << 20;
    for (switch, kind, priority, burst, longest, by) in [
        (bridge, "u32", 0xc000, 80_000, 65_536, By::Libvirt),
        (bridge, "u32", 0xc000, 80_000, 65_535, By::Tc),
        (bridge, "u32", 1, 80_000, 65_536, By::Tc),
        (bridge, "basic", 50, mebi, 65_536, By::Proxmox),
        (bridge, "basic", 50, 80_000, 65_536, By::Tc),
        (bridge, "basic", 49, 80_000, 65_535, By::Neutron),
        (ovs, "basic", 49, 80_000, 65_535, By::OpenVSwitch),
        (ovs, "matchall", 49, 80_000, 65_535, By::OpenVSwitch),
        (bridge, "matchall", 49, 80_000, 65_535, By::Tc),
        (None, "basic", 49, 80_000, 65_535, By::Tc),
        (None, "matchall", 1, 10_000, 2_000, By::Tc),
    ] {
        let found = at(
            switch,
            policed(filter(kind, priority, police(80, burst, longest))),
        );
        let adopted = found.sends.unwrap().unwrap();
        assert_eq!(
            (adopted.by, adopted.way),
            (by, Way::Sends),
            "{kind} {priority}"
        );
        assert_eq!(adopted.rate, BitRate::from_mbit(80));
        assert_eq!(adopted.burst_bytes, burst);
        let parts = [
            Recorded::Qdisc(b"ingress".to_vec()),
            Recorded::Filter(vec![1]),
        ];
        assert_eq!(adopted.parts, parts);
        assert_eq!(found.receives, None);
    }
}

#[test]
fn what_is_no_limit_of_all_frames_is_not_guessed() {
    let good = || filter("u32", 5, police(80, 9_000, 2_000));
    let with = |change: fn(&mut Filter)| {
        let mut filter = good();
        change(&mut filter);
        at(None, policed(filter))
            .sends
            .unwrap()
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        with(|filter| filter.takes_all = false),
        "a u32 filter of priority 5 takes only some frames"
    );
    assert_eq!(
        with(|filter| filter.protocol = 0x800),
        "a u32 filter of priority 5 takes only some frames"
    );
    let marks = |filter: &mut Filter| {
        if let [Action::Police(police)] = &mut filter.actions[..] {
            police.drops = false;
        }
    };
    assert_eq!(
        with(marks),
        "a policer of priority 5 marks frames or counts packets"
    );
    let counts = |filter: &mut Filter| {
        if let [Action::Police(police)] = &mut filter.actions[..] {
            police.packets = Some((1_000, 10));
        }
    };
    assert_eq!(
        with(counts),
        "a policer of priority 5 marks frames or counts packets"
    );
    let other = |filter: &mut Filter| filter.actions.push(Action::Other("gact".to_owned()));
    assert_eq!(
        with(other),
        "1 filters of it do more than limit all frames to one rate"
    );
    let away = |filter: &mut Filter| filter.actions = vec![Action::Redirect(4)];
    assert_eq!(
        with(away),
        "frames go on to interface 4, which has no token bucket"
    );
    let two = TrafficControl {
        filters: vec![good(), good()],
        ..policed(good())
    };
    let found = at(None, two).sends.unwrap().unwrap_err();
    assert_eq!(found, Unknown::Filters { filters: 2 });
    // Nothing is in the way of nothing.
    let empty = TrafficControl {
        filters: Vec::new(),
        ..policed(good())
    };
    assert_eq!(at(None, empty), Found::default());
}

#[test]
fn a_program_beside_which_no_limit_can_be_is_named() {
    let at_clsact = |program: Option<&str>, parent| {
        let clsact = qdisc("clsact", Handle::AT_INGRESS, Handle::INGRESS, None);
        let bpf = Filter {
            parent,
            takes_all: false,
            actions: Vec::new(),
            program: program.map(str::to_owned),
            ..filter("bpf", 1, Action::Other(String::new()))
        };
        let control = TrafficControl {
            qdiscs: vec![clsact],
            filters: vec![bpf],
            ..TrafficControl::default()
        };
        at(None, control).sends.map(|what| what.unwrap_err())
    };
    let comes_in = Handle::CLSACT_INGRESS;
    let what = at_clsact(Some("cil_from_container"), comes_in).unwrap();
    assert!(what.is_strange() && !what.is_at_root());
    assert_eq!(
        what.to_string(),
        "Cilium (BPF program cil_from_container) decides about its frames by a filter of priority 1, and would see \
         none behind a limit"
    );
    let unnamed = at_clsact(None, comes_in).unwrap().to_string();
    assert!(unnamed.starts_with("another program decides"), "{unnamed}");
    // One for what goes out is in nobody's way.
    assert_eq!(
        at_clsact(Some("cil_to_container"), Handle::CLSACT_EGRESS),
        None
    );
}

#[test]
fn a_redirect_limits_by_the_bucket_that_it_leads_to() {
    let redirected = |name: &str, handle, priority| {
        let ifb = Interface {
            name: name.to_owned(),
            switch: None,
            control: TrafficControl {
                qdiscs: vec![tbf(handle, 5)],
                ..TrafficControl::default()
            },
        };
        let control = policed(filter("u32", priority, Action::Redirect(IFB)));
        look(
            PORT,
            &BTreeMap::from([(PORT, port(None, control)), (IFB, ifb)]),
        )
        .sends
    };
    for (name, handle, priority, by) in [
        ("bwp1234", Handle::new(1, 0), 1, By::Cni),
        ("bwp1234", Handle::new(1, 0), 2, By::Tc),
        ("ifb0", Handle::new(1, 0), 1, By::Tc),
        ("bwp1234", Handle::new(0x8001, 0), 1, By::Tc),
    ] {
        let adopted = redirected(name, handle, priority).unwrap().unwrap();
        assert_eq!(
            (adopted.by, adopted.rate),
            (by, BitRate::from_mbit(5)),
            "{name}"
        );
        assert_eq!(adopted.parts.len(), 3);
        assert_eq!(adopted.bars().is_some(), priority == 1);
    }
    // Ours is nothing of others.
    assert_eq!(redirected("nicety7", Handle::new(OURS, 0), 1), None);
}

#[test]
fn a_limit_lower_than_nicety_sets_is_named() {
    let bits = |bits| {
        let police = Police {
            rate: Some(Bucket {
                rate: BitRate(bits),
                burst_bytes: 1600,
            }),
            packets: None,
            longest: 65_536,
            drops: true,
        };
        let control = policed(filter("u32", 9, Action::Police(police)));
        at(None, control).sends.unwrap()
    };
    let low = bits(8_000).unwrap_err();
    assert!(!low.is_strange());
    assert_eq!(
        low.to_string(),
        "tc limits it to 8kbit, less than the least that nicety sets, 64kbit"
    );
    assert_eq!(bits(64_000).unwrap().rate, BitRate(64_000));
    assert!(bits(0).is_err());
}

#[test]
fn shapers_at_the_root_are_those_of_the_program_whose_numbers_all_fit() {
    let root = Handle::new(1, 0);
    let leaf = |kind: &str| qdisc(kind, Handle::new(2, 0), Handle::new(1, 1), None);
    let mark = || Filter {
        handle: 1,
        parent: root,
        takes_all: false,
        actions: Vec::new(),
        ..filter("fw", 1, Action::Other(String::new()))
    };
    let mebi = 1 << 20;
    let shaped = |qdiscs: Vec<Qdisc>, classes, filters| TrafficControl {
        qdiscs,
        classes,
        filters,
    };
    let one = |rate, ceil, burst| vec![class(1, root, rate, ceil, burst)];
    let inner = Handle::new(1, 0xfffe);
    #[rustfmt::skip]
    let table = [
        (shaped(vec![htb(1), leaf("sfq")], one(8, 16, 1600), vec![mark()]), By::Libvirt, 8),
        (shaped(vec![htb(1), leaf("fq_codel")], one(8, 8, 1600), vec![mark()]), By::Libvirt, 8),
        (shaped(vec![htb(1), leaf("sfq")], one(8, 16, 1600), vec![]), By::Tc, 8),
        (shaped(vec![htb(1)], one(8, 8, mebi), vec![]), By::Proxmox, 8),
        (shaped(vec![htb(1)], one(8, 16, mebi), vec![]), By::Tc, 8),
        (shaped(vec![htb(1)],
            vec![class(0xfffe, root, 100, 100, 1600), class(1, inner, 1, 100, 1600), class(2, inner, 9, 50, 1600)],
            vec![]), By::OpenVSwitch, 100),
        (shaped(vec![tbf(Handle::new(0x8003, 0), 4)], vec![], vec![]), By::Tc, 4),
    ];
    for (control, by, rate) in table {
        let found = at(None, control.clone());
        let adopted = found.receives.unwrap().unwrap();
        assert_eq!(
            (adopted.by, adopted.way),
            (by, Way::Receives),
            "{control:?}"
        );
        assert_eq!(adopted.rate, BitRate::from_mbit(rate));
        let parts = control.qdiscs.len() + control.classes.len() + control.filters.len();
        assert_eq!(adopted.parts.len(), parts);
        assert_eq!(found.sends, None);
        // A bucket of nicety's changes nothing of it, and can only come below a single class.
        assert_eq!(adopted.bars().is_some(), control.classes.len() > 1);
        let mut beside = control.clone();
        let ours = tbf(Handle::new(OURS, 0), 2);
        let parent = adopted.under.unwrap_or(Handle::new(1, 1));
        beside.qdiscs.push(Qdisc { parent, ..ours });
        let again = at(None, beside).receives.unwrap().unwrap();
        assert!(again.is_as(&adopted));
        assert_eq!(held_at_root(control).map(|it| it.rate), Some(adopted.rate));
    }
    let kilobits = tbf(Handle::new(1, 0), 0);
    let low = at(None, shaped(vec![kilobits], vec![], vec![]));
    assert!(matches!(low.receives, Some(Err(Unknown::Low { .. }))));
    // What no filter takes has no class, or one of several that nothing is above.
    for (default, classes) in [
        (0, one(8, 8, 1600)),
        (9, one(8, 8, 1600)),
        (1, vec![class(1, root, 1, 1, 9), class(2, root, 1, 1, 9)]),
        (0x1_0001, one(8, 8, 1600)),
    ] {
        let found = at(None, shaped(vec![htb(default)], classes, vec![]));
        assert!(
            matches!(found.receives, Some(Err(Unknown::Classes { .. }))),
            "{default}"
        );
    }
    let none = qdisc("noqueue", Handle::new(0x8001, 0), Handle::ROOT, None);
    assert_eq!(
        at(None, shaped(vec![none], vec![], vec![])),
        Found::default()
    );
    let netem = qdisc("netem", Handle::new(5, 0), Handle::ROOT, None);
    let found = at(None, shaped(vec![netem], vec![], vec![]));
    let what = found.receives.unwrap().unwrap_err().to_string();
    assert_eq!(what, "netem 5: at the root does not limit by a rate");
}

#[test]
fn a_class_borrows_from_those_above_and_the_first_from_nobody() {
    let root = Handle::new(1, 0);
    let below = |minor| Handle::new(1, minor);
    #[rustfmt::skip]
    let table = [
        // Rate, ceiling: what passes.
        (vec![class(1, root, 100, 200, 1600)], 100),
        (vec![class(1, root, 200, 100, 1600)], 200),
        // Below another one: as much as that has, or as its own ceiling lets it borrow.
        (vec![class(2, root, 30, 30, 9), class(1, below(2), 1, 80, 9)], 30),
        (vec![class(2, root, 80, 80, 9), class(1, below(2), 1, 30, 9)], 30),
        (vec![class(2, root, 80, 200, 9), class(1, below(2), 1, 200, 9)], 80),
        (vec![class(3, root, 90, 90, 9), class(2, below(3), 1, 40, 9), class(1, below(2), 1, 90, 9)], 40),
        // Its own rate is never lent away.
        (vec![class(2, root, 30, 30, 9), class(1, below(2), 80, 80, 9)], 80),
        // Two share what is above them.
        (vec![class(2, root, 50, 50, 9), class(1, below(2), 1, 20, 9), class(3, below(2), 1, 50, 9)], 50),
        (vec![class(2, root, 90, 90, 9), class(1, below(2), 1, 20, 9), class(3, below(2), 1, 50, 9)], 70),
    ];
    for (classes, mbit) in table {
        let control = TrafficControl {
            qdiscs: vec![htb(1)],
            classes,
            filters: Vec::new(),
        };
        let adopted = at(None, control.clone()).receives.unwrap().unwrap();
        assert_eq!(adopted.rate, BitRate::from_mbit(mbit), "{control:?}");
    }
}

#[test]
fn a_bucket_beside_the_policer_of_neutron_is_its() {
    let mut control = policed(filter("basic", 49, police(10, 1_000, 65_535)));
    control.qdiscs.push(tbf(Handle::new(0x8001, 0), 20));
    let found = at(Some(Switch::Bridge), control.clone());
    assert_eq!(found.receives.unwrap().unwrap().by, By::Neutron);
    let found = at(Some(Switch::OpenVSwitch), control);
    assert_eq!(found.receives.unwrap().unwrap().by, By::Tc);
}

#[test]
fn an_interface_that_nobody_limits_has_nothing() {
    assert_eq!(look(3, &BTreeMap::new()), Found::default());
    assert_eq!(at(None, TrafficControl::default()), Found::default());
    let ours = TrafficControl {
        qdiscs: vec![tbf(Handle::new(OURS, 0), 20)],
        ..TrafficControl::default()
    };
    assert_eq!(at(None, ours), Found::default());
}
