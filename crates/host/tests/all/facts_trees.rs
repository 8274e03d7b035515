//! Facts read from made-up `/proc`, `/sys` and `/etc` trees: a big host, a container with one
//! CPU, an empty tree and one full of nonsense.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use nicety_host::cpu_load::{CpuSnapshot, CpuWindow, TESTER, ThreadUse, Watch};
use nicety_host::fingerprint::{self, Measurer, UNKNOWN};
use nicety_host::placement::{Wants, place};
use nicety_host::roots::Roots;
use nicety_host::softnet::SoftnetSample;
use nicety_host::stat::StatSample;
use nicety_host::tasks::{self, TaskSample};
use nicety_host::topology::Topology;
use tempfile::TempDir;

/// A tree of files below a temporary folder.
pub struct Tree(TempDir);

impl Tree {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(TempDir::new().unwrap());
        for (path, text) in files {
            tree.write(path, text.as_bytes());
        }
        tree
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn roots(&self) -> Roots {
        Roots::under(self.0.path())
    }

    fn topology(&self) -> Topology {
        let roots = self.roots();
        Topology::read(&roots.proc, &roots.sys).unwrap()
    }
}

fn measurer() -> Measurer<'static> {
    Measurer {
        version: "1.2.3",
        privileged: true,
    }
}

