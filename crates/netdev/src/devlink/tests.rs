//! Answers are laid out as net/devlink writes them (`devlink_nl_port_fill`, `devlink_nl_rate_fill`,
//! `devlink_nl_eswitch_fill` of Linux 6.12); those of netdevsim are recorded.

mod recorded;

use std::sync::{Arc, Mutex};

use super::message::*;
use super::*;
use nicety_model::BitRate;

const NIC: &str = "0000:03:00.1";

/// Answers by command, and remembers what it was told to change.
#[derive(Debug, Default)]
struct Script {
    answers: Vec<(u8, Result<Vec<RawMessage>, i32>)>,
    changes: Arc<Mutex<Vec<RawMessage>>>,
}

impl Transport for Script {
    fn ask(&self, message: RawMessage, _flags: u16) -> io::Result<Vec<RawMessage>> {
        let of = |(command, _): &&(u8, _)| *command == message.body[0];
        match &self.answers.iter().find(of).unwrap().1 {
            Ok(answers) => Ok(answers.clone()),
            Err(code) => Err(io::Error::from_raw_os_error(*code)),
        }
    }

    fn change(&self, message: RawMessage) -> io::Result<()> {
        self.changes.lock().unwrap().push(message);
        Ok(())
    }
}

fn devlink(answers: Vec<(u8, Result<Vec<RawMessage>, i32>)>) -> Devlink {
    Devlink {
        transport: Box::new(Script {
            answers,
            ..Script::default()
        }),
        family: Family::fake(),
    }
}

fn of(command: u8, nic: &str) -> RawMessage {
    let mut message = RawMessage::genl(Family::fake(), command);
    message.put_str(BUS_NAME, "pci");
    message.put_str(DEV_NAME, nic);
    message
}

fn mode(mode: u16) -> RawMessage {
    let mut message = of(ESWITCH_GET, NIC);
    message.put(ESWITCH_MODE, &mode.to_ne_bytes());
    message
}

fn port(nic: &str, index: u32, (flavour, pf, vf): (u16, u16, u16), name: &str) -> RawMessage {
    let mut message = of(PORT_GET, nic);
    message.put_u32(PORT_INDEX, index);
    message.put(4, &2u16.to_ne_bytes());
    message.put(PORT_FLAVOUR, &flavour.to_ne_bytes());
    if flavour == FLAVOUR_VF {
        message.put(PORT_PCI_PF, &pf.to_ne_bytes());
        message.put(PORT_PCI_VF, &vf.to_ne_bytes());
        message.put(PORT_EXTERNAL, &[0]);
    }
    if !name.is_empty() {
        message.put_u32(6, 40 + index);
        message.put_str(PORT_NETDEV_NAME, name);
    }
    message
}

fn leaf_of(nic: &str, index: u32, share: u64, max: u64) -> RawMessage {
    let mut message = of(RATE_GET, nic);
    message.put(RATE_TYPE, &LEAF.to_ne_bytes());
    message.put_u32(PORT_INDEX, index);
    message.put_u64(RATE_TX_SHARE, share);
    message.put_u64(RATE_TX_MAX, max);
    message
}

fn group(nic: &str) -> RawMessage {
    let mut message = of(RATE_GET, nic);
    message.put(RATE_TYPE, &1u16.to_ne_bytes());
    message.put_str(168, "tenants");
    message.put_u64(RATE_TX_MAX, 1_000_000);
    message
}

#[test]
fn functions_have_representors_and_rates() {
    let mut smart = of(PORT_GET, NIC);
    smart.put(PORT_EXTERNAL, &[1]);
    smart.put_u32(PORT_INDEX, 8);
    smart.put(PORT_FLAVOUR, &FLAVOUR_VF.to_ne_bytes());
    smart.put(PORT_PCI_PF, &1u16.to_ne_bytes());
    smart.put(PORT_PCI_VF, &0u16.to_ne_bytes());
    let devlink = devlink(vec![
        (ESWITCH_GET, Ok(vec![mode(SWITCHDEV)])),
        (
            PORT_GET,
            Ok(vec![
                port(NIC, 0, (0, 0, 0), "eth1"),
                port("0000:03:00.0", 1, (FLAVOUR_VF, 0, 0), "eth0_0"),
                port(NIC, 1, (FLAVOUR_VF, 1, 0), "eth1_0"),
                port(NIC, 2, (FLAVOUR_VF, 1, 1), ""),
                smart,
            ]),
        ),
        (
            RATE_GET,
            Ok(vec![
                group(NIC),
                leaf_of("0000:03:00.0", 1, 1, 1),
                leaf_of(NIC, 1, 12_500_000, 62_500_000),
            ]),
        ),
    ]);
    let functions = devlink.functions(NIC).unwrap().unwrap();
    assert_eq!(functions.len(), 2, "{functions:?}");
    assert_eq!(functions[0].representor.as_deref(), Some("eth1_0"));
    let rate = LeafRate {
        max: BitRate::from_mbit(500),
        share: BitRate::from_mbit(100),
    };
    assert_eq!(functions[0].rate, Some(rate));
    assert_eq!((functions[1].vf, &functions[1].representor), (1, &None));
    assert_eq!(functions[1].rate, None);
}

