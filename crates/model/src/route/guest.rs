//! Routes through guests.

use super::{Counts, Site, SiteKind, Station, StationKind};
use crate::path::{VmConfig, VmNic, VmSwitch};

/// Sites between the tester's ports.
pub(super) fn sites(ask: &VmConfig) -> Vec<Site> {
    let guest = Site {
        kind: SiteKind::Guests(ask.vms),
        stations: guest(ask),
    };
    if ask.nic.on_function() {
        return on_functions(ask, guest);
    }
    let near = near(ask);
    // The far side is the near side seen from B.
    let far = near.iter().rev().map(|station| mirrored(station, ask));
    let far = far.collect();
    vec![Site::host(near), guest, Site::host(far)]
}

/// Names of the guests, as places of theirs begin.
fn names(ask: &VmConfig) -> Vec<String> {
    match ask.vms {
        0 | 1 => vec!["guest".to_owned()],
        many => (0..many).map(|number| format!("guest{number}")).collect(),
    }
}

fn guest(ask: &VmConfig) -> Vec<Station> {
    let nic = |side: usize, counts| {
        let letter = if ask.netns { "g" } else { "eth" };
        let name = |guest| format!("{guest} {letter}{side}");
        Station {
            names: names(ask).into_iter().map(name).collect(),
            kind: StationKind::GuestNic,
            counts,
        }
    };
    vec![
        nic(0, Counts::Received),
        Station::unnamed(StationKind::Bridge),
        nic(1, Counts::Sent),
    ]
}

/// One station for each guest on the near side: `t0`, `t2`, …
fn each(ask: &VmConfig, prefix: &str, kind: StationKind, counts: Counts) -> Station {
    let name = |guest: u32| format!("{prefix}{}", 2 * guest);
    Station {
        names: (0..ask.vms.max(1)).map(name).collect(),
        kind,
        counts,
    }
}

/// Stations of the host between the tester's port A and the guests.
fn near(ask: &VmConfig) -> Vec<Station> {
    use StationKind::{
        Bridge, FilteringBridge, Macvtap, Ovs, OvsDpdk, SwitchPort, Tap, Testpmd, Veth, Vlan,
    };
    let tap = || each(ask, "t", Tap, Counts::Sent);
    let mut stations = vec![Station::near("d0", Veth)];
    if ask.netns || ask.nic == VmNic::AfXdp {
        return stations;
    }
    if ask.nic == VmNic::Macvtap {
        stations.push(each(ask, "m", Macvtap, Counts::Received));
        return stations;
    }
    match ask.switch {
        VmSwitch::Bridge => stations.extend([Station::switch("br0", Bridge), tap()]),
        VmSwitch::VlanBridge { filtering: true } => {
            stations.extend([Station::switch("br0", FilteringBridge), tap()]);
        }
        VmSwitch::VlanBridge { filtering: false } => stations.extend([
            Station::near("d0.100", Vlan),
            Station::switch("br0", Bridge),
            tap(),
        ]),
        VmSwitch::Ovs { bridged: false, .. } => {
            stations.extend([Station::switch("ovs", Ovs), tap()]);
        }
        VmSwitch::Ovs { bridged: true, .. } => stations.extend([
            Station::switch("ovs", Ovs),
            each(ask, "qvo", Veth, Counts::Sent),
            each(ask, "qvb", Veth, Counts::Received),
            each(ask, "qbr", Bridge, Counts::Neither),
            tap(),
        ]),
        VmSwitch::OvsDpdk => stations.extend([
            Station::near("ovs p0", SwitchPort),
            Station::switch("ovs", OvsDpdk),
            each(ask, "ovs t", SwitchPort, Counts::Sent),
        ]),
        VmSwitch::Testpmd => stations.extend([
            Station::near("testpmd port 0", SwitchPort),
            Station::unnamed(Testpmd),
            Station::far("testpmd port 1", SwitchPort),
        ]),
    }
    stations
}

/// The station with the same part on the far side: `d1` of `d0`, `t3` of `t2`.
fn mirrored(station: &Station, ask: &VmConfig) -> Station {
    let counts = match station.counts {
        Counts::Received => Counts::Sent,
        Counts::Sent => Counts::Received,
        Counts::Neither => Counts::Neither,
    };
    let name = |name: &String| match name.as_str() {
        "d0.100" => "d1.100".to_owned(),
        "testpmd port 0" => "testpmd port 3".to_owned(),
        "testpmd port 1" => "testpmd port 2".to_owned(),
        name => next(name),
    };
    let names = match station.kind {
        // Open vSwitch counts its lookups on both sides together, at the first.
        StationKind::Ovs | StationKind::OvsDpdk => Vec::new(),
        _ => station.names.iter().map(name).collect(),
    };
    debug_assert!(names.len() <= ask.vms.max(1) as usize);
    Station {
        names,
        kind: station.kind,
        counts,
    }
}

/// `t3` for `t2`.
fn next(name: &str) -> String {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match name[letters.len()..].parse::<u32>() {
        Ok(number) => format!("{letters}{}", number + 1),
        Err(_) => name.to_owned(),
    }
}

/// Through the switch of a NIC on either side.
fn on_functions(ask: &VmConfig, guest: Site) -> Vec<Site> {
    let pf = ask.pf.as_deref().unwrap_or("NIC");
    let last = 2 * ask.vms.max(1) + 1;
    // Guest `n` has the functions 2n+1 and 2n+2.
    let of_guests = |side: u32| {
        let names = (0..ask.vms.max(1)).map(|guest| format!("vf{}", 2 * guest + 1 + side));
        names.collect::<Vec<_>>().join("+")
    };
    let nic = |from: String, to: String| {
        let function = |name: &str, counts| {
            Station::new(&format!("{pf} {name}"), StationKind::Function, counts)
        };
        Site {
            kind: SiteKind::Nic,
            stations: vec![
                function(&from, Counts::Sent),
                Station::unnamed(StationKind::NicSwitch),
                function(&to, Counts::Received),
            ],
        }
    };
    let mut sites = vec![nic("vf0".to_owned(), of_guests(0))];
    let middle = match ask.nic {
        VmNic::SriovMacvtap => {
            let function = each(ask, "d", StationKind::Function, Counts::Received);
            let near = vec![
                function,
                each(ask, "m", StationKind::Macvtap, Counts::Received),
            ];
            let far = near.iter().rev().map(|station| mirrored(station, ask));
            let far = far.collect();
            vec![Site::host(near), guest, Site::host(far)]
        }
        _ => vec![guest],
    };
    sites.extend(middle);
    sites.push(nic(of_guests(1), format!("vf{last}")));
    sites
}
