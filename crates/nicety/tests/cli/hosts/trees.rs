//! More hosts: a KVM host with virtual functions, a desktop, one where tuned and docker fight over
//! it, and one where everything is right.

use std::fs;

use serde_json::{Value, json};

use super::{Tree, one, plan, rules, sysctl, values};
use crate::harness::{nicety, once};

/// A host of `nodes` nodes with `cores` cores of two threads each; siblings are neighbours.
fn host(nodes: u32, cores: u32, memory_mib: u64) -> Tree {
    let mut tree = Tree::default();
    let cpus = nodes * cores * 2;
    tree.put("sys/devices/system/cpu/online", format!("0-{}", cpus - 1));
    for node in 0..nodes {
        let (first, last) = (node * cores * 2, (node + 1) * cores * 2 - 1);
        let dir = format!("sys/devices/system/node/node{node}");
        tree.put(format!("{dir}/cpulist"), format!("{first}-{last}"));
        for cpu in first..=last {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}");
            let core = cpu / 2 * 2;
            let siblings = format!("{core}-{}", core + 1);
            tree.put(format!("{dir}/topology/core_cpus_list"), siblings);
            let socket = node.to_string();
            tree.put(format!("{dir}/topology/physical_package_id"), socket);
        }
    }
    let total = format!("MemTotal: {} kB", memory_mib * 1024);
    tree.put("proc/meminfo", total);
    for (name, value) in [
        ("kernel.osrelease", "6.12.95"),
        ("net.core.rmem_max", "212992"),
        ("net.core.wmem_max", "212992"),
        ("net.core.netdev_max_backlog", "1000"),
        ("net.core.default_qdisc", "fq_codel"),
        ("net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
        ("net.ipv4.tcp_wmem", "4096\t16384\t4194304"),
        ("net.ipv4.tcp_moderate_rcvbuf", "1"),
        ("net.ipv4.ip_forward", "0"),
    ] {
        tree.sysctl(name, value);
    }
    tree
}

/// A port of `queues` queues, whose interrupts go to `cpus` in turn.
fn port(tree: &mut Tree, name: &str, node: Option<u32>, cpus: &[u32], more: Value) -> Value {
    let queues = cpus.len();
    let dir = format!("sys/class/net/{name}");
    tree.put(format!("{dir}/ifindex"), "2");
    tree.put(format!("{dir}/device/uevent"), "DRIVER=x");
    if let Some(node) = node {
        tree.put(format!("{dir}/device/numa_node"), node.to_string());
    }
    let mut interrupts = (0..64).map(|cpu| format!("CPU{cpu} ")).collect::<String>();
    for (queue, cpu) in cpus.iter().enumerate() {
        let irq = 120 + queue;
        let counts: Vec<&str> = (0..64)
            .map(|at| if at == *cpu { "900000" } else { "0" })
            .collect();
        interrupts += &format!(
            "\n{irq}: {} PCI-MSI-edge {name}-TxRx-{queue}",
            counts.join(" ")
        );
        for file in ["smp_affinity_list", "effective_affinity_list"] {
            tree.put(format!("proc/irq/{irq}/{file}"), cpu.to_string());
        }
        tree.put(format!("{dir}/queues/rx-{queue}/rps_cpus"), "00000000");
        let mask = format!("{:08x}", 1u64 << (cpu % 32));
        tree.put(format!("{dir}/queues/tx-{queue}/xps_cpus"), mask);
    }
    tree.put("proc/interrupts", interrupts);
    let mut link = json!({
        "name": name, "index": 2, "up": true, "carrier": true, "mtu": 1500, "mtu_max": 9710,
        "speed_mbps": 10_000, "driver": "ixgbe", "bus": "0000:81:00.0",
        "queues": {"rx": queues, "tx": queues, "combined": queues, "combined_max": 63},
        "rings": {"rx": 512, "rx_max": 4096, "tx": 512, "tx_max": 4096},
        "features": {"rx-lro": {"on": false, "changeable": true},
            "rx-gro": {"on": true, "changeable": true},
            "tx-tcp-segmentation": {"on": true, "changeable": true}},
        "qdiscs": [{"kind": "mq", "root": true, "drops": 0}],
    });
    let (Value::Object(link_map), Value::Object(more)) = (&mut link, more) else {
        unreachable!("both are objects");
    };
    link_map.extend(more);
    link
}

fn links(tree: &mut Tree, links: &[Value]) {
    tree.put("nicety/links.json", json!(links).to_string());
}

