//! Namespaces, interfaces, drivers and sysfs against the running kernel.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::process::{Command, ExitCode};
use std::time::Duration;

use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::{LinkChange, Links, Mac, VethEnd};
use nicety_netdev::napi;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::ns_sysfs::NsSysfs;
use nicety_netdev::privilege::{Privilege, enter_user_namespace};
use nicety_netdev::sysctl;
use nicety_testkit::runner::{Skip, Test, run};
use rustix::thread::{CapabilitySet, CapabilitySets};

mod shapers;

use shapers::{bursts_shrink, foreign_limits, limits_in_between, lost_limiters, port_limits};

type Outcome = Result<(), Skip>;

/// Set for the copy of this program that forbids itself user namespaces.
const FORBID: &str = "NICETY_TEST_FORBID";

fn main() -> ExitCode {
    if std::env::var_os(FORBID).is_some() {
        return forbid_user_namespaces();
    }
    run([
        Test::new("a_namespace_never_leaks_to_the_caller", no_leak),
        Test::new("values_and_panics_come_out_of_a_namespace", values_come_out),
        Test::new("a_veth_pair_is_made_as_asked", veth_pair).as_any_user(),
        Test::new("bridges_have_ports", bridge),
        Test::new("errors_say_what_is_wrong", errors),
        Test::new("carrier_is_waited_for", carrier),
        Test::new("drivers_tell_about_themselves", driver),
        Test::new("features_are_switched_and_told_back", features).as_any_user(),
        Test::new("sysfs_shows_the_other_namespace", sysfs).as_any_user(),
        Test::new("napi_threads_are_found_and_pinned", napi_threads).as_any_user(),
        Test::new("napi_needs_gro", napi_without_gro),
        Test::new("ipv6_can_be_kept_quiet", no_ipv6).as_any_user(),
        Test::new("addresses_that_were_given_are_told", addresses),
        Test::new("without_capabilities_the_error_says_so", no_capabilities).as_any_user(),
        Test::new("ports_are_limited_and_opened_again", port_limits).as_any_user(),
        Test::new("a_burst_that_shrinks_stops_nobody", bursts_shrink),
        Test::new("limits_are_read_where_something_came", limits_in_between),
        Test::new("limits_of_others_are_left_alone", foreign_limits).as_any_user(),
        Test::new("a_limit_that_lets_nothing_through_is_none", lost_limiters),
        Test::new("forbidden_user_namespaces_are_explained", forbidden).as_any_user(),
    ])
}

const SOME_MAC: Mac = Mac([0x02, 0, 0, 0, 0, 0x77]);

pub(crate) struct Pair {
    pub(crate) near: NetNs,
    pub(crate) near_links: Links,
    pub(crate) far_links: Links,
}

/// `x` and `y` in two namespaces, both down.
pub(crate) fn pair(queues: u32) -> Pair {
    let (near, far) = (
        NetNs::create("near").unwrap(),
        NetNs::create("far").unwrap(),
    );
    let near_links = Links::open(&near).unwrap();
    let end = |ns, name, mac| VethEnd {
        ns,
        name,
        mtu: 2000,
        queues,
        mac,
    };
    near_links
        .add_veth(end(&near, "x", Some(SOME_MAC)), end(&far, "y", None))
        .unwrap();
    Pair {
        far_links: Links::open(&far).unwrap(),
        near_links,
        near,
    }
}

fn up(links: &Links, name: &str, up: bool) {
    links
        .change(
            name,
            &LinkChange {
                up: Some(up),
                ..LinkChange::default()
            },
        )
        .unwrap();
}

fn no_leak(_: Privilege) {
    let before = NetNs::current().unwrap();
    let made = NetNs::create("made").unwrap();
    assert!(!made.is_same(&before));
    let inside = made.run(|| NetNs::current().unwrap()).unwrap();
    assert!(inside.is_same(&made));
    assert!(NetNs::current().unwrap().is_same(&before));
}

