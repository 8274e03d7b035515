//! `nicety tune plan` for whole hosts: the two of the Oracle VM white paper (10GbE network
//! performance tuning, 2013), written as the trees their kernels would show, the large one under
//! KVM, and a recorded virtual machine of a cloud.

mod trees;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{nicety, once};

/// A host as files, written below a temporary folder.
#[derive(Default)]
pub struct Tree(BTreeMap<String, String>);

impl Tree {
    pub fn put(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.0.insert(path.into(), text.into());
    }

    fn sysctl(&mut self, name: &str, value: &str) {
        self.put(format!("proc/sys/{}", name.replace('.', "/")), value);
    }

    pub fn written(&self) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in &self.0 {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match text.strip_prefix("-> ") {
                Some(target) => std::os::unix::fs::symlink(target, path).unwrap(),
                None => fs::write(path, text).unwrap(),
            }
        }
        dir
    }
}

/// What a 10 Gbit/s port with four queues and a bridge on it look like, with the defaults the
/// paper found, for a kernel that sees `cpus` CPUs. All interrupts went to CPU 0.
pub fn ten_gigabit(cpus: u32, memory_mib: u64) -> Tree {
    let mut tree = Tree::default();
    tree.put("sys/devices/system/cpu/online", format!("0-{}", cpus - 1));
    tree.put(
        "proc/meminfo",
        format!("MemTotal: {} kB", memory_mib * 1024),
    );
    tree.put("proc/sys/kernel/osrelease", "2.6.39-300.el5uek");
    tree.put("proc/5/comm", "irqbalance");
    let names: Vec<String> = (0..cpus).map(|cpu| format!("CPU{cpu}")).collect();
    let mut interrupts = names.join(" ");
    for queue in 0..4 {
        let irq = 120 + queue;
        let zeros = " 0".repeat(cpus as usize - 1);
        interrupts += &format!("\n {irq}: 3562070{zeros} PCI-MSI-edge eth4-TxRx-{queue}");
        tree.put(
            format!("proc/irq/{irq}/smp_affinity_list"),
            format!("0-{}", cpus - 1),
        );
    }
    tree.put("proc/interrupts", interrupts);
    let port = json!({
        "name": "eth4", "index": 4, "up": true, "carrier": true, "mtu": 1500, "mtu_max": 9710,
        "master": "xenbr0", "driver": "ixgbe", "bus": "0000:01:00.0", "speed_mbps": 10_000,
        "queues": {"rx": 4, "tx": 4, "combined": 4, "combined_max": 63},
        "features": {"rx-lro": {"on": true, "changeable": true}, "rx-gro": {"on": true, "changeable": true}},
    });
    let bridge = json!({"name": "xenbr0", "index": 7, "kind": "bridge", "up": true, "mtu": 1500});
    tree.put("nicety/links.json", json!([port, bridge]).to_string());
    tree.put("sys/class/net/eth4/ifindex", "4");
    tree.put("sys/class/net/eth4/device/uevent", "DRIVER=ixgbe");
    tree.put("sys/class/net/xenbr0/ifindex", "7");
    for (name, value) in [
        ("net.core.rmem_max", "131071"),
        ("net.core.wmem_max", "131071"),
        ("net.core.netdev_max_backlog", "1000"),
        ("net.ipv4.tcp_rmem", "4096\t87380\t4194304"),
        ("net.ipv4.tcp_wmem", "4096\t16384\t4194304"),
        ("net.ipv4.tcp_moderate_rcvbuf", "1"),
        ("net.bridge.bridge-nf-call-iptables", "1"),
        ("net.bridge.bridge-nf-call-ip6tables", "1"),
        ("net.bridge.bridge-nf-call-arptables", "1"),
    ] {
        tree.sysctl(name, value);
    }
    tree
}

/// Xen on `sockets` × `cores` × 2, the first domain with `vcpus` vCPUs that run anywhere, and
/// one guest of two.
fn xen(sockets: u32, cores: u32, vcpus: u32, nodes: u32) -> Tree {
    let mut tree = ten_gigabit(vcpus, 5 * 1024);
    tree.put("proc/xen/capabilities", "control_d");
    tree.put("sys/hypervisor/type", "xen");
    tree.put(
        "nicety/xl-info",
        format!(
            "nr_cpus : {}\nnr_nodes : {nodes}\ncores_per_socket : {cores}\nthreads_per_core : 2\n\
             total_memory : 262144\nxen_commandline : dom0_mem=5G\n",
            sockets * cores * 2
        ),
    );
    let mut list = "Name ID VCPU CPU State Time(s) Affinity (Hard / Soft)\n".to_owned();
    for vcpu in 0..vcpus {
        list += &format!("Domain-0 0 {vcpu} {vcpu} r-- 10.0 all / all\n");
    }
    for vcpu in 0..2 {
        list += &format!("myvm 1 {vcpu} {} -b- 1.0 all / all\n", vcpus - 1 - vcpu);
    }
    tree.put("nicety/xl-vcpu-list", list);
    tree
}

