//! A large host as `nicety inspect --record` would have recorded it: eight sockets of ten cores
//! with two threads, 64 ports of 16 queues, 256 virtual functions, 200 virtual machines.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

pub const NODES: u32 = 8;
pub const CPUS: u32 = 160;
pub const PORTS: u32 = 64;
pub const VFS: u32 = 256;
pub const VMS: u32 = 200;
const QUEUES: u32 = 16;
const VCPUS: u32 = 4;

/// Offloads that a port can switch, as many as drivers of such ports have.
const FEATURES: [&str; 24] = [
    "highdma",
    "rx-all",
    "rx-checksum",
    "rx-fcs",
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-hashing",
    "rx-lro",
    "rx-ntuple-filter",
    "rx-udp-gro-forwarding",
    "rx-vlan-filter",
    "rx-vlan-hw-parse",
    "tx-checksum-ip-generic",
    "tx-generic-segmentation",
    "tx-gso-list",
    "tx-nocache-copy",
    "tx-scatter-gather",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
    "tx-vlan-hw-insert",
];

/// Writes it below `root`; returns the number of files.
pub fn write(root: &Path) -> Result<usize> {
    let mut tree = Tree { root, files: 0 };
    cpus(&mut tree)?;
    memory(&mut tree)?;
    interfaces(&mut tree)?;
    interrupts(&mut tree)?;
    vms(&mut tree)?;
    settings(&mut tree)?;
    Ok(tree.files)
}

struct Tree<'a> {
    root: &'a Path,
    files: usize,
}

impl Tree<'_> {
    fn put(&mut self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<()> {
        let path = self.root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        self.files += 1;
        fs::write(&path, text).with_context(|| path.display().to_string())
    }

    fn folder(&mut self, folder: &str, files: &[(&str, String)]) -> Result<()> {
        for (name, text) in files {
            self.put(format!("{folder}/{name}"), format!("{text}\n"))?;
        }
        Ok(())
    }
}

fn cpus(tree: &mut Tree<'_>) -> Result<()> {
    let dir = "sys/devices/system/cpu";
    tree.folder(
        dir,
        &[
            ("online", format!("0-{}", CPUS - 1)),
            ("isolated", String::new()),
            ("cpuidle/current_driver", "intel_idle".to_owned()),
            ("smt/control", "on".to_owned()),
            ("vulnerabilities/meltdown", "Not affected".to_owned()),
        ],
    )?;
    for cpu in 0..CPUS {
        let core = cpu / 2 * 2;
        let dir = format!("{dir}/cpu{cpu}");
        let mut files = vec![
            ("topology/core_cpus_list", format!("{core}-{}", core + 1)),
            ("topology/physical_package_id", (cpu / 20).to_string()),
            ("cpufreq/scaling_driver", "intel_pstate".to_owned()),
            ("cpufreq/scaling_governor", "powersave".to_owned()),
            (
                "cpufreq/energy_performance_preference",
                "balance_performance".to_owned(),
            ),
            ("power/pm_qos_resume_latency_us", "0".to_owned()),
        ];
        for (state, name, latency) in [("0", "POLL", 0), ("1", "C1", 2), ("2", "C6", 133)] {
            for (file, text) in [
                ("name", name.to_owned()),
                ("latency", latency.to_string()),
                ("disable", "0".to_owned()),
                ("usage", "123456".to_owned()),
            ] {
                let path = format!("{dir}/cpuidle/state{state}/{file}");
                tree.put(path, text)?;
            }
        }
        files.retain(|(_, text)| !text.is_empty());
        tree.folder(&dir, &files)?;
    }
    for node in 0..NODES {
        let distances: Vec<String> = (0..NODES)
            .map(|other| if other == node { "10" } else { "21" }.to_owned())
            .collect();
        let kib = 32 << 20;
        tree.folder(
            &format!("sys/devices/system/node/node{node}"),
            &[
                ("cpulist", format!("{}-{}", node * 20, node * 20 + 19)),
                ("distance", distances.join(" ")),
                (
                    "meminfo",
                    format!(
                        "Node {node} MemTotal: {kib} kB\nNode {node} MemFree: {} kB",
                        kib / 2
                    ),
                ),
                (
                    "hugepages/hugepages-1048576kB/nr_hugepages",
                    "16".to_owned(),
                ),
                (
                    "hugepages/hugepages-1048576kB/free_hugepages",
                    "4".to_owned(),
                ),
            ],
        )?;
    }
    let cpuinfo: String = (0..CPUS)
        .map(|cpu| {
            format!("processor\t: {cpu}\nmodel name\t: Intel(R) Xeon(R) CPU E7-8870\nflags\t\t: fpu vmx\n\n")
        })
        .collect();
    tree.put("proc/cpuinfo", cpuinfo)?;
    let softnet: String = (0..CPUS)
        .map(|cpu| {
            format!(
                "{:08x} 00000000 00000003 0 0 0 0 0 0 00000000 0 0 {cpu:08x}\n",
                1_000_000 + cpu
            )
        })
        .collect();
    tree.put("proc/net/softnet_stat", softnet)?;
    let names: Vec<String> = (0..CPUS).map(|cpu| format!("CPU{cpu}")).collect();
    let counts = " 1000000".repeat(CPUS as usize);
    tree.put(
        "proc/softirqs",
        format!(
            "{}\nNET_TX:{counts}\nNET_RX:{counts}\nSCHED:{counts}\n",
            names.join(" ")
        ),
    )
}

