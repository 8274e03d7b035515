//! Facts of a whole host: a record tells what the read told that made it, and made-up trees of
//! processes, interrupts and Xen are understood.

use std::path::Path;

use nicety_host::facts::{self, Source};
use nicety_host::fingerprint::Measurer;
use nicety_model::HostFacts;
use nicety_model::facts::{InterfaceClass, VmKind};

use crate::facts_trees::Tree;

fn read(source: &Source) -> HostFacts {
    let measurer = Measurer {
        version: "test",
        privileged: false,
    };
    facts::read(source, measurer)
}

#[test]
fn a_record_of_this_machine_tells_what_the_machine_told_as_any_user() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("record");
    let live = read(&Source::live().recording(&record).unwrap());
    let recorded = read(&Source::under(&record));
    assert_eq!(live, recorded);
    assert!(!live.cpu.cpus.is_empty() && !live.sysctl.is_empty());
    // What is written down must be all there is: a second record of the record is the same.
    let again = dir.path().join("again");
    let copied = read(&Source::under(&record).recording(&again).unwrap());
    assert_eq!(copied.cpu, live.cpu);
}

#[test]
fn a_record_needs_an_empty_folder() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine"), "").unwrap();
    let error = Source::live()
        .recording(dir.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("empty folder"), "{error}");
}

fn facts_of(files: &[(&str, &str)]) -> HostFacts {
    read(&Source::under(Tree::new(files).path()))
}

#[test]
fn a_virtual_machine_is_read_from_its_process() {
    #[rustfmt::skip]
    let facts = facts_of(&[
        ("proc/4711/comm", "qemu-system-x86"),
        ("proc/4711/cmdline",
            "/usr/bin/qemu-system-x86_64\0-name\0guest=web\0-enable-kvm\0-netdev\0tap,id=n0,ifname=tap0,vhost=on\0"),
        ("proc/4711/task/4711/comm", "qemu-system-x86"),
        ("proc/4711/task/4720/comm", "CPU 0/KVM"),
        ("proc/4711/task/4720/status", "Name:\tx\nCpus_allowed_list:\t4-5\n"),
        ("proc/4711/task/4721/comm", "vhost-4711"),
        ("proc/4711/task/4721/status", "Cpus_allowed_list:\t6\n"),
        ("proc/4711/numa_maps",
            "7f00 bind:0 anon=512 N0=512 N1=256 kernelpagesize_kB=4\n\
             7f01 default huge N1=100 kernelpagesize_kB=2048\n"),
        ("proc/4999/comm", "bash"),
    ]);
    let [vm] = facts.vms.as_slice() else {
        panic!("{:?}", facts.vms)
    };
    assert_eq!(
        (vm.name.as_str(), vm.kind, vm.kvm),
        ("web", VmKind::Qemu, Some(true))
    );
    assert_eq!(vm.vcpus[0].cpus, [4, 5]);
    assert_eq!(
        (vm.vhost[0].tid, vm.vhost[0].cpus.as_slice()),
        (4721, &[6][..])
    );
    assert_eq!(
        vm.memory_mib.iter().collect::<Vec<_>>(),
        [(&0, &2), (&1, &201)]
    );
    assert_eq!(vm.huge_mib, 200);
    assert_eq!(vm.nics[0].vhost, Some(true));
}

#[test]
fn a_port_without_netlinks_answers_is_read_from_sysfs() {
    #[rustfmt::skip]
    let facts = facts_of(&[
        ("sys/class/net/eth4/ifindex", "4"),
        ("sys/class/net/eth4/flags", "0x1003"),
        ("sys/class/net/eth4/mtu", "1500"),
        ("sys/class/net/eth4/speed", "10000"),
        ("sys/class/net/eth4/device/uevent", "DRIVER=ixgbe"),
        ("sys/class/net/eth4/device/numa_node", "1"),
        ("sys/class/net/eth4/device/sriov_totalvfs", "63"),
        ("sys/class/net/eth4/device/sriov_numvfs", "14"),
        ("sys/class/net/eth4/queues/rx-0/rps_cpus", "00000000,00000003"),
        ("sys/class/net/eth4/statistics/rx_missed_errors", "12"),
        ("sys/class/net/bonding_masters", ""),
        ("proc/interrupts",
            "           CPU0       CPU1\n 35:  3562070        243   PCI-MSI-edge      eth4\n \
             36:        0         9   PCI-MSI-edge      eth40\nNMI:   1   1   x\n"),
        ("proc/irq/35/smp_affinity", "00000003"),
    ]);
    let [net] = facts.interfaces.as_slice() else {
        panic!("{:?}", facts.interfaces)
    };
    assert_eq!(net.class, InterfaceClass::Hardware);
    assert_eq!(
        (net.numa_node, net.link.up, net.link.mtu),
        (Some(1), true, 1500)
    );
    assert_eq!(
        net.vfs.as_ref().map(|vfs| (vfs.count, vfs.max)),
        Some((14, 63))
    );
    assert_eq!(net.rx_steering[0].cpus, [0, 1]);
    assert_eq!(net.counter("rx_missed_errors"), 12);
    assert_eq!(net.irqs, [35], "eth40's interrupt is not eth4's");
    assert_eq!(facts.irqs[0].affinity, [0, 1]);
    assert_eq!(
        facts.irqs[0].effective,
        [0],
        "nearly all of them went there"
    );
    assert!(
        facts.notes[0].to_string().contains("links.json"),
        "{:?}",
        facts.notes
    );
}

