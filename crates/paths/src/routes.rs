//! Whether the host sends traffic over an interface.

use std::fs;

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