fn values_come_out(_: Privilege) {
    let ns = NetNs::create("values").unwrap();
    let borrowed = [1, 2, 3];
    assert_eq!(ns.run(|| borrowed.iter().sum::<i32>()).unwrap(), 6);
    let panicked = std::panic::catch_unwind(|| {
        // Not panic!(), which would print a trace that looks like a failure.
        ns.run(|| std::panic::resume_unwind(Box::new("on purpose")))
    });
    assert_eq!(
        panicked.unwrap_err().downcast_ref::<&str>(),
        Some(&"on purpose")
    );
}

fn veth_pair(_: Privilege) {
    let pair = pair(2);
    let (x, y) = (
        pair.near_links.get("x").unwrap(),
        pair.far_links.get("y").unwrap(),
    );
    assert_eq!(
        (
            x.kind.as_str(),
            x.mtu,
            x.mac,
            x.rx_queues,
            x.tx_queues,
            x.up
        ),
        ("veth", 2000, Some(SOME_MAC), 2, 2, false)
    );
    assert_eq!((y.mtu, y.lower), (2000, Some(x.index)));
    let change = LinkChange {
        mtu: Some(1400),
        mac: Some(Mac([2, 0, 0, 0, 0, 1])),
        ..LinkChange::default()
    };
    pair.far_links.change("y", &change).unwrap();
    let y = pair.far_links.get("y").unwrap();
    assert_eq!((y.mtu, y.mac), (1400, change.mac));
    pair.near_links.delete("x").unwrap();
    assert!(pair.far_links.get("y").unwrap_err().is_not_found());
}

fn bridge(_: Privilege) {
    let pair = pair(1);
    pair.near_links.add_bridge("br0").unwrap();
    let br0 = pair.near_links.get("br0").unwrap();
    assert_eq!(br0.kind, "bridge");
    let master = |index| LinkChange {
        master: Some(index),
        ..LinkChange::default()
    };
    pair.near_links.change("x", &master(br0.index)).unwrap();
    assert_eq!(pair.near_links.get("x").unwrap().master, Some(br0.index));
    // A bridge listens to everything on its ports.
    assert!(pair.near_links.get("x").unwrap().promiscuous);
    pair.near_links.change("x", &master(0)).unwrap();
    assert_eq!(pair.near_links.get("x").unwrap().master, None);
    let sysfs = NsSysfs::mount(&pair.near).unwrap();
    for (file, value) in [
        ("bridge/forward_delay", "0"),
        ("bridge/stp_state", "0"),
        ("bridge/multicast_snooping", "0"),
        ("bridge/ageing_time", "30000"),
    ] {
        assert_eq!(sysfs.read("br0", file).unwrap(), value, "{file}");
    }
}

fn errors(_: Privilege) {
    let pair = pair(1);
    let links = &pair.near_links;
    assert!(matches!(
        links.add_bridge("x"),
        Err(NetError::Exists { .. })
    ));
    assert!(matches!(
        links.add_bridge("a-name-too-long-0"),
        Err(NetError::BadName { .. })
    ));
    for error in [
        links.get("nope").unwrap_err(),
        links.delete("nope").unwrap_err(),
        links.change("nope", &LinkChange::default()).unwrap_err(),
        Ethtool::open(&pair.near)
            .unwrap()
            .driver("nope")
            .unwrap_err(),
        NsSysfs::mount(&pair.near)
            .unwrap()
            .read("nope", "mtu")
            .unwrap_err(),
    ] {
        assert!(error.is_not_found(), "{error}");
        let line = error.to_string();
        assert!(line.contains("nope") && line.contains("near"), "{line}");
    }
}