/// Two sockets, four nodes of four cores, two threads each: 32 CPUs, CPU n and n+16 siblings.
fn big_host() -> Tree {
    #[rustfmt::skip]
    let tree = Tree::new(&[
        ("proc/self/status", "Name:\tx\nCpus_allowed:\tffff\nCpus_allowed_list:\t0-31\n"),
        ("proc/self/cgroup", "0::/user.slice\n"),
        ("proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nmicrocode\t: 0xd0003a5\nflags\t\t: fpu ht sse\n\n"),
        ("proc/meminfo", "MemTotal:       263856444 kB\nMemFree:  1 kB\n"),
        ("proc/cmdline",
            "BOOT_IMAGE=/vmlinuz root=UUID=0f3c1c1e-8a43-4f6a-9d0e-1b2c3d4e5f60 isolcpus=12-15 mitigations=off\n"),
        ("proc/sys/kernel/osrelease", "6.12.9-amd64\n"),
        ("proc/sys/kernel/numa_balancing", "1\n"),
        ("proc/sys/net/core/netdev_budget", "300\n"),
        ("proc/sys/net/core/default_qdisc", "fq_codel\n"),
        ("proc/sys/net/bridge/bridge-nf-call-iptables", "1\n"),
        ("etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
        ("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
        ("sys/devices/system/cpu/online", "0-31\n"),
        ("sys/devices/system/cpu/isolated", "12-15\n"),
        ("sys/devices/system/cpu/smt/control", "on\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
        ("sys/devices/system/cpu/vulnerabilities/spectre_v2", "Vulnerable\n"),
        ("sys/devices/system/cpu/vulnerabilities/blank", "\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/devices/system/node/possible", "0-3\n"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n"),
        ("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"),
        ("sys/class/dmi/id/sys_vendor", "Maker\n"),
        ("sys/class/dmi/id/product_name", "Server 9\n"),
        ("sys/class/dmi/id/product_serial", "SECRET-SERIAL\n"),
        ("sys/class/dmi/id/bios_vendor", "Firm\n"),
        ("sys/class/dmi/id/bios_version", "3.4\n"),
    ]);
    for cpu in 0..32 {
        let core = cpu % 16;
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        let siblings = format!("{core},{}\n", core + 16);
        let socket = format!("{}\n", core / 8);
        tree.write(
            &format!("{dir}/topology/thread_siblings_list"),
            siblings.as_bytes(),
        );
        tree.write(
            &format!("{dir}/topology/physical_package_id"),
            socket.as_bytes(),
        );
        tree.write(&format!("{dir}/cpufreq/scaling_governor"), b"performance\n");
    }
    for node in 0..4 {
        let (first, last) = (node * 4, node * 4 + 3);
        let list = format!("{first}-{last},{}-{}\n", first + 16, last + 16);
        tree.write(
            &format!("sys/devices/system/node/node{node}/cpulist"),
            list.as_bytes(),
        );
    }
    tree
}

/// A container that may use CPU 3 of a guest with eight, and half of it.
fn container() -> Tree {
    Tree::new(&[
        ("proc/self/status", "Cpus_allowed_list:\t3\n"),
        ("proc/self/cgroup", "0::/\n"),
        ("proc/cpuinfo", "flags : fpu hypervisor\n"),
        ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
        ("sys/devices/system/cpu/online", "0-7\n"),
    ])
}

#[test]
fn a_big_host_is_understood() {
    let topology = big_host().topology();
    assert_eq!(topology.cpus.len(), 32);
    assert_eq!(topology.cores(), 16);
    assert_eq!(topology.sockets(), Some(2));
    assert_eq!(topology.nodes.len(), 4);
    assert_eq!(topology.nodes[&1], [4, 5, 6, 7, 20, 21, 22, 23]);
    assert_eq!(topology.siblings(21), [5, 21]);
    assert_eq!(topology.cpus[&21].socket, Some(0));
    assert_eq!(topology.cpus[&9].node, Some(2));
    assert_eq!(topology.isolated, [12, 13, 14, 15]);
    assert_eq!(topology.quota_cpus, None);

    let wants = Wants {
        tester: 2,
        path: 2,
        nic_node: Some(1),
    };
    let placement = place(&topology, wants);
    assert_eq!(placement.path, [4, 5]);
    assert_eq!(placement.tester[0].cpu, 6);
    assert_eq!(placement.tester[1].cpu, 7);
}

#[test]
fn a_big_hosts_fingerprint_is_whole_and_private() {
    let tree = big_host();
    let facts = fingerprint::read(&tree.roots(), measurer());
    let json = format!("{facts:?}");
    assert!(!json.contains("SECRET-SERIAL"));
    assert!(!json.contains("0f3c1c1e"));
    assert_eq!(facts.nicety, "1.2.3");
    assert!(facts.privileged);
    assert_eq!(facts.kernel, "6.12.9-amd64");
    assert_eq!(
        facts.cmdline,
        "BOOT_IMAGE=/vmlinuz root=UUID=… isolcpus=12-15 mitigations=off"
    );
    assert_eq!(facts.os.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    assert_eq!(facts.cpu_model, "Some CPU @ 2.0GHz");
    assert_eq!((facts.cpus, facts.sockets), (32, Some(2)));
    assert_eq!(facts.numa["3"].len(), 8);
    assert_eq!(facts.smt.as_deref(), Some("on"));
    assert_eq!(facts.governor.len(), 32);
    assert_eq!(facts.governor["31"], "performance");
    let mitigations: Vec<&str> = facts.mitigations.keys().map(String::as_str).collect();
    assert_eq!(mitigations, ["meltdown", "spectre_v2"]);
    assert_eq!(facts.hypervisor, None);
    assert_eq!(facts.clocksource.as_deref(), Some("tsc"));
    assert_eq!(facts.microcode.as_deref(), Some("0xd0003a5"));
    assert_eq!(facts.memory_mib, Some(257_672));
    assert_eq!(
        facts.hugepages,
        BTreeMap::from([("1048576".to_owned(), 0), ("2048".to_owned(), 512)])
    );
    let sysctl: Vec<(&str, &str)> = facts
        .sysctl
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        sysctl,
        [
            ("kernel.numa_balancing", "1"),
            ("net.bridge.bridge-nf-call-iptables", "1"),
            ("net.core.default_qdisc", "fq_codel"),
            ("net.core.netdev_budget", "300"),
        ]
    );
    assert_eq!(facts.bios.as_deref(), Some("Firm 3.4"));
    assert!(facts.interfaces.is_empty());
}

#[test]
fn a_container_with_half_a_cpu_is_told_so() {
    let tree = container();
    let topology = tree.topology();
    assert_eq!(topology.cpus.len(), 8);
    assert_eq!(topology.allowed, [3]);
    assert_eq!(topology.quota_cpus, Some(0.5));
    assert_eq!(topology.sockets(), None);
    let wants = Wants {
        tester: 2,
        path: 2,
        nic_node: None,
    };
    let placement = place(&topology, wants);
    assert!(placement.shared);
    assert_eq!(placement.path, [3]);
    assert_eq!(placement.tester.len(), 1);
    assert!(
        placement
            .notes
            .iter()
            .any(|note| note.to_string().contains("0.50 CPUs"))
    );

    let facts = fingerprint::read(&tree.roots(), measurer());
    assert_eq!(facts.kernel, UNKNOWN);
    assert_eq!(facts.cpus_allowed, [3]);
    assert_eq!(facts.hypervisor.as_deref(), Some("an unknown hypervisor"));
    assert_eq!(facts.os, None);
    assert_eq!(facts.smt, None);
    assert!(facts.numa.is_empty() && facts.governor.is_empty());
}

#[test]
fn hypervisors_are_named_by_firmware_where_the_cpu_says_there_is_one() {
    let x86 = "flags : fpu hypervisor\n";
    let metal = "flags : fpu\n";
    let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
    for (cpuinfo, vendor, product, expected) in [
        (x86, "QEMU", "Standard PC", Some("QEMU Standard PC")),
        (x86, "Amazon EC2", "m5.large", Some("Amazon EC2 m5.large")),
        (metal, "Amazon EC2", "m5.metal", None),
        (
            arm,
            "QEMU",
            "KVM Virtual Machine",
            Some("QEMU KVM Virtual Machine"),
        ),
        (arm, "Maker", "Board", None),
    ] {
        let tree = Tree::new(&[
            ("proc/cpuinfo", cpuinfo),
            ("sys/class/dmi/id/sys_vendor", vendor),
            ("sys/class/dmi/id/product_name", product),
        ]);
        let facts = fingerprint::read(&tree.roots(), measurer());
        assert_eq!(facts.hypervisor.as_deref(), expected, "{vendor} {product}");
    }
    let xen = Tree::new(&[("sys/hypervisor/type", "xen\n"), ("proc/cpuinfo", x86)]);
    let facts = fingerprint::read(&xen.roots(), measurer());
    assert_eq!(facts.hypervisor.as_deref(), Some("xen"));
}

#[test]
fn the_tightest_quota_on_the_way_up_counts() {
    #[rustfmt::skip]
    let table = [
        ("0::/a/b\n", vec![("a/b/cpu.max", "max 100000"), ("a/cpu.max", "150000 100000")], Some(1.5)),
        ("0::/a\n", vec![("a/cpu.max", "400000 100000"), ("cpu.max", "200000 100000")], Some(2.0)),
        ("0::/../../x\n", vec![("cpu.max", "100000 100000")], Some(1.0)),
        ("2:cpu,cpuacct:/docker/1\n0::/\n", vec![("cpu,cpuacct/cpu.cfs_quota_us", "250000"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000")], Some(2.5)),
        ("1:cpu:/\n", vec![("cpu/cpu.cfs_quota_us", "-1"), ("cpu/cpu.cfs_period_us", "100000")], None),
        ("3:cpuset:/\n", vec![("cpu.max", "1 100000")], None),
        ("0::/\n", vec![("cpu.max", "50000 0")], None),
        ("nonsense\n", vec![("cpu.max", "50000 100000")], None),
    ];
    for (cgroup, files, expected) in table {
        let tree = Tree::new(&[("proc/self/cgroup", cgroup)]);
        for (path, text) in &files {
            tree.write(&format!("sys/fs/cgroup/{path}"), text.as_bytes());
        }
        let roots = tree.roots();
        let quota = nicety_host::topology::cpu_quota(&roots.proc, &roots.sys);
        assert_eq!(quota, expected, "{cgroup:?} {files:?}");
    }
}

#[test]
fn an_empty_tree_gives_errors_where_needed_and_nothing_elsewhere() {
    let roots = Tree::new(&[]).roots();
    let stat = StatSample::read(&roots.proc).unwrap_err().to_string();
    assert!(
        stat.contains("CPU time per CPU") && stat.contains("/stat"),
        "{stat}"
    );
    assert!(!stat.contains('\n'));
    assert!(SoftnetSample::read(&roots.proc).is_err());
    assert!(TaskSample::read(&roots.proc, 1).is_err());
    assert!(Topology::read(&roots.proc, &roots.sys).is_err());
    assert!(tasks::own_threads(&roots.proc).is_empty());
    assert!(tasks::kernel_threads(&roots.proc, |_| true).is_empty());
    let facts = fingerprint::read(&roots, measurer());
    assert_eq!((facts.kernel.as_str(), facts.cpus), (UNKNOWN, 0));
    assert!(facts.sysctl.is_empty() && facts.mitigations.is_empty());
}

#[test]
fn nonsense_in_every_file_never_panics_and_names_no_cpus() {
    let whole = big_host();
    let files = files_below(whole.0.path(), Path::new(""));
    assert!(files.len() > 100);
    for nonsense in [
        &b""[..],
        b"\n",
        b"\xff\xfe\x00",
        b"-1",
        b"0-4294967295",
        b":::",
        b"18446744073709551616",
        b"= : =\n:\n",
        b"cpu0 1 2",
    ] {
        let tree = Tree::new(&[]);
        for file in files.iter().map(String::as_str).chain([
            "proc/stat",
            "proc/1/stat",
            "proc/1/schedstat",
            "proc/1/comm",
            "proc/1/task/1/comm",
            "proc/net/softnet_stat",
        ]) {
            tree.write(file, nonsense);
        }
        let roots = tree.roots();
        assert!(StatSample::read(&roots.proc).is_err(), "{nonsense:?}");
        assert!(SoftnetSample::read(&roots.proc).is_err(), "{nonsense:?}");
        assert!(TaskSample::read(&roots.proc, 1).is_err(), "{nonsense:?}");
        assert!(tasks::kernel_threads(&roots.proc, |_| true).is_empty());
        assert!(
            Topology::read(&roots.proc, &roots.sys).is_err(),
            "{nonsense:?}"
        );
        let facts = fingerprint::read(&roots, measurer());
        assert!(facts.numa.is_empty() && facts.cpus_allowed.is_empty());
        assert_eq!(facts.memory_mib, None);
        let blank = facts.sysctl.values().chain(facts.mitigations.values());
        assert!(blank.chain(&facts.os).all(|value| !value.is_empty()));
    }
}

fn files_below(root: &Path, relative: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root.join(relative)).unwrap() {
        let entry = entry.unwrap();
        let path = relative.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(root, &path));
        } else {
            files.push(path.to_str().unwrap().to_owned());
        }
    }
    files
}

/// A `stat` line: id, name, flags, CPU ticks, start, last CPU.
fn stat_line(tid: u32, name: &str, flags: u64, ticks: u64, cpu: u32) -> String {
    format!(
        "{tid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 {ticks} 0 0 20 0 1 0 77 0 0 1 0 0 0 0 0 0 0 0 0 \
         0 0 0 17 {cpu} 0 0 0 0 0\n"
    )
}

#[test]
fn kernel_threads_are_found_and_their_twins_in_user_space_are_not() {
    const KTHREAD: u64 = 0x0020_8040;
    let tree = Tree::new(&[
        ("proc/4711/task/4711/comm", "qemu\n"),
        ("proc/4711/task/4713/comm", "vhost-4711\n"),
    ]);
    for (tid, name, flags) in [
        (15, "ksoftirqd/0", KTHREAD),
        (300, "napi/d0-8193", KTHREAD),
        (301, "napi/d1-8194", KTHREAD),
        (900, "napi/d0-1", 0x40_0000),
    ] {
        tree.write(&format!("proc/{tid}/comm"), format!("{name}\n").as_bytes());
        let stat = stat_line(tid, name, flags, 0, 0);
        tree.write(&format!("proc/{tid}/stat"), stat.as_bytes());
    }
    let proc = tree.roots().proc;
    let threads = tasks::kernel_threads(&proc, |name| name.starts_with("napi/"));
    let tids: Vec<u32> = threads.iter().map(|task| task.tid).collect();
    assert_eq!(tids, [300, 301]);
    let d0 = tasks::kernel_threads(&proc, |name| tasks::is_napi_of(name, "d0"));
    assert_eq!(d0.len(), 1);
    assert_eq!(d0[0].name, "napi/d0-8193");
    let vhost = tasks::any_threads(&proc, |name| name.starts_with("vhost-"));
    assert_eq!((vhost.len(), vhost[0].tid, vhost[0].pid), (1, 4713, 4711));
}

#[test]
fn two_recorded_moments_give_the_use_between_them() {
    let snapshot = |ticks: [u64; 2], ns: u64, napi_ticks: u64| {
        let [user, idle] = ticks;
        let tree = Tree::new(&[]);
        let stat = format!("cpu 0 0 0 0\ncpu0 0 0 {user} {idle} 0 0 0 0\ncpu1 {user} 0 0 {idle}\n");
        tree.write("proc/stat", stat.as_bytes());
        tree.write("proc/50/stat", stat_line(50, "worker", 0, 0, 1).as_bytes());
        tree.write("proc/50/schedstat", format!("{ns} 5 6\n").as_bytes());
        // Without schedstat: ticks.
        let napi = stat_line(60, "napi/d0-1", 0x20_0000, napi_ticks, 0);
        tree.write("proc/60/stat", napi.as_bytes());
        tree.write("proc/60/status", b"Cpus_allowed_list:\t0\n");
        tree
    };
    let mut watch = Watch::default();
    watch.add(50, TESTER);
    watch.add(60, "napi/d0");
    watch.add(70, "napi/gone");
    let (first, last) = (
        snapshot([100, 100], 1_000, 10),
        snapshot([180, 120], 600_001_000, 70),
    );
    let mut before = CpuSnapshot::take(&first.roots().proc, &watch).unwrap();
    let mut after = CpuSnapshot::take(&last.roots().proc, &watch).unwrap();
    before.at = Duration::from_secs(10);
    after.at = Duration::from_secs(11);
    // A second worker that ended in between and timed itself.
    let timed = ThreadUse {
        label: TESTER.to_owned(),
        cpus: 0.1,
        home: Some(1),
    };
    let window = CpuWindow::between(&watch, &before, &after, [timed]);
    assert_eq!(window.elapsed, Duration::from_secs(1));
    assert_eq!(window.gone, ["napi/gone"]);
    let near = |got: f64, expected: f64| (got - expected).abs() < 1e-6;
    assert!(near(window.cpu.who[TESTER], 0.7), "{window:?}");
    assert!(near(window.cpu.who["napi/d0"], 0.6), "{window:?}");
    assert!(near(window.cpu.who["other"], 0.3), "{window:?}");
    assert!(!window.cpu.who.contains_key("napi/gone"));
    assert_eq!(window.cpu.busy_ratio.len(), 2);
    let busiest = window.cpu.busiest.unwrap();
    assert_eq!((busiest.cpu, busiest.who.as_str()), (0, "napi/d0"));
}
