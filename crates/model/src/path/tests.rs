use proptest::prelude::*;

use super::*;

fn words(kind: &str, words: &[(&str, &str)]) -> Words {
    let words = words.iter().copied().chain([("kind", kind)]);
    words
        .map(|(key, word)| (key.to_owned(), word.to_owned()))
        .collect()
}

/// A guest's parameters out of words.
pub(super) fn vm(given: &[(&str, &str)]) -> VmParams {
    match PathSpec::try_from(&words("vm", given)) {
        Ok(PathSpec::Vm(vm)) => vm,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_are_in_order_of_parameters() {
    let vm = PathSpec::Vm(vm(&[("vcpus", "2"), ("nic", "e1000"), ("pin", "4+6")]));
    assert_eq!(vm.to_string(), "vm,nic=e1000,pin=4+6,vcpus=2");
    assert_eq!(vm.to_string().parse(), Ok(vm.clone()));
    assert_eq!("bridge".parse(), Ok(PathSpec::Bridge));
    let refused = "bridge,vcpus".parse::<PathSpec>().unwrap_err();
    assert_eq!(refused.to_string(), "a path of kind bridge has no vcpus");
    assert_eq!(vm.without_placement().to_string(), "vm,nic=e1000");
    let ports = [("a", "eth1"), ("b", "eth2")];
    let ports = PathSpec::try_from(&words("ports", &ports)).unwrap();
    assert_eq!(ports.to_string(), "ports,a=eth1,b=eth2");
    assert_eq!(ports.interfaces(), Some(["eth1", "eth2"]));
    assert_eq!(PathSpec::Bridge.to_string(), "bridge");
}

#[test]
fn a_router_stands_in_some_paths() {
    for (name, routed, neighbours) in [
        ("bridge", false, true),
        ("ovs", false, true),
        ("ovn", false, false),
        ("routed,nat=snat", true, false),
        ("tunnel", false, false),
        ("tunnel,encapsulation=wireguard", true, false),
        ("ipvlan", true, false),
        ("ipvlan,mode=l2", false, false),
        ("netkit", true, false),
        ("netkit,mode=l2", false, false),
        ("macvlan", false, false),
    ] {
        let path: PathSpec = name.parse().unwrap();
        let found = (path.is_routed(), path.takes_neighbours());
        assert_eq!(found, (routed, neighbours), "{name}");
    }
}

#[test]
fn what_is_no_path_is_refused_with_a_reason() {
    #[rustfmt::skip]
    let table = [
        ("hub", &[][..], "there are no paths of kind \"hub\""),
        ("bridge", &[("vcpus", "2")], "a path of kind bridge has no vcpus"),
        ("vm", &[("nic", "ne2000")], "a path of kind vm has no nic = \"ne2000\""),
        ("vm", &[("vcpus", "02")], "a path of kind vm has no vcpus = \"02\""),
        ("vm", &[("pin", "")], "a path of kind vm has no pin = \"\""),
        ("ovs", &[("tagging", "sub-interface")], "a path of kind ovs has no tagging = \"sub-interface\""),
        ("testpmd", &[("pci", "03:00.0+03:00.1"), ("a", "eth1")], "a path of kind testpmd without b"),
        ("testpmd", &[("a", "eth1"), ("b", "eth2")], "a path of kind testpmd has no a"),
        ("ports", &[("a", "eth1")], "a path of kind ports without b"),
    ];
    for (kind, given, reason) in table {
        let error = PathSpec::try_from(&words(kind, given)).unwrap_err();
        assert_eq!(error.to_string(), reason);
    }
    let none = PathSpec::try_from(&Words::new());
    assert_eq!(none.unwrap_err(), NoPath::NoKind);
}

/// Text in JSON that this version has never written.
#[test]
fn what_another_version_measured_is_kept_word_for_word() {
    for text in [
        r#"{"bonds":"2","kind":"hub"}"#,
        r#"{"kind":"vm","nic":"e2000","vcpus":"02"}"#,
        r#"{"nic":"e1000"}"#,
    ] {
        let path: PathSpec = serde_json::from_str(text).unwrap();
        assert!(matches!(path, PathSpec::Foreign(_)), "{text}");
        assert_eq!(serde_json::to_string(&path).unwrap(), text);
    }
    let path: PathSpec = serde_json::from_str(r#"{"nic":"e1000"}"#).unwrap();
    assert_eq!(
        (path.kind(), path.to_string().as_str()),
        ("?", "?,nic=e1000")
    );
}

fn one<T: Copy + fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = Option<T>> {
    prop::option::of(prop::sample::select(all))
}

fn number() -> impl Strategy<Value = Option<u32>> {
    prop::option::of(1u32..=65_536)
}

fn guests() -> impl Strategy<Value = VmParams> {
    let connected = (
        one(&GuestKind::ALL),
        one(&VmNic::ALL),
        prop::option::of("[a-z]{1,8},?=?[0-9]"),
        one(&HostSwitch::ALL),
        one(&Tagging::ALL),
        one(&Vdev::ALL),
        one(&VmAccel::ALL),
    );
    let pin = prop::option::of(prop::collection::vec(0u32..=8191, 1..5));
    let numbers = [(); 7].map(|()| number());
    let switches = [(); 6].map(|()| one(&OnOff::ALL));
    let options = (one(&VmMachine::ALL), switches);
    (connected, pin, numbers, options).prop_map(|(connected, pin, numbers, options)| {
        let (machine, switches) = options;
        let [packed, indirect_desc, mrg_rxbuf, ioeventfd, rss, iommu] = switches;
        let (guest, nic, pf, switch, tagging, vdev, accel) = connected;
        let [cores, host_queues, vcpus, queues, ring, vms, sndbuf] = numbers;
        VmParams {
            guest,
            nic,
            pf,
            switch,
            tagging,
            vdev,
            cores,
            host_queues,
            vcpus,
            pin: pin.map(Cpus),
            queues,
            ring,
            sndbuf,
            vms,
            accel,
            machine,
            packed,
            indirect_desc,
            mrg_rxbuf,
            ioeventfd,
            rss,
            iommu,
        }
    })
}

fn paths() -> impl Strategy<Value = PathSpec> {
    let dpdk = || {
        (one(&Vdev::ALL), number(), number()).prop_map(|(vdev, cores, queues)| DpdkParams {
            vdev,
            cores,
            queues,
        })
    };
    let nics = prop::option::of([
        "0000:0[0-9]:00[.]0",
        "0000:0[0-9]:00[.]1",
        "e[0-9]",
        "p[0-9]",
    ]);
    let nics = nics.prop_map(|words| {
        words.map(|[first, second, a, b]| Nics {
            pci: PciPair([first, second]),
            a,
            b,
        })
    });
    prop_oneof![
        Just(PathSpec::Bridge),
        ("[a-z]{1,8}", "[a-z,=]{1,8}").prop_map(|(a, b)| PathSpec::Ports { a, b }),
        one(&Tagging::ALL).prop_map(|tagging| PathSpec::VlanBridge { tagging }),
        (one(&Datapath::ALL), any::<bool>())
            .prop_map(|(datapath, tagged)| PathSpec::Ovs { datapath, tagged }),
        dpdk().prop_map(PathSpec::OvsDpdk),
        (dpdk(), nics).prop_map(|(dpdk, nics)| PathSpec::Testpmd { dpdk, nics }),
        (
            number(),
            one(&Lookup::ALL),
            one(&Nat::ALL),
            one(&OnOff::ALL)
        )
            .prop_map(|(rules, lookup, nat, flowtable)| {
                PathSpec::Routed(RoutedParams {
                    rules,
                    lookup,
                    nat,
                    flowtable,
                })
            }),
        (one(&Encapsulation::ALL), one(&OnOff::ALL)).prop_map(|(encapsulation, gro)| {
            PathSpec::Tunnel(TunnelParams { encapsulation, gro })
        }),
        one(&SubMode::ALL).prop_map(|mode| match mode {
            Some(own) if own.is_ipvlan() => PathSpec::Ipvlan { mode },
            mode => PathSpec::Macvlan { mode },
        }),
        one(&TcFilter::ALL).prop_map(|filter| PathSpec::TcRedirect { filter }),
        Just(PathSpec::XdpRedirect),
        (one(&Datapath::ALL), one(&Acl::ALL))
            .prop_map(|(datapath, acl)| PathSpec::Ovn { datapath, acl }),
        one(&Aggregation::ALL).prop_map(|aggregation| PathSpec::Bond { aggregation }),
        one(&[Aggregation::ActiveBackup, Aggregation::BalanceRr])
            .prop_map(|aggregation| PathSpec::Team { aggregation }),
        one(&[SubMode::L2, SubMode::L3]).prop_map(|mode| PathSpec::Netkit { mode }),
        guests().prop_map(PathSpec::Vm),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(path in paths()) {
        let words: Words =
            path.words().into_iter().map(|(key, word)| (key.to_owned(), word)).collect();
        prop_assert_eq!(PathSpec::try_from(&words), Ok(path.clone()));
        // A text is divided at commas, so no name in it may have one.
        if path.words().iter().all(|(_, word)| !word.contains(',')) {
            prop_assert_eq!(path.to_string().parse(), Ok(path.clone()));
        }
        let json = serde_json::to_string(&path).unwrap();
        // The object of words that it has been in every version.
        prop_assert_eq!(&serde_json::to_string(&words).unwrap(), &json);
        prop_assert_eq!(serde_json::from_str::<PathSpec>(&json).unwrap(), path);
    }
}