/// A guest whose vCPUs and other threads may run on these CPUs, with all memory on `node`.
fn guest(tree: &mut Tree, pid: u32, nic: &str, threads: &[(&str, &str)], node: u32) {
    let dir = format!("proc/{pid}");
    tree.put(format!("{dir}/comm"), "qemu-system-x86");
    let words = format!("qemu-system-x86_64\0-name\0guest=vm{pid}\0-accel\0kvm\0{nic}");
    tree.put(format!("{dir}/cmdline"), words);
    let memory = format!("N{node}=4096 kernelpagesize_kB=1048576");
    tree.put(format!("{dir}/numa_maps"), memory);
    for (tid, (name, cpus)) in (pid + 1..).zip(threads) {
        let dir = format!("{dir}/task/{tid}");
        tree.put(format!("{dir}/comm"), *name);
        tree.put(
            format!("{dir}/status"),
            format!("Cpus_allowed_list:\t{cpus}"),
        );
    }
}

/// Two sockets, a port on the second with eight virtual functions, one of them in a guest of the
/// first socket and one bound for DPDK by hand.
fn with_functions() -> Tree {
    let mut tree = host(2, 8, 128 * 1024);
    let about = json!({"counters": {"rx_missed_errors": 4711}, "mtu": 9000});
    let mut nic = port(&mut tree, "ens1", Some(1), &[16, 18, 20, 22], about);
    nic["driver"] = json!("ixgbe");
    tree.put("sys/class/net/ens1/device/sriov_totalvfs", "63");
    tree.put("sys/class/net/ens1/device/sriov_numvfs", "8");
    for group in 0..12 {
        tree.put(format!("sys/kernel/iommu_groups/{group}/type"), "DMA-FQ");
    }
    for address in ["0000:81:10.0", "0000:81:10.2"] {
        tree.put(format!("sys/bus/pci/drivers/vfio-pci/{address}"), "");
        let dir = format!("sys/bus/pci/devices/{address}");
        tree.put(format!("{dir}/class"), "0x020000");
        tree.put(format!("{dir}/vendor"), "0x8086");
        tree.put(format!("{dir}/device"), "0x10ed");
    }
    let vfio = "-device\0vfio-pci,host=0000:81:10.0";
    let threads = [("CPU 0/KVM", "0"), ("CPU 1/KVM", "2")];
    guest(&mut tree, 900, vfio, &threads, 0);
    links(&mut tree, &[nic]);
    // As recorded with --window.
    let drops = json!({"seconds": 10.0, "counters": {"ens1": {"rx_missed_errors": 150}}});
    tree.put("nicety/window.json", drops.to_string());
    tree
}

#[test]
fn a_kvm_host_with_functions_is_told_what_a_ring_costs_them() {
    if !once("a_kvm_host_with_functions_is_told_what_a_ring_costs_them") {
        return;
    }
    let tree = with_functions().written();
    let plan = plan(tree.path(), &[]);
    assert_eq!(
        rules(&plan),
        [
            "vcpu-placement",
            "vcpu-placement",
            "ring",
            "iommu",
            "driver-binding"
        ],
        "{plan:#}"
    );
    let ring = one(&plan, "ring");
    // 14.88 Mfps × 200 µs ÷ 4 queues = 745.
    assert_eq!(values(ring), ["1024"]);
    assert_eq!(ring["risk"], "high");
    assert!(
        ring["cost"]
            .as_str()
            .unwrap()
            .contains("8 virtual functions")
    );
    let placed = plan["findings"].as_array().unwrap();
    let placed = placed.iter().find(|f| !values(f).is_empty()).unwrap();
    assert_eq!(
        values(placed),
        ["24", "26"],
        "cores of node 1 without interrupts"
    );
    assert_eq!(one(&plan, "iommu")["effect"], "reboot");
    let bound = one(&plan, "driver-binding");
    assert_eq!(
        bound["subject"], "0000:81:10.2",
        "the other one is the guest's"
    );
}

/// One socket of four cores, a Realtek port of one queue, a governor that saves power.
fn desktop() -> Tree {
    let mut tree = host(1, 4, 16 * 1024);
    let about = json!({"driver": "r8169", "speed_mbps": 1000, "mtu_max": 9194,
        "queues": {"rx": 1, "tx": 1}, "rings": null,
        "coalescing": {"rx_usecs": 350, "rx_frames": 0, "tx_usecs": 350, "tx_frames": 0,
            "adaptive_rx": false, "adaptive_tx": false}});
    let nic = port(&mut tree, "enp3s0", None, &[3], about);
    for cpu in 0..8 {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        tree.put(format!("{dir}/cpufreq/scaling_driver"), "acpi-cpufreq");
        tree.put(format!("{dir}/cpufreq/scaling_governor"), "schedutil");
        for (state, name, latency) in [(0, "POLL", "0"), (1, "C1", "2"), (2, "C6", "133")] {
            let dir = format!("{dir}/cpuidle/state{state}");
            tree.put(format!("{dir}/name"), name);
            tree.put(format!("{dir}/latency"), latency);
            tree.put(format!("{dir}/disable"), "0");
            tree.put(format!("{dir}/usage"), "1000");
        }
        tree.put(format!("{dir}/power/pm_qos_resume_latency_us"), "0");
    }
    links(&mut tree, &[nic]);
    tree
}