fn carrier(_: Privilege) {
    let pair = pair(1);
    up(&pair.near_links, "x", true);
    let waited = pair.near_links.wait_carrier("x", Duration::from_millis(20));
    assert!(matches!(waited, Err(NetError::TimedOut { .. })));
    up(&pair.far_links, "y", true);
    let x = pair.near_links.wait_carrier("x", Duration::from_secs(10));
    assert!(x.unwrap().is_running());
}

fn driver(_: Privilege) {
    let pair = pair(1);
    let ethtool = Ethtool::open(&pair.near).unwrap();
    assert_eq!(ethtool.driver("x").unwrap().driver, "veth");
    assert_eq!(ethtool.speed_mbps("x").unwrap(), Some(10_000));
    assert_eq!(ethtool.channels("x").unwrap().current.rx, 1);
    assert!(ethtool.rings("x").unwrap_err().is_unsupported());
    let y = pair.far_links.get("y").unwrap();
    let statistics = ethtool.statistics("x").unwrap();
    assert_eq!(statistics.get("peer_ifindex"), Some(&u64::from(y.index)));
    // The loopback has no statistics and no bus.
    assert!(ethtool.statistics("lo").unwrap().is_empty());
}

fn features(_: Privilege) {
    let pair = pair(1);
    let ethtool = Ethtool::open(&pair.near).unwrap();
    let active = |name: &str| ethtool.features("x").unwrap()[name].active;
    assert!(active("tx-tcp-segmentation"));
    let old = ethtool.set_features("x", &napi::SENDER_FEATURES).unwrap();
    assert_eq!(old[0], ("tx-tcp-segmentation".to_owned(), true));
    assert!(!active("tx-tcp-segmentation") && !active("tx-tcp6-segmentation"));
    let back: Vec<_> = old.iter().map(|(name, on)| (name.as_str(), *on)).collect();
    ethtool.set_features("x", &back).unwrap();
    assert!(active("tx-tcp-segmentation"));
    let unknown = ethtool.set_features("x", &[("no-such-feature", true)]);
    assert!(unknown.unwrap_err().is_not_found());
    let fixed = ethtool.features("x").unwrap();
    let (name, feature) = fixed.iter().find(|(_, f)| !f.changeable).unwrap();
    let refused = ethtool.set_features("x", &[(name, !feature.active)]);
    assert!(
        matches!(
            refused,
            Err(NetError::NotApplied { .. } | NetError::Kernel { .. })
        ),
        "{name}: {refused:?}"
    );
}

fn sysfs(privilege: Privilege) {
    let pair = pair(1);
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    for mount in [NsSysfs::mount, NsSysfs::mount_in_passing] {
        let sysfs = mount(&pair.near).unwrap();
        assert_eq!(sysfs.read("x", "address").unwrap(), SOME_MAC.to_string());
        assert!(sysfs.read("y", "address").unwrap_err().is_not_found());
        assert_eq!(sysfs.write("x", "mtu", "1777").unwrap(), "2000");
        assert_eq!(sysfs.write("x", "mtu", "2000").unwrap(), "1777");
        let steering = sysfs.write("x", "queues/rx-0/rps_cpus", "1");
        if privilege == Privilege::Privileged {
            steering.unwrap();
        } else {
            assert!(steering.unwrap_err().is_not_permitted());
        }
    }
    assert_eq!(mounts(), before);
    assert!(!std::path::Path::new("/sys/class/net/x").exists());
}