fn memory(tree: &mut Tree<'_>) -> Result<()> {
    tree.put("proc/meminfo", "MemTotal: 268435456 kB\n")?;
    tree.put(
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    )?;
    for group in 0..PORTS {
        tree.put(
            format!("sys/kernel/iommu_groups/{group}/type"),
            "identity\n",
        )?;
    }
    Ok(())
}

fn link(name: &str, index: u32, kind: &str) -> Value {
    json!({
        "name": name, "index": index, "kind": kind, "up": true, "carrier": true, "mtu": 9000,
        "mtu_max": 9710, "qdiscs": [{"kind": "mq", "root": true, "drops": 0},
        {"kind": "fq_codel", "root": false, "drops": 7}],
        "counters": {"rx_packets": 123_456_789, "rx_bytes": 123_456_789_012_u64,
        "tx_packets": 123_456_789, "tx_bytes": 123_456_789_012_u64},
    })
}

/// A port or a virtual function: link, driver, queues.
fn hardware(name: &str, index: u32, bus: &str, queues: u32, vf: bool) -> Value {
    let mut port = link(name, index, "");
    let on = |feature: &&str| {
        let state = json!({"on": !feature.contains("lro"), "changeable": true});
        ((*feature).to_owned(), state)
    };
    let by_queue = |queue: u32| (queue.to_string(), json!(128 / queues));
    port["driver"] = json!(if vf { "iavf" } else { "i40e" });
    port["firmware"] = json!("9.20 0x8000d95e 22.0.9");
    port["bus"] = json!(bus);
    port["speed_mbps"] = json!(10_000);
    port["queues"] =
        json!({"rx": queues, "tx": queues, "combined": queues, "combined_max": queues});
    port["rings"] = json!({"rx": 512, "rx_max": 4096, "tx": 512, "tx_max": 4096});
    port["coalescing"] = json!({"rx_usecs": 50, "rx_frames": 0, "tx_usecs": 50, "tx_frames": 0,
        "adaptive_rx": true, "adaptive_tx": true});
    port["features"] = Value::Object(FEATURES.iter().map(on).collect());
    port["rss"] = json!({"entries": 128, "udp4_ports": true,
        "entries_by_queue": Value::Object((0..queues).map(by_queue).collect())});
    port
}

fn interfaces(tree: &mut Tree<'_>) -> Result<()> {
    let mut links = Vec::new();
    let mut index = 1;
    for bridge in 0..NODES {
        index += 1;
        let name = format!("br{bridge}");
        links.push(link(&name, index, "bridge"));
        tree.put(
            format!("sys/class/net/{name}/ifindex"),
            format!("{index}\n"),
        )?;
    }
    for port in 0..PORTS {
        index += 1;
        let (name, node) = (format!("eth{port}"), port % NODES);
        let bus = format!("0000:{port:02x}:00.0");
        let mut facts = hardware(&name, index, &bus, QUEUES, false);
        facts["master"] = json!(format!("br{node}"));
        links.push(facts);
        let dir = format!("sys/class/net/{name}");
        let first = 100 + port * QUEUES;
        for irq in first..first + QUEUES {
            tree.put(format!("{dir}/device/msi_irqs/{irq}"), "msix\n")?;
        }
        let functions = VFS / PORTS;
        tree.folder(
            &dir,
            &[
                ("device/sriov_totalvfs", "64".to_owned()),
                ("device/sriov_numvfs", functions.to_string()),
            ],
        )?;
        files(tree, &dir, index, node, QUEUES)?;
        for function in 0..functions {
            index += 1;
            let name = format!("eth{port}v{function}");
            let bus = format!("0000:{port:02x}:02.{function}");
            links.push(hardware(&name, index, &bus, 4, true));
            let dir = format!("sys/class/net/{name}");
            files(tree, &dir, index, node, 4)?;
            std::os::unix::fs::symlink("physical", tree.root.join(&dir).join("device/physfn"))?;
        }
    }
    for vm in 0..VMS {
        index += 1;
        let name = format!("vnet{vm}");
        let mut tap = link(&name, index, "tun");
        tap["master"] = json!(format!("br{}", vm % NODES));
        links.push(tap);
        let dir = format!("sys/class/net/{name}");
        tree.folder(
            &dir,
            &[
                ("ifindex", index.to_string()),
                ("tun_flags", "0x5002".to_owned()),
                ("queues/rx-0/rps_cpus", mask()),
                ("queues/rx-0/rps_flow_cnt", "0".to_owned()),
                ("queues/tx-0/xps_cpus", mask()),
            ],
        )?;
    }
    tree.put("nicety/links.json", serde_json::to_string_pretty(&links)?)
}

