use super::*;

const FUNCTION: Nic = Nic {
    is_there: true,
    has_function: true,
    counts: true,
    representor: None,
    longest_period: None,
};

fn candidate(place: Place, nic: &Nic) -> Candidate {
    Candidate {
        is_named: false,
        receives: None,
        place,
        steps: None,
        nic: nic.clone(),
    }
}

fn admitted(port: &str, lines: &str, candidate: &Candidate, absent_ok: bool) -> String {
    let text = format!(
        "[link]\ncapacity = \"1gbit\"\nperiod = \"5s\"\n[[tenant]]\nname = \"a\"\nports = \"{port}\"\n{lines}\n"
    );
    let policy = Policy::parse("p.toml", &text).unwrap();
    let admission = admit(&policy, std::slice::from_ref(candidate), absent_ok);
    let refusal = admission.refusal.map(|refusal| refusal.to_string());
    refusal.unwrap_or_else(|| format!("uncounted: {:?}", admission.uncounted))
}

#[test]
fn ports_are_refused_with_what_to_do() {
    let none = Nic::default();
    let there = || Place::There("none".to_owned());
    let waits = || Place::Waits("eth0 has no link".to_owned());
    let foreign = || Place::Foreign("htb".to_owned());
    let nic = |change: fn(&mut Nic)| {
        let mut nic = FUNCTION;
        change(&mut nic);
        nic
    };
    let ok = "uncounted: []";
    let absent = "start with --absent-ok";
    #[rustfmt::skip]
    let table = [
        ("tap0", there(), none.clone(), ok.to_owned(), ok),
        ("tap0", Place::Gone, none.clone(),
            format!("tenant \"a\": there is no interface tap0 in this network namespace; correct the name, or {absent}"),
            ok),
        ("eth0/vf3", Place::Gone, none.clone(),
            format!("tenant \"a\": there is no interface eth0 in this network namespace; correct the name, or {absent}"),
            ok),
        ("eth0/vf3", Place::Gone, nic(|nic| nic.has_function = false),
            format!("tenant \"a\": eth0 has no function 3; correct the number, see nicety port list eth0, or {absent}"),
            ok),
        ("eth0/vf3", waits(), FUNCTION,
            format!("tenant \"a\": eth0/vf3: eth0 has no link; correct that, or {absent}"), ok),
        ("eth0/vf3", Place::Silent(None), none.clone(),
            "eth0/vf3: the kernel has not answered; a driver or the firmware of a NIC may hang, see dmesg; --absent-ok starts without it".to_owned(),
            ok),
        ("tap0", foreign(), none.clone(),
            "tenant \"a\": tap0 has somebody else's htb qdisc; remove that first, see tc qdisc show dev tap0".to_owned(),
            ""),
        ("eth0/vf3", foreign(), nic(|nic| nic.representor = Some("rep3".to_owned())),
            "tenant \"a\": rep3 has somebody else's htb qdisc; remove that first, see tc qdisc show dev rep3".to_owned(),
            ""),
        ("eth0/vf3", there(), nic(|nic| nic.counts = false), "uncounted: [0]".to_owned(), "uncounted: [0]"),
        ("eth0/vf3", there(), nic(|nic| nic.longest_period = Some(Duration::from_secs(4))),
            "tenant \"a\": the counters of eth0/vf3 wrap too often for a period of 5s; write at most 4 s".to_owned(),
            ""),
    ];
    for (port, place, nic, said, with_absent_ok) in table {
        let candidate = candidate(place, &nic);
        assert_eq!(admitted(port, "", &candidate, false), said);
        // What is empty is refused all the same.
        let wanted = if with_absent_ok.is_empty() {
            said.as_str()
        } else {
            with_absent_ok
        };
        assert_eq!(admitted(port, "", &candidate, true), wanted);
    }
}

#[test]
fn limits_are_compared_with_what_the_ports_take() {
    let mut candidate = candidate(Place::There("max 0 min 0".to_owned()), &FUNCTION);
    let lines = "cap = \"500kbit\"";
    assert_eq!(
        admitted("eth0/vf3", lines, &candidate, false),
        "uncounted: []"
    );
    candidate.steps = Some(Steps {
        low: 1e6,
        step: 1e6,
        top: 1e9,
    });
    let said = admitted("eth0/vf3", lines, &candidate, false);
    assert!(
        said.starts_with("tenant \"a\": cap = 500kbit is below the 1mbit that its port takes"),
        "{said}"
    );
}

#[test]
fn a_name_of_an_interface_that_no_limit_fits_waits_and_keeps_nobody_from_limits() {
    let unfit = |is_named| Candidate {
        is_named,
        ..candidate(
            Place::Unfit("lo is no tap, veth or macvtap".to_owned()),
            &Nic::default(),
        )
    };
    for absent_ok in [false, true] {
        let said = admitted("lo", "", &unfit(true), absent_ok);
        assert_eq!(said, "uncounted: []");
        // The policy's own word is wrong.
        let said = admitted("lo", "", &unfit(false), absent_ok);
        assert_eq!(said, "tenant \"a\": lo is no tap, veth or macvtap");
    }
}

#[test]
fn what_a_function_cannot_do_is_refused() {
    let refused = |key: &str, receives| {
        let there = Candidate {
            receives,
            ..candidate(Place::There("none".to_owned()), &FUNCTION)
        };
        admitted("e/vf0", key, &there, true)
    };
    assert_eq!(refused("", None), "uncounted: []");
    let why = refused("max_pps = 1000", None);
    assert!(
        why.contains("the packets that e/vf0 sends cannot be limited"),
        "{why}"
    );
    let unfit = crate::received::no_function(&"e/vf0".parse().unwrap());
    let why = refused("rx_max = \"5mbit\"", Some(Place::Unfit(unfit)));
    let wanted = "tenant \"a\": what e/vf0 receives cannot be limited: NICs and the kernel limit only what a virtual \
                  function sends; remove rx_max";
    assert!(why.starts_with(wanted), "{why}");
}