/// The large host under KVM: eight nodes that the kernel sees, a guest whose vCPUs and vhost
/// thread run anywhere.
pub fn kvm() -> Tree {
    let mut tree = ten_gigabit(160, 256 * 1024);
    for node in 0..8 {
        let cpus = format!("{}-{}", node * 20, node * 20 + 19);
        let dir = format!("sys/devices/system/node/node{node}");
        tree.put(format!("{dir}/cpulist"), cpus);
        for cpu in node * 20..node * 20 + 20 {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            let core = cpu / 2 * 2;
            tree.put(
                format!("{dir}/core_cpus_list"),
                format!("{core}-{}", core + 1),
            );
            tree.put(format!("{dir}/physical_package_id"), node.to_string());
        }
    }
    tree.put("sys/class/net/eth4/device/numa_node", "3");
    tree.put("proc/900/comm", "qemu-kvm");
    tree.put(
        "proc/900/cmdline",
        "qemu-kvm\0-name\0guest=web\0-netdev\0tap,id=n,vhost=on\0-device\0virtio-net-pci,netdev=n",
    );
    for (tid, name) in [(901, "CPU 0/KVM"), (902, "CPU 1/KVM"), (903, "vhost-900")] {
        tree.put(format!("proc/900/task/{tid}/comm"), name);
        tree.put(
            format!("proc/900/task/{tid}/status"),
            "Cpus_allowed_list:\t0-159",
        );
    }
    tree
}

/// The plan for a tree.
fn plan(tree: &Path, arguments: &[&str]) -> Value {
    let call = [
        "tune",
        "plan",
        "--json",
        "--sysroot",
        tree.to_str().unwrap(),
    ];
    let ended = nicety(call.iter().chain(arguments)).run();
    serde_json::from_str(&ended.assert_code(0).stdout).unwrap()
}

/// Names of the rules that found something.
fn rules(plan: &Value) -> Vec<&str> {
    let findings = plan["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|f| f["rule"].as_str().unwrap())
        .collect()
}

/// The only finding of a rule.
#[track_caller]
fn one<'a>(plan: &'a Value, rule: &str) -> &'a Value {
    let findings = plan["findings"].as_array().unwrap();
    let found: Vec<&Value> = findings.iter().filter(|f| f["rule"] == rule).collect();
    assert_eq!(found.len(), 1, "{rule} in {plan:#}");
    found[0]
}

/// Values of all changes of a rule.
fn values(finding: &Value) -> Vec<&str> {
    let changes = finding["changes"].as_array().unwrap();
    changes.iter().map(|c| c["to"].as_str().unwrap()).collect()
}

/// Value that a sysctl gets.
fn sysctl<'a>(plan: &'a Value, name: &str) -> Option<&'a str> {
    let findings = plan["findings"].as_array().unwrap();
    let mut changes = findings
        .iter()
        .flat_map(|f| f["changes"].as_array().unwrap());
    changes.find(|c| c["knob"]["name"] == name)?["to"].as_str()
}

#[test]
fn the_papers_large_host_gets_the_papers_advice() {
    let tree = xen(8, 10, 160, 8).written();
    let plan = plan(tree.path(), &["--rtt", "100ms"]);
    let domain = one(&plan, "host-cpus");
    assert!(
        domain["advice"][0]
            .as_str()
            .unwrap()
            .ends_with("dom0_max_vcpus=20 dom0_vcpus_pin")
    );
    assert_eq!(domain["effect"], "reboot");
    let guest = one(&plan, "vcpu-placement");
    assert_eq!(guest["subject"], "myvm");
    assert_eq!(guest["advice"][0], "xl vcpu-pin myvm all 0-19");
    let irqs = one(&plan, "irq-affinity");
    assert_eq!(
        values(irqs),
        ["1", "2", "3", "4"],
        "off CPU 0, on the first socket"
    );
    let balance = one(&plan, "irqbalance")["advice"][0].as_str().unwrap();
    assert!(balance.contains("--banirq=120 --banirq=121 --banirq=122 --banirq=123"));
    for (name, value) in [
        ("net.core.rmem_max", "134217728"),
        ("net.core.wmem_max", "134217728"),
        ("net.ipv4.tcp_rmem", "4096 87380 134217728"),
        ("net.ipv4.tcp_wmem", "4096 65536 134217728"),
        ("net.core.netdev_max_backlog", "300000"),
        ("net.bridge.bridge-nf-call-iptables", "0"),
        ("net.bridge.bridge-nf-call-ip6tables", "0"),
        ("net.bridge.bridge-nf-call-arptables", "0"),
    ] {
        assert_eq!(sysctl(&plan, name), Some(value), "{name}");
    }
    assert_eq!(values(one(&plan, "lro")), ["off"]);
    let mtu = one(&plan, "mtu");
    assert!(mtu["should"].as_str().unwrap().starts_with("9000"));
    assert!(
        mtu["cost"]
            .as_str()
            .unwrap()
            .contains("loses every large frame")
    );
    assert_eq!(values(mtu), [""; 0], "not before the path has been tried");
    let rest: Vec<&str> = rules(&plan)
        .into_iter()
        .filter(|rule| {
            ![
                "host-cpus",
                "vcpu-placement",
                "irq-affinity",
                "irqbalance",
                "socket-buffer",
                "tcp-buffer",
                "backlog",
                "bridge-netfilter",
                "lro",
                "mtu",
            ]
            .contains(rule)
        })
        .collect();
    assert_eq!(rest, [""; 0], "nothing else is wrong with it");
}