#[test]
fn the_first_domain_of_xen_knows_the_machine_and_the_guests() {
    let facts = facts_of(&[
        ("proc/xen/capabilities", "control_d"),
        (
            "nicety/xl-info",
            "nr_cpus                : 160\nnr_nodes               : 8\n\
             cores_per_socket       : 10\nthreads_per_core       : 2\n\
             xen_commandline        : dom0_mem=5G\n",
        ),
        (
            "nicety/xl-vcpu-list",
            "Name                                ID  VCPU   CPU State   Time(s) Affinity (Hard / Soft)\n\
             Domain-0                             0     0    3   r--     100.1  all / all\n\
             my vm                                1     0    9   -b-       5.0  0-19 / all\n",
        ),
    ]);
    let xen = facts.xen.unwrap();
    assert_eq!((xen.cpus, xen.threads_per_socket()), (Some(160), Some(20)));
    assert_eq!(xen.dom0_vcpus.len(), 1);
    assert_eq!(
        (facts.vms[0].name.as_str(), facts.vms[0].kind),
        ("my vm", VmKind::Xen)
    );
    assert_eq!(facts.vms[0].vcpus[0].cpus.len(), 20);
}

#[test]
fn owners_are_told_as_sysctl_d_ranks_them() {
    #[rustfmt::skip]
    let facts = facts_of(&[
        ("etc/sysctl.d/50-net.conf", "# x\nnet.core.rmem_max = 1\nkernel.sysrq=1\n"),
        ("usr/lib/sysctl.d/50-net.conf", "net.core.rmem_max = 2\n"),
        ("run/sysctl.d/60-more.conf", "-net/ipv4/tcp_rmem=4096\t1  2\n"),
        ("etc/tuned/active_profile", "fast"),
        ("usr/lib/tuned/fast/tuned.conf", "[sysctl]\nnet.core.wmem_max=3\n[disk]\na=b\n"),
        ("etc/systemd/network/10-x.link", "[Match]\nOriginalName=e*\n[Link]\nMTUBytes=9000\n"),
        ("etc/modprobe.d/kvm.conf", "options kvm halt_poll_ns=0\n"),
    ]);
    let owners = facts.owners.iter();
    let owners: Vec<String> = owners
        .map(|o| format!("{:?} {} {} = {}", o.kind, o.file, o.key, o.value))
        .collect();
    assert_eq!(
        owners,
        [
            "Sysctl /etc/sysctl.d/50-net.conf net.core.rmem_max = 1",
            "Sysctl /run/sysctl.d/60-more.conf net.ipv4.tcp_rmem = 4096 1 2",
            "Tuned /usr/lib/tuned/fast/tuned.conf net.core.wmem_max = 3",
            "Link /etc/systemd/network/10-x.link Match.OriginalName = e*",
            "Link /etc/systemd/network/10-x.link Link.MTUBytes = 9000",
            "Modprobe /etc/modprobe.d/kvm.conf kvm.halt_poll_ns = 0",
        ]
    );
}

#[test]
fn the_farthest_busy_connection_tells_the_round_trip() {
    let facts = facts_of(&[(
        "nicety/ss-tcp",
        "rtt:0.5/0.25 bytes_acked:900 bytes_received:70 minrtt:90\n\
         rtt:21.5/0.25 bytes_acked:99000000 bytes_received:2000000 minrtt:20.25\n\
         rtt:7.5/3 bytes_received:200000000\n\
         rtt:x bytes_acked:99999999999 minrtt:-1\n",
    )]);
    let tcp = facts.tcp.unwrap();
    assert_eq!((tcp.connections, tcp.busy, tcp.rtt_ms), (4, 3, Some(20.25)));
    assert_eq!(facts_of(&[("proc/meminfo", "")]).tcp, None);
}

#[test]
fn functions_in_user_space_are_told_with_what_keeps_them_there() {
    let device = |address: &str, file: &str| format!("sys/bus/pci/devices/{address}/{file}");
    let bound = |driver: &str, address: &str| format!("sys/bus/pci/drivers/{driver}/{address}");
    let (port, disk, other) = ("0000:01:00.0", "0000:02:00.0", "0000:03:00.1");
    let files = [
        (bound("vfio-pci", port), ""),
        (bound("vfio-pci", "new_id"), ""),
        (bound("vfio-pci", disk), ""),
        (bound("igb_uio", other), ""),
        (device(port, "class"), "0x020000"),
        (device(port, "vendor"), "0x8086"),
        (device(port, "device"), "0x10C9"),
        (device(disk, "class"), "0x010802"),
        (device(other, "class"), "0x020000"),
        (format!("etc/driverctl.d/{port}"), "vfio-pci"),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
    let facts = facts_of(&files);
    let functions: Vec<_> = facts
        .user_functions
        .iter()
        .map(|f| (f.address.as_str(), f.driver.as_str(), f.device.as_deref()))
        .collect();
    assert_eq!(
        functions,
        [
            (port, "vfio-pci", Some("8086:10c9")),
            (other, "igb_uio", None)
        ]
    );
    assert_eq!(
        facts.user_functions[0].kept_driver.as_deref(),
        Some("vfio-pci")
    );
}

#[test]
fn nonsense_is_no_fact() {
    let facts = facts_of(&[
        ("proc/interrupts", "CPU0\n 1: many x\n\u{0}\u{1}"),
        ("proc/77/comm", "qemu-system-x86"),
        ("proc/77/cmdline", "\0\0-netdev"),
        ("sys/class/net/x/ifindex", "no number"),
        ("sys/devices/system/node/node0/cpulist", "9-1"),
        ("nicety/links.json", "[{"),
        ("etc/sysctl.conf", "=\n==\n[\n"),
    ]);
    assert!(facts.interfaces.is_empty());
    assert!(
        facts.notes[0].to_string().contains("cannot be read"),
        "{:?}",
        facts.notes
    );
    let nothing = read(&Source::under(Path::new("/nonexistent")));
    assert!(nothing.cpu.cpus.is_empty() && nothing.vms.is_empty());
}
