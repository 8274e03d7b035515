//! Whether somebody else uses a port or its functions.

use std::fs;

use nicety_host::vf::{Holder, Places, VfHolders};

/// Who has the first function that somebody has.
pub(super) fn holder(places: &Places, pf: &str, count: u32) -> String {
    let holders = VfHolders::find();
    let mut functions = (0..count).filter_map(|vf| Some((vf, places.virtual_function(pf, vf)?)));
    let found = functions.find_map(|(vf, function)| {
        let who = match holders.of(&function) {
            Holder::Interface(name) => format!("is {name}"),
            Holder::OtherNamespace(None) => "is in another namespace".to_owned(),
            Holder::OtherNamespace(Some(name)) => format!("is in the namespace {name}"),
            Holder::Process { pid, name } => format!("belongs to {name} (process {pid})"),
            Holder::Vfio => "belongs to VFIO".to_owned(),
            Holder::Uio => "belongs to UIO".to_owned(),
            Holder::Nobody => return None,
        };
        Some(format!(", vf{vf} {who}"))
    });
    found.unwrap_or_default()
}

/// Whether there are routes over the interface (proc_net(5): route, ipv6_route).
pub(crate) fn routed(pf: &str) -> bool {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    let four = read("/proc/thread-self/net/route");
    let six = read("/proc/thread-self/net/ipv6_route");
    over(pf, &four, &six)
}

fn over(pf: &str, four: &str, six: &str) -> bool {
    let own = |line: &str| {
        // Link-local and multicast routes are everywhere.
        !(line.starts_with("fe80") || line.starts_with("ff"))
            && line.split_ascii_whitespace().last() == Some(pf)
    };
    let first = |line: &str| line.split_ascii_whitespace().next() == Some(pf);
    four.lines().any(first) || six.lines().any(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_with_routes_is_seen() {
        let four = "Iface\tDestination\tGateway\neth0\t00000000\t010200C0\n";
        let six = "fe800000000000000000000000000000 40 0 00 0 00000100 eth1\n\
                   20010db8000000000000000000000000 40 0 00 0 00000100 eth2\n";
        assert!(over("eth0", four, six) && over("eth2", four, six));
        assert!(!over("eth1", four, six) && !over("eth3", four, six));
    }
}
