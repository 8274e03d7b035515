//! The middle as a host and a router instead of a bridge.

use std::net::UdpSocket;

use nicety_packet::MacAddr;
use nicety_paths::BridgePath;
use nicety_testkit::runner::Skip;

use crate::case::{Run, all_lost, commands, told, trial, unexplained};

/// Takes the bridge away; `d0` has the address that the tester sends to, and is in the tester's network.
fn router(path: &BridgePath, lines: &[&str]) -> Result<(), Skip> {
    let mac = MacAddr::local(2);
    let address = format!("ip link set d0 address {mac}");
    commands(
        path,
        &[
            "ip link set d0 nomaster",
            "ip link set d1 nomaster",
            &address,
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.d0.rp_filter=0 net.ipv4.conf.d1.rp_filter=0",
            "ip addr add 198.18.255.254/16 dev d0",
        ],
    )?;
    commands(path, lines)
}

fn lost_at(device: &str, names: &[&str], lines: &[&str]) -> Result<(), Skip> {
    let record = trial(Run::default(), |path| router(path, lines))?;
    assert_eq!(record.frames.received, 0);
    all_lost(&record, device, names);
    Ok(())
}

/// Nobody is asked, so that no frame waits for an answer.
pub fn no_neighbour() -> Result<(), Skip> {
    let lines = [
        "sysctl -qw net.ipv4.neigh.d1.mcast_solicit=0 net.ipv4.neigh.d1.app_solicit=0",
        "ip addr add 198.19.255.254/16 dev d1",
    ];
    lost_at("d1", &["NEIGH_FAILED"], &lines)
}

pub fn no_route() -> Result<(), Skip> {
    lost_at(
        "d0",
        &["IP_INNOROUTES", "IP_OUTNOROUTES", "ip_error"],
        &["ip route add unreachable 198.19.0.0/16"],
    )
}

pub fn reverse_path() -> Result<(), Skip> {
    let lines = [
        "ip addr add 198.19.255.254/16 dev d1",
        "ip route replace 198.18.0.0/16 dev d1",
        "sysctl -qw net.ipv4.conf.d0.rp_filter=1",
    ];
    lost_at("d0", &["IP_RPFILTER"], &lines)
}

/// The destination is this host's own.
const LOCAL: &str = "ip route add local 198.19.0.0/16 dev lo";

pub fn no_socket() -> Result<(), Skip> {
    lost_at("d0", &["NO_SOCKET"], &[LOCAL])
}

pub fn full_socket() -> Result<(), Skip> {
    let mut socket = None;
    let record = trial(Run::default(), |path| {
        router(path, &[LOCAL])?;
        let bound = path.dut().run(|| UdpSocket::bind(("0.0.0.0", 0xe000)));
        socket = Some(bound.unwrap().map_err(|error| Skip(error.to_string()))?);
        Ok(())
    })?;
    let (full, _) = told(&record, "", &["SOCKET_RCVBUFF"]);
    let (at_d0, _) = told(&record, "d0", &["SOCKET_RCVBUFF"]);
    assert!(full + at_d0 > 0, "{:?}", record.loss_ledger);
    // Those that it took stand there unread.
    let socket = socket.unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut taken = 0;
    while socket.recv(&mut [0; 64]).is_ok() {
        taken += 1;
    }
    let first = record.frames.lost - full - at_d0;
    println!("    {:?}, taken {taken}", record.loss_ledger);
    assert!(unexplained(&record) <= taken && first == unexplained(&record));
    Ok(())
}

pub fn macvlan() -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        commands(
            path,
            &[
                "ip link set d0 nomaster",
                "ip link add m0 link d0 type macvlan mode private",
                "ip link set m0 up",
            ],
        )
    })?;
    all_lost(&record, "d0", &["OTHERHOST", "ip_rcv"]);
    Ok(())
}
