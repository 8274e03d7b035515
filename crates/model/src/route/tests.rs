use super::*;

fn route(path: &str) -> Route {
    Route::of(&path.parse().unwrap())
}

/// The names of its stations, as a line.
fn names(route: &Route) -> String {
    let names = route.stations().map(|station| station.names.join("+"));
    names.collect::<Vec<_>>().join(" | ")
}

#[test]
fn guests_far_side_is_the_near_side_seen_from_b() {
    let two = route("vm,vms=2");
    assert_eq!(
        names(&two),
        "a | d0 | br0 | t0+t2 | guest0 eth0+guest1 eth0 |  | guest0 eth1+guest1 eth1 | t1+t3 | br1 | d1 | b"
    );
    let counts: Vec<Counts> = two.stations().map(|station| station.counts).collect();
    // Frames from A to B: sent by a, received at d0, sent into the tap, …
    assert_eq!(counts[0], Counts::Sent);
    assert_eq!((counts[1], counts[3]), (Counts::Received, Counts::Sent));
    assert_eq!((counts[7], counts[9]), (Counts::Received, Counts::Sent));
}

#[test]
fn stations_follow_from_the_kind_of_path() {
    for (path, wanted) in [
        // Sockets of a guest take the frames of the interface.
        (
            "vm,nic=af-xdp",
            "a | d0 | guest eth0 |  | guest eth1 | d1 | b",
        ),
        // Bundled links are side by side and counted together.
        (
            "bond,aggregation=802.3ad",
            "a | d0 | br0 | bond0 | u0+u1 | v0+v1 | bond1 | br1 | d1 | b",
        ),
        // A netkit pair is behind a router or a bridge.
        ("netkit", "a | d0 |  | nk0 | b"),
        ("netkit,mode=l2", "a | d0 | br0 | nk0 | b"),
    ] {
        assert_eq!(names(&route(path)), wanted, "{path}");
    }
    assert!(names(&route("team")).starts_with("a | d0 | br0 | team0 | "));
}

#[test]
fn guests_name_their_interfaces_and_unknown_places_stand_behind_known_ones() {
    let mut route = route("vm");
    let places = "a,d0,x0,t0,guest ens3,guest ens4,t1,d1,b";
    route.lay_out(places.split(','));
    assert_eq!(
        names(&route),
        "a | d0 | x0 | br0 | t0 | guest ens3 |  | guest ens4 | t1 | br1 | d1 | b"
    );
}
