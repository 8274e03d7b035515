//! Kernel settings that matter to a forwarding path.

use std::collections::BTreeMap;

use crate::roots::ProcRoot;

/// Settings recorded, by sysctl name (Documentation/admin-guide/sysctl/net.rst, kernel.rst,
/// networking/ip-sysctl.rst). One that this kernel or namespace lacks is absent.
pub const SYSCTLS: [&str; 29] = [
    "kernel.numa_balancing",
    "kernel.sched_rt_runtime_us",
    "kernel.timer_migration",
    "kernel.unprivileged_bpf_disabled",
    "kernel.watchdog",
    "net.bridge.bridge-nf-call-arptables",
    "net.bridge.bridge-nf-call-ip6tables",
    "net.bridge.bridge-nf-call-iptables",
    "net.core.bpf_jit_enable",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.dev_weight_rx_bias",
    "net.core.dev_weight_tx_bias",
    "net.core.flow_limit_cpu_bitmap",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.netdev_tstamp_prequeue",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_forward",
    "net.ipv6.conf.all.forwarding",
    "vm.swappiness",
];

pub(super) fn read(proc: &ProcRoot) -> BTreeMap<String, String> {
    let one = |name: &&str| {
        let file = format!("sys/{}", name.replace('.', "/"));
        let value = proc.text(file)?;
        // Settings of several numbers are separated by tabs.
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        Some(((*name).to_owned(), words.join(" ")))
    };
    SYSCTLS.iter().filter_map(one).collect()
}