#[test]
fn a_desktop_is_asked_for_little() {
    let tree = desktop().written();
    let plain = plan(tree.path(), &["--rtt", "20ms"]);
    // 1 Gbit/s × 20 ms = 2.5 MB: TCP's 6 MiB are enough, a program's own buffer is not.
    assert_eq!(rules(&plain), ["socket-buffer", "governor"], "{plain:#}");
    let latency = plan(tree.path(), &["--goal", "latency"]);
    assert_eq!(
        rules(&latency),
        ["coalescing", "governor", "cstate"],
        "{latency:#}"
    );
    assert_eq!(values(one(&latency, "coalescing")), ["8"]);
}

/// Everything as the rules want it, whatever the goal: node 1 has the port and the guest.
fn right() -> Tree {
    let mut tree = host(2, 8, 128 * 1024);
    let about = json!({"mtu": 9000, "master": "br0",
        "coalescing": {"rx_usecs": 8, "rx_frames": 0, "tx_usecs": 8, "tx_frames": 0,
            "adaptive_rx": false, "adaptive_tx": false},
        "queues": {"rx": 8, "tx": 8, "combined": 8, "combined_max": 63},
        "rss": {"entries": 128, "udp4_ports": true, "entries_by_queue":
            {"0": 16, "1": 16, "2": 16, "3": 16, "4": 16, "5": 16, "6": 16, "7": 16}}});
    let cpus = [16, 18, 20, 22, 24, 26, 28, 30];
    let nic = port(&mut tree, "ens1", Some(1), &cpus, about);
    let bridge = json!({"name": "br0", "index": 3, "kind": "bridge", "up": true, "mtu": 9000});
    let tap = json!({"name": "vnet0", "index": 4, "kind": "tun", "up": true, "mtu": 9000,
        "master": "br0", "qdiscs": [{"kind": "fq_codel", "root": true, "drops": 0}]});
    for (name, index) in [("br0", "3"), ("vnet0", "4")] {
        tree.put(format!("sys/class/net/{name}/ifindex"), index);
    }
    tree.put("sys/class/net/vnet0/tun_flags", "0x5002");
    links(&mut tree, &[nic, bridge, tap]);
    let virtio =
        "-netdev\0tap,id=n0,ifname=vnet0,vhost=on,queues=2\0-device\0virtio-net-pci,netdev=n0";
    let threads = [
        ("CPU 0/KVM", "17"),
        ("CPU 1/KVM", "19"),
        ("vhost-900", "21"),
        ("vhost-900", "23"),
    ];
    guest(&mut tree, 900, virtio, &threads, 1);
    for cpu in 0..32 {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        tree.put(format!("{dir}/cpufreq/scaling_driver"), "intel_pstate");
        tree.put(format!("{dir}/cpufreq/scaling_governor"), "performance");
        tree.put(format!("{dir}/cpuidle/state1/name"), "C6");
        tree.put(format!("{dir}/cpuidle/state1/latency"), "133");
        tree.put(format!("{dir}/cpuidle/state1/disable"), "0");
        tree.put(format!("{dir}/power/pm_qos_resume_latency_us"), "10");
    }
    for (name, value) in [
        ("net.core.rmem_max", "134217728"),
        ("net.core.wmem_max", "134217728"),
        ("net.core.netdev_max_backlog", "300000"),
        ("net.ipv4.tcp_rmem", "4096\t131072\t134217728"),
        ("net.ipv4.tcp_wmem", "4096\t65536\t134217728"),
        ("net.bridge.bridge-nf-call-iptables", "0"),
        ("net.bridge.bridge-nf-call-ip6tables", "0"),
        ("net.bridge.bridge-nf-call-arptables", "0"),
    ] {
        tree.sysctl(name, value);
    }
    tree.put("etc/sysctl.d/90-net.conf", "net.core.rmem_max = 134217728");
    tree.put("sys/module/kvm/parameters/halt_poll_ns", "400000");
    tree.put("sys/kernel/iommu_groups/1/type", "identity");
    let thp = "sys/kernel/mm/transparent_hugepage/enabled";
    tree.put(thp, "always [madvise] never");
    tree.put("proc/600/comm", "irqbalance");
    tree
}