fn napi_threads(privilege: Privilege) {
    // Two pairs with the same names: threads must not be mixed up.
    let (first, second) = (pair(2), pair(1));
    let mut seen = Vec::new();
    for (pair, queues) in [(&first, 2), (&second, 1)] {
        let ethtool = Ethtool::open(&pair.near).unwrap();
        ethtool.set_features("x", &napi::RECEIVER_FEATURES).unwrap();
        up(&pair.near_links, "x", true);
        let link = pair.near_links.get("x").unwrap();
        let sysfs = NsSysfs::mount(&pair.near).unwrap();
        let threads = napi::make_threaded(&pair.near, &sysfs, &link).unwrap();
        assert_eq!(threads.len(), queues, "{threads:?}");
        // Once more finds the same ones.
        assert_eq!(
            napi::make_threaded(&pair.near, &sysfs, &link).unwrap(),
            threads
        );
        for thread in threads {
            assert!(thread.name.starts_with("napi/x-"), "{thread:?}");
            assert!(!seen.contains(&thread.pid), "{thread:?}");
            seen.push(thread.pid);
            let pinned = napi::pin(&thread, 0);
            if privilege == Privilege::Privileged {
                pinned.unwrap();
                assert_eq!(napi::cpus(&thread).unwrap(), [0]);
            } else {
                assert!(pinned.unwrap_err().is_not_permitted());
                assert!(!napi::cpus(&thread).unwrap().is_empty());
            }
        }
    }
}

fn napi_without_gro(_: Privilege) {
    let pair = pair(1);
    up(&pair.near_links, "x", true);
    let link = pair.near_links.get("x").unwrap();
    let sysfs = NsSysfs::mount(&pair.near).unwrap();
    assert!(napi::make_threaded(&pair.near, &sysfs, &link).is_err());
}

fn no_ipv6(_: Privilege) {
    let pair = pair(1);
    sysctl::disable_ipv6(&pair.near).unwrap();
    up(&pair.near_links, "x", true);
    up(&pair.far_links, "y", true);
    pair.near_links
        .wait_carrier("x", Duration::from_secs(10))
        .unwrap();
    let addresses =
        || std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    assert_eq!(pair.near.run(addresses).unwrap(), "");
}

fn addresses(_: Privilege) {
    let pair = pair(1);
    up(&pair.near_links, "x", true);
    up(&pair.far_links, "y", true);
    let limit = Duration::from_secs(10);
    pair.near_links.wait_carrier("x", limit).unwrap();
    // The kernel's own for the link do not count, a host's without a route do.
    assert!(pair.near_links.addresses("x").unwrap().is_empty());
    let given = "198.18.0.7".parse().unwrap();
    pair.near_links.add_address("x", given, 32).unwrap();
    assert_eq!(pair.near_links.addresses("x").unwrap(), [given]);
    assert!(pair.near_links.addresses("lo").unwrap().is_empty());
    assert!(pair.far_links.addresses("y").unwrap().is_empty());
    let error = pair.near_links.addresses("y").unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

fn no_capabilities(_: Privilege) {
    // Capabilities belong to threads; new ones inherit them.
    let error = std::thread::spawn(|| {
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        rustix::thread::set_capabilities(None, none).unwrap();
        NetNs::create("refused").unwrap_err()
    });
    let error = error.join().unwrap();
    assert!(error.is_not_permitted(), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

fn forbidden(_: Privilege) -> Outcome {
    let child = Command::new(std::env::current_exe().unwrap())
        .env(FORBID, "1")
        .output()
        .unwrap();
    let said = String::from_utf8(child.stdout).unwrap();
    if let Some(why) = said.strip_prefix("SKIP ") {
        return Err(Skip(why.trim_end().to_owned()));
    }
    assert_eq!(
        said,
        "enter user namespace: forbidden on this host (user.max_user_namespaces = 0); \
         run as root, or have root set it: sysctl -w user.max_user_namespaces=10000\n"
    );
    Ok(())
}

/// The limit belongs to a user namespace: set to nothing inside one, it forbids further ones
/// there and disturbs nobody else.
fn forbid_user_namespaces() -> ExitCode {
    // In a chroot there is none to forbid further ones in.
    if let Err(error) = enter_user_namespace() {
        println!("SKIP {error}");
        return ExitCode::SUCCESS;
    }
    std::fs::write("/proc/sys/user/max_user_namespaces", "0").unwrap();
    println!("{}", enter_user_namespace().unwrap_err());
    ExitCode::SUCCESS
}