/// No CPU, as the kernel prints it for 160.
fn mask() -> String {
    vec!["00000000"; CPUS.div_ceil(32) as usize].join(",")
}

fn files(tree: &mut Tree<'_>, dir: &str, index: u32, node: u32, queues: u32) -> Result<()> {
    tree.folder(
        dir,
        &[
            ("ifindex", index.to_string()),
            ("threaded", "0".to_owned()),
            ("device/uevent", "DRIVER=i40e".to_owned()),
            ("device/numa_node", node.to_string()),
        ],
    )?;
    for queue in 0..queues {
        tree.folder(
            &format!("{dir}/queues"),
            &[
                (&format!("rx-{queue}/rps_cpus"), mask()),
                (&format!("rx-{queue}/rps_flow_cnt"), "0".to_owned()),
                (&format!("tx-{queue}/xps_cpus"), mask()),
            ],
        )?;
    }
    Ok(())
}

fn interrupts(tree: &mut Tree<'_>) -> Result<()> {
    let names: Vec<String> = (0..CPUS).map(|cpu| format!("CPU{cpu}")).collect();
    let mut text = names.join(" ");
    for port in 0..PORTS {
        for queue in 0..QUEUES {
            let irq = 100 + port * QUEUES + queue;
            let cpu = port % NODES * 20 + queue;
            let mut counts = vec!["0"; CPUS as usize];
            counts[cpu as usize] = "35620700";
            counts[0] = "12";
            text += &format!(
                "\n{irq}: {} IR-PCI-MSI {irq}-edge i40e-eth{port}-TxRx-{queue}",
                counts.join(" ")
            );
            tree.folder(
                &format!("proc/irq/{irq}"),
                &[
                    ("smp_affinity_list", cpu.to_string()),
                    ("effective_affinity_list", cpu.to_string()),
                    ("affinity_hint", mask()),
                ],
            )?;
        }
    }
    tree.put("proc/interrupts", text)
}

fn vms(tree: &mut Tree<'_>) -> Result<()> {
    for vm in 0..VMS {
        let pid = 10_000 + vm * 20;
        let node = vm % NODES;
        let dir = format!("proc/{pid}");
        let words = [
            "qemu-system-x86_64",
            "-name",
            &format!("guest=vm{vm}"),
            "-machine",
            "pc-q35,accel=kvm",
            "-netdev",
            &format!("tap,id=n0,ifname=vnet{vm},vhost=on"),
            "-device",
            "virtio-net-pci,netdev=n0",
        ]
        .join("\0");
        tree.folder(
            &dir,
            &[
                ("comm", "qemu-system-x86".to_owned()),
                ("cmdline", words),
                (
                    "numa_maps",
                    format!(
                        "N{node}=262144 kernelpagesize_kB=4\nN{node}=1 kernelpagesize_kB=1048576"
                    ),
                ),
                ("smaps_rollup", "AnonHugePages: 1048576 kB".to_owned()),
                ("stat", stat(pid, "qemu-system-x86", node * 20)),
            ],
        )?;
        let threads = (0..VCPUS)
            .map(|vcpu| format!("CPU {vcpu}/KVM"))
            .chain([format!("vhost-{pid}"), "qemu-system-x86".to_owned()]);
        for (tid, name) in (pid..).zip(threads) {
            let cpus = format!("{}-{}", node * 20, node * 20 + 19);
            tree.folder(
                &format!("{dir}/task/{tid}"),
                &[
                    ("comm", name.clone()),
                    ("status", format!("Cpus_allowed_list:\t{cpus}")),
                    ("stat", stat(tid, &name, node * 20)),
                ],
            )?;
        }
    }
    Ok(())
}

/// proc(5): name in field 2, start in field 22, last CPU in field 39.
fn stat(tid: u32, name: &str, cpu: u32) -> String {
    format!(
        "{tid} ({name}) S 1{} 77{} {cpu} 0 0",
        " 0".repeat(17),
        " 0".repeat(16)
    )
}

fn settings(tree: &mut Tree<'_>) -> Result<()> {
    for (name, value) in [
        ("kernel/osrelease", "6.12.95"),
        ("net/core/rmem_max", "212992"),
        ("net/core/wmem_max", "212992"),
        ("net/core/netdev_max_backlog", "1000"),
        ("net/core/netdev_budget", "300"),
        ("net/ipv4/tcp_rmem", "4096\t131072\t6291456"),
        ("net/ipv4/tcp_wmem", "4096\t16384\t4194304"),
        ("net/ipv4/tcp_moderate_rcvbuf", "1"),
        ("net/bridge/bridge-nf-call-iptables", "1"),
    ] {
        tree.put(format!("proc/sys/{name}"), format!("{value}\n"))?;
    }
    tree.put(
        "etc/sysctl.d/90-host.conf",
        "net.core.rmem_max = 212992\nnet.core.wmem_max = 212992\n",
    )?;
    tree.put("proc/900/comm", "irqbalance\n")
}
