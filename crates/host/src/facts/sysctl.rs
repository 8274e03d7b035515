//! Settings of the kernel and its modules.

use std::collections::BTreeMap;

use crate::fingerprint::SYSCTLS;
use crate::roots::{ProcRoot, SysRoot};

/// Settings of the TCP stack and of virtual memory that rules look at, beyond those of the
/// fingerprint.
const MORE: [&str; 13] = [
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
    "vm.nr_hugepages",
    "vm.zone_reclaim_mode",
];

/// Parameters of modules that carry frames of virtual machines.
const PARAMETERS: [(&str, &str); 6] = [
    ("kvm", "halt_poll_ns"),
    ("kvm", "halt_poll_ns_grow"),
    ("kvm", "halt_poll_ns_grow_start"),
    ("vhost_net", "experimental_zcopytx"),
    ("vfio_iommu_type1", "allow_unsafe_interrupts"),
    ("tun", "tun_default"),
];

pub(super) fn read(proc: &ProcRoot) -> BTreeMap<String, String> {
    let one = |name: &&str| {
        let value = proc.text(format!("sys/{}", name.replace('.', "/")))?;
        // Settings of several numbers are separated by tabs.
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        Some(((*name).to_owned(), words.join(" ")))
    };
    SYSCTLS.iter().chain(&MORE).filter_map(one).collect()
}

/// Parameters of modules that are loaded or built in; a module without them leaves `module` as
/// a key of empty value.
pub(super) fn module_parameters(sys: &SysRoot) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    for (module, parameter) in PARAMETERS {
        if let Some(value) = sys.text(format!("module/{module}/parameters/{parameter}")) {
            parameters.insert(format!("{module}.{parameter}"), value);
        }
    }
    parameters
}

/// IOMMU groups by type.
pub(super) fn iommu_groups(sys: &SysRoot) -> BTreeMap<String, u32> {
    let mut types = BTreeMap::new();
    for group in sys.entries("kernel/iommu_groups") {
        if let Some(kind) = sys.text(format!("kernel/iommu_groups/{group}/type")) {
            *types.entry(kind).or_insert(0) += 1;
        }
    }
    types
}

/// `RcvbufErrors` of UDP over IPv4 and IPv6: datagrams for which the socket's buffer had no room.
pub(super) fn udp_rcvbuf_errors(proc: &ProcRoot) -> Option<u64> {
    let ipv4 = udp4(proc);
    let ipv6 = udp6(proc);
    (ipv4.is_some() || ipv6.is_some()).then(|| ipv4.unwrap_or(0) + ipv6.unwrap_or(0))
}

/// The column of a line of names and one of numbers (net/ipv4/proc.c, `snmp_seq_show`).
fn udp4(proc: &ProcRoot) -> Option<u64> {
    let text = proc.text_as("net/snmp", |text| lines_of(text, "Udp:"))?;
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    let column = lines.next()?.position(|word| word == "RcvbufErrors")?;
    lines.next()?.nth(column)?.parse().ok()
}

/// A name and a number on each line (net/ipv6/proc.c, `snmp6_seq_show`).
fn udp6(proc: &ProcRoot) -> Option<u64> {
    let name = "Udp6RcvbufErrors";
    let text = proc.text_as("net/snmp6", |text| lines_of(text, name))?;
    text.strip_prefix(name)?.trim().parse().ok()
}

/// The lines that begin with a word: what else is counted is not recorded.
fn lines_of(text: &str, word: &str) -> String {
    let lines = text.lines().filter(|line| line.starts_with(word));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_both_families_are_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let proc = ProcRoot::new(dir.path());
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(dir.path().join("net")).unwrap();
            std::fs::write(dir.path().join("net").join(name), text).unwrap();
        };
        assert_eq!(udp_rcvbuf_errors(&proc), None);
        write(
            "snmp6",
            "Ip6InReceives 7\nUdp6RcvbufErrors                3\nUdp6MemErrors 9\n",
        );
        assert_eq!(udp_rcvbuf_errors(&proc), Some(3));
        write(
            "snmp",
            "Tcp: RcvbufErrors\nTcp: 8\nUdp: InDatagrams RcvbufErrors SndbufErrors\nUdp: 9 4 7\n",
        );
        assert_eq!(udp_rcvbuf_errors(&proc), Some(7));
    }
}