#[test]
fn where_everything_is_right_nothing_is_found() {
    if !once("where_everything_is_right_nothing_is_found") {
        return;
    }
    let tree = right().written();
    for goal in ["throughput", "latency", "forwarding"] {
        let plan = plan(tree.path(), &["--goal", goal, "--rtt", "100ms"]);
        assert_eq!(rules(&plan), [""; 0], "{goal}: {plan:#}");
    }
    let call = ["tune", "plan", "--sysroot", tree.path().to_str().unwrap()];
    let told = nicety(call).run();
    let said = &told.assert_code(0).stdout;
    assert!(said.starts_with("Nothing found for throughput."), "{said}");
}

/// The same host after an administrator installed docker and tuned, and wrote a file of sysctls.
fn fought() -> Tree {
    let mut tree = right();
    tree.put("proc/700/comm", "dockerd");
    tree.put("proc/701/comm", "tuned");
    tree.sysctl("net.bridge.bridge-nf-call-iptables", "1");
    tree.sysctl("net.ipv4.ip_forward", "1");
    tree.put("etc/tuned/active_profile", "network-throughput");
    let main = "dynamic_tuning = 1\nreapply_sysctl = 1\n";
    tree.put("etc/tuned/tuned-main.conf", main);
    tree.put(
        "usr/lib/tuned/network-throughput/tuned.conf",
        "[sysctl]\nnet.ipv4.tcp_rmem=4096 131072 16777216\nnet.core.rmem_max=16777216\n",
    );
    tree
}

#[test]
fn a_host_that_tuned_and_docker_fight_over_is_not_joined_in() {
    if !once("a_host_that_tuned_and_docker_fight_over_is_not_joined_in") {
        return;
    }
    let tree = fought().written();
    let plan = plan(tree.path(), &["--rtt", "100ms"]);
    assert_eq!(
        rules(&plan),
        [
            "never-lower",
            "never-lower",
            "bridge-netfilter",
            "rival-owner",
            "tuned-dynamic"
        ],
        "{plan:#}"
    );
    // Docker switches it on again: nothing is changed, and why is said.
    let netfilter = one(&plan, "bridge-netfilter");
    assert_eq!(values(netfilter), [""; 0]);
    let advice = netfilter["advice"][0].as_str().unwrap();
    assert!(
        advice.starts_with("docker runs here and needs it on"),
        "{advice}"
    );
    let rival = one(&plan, "rival-owner");
    assert_eq!(rival["subject"], "net.core.rmem_max");
    let is = rival["is"].as_str().unwrap();
    assert!(is.contains("90-net.conf = 134217728") && is.contains("tuned.conf = 16777216"));
    assert_eq!(sysctl(&plan, "net.ipv4.tcp_rmem"), None);
    // What would be changed against one of them names it.
    let larger = super::plan(tree.path(), &["--rtt", "100ms", "--rate", "40000"]);
    let findings = larger["findings"].as_array().unwrap();
    let buffers = findings.iter().filter(|f| f["rule"] == "tcp-buffer");
    let conflicts: String = buffers.map(|f| f["conflicts"].to_string()).collect();
    let named = "network-throughput/tuned.conf sets net.ipv4.tcp_rmem";
    assert!(conflicts.contains(named), "{conflicts}");
}

/// Garbage in all files of a kind in turn, short and as long as a megabyte.
#[test]
fn garbage_in_any_file_never_breaks_a_plan() {
    if !once("garbage_in_any_file_never_breaks_a_plan") {
        return;
    }
    let whole = fought();
    let kind = |path: &str| {
        let name = path.rsplit('/').next().unwrap().to_owned();
        name.trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    let mut kinds: Vec<String> = whole.0.keys().map(|path| kind(path)).collect();
    kinds.sort();
    kinds.dedup();
    assert!(kinds.len() > 30, "{kinds:?}");
    let long = "9".repeat(1 << 20);
    let texts = ["\u{fffd}\n-1 0x \0", "0-4294967295", &long];
    let dir = whole.written();
    for (kind_at, wanted) in kinds.iter().enumerate() {
        let text = texts[kind_at % texts.len()];
        let mut once = false;
        for (path, old) in &whole.0 {
            if kind(path) != *wanted || old.starts_with("-> ") || (once && text.len() > 100) {
                continue;
            }
            fs::write(dir.path().join(path), text).unwrap();
            once = true;
        }
        // Either words or one line of what is wrong; `nicety` checks for panics.
        let call = ["tune", "plan", "--sysroot", dir.path().to_str().unwrap()];
        nicety(call).run().assert_code(0);
        for (path, old) in &whole.0 {
            if kind(path) == *wanted && !old.starts_with("-> ") {
                fs::write(dir.path().join(path), old).unwrap();
            }
        }
    }
}