#[test]
fn the_papers_small_host_keeps_its_cpus() {
    let tree = xen(2, 4, 8, 1).written();
    let plan = plan(tree.path(), &["--rtt", "100ms"]);
    let found = rules(&plan);
    assert!(
        !found.contains(&"host-cpus") && !found.contains(&"vcpu-placement"),
        "{found:?}"
    );
    assert_eq!(
        sysctl(&plan, "net.ipv4.tcp_rmem"),
        Some("4096 87380 134217728")
    );
    assert!(found.contains(&"lro") && found.contains(&"bridge-netfilter"));
}

#[test]
fn under_kvm_everything_comes_to_the_ports_node() {
    if !once("under_kvm_everything_comes_to_the_ports_node") {
        return;
    }
    let tree = kvm().written();
    let plan = plan(tree.path(), &[]);
    assert_eq!(
        values(one(&plan, "irq-affinity")),
        ["60", "62", "64", "66"],
        "one per core of node 3"
    );
    assert_eq!(values(one(&plan, "vcpu-placement")), ["68", "70"]);
    assert_eq!(values(one(&plan, "vhost-placement")), ["72"]);
    assert!(
        sysctl(&plan, "net.ipv4.tcp_rmem").is_none(),
        "the round trip time is not known"
    );
    let waiting = plan["waiting"].to_string();
    assert!(waiting.contains("--rtt"), "{waiting}");
}

#[test]
fn the_plan_follows_its_schema() {
    if !once("the_plan_follows_its_schema") {
        return;
    }
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schema/advice.schema.json"
    );
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let tree = kvm().written();
    jsonschema::validate(&schema, &plan(tree.path(), &["--goal", "latency"])).unwrap();
}

#[test]
fn a_recorded_cloud_machine_is_left_alone() {
    let text = include_str!("hosts/cloud-vm.json");
    let tree = Tree(serde_json::from_str(text).unwrap()).written();
    let plain = plan(tree.path(), &[]);
    assert_eq!(rules(&plain), [""; 0], "{plain:#}");
    // 10 Gbit/s × 20 ms = 25 MB: its kernel's receive window of 32 MiB is never lowered.
    let far = plan(
        tree.path(),
        &["--rtt", "20ms", "--rate", "10000", "--only", "tcp-buffer"],
    );
    assert_eq!(sysctl(&far, "net.ipv4.tcp_rmem"), None);
    assert_eq!(
        sysctl(&far, "net.ipv4.tcp_wmem"),
        Some("4096 65536 33554432")
    );
}

#[test]
fn findings_are_told_in_words() {
    let tree = xen(8, 10, 160, 8).written();
    let call = [
        "tune",
        "plan",
        "--only",
        "T12",
        "--sysroot",
        tree.path().to_str().unwrap(),
    ];
    let ended = nicety(call).run();
    let text = &ended.assert_code(0).stdout;
    for part in [
        "T12 lro eth4: LRO on, frames are forwarded",
        "change: eth4 rx-lro: on → off",
        "takes effect at once",
        "1 settings can be changed now",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn wrong_wishes_are_one_line() {
    for (arguments, part) in [
        (
            ["--goal", "speed"],
            "is no goal; write throughput, latency or forwarding",
        ),
        (["--rtt", "20"], "is no round trip time; write it as 0.2ms"),
        (["--rtt", "0ms"], "round trip time"),
        (["--rtt", "infs"], "is no round trip time"),
        (["--only", "T99"], "is no rule; write ids such as T04"),
        (["--rate", "0"], "--rate"),
    ] {
        let call = ["tune", "plan", arguments[0], arguments[1]];
        let ended = nicety(call).run();
        let line = ended.assert_code(2).only_line().to_owned();
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn the_picture_shows_what_is_far_from_its_port() {
    let tree = kvm().written();
    let page = tree.path().join("host.html");
    let call = [
        "inspect",
        "--sysroot",
        tree.path().to_str().unwrap(),
        "--html",
        page.to_str().unwrap(),
    ];
    nicety(call).run().assert_code(0);
    let text = fs::read_to_string(page).unwrap();
    assert!(
        text.contains("eth4-TxRx-0 runs on CPUs 0, eth4 is on node 3"),
        "{text}"
    );
    assert!(text.contains("web vCPU 0 runs on CPUs 0-159, eth4 is on node 3"));
    // One square per CPU of the eight nodes.
    assert_eq!(text.matches("<rect").count(), 160);
}
