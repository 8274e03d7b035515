use super::*;
use crate::path::Words;

fn route(words: &[(&str, &str)]) -> Route {
    let words: Words = words
        .iter()
        .map(|(key, word)| ((*key).to_owned(), (*word).to_owned()))
        .collect();
    Route::of(&PathSpec::try_from(&words).unwrap())
}

fn names(route: &Route) -> Vec<String> {
    let names = route.stations().map(|station| station.names.join("+"));
    names.collect()
}

#[test]
fn guests_far_side_is_the_near_side_seen_from_b() {
    let two = route(&[("kind", "vm"), ("vms", "2")]);
    assert_eq!(
        names(&two),
        [
            "a",
            "d0",
            "br0",
            "t0+t2",
            "guest0 eth0+guest1 eth0",
            "",
            "guest0 eth1+guest1 eth1",
            "t1+t3",
            "br1",
            "d1",
            "b"
        ]
    );
    let counts: Vec<Counts> = two.stations().map(|station| station.counts).collect();
    // Frames from A to B: sent by a, received at d0, sent into the tap, …
    assert_eq!(counts[0], Counts::Sent);
    assert_eq!((counts[1], counts[3]), (Counts::Received, Counts::Sent));
    assert_eq!((counts[7], counts[9]), (Counts::Received, Counts::Sent));
}

#[test]
fn sockets_of_a_guest_take_the_frames_of_the_interface() {
    let route = route(&[("kind", "vm"), ("nic", "af-xdp")]);
    assert_eq!(
        names(&route),
        ["a", "d0", "guest eth0", "", "guest eth1", "d1", "b"]
    );
}

#[test]
fn bundled_links_are_side_by_side_and_counted_together() {
    let bond = route(&[("kind", "bond"), ("aggregation", "802.3ad")]);
    assert_eq!(
        names(&bond),
        [
            "a", "d0", "br0", "bond0", "u0+u1", "v0+v1", "bond1", "br1", "d1", "b"
        ]
    );
    let team = route(&[("kind", "team")]);
    assert_eq!(names(&team)[3], "team0");
}

#[test]
fn a_netkit_pair_is_behind_a_router_or_a_bridge() {
    let routed = route(&[("kind", "netkit")]);
    assert_eq!(names(&routed), ["a", "d0", "", "nk0", "b"]);
    let bridged = route(&[("kind", "netkit"), ("mode", "l2")]);
    assert_eq!(names(&bridged), ["a", "d0", "br0", "nk0", "b"]);
}

#[test]
fn guests_name_their_interfaces_and_unknown_places_stand_behind_known_ones() {
    let mut route = route(&[("kind", "vm")]);
    route.lay_out([
        "a",
        "d0",
        "x0",
        "t0",
        "guest ens3",
        "guest ens4",
        "t1",
        "d1",
        "b",
    ]);
    assert_eq!(
        names(&route),
        [
            "a",
            "d0",
            "x0",
            "br0",
            "t0",
            "guest ens3",
            "",
            "guest ens4",
            "t1",
            "br1",
            "d1",
            "b"
        ]
    );
}