#[test]
fn a_nic_in_legacy_mode_or_without_devlink_has_no_switch() {
    for answer in [
        Ok(vec![mode(0)]),
        Ok(vec![of(ESWITCH_GET, NIC)]),
        Err(libc::EOPNOTSUPP),
        Err(libc::ENODEV),
        Err(libc::EPERM),
    ] {
        let devlink = devlink(vec![(ESWITCH_GET, answer)]);
        assert_eq!(devlink.functions(NIC).unwrap(), None);
    }
    let devlink = devlink(vec![(ESWITCH_GET, Err(libc::EBUSY))]);
    assert!(devlink.functions(NIC).is_err());
}

#[test]
fn a_driver_without_rates_still_has_representors() {
    let devlink = devlink(vec![
        (ESWITCH_GET, Ok(vec![mode(SWITCHDEV)])),
        (PORT_GET, Ok(vec![port(NIC, 5, (FLAVOUR_VF, 0, 3), "rep3")])),
        (RATE_GET, Err(libc::EOPNOTSUPP)),
    ]);
    let functions = devlink.functions(NIC).unwrap().unwrap();
    assert_eq!((functions[0].vf, functions[0].rate), (3, None));
}

#[test]
fn rates_are_set_in_bytes_per_second() {
    let changes = Arc::<Mutex<Vec<RawMessage>>>::default();
    let devlink = Devlink {
        transport: Box::new(Script {
            answers: Vec::new(),
            changes: Arc::clone(&changes),
        }),
        family: Family::fake(),
    };
    let port = FunctionPort {
        vf: 4,
        representor: None,
        representor_index: None,
        rate: None,
        index: 77,
    };
    let rate = LeafRate {
        max: BitRate::from_mbit(500),
        share: BitRate::from_mbit(1),
    };
    devlink.set(NIC, &port, rate).unwrap();
    let changes = changes.lock().unwrap();
    let one = &changes[0];
    assert_eq!((changes.len(), one.body[0]), (1, RATE_SET));
    assert_eq!(one.value(DEV_NAME), Some(&b"0000:03:00.1\0"[..]));
    assert_eq!(one.u32(PORT_INDEX), Some(77));
    assert_eq!(one.u64(RATE_TX_MAX), Some(62_500_000));
    assert_eq!(one.u64(RATE_TX_SHARE), Some(125_000));
}

/// The functions of several ports of a card in one devlink.
#[test]
fn functions_of_the_other_port_are_not_this_nics() {
    let devlink = devlink(vec![
        (ESWITCH_GET, Ok(vec![mode(SWITCHDEV)])),
        (
            PORT_GET,
            Ok(vec![
                port(NIC, 1, (FLAVOUR_VF, 0, 0), "a"),
                port(NIC, 2, (FLAVOUR_VF, 1, 0), "b"),
            ]),
        ),
        (RATE_GET, Ok(Vec::new())),
    ]);
    let functions = devlink.functions(NIC).unwrap().unwrap();
    assert_eq!(functions.len(), 1);
    assert_eq!(functions[0].representor.as_deref(), Some("b"));
}

/// Whatever comes, cut anywhere.
#[test]
fn cut_answers_are_no_functions() {
    let whole = port(NIC, 1, (FLAVOUR_VF, 0, 0), "rep");
    for length in 0..whole.body.len() {
        let mut cut = whole.clone();
        cut.body.truncate(length);
        let found = super::message::port(&cut, NIC);
        assert!(found.is_none_or(|port| port.vf == 0), "{length}");
    }
}

/// The kernel of this machine: it has no such NIC.
#[test]
fn a_nic_that_is_not_there_has_no_switch() {
    let ns = NetNs::current().unwrap();
    let Some(devlink) = Devlink::open(&ns).unwrap() else {
        return;
    };
    assert_eq!(devlink.functions("0000:ff:1f.7").unwrap(), None);
}
