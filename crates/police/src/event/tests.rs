use std::time::Duration;

use super::*;
use crate::adopt::By;

fn port(event: PortEvent) -> Event {
    Event::Port {
        interface: None,
        port: "tap0".to_owned(),
        tenant: Some("blue".to_owned()),
        event,
    }
}

#[test]
fn events_have_a_name_a_priority_and_a_line() {
    let silence = || Silence {
        doing: "reading eth0's functions".to_owned(),
        lasts: Duration::from_millis(3900),
    };
    let nic = || Some("eth0".to_owned());
    let (rate_bps, limit_bps) = (Some(2e6), 1e6);
    let mbit = BitRate::from_mbit;
    use Priority::{Info, Notice, Warning};
    #[rustfmt::skip]
    let table = [
        (port(PortEvent::Gone), "port-gone", Notice, "port tap0 is gone"),
        (port(PortEvent::Back), "port-back", Notice, "port tap0 is back"),
        (port(PortEvent::Renamed { now: "tap7".to_owned(), outcome: Outcome::Restored }), "port-renamed", Notice,
            "port tap0 is called tap7 now and has the limit that was found there"),
        (port(PortEvent::Trouble(PortTrouble::Waits("no link".to_owned()))), "trouble", Warning,
            "port tap0 waits: no link"),
        (port(PortEvent::Trouble(PortTrouble::Foreign("htb".to_owned()))), "trouble", Warning,
            "port tap0: somebody else's htb qdisc is in the way"),
        (port(PortEvent::Trouble(PortTrouble::ReadBack { wanted: mbit(5), found: mbit(4) })), "trouble", Warning,
            "port tap0: 5mbit was written, the kernel says 4mbit"),
        (port(PortEvent::Adopted { by: By::Libvirt, most: mbit(80) }), "limit-adopted", Notice,
            "port tap0: libvirt limits it to 80mbit; it shares below that"),
        (port(PortEvent::Replaced { by: By::Libvirt, most: mbit(80) }), "limit-replaced", Notice,
            "port tap0: libvirt limited it to 80mbit; nicety does that now and gives it back at the end"),
        (port(PortEvent::NothingBack { limit: "80mbit of libvirt".to_owned() }), "not-given-back", Notice,
            "port tap0: its limit of 80mbit of libvirt went with it and is not given back"),
        (port(PortEvent::NotAdopted), "adopted-limit-gone", Notice,
            "port tap0: what another program had limited it to is gone"),
        (port(PortEvent::TroubleOver), "trouble-over", Info, "port tap0: all right again"),
        (port(PortEvent::LimitLost { had: mbit(5), found: BitRate(0) }), "limit-lost", Warning,
            "port tap0: its limit of 5mbit was gone and is set again"),
        (port(PortEvent::LimitLost { had: mbit(5), found: mbit(8) }), "limit-lost", Warning,
            "port tap0: it had 8mbit instead of its limit of 5mbit, which is set again"),
        (port(PortEvent::NotEnforced { rate_bps, limit_bps }), "not-enforced", Warning,
            "port tap0: limit not enforced"),
        (port(PortEvent::EnforcedAgain { rate_bps, limit_bps }), "enforced-again", Notice,
            "port tap0: its limit is kept again"),
        (Event::KernelSilent { nic: nic(), silence: silence() }, "nic-stuck", Warning,
            "NIC eth0: the kernel has not answered for 3 s (reading eth0's functions); its ports keep their limits"),
        (Event::KernelSilent { nic: None, silence: silence() }, "interfaces-stuck", Warning,
            "interfaces: the kernel has not answered for 3 s (reading eth0's functions); their ports keep their limits"),
        (Event::ClockStepped { ms: -3_600_000 }, "clock-stepped", Warning,
            "bills: the clock was set back by 3600 s; samples go on where it is now, and none is deleted for a day"),
        (Event::KernelAnswers { nic: nic() }, "nic-back", Notice, "NIC eth0: the kernel answers again"),
        (Event::KernelAnswers { nic: None }, "interfaces-back", Notice, "interfaces: the kernel answers again"),
        (Event::NamesSilent { source: "libvirt".to_owned(), why: "virsh has not answered within 5 s".to_owned() },
            "names-stuck", Warning,
            "names of libvirt: virsh has not answered within 5 s; ports stay as they were told last"),
        (Event::NamesAnswer("libvirt".to_owned()), "names-back", Info, "names of libvirt: told again"),
        (Event::PolicyRefused("it is empty".to_owned()), "policy-refused", Warning,
            "policy not reloaded: it is empty"),
    ];
    for (event, name, priority, line) in table {
        assert_eq!(event.name(), Some(name), "{line}");
        assert_eq!(event.priority(), priority, "{line}");
        assert_eq!(event.to_string(), line);
        assert!(EVENTS.contains(&name), "{name}");
    }
    assert_eq!(Event::Kept(3).name(), None);
}

#[test]
fn an_event_says_which_port_and_tenant_and_what_it_sends() {
    let event = port(PortEvent::NotEnforced {
        rate_bps: None,
        limit_bps: 5e8,
    });
    assert_eq!((event.port(), event.tenant()), (Some("tap0"), Some("blue")));
    assert_eq!(event.rates(), (None, Some(5e8)));
    let refused = Event::GuestRefused {
        tenant: "red".to_owned(),
        why: "no".to_owned(),
    };
    assert_eq!((refused.port(), refused.tenant()), (None, Some("red")));
}

#[test]
fn the_reference_names_every_event() {
    let page = include_str!("../../../../docs/reference/police.md");
    let (_, list) = page.split_once("- `NICETY_EVENT`: ").unwrap();
    let (list, _) = list.split_once("\n- ").unwrap();
    let code = list.split('`').skip(1).step_by(2);
    let named: Vec<_> = code.filter(|name| !name.starts_with('[')).collect();
    assert_eq!(named, EVENTS);
}
