//! Fleets made of equal hosts, in which differences are planted.

use nicety_model::HostFacts;
use nicety_model::facts::{FeatureFacts, HugePages, InterfaceClass, NetFacts, QdiscFacts};
use nicety_model::finding::{Effect, Goal};
use nicety_model::fleet::{FleetDifference, FleetReport, GroupBy, Role};

use super::{Fleet, HostRecord, profile};
use crate::fixture::Host;
use crate::{Wishes, advise};

const BY: [GroupBy; 3] = [GroupBy::Cpu, GroupBy::Nic, GroupBy::Role];

/// A KVM host with a port, a bridge and a guest.
fn host() -> HostFacts {
    let host = Host::new(2, 4).nic("eth0", 10_000, 0).ring(4096, 8192);
    let host = host.combined(4, 8).feature("rx-gro", true).bridged();
    let host = host
        .sysctl("net.core.rmem_max", "212992")
        .vm("web", &[&[1]]);
    let host = host.irq(30, "eth0", &[1], 9).irq(31, "eth0", &[2], 9);
    let mut facts = host.facts;
    facts.host.kernel = "6.12.1".to_owned();
    facts.host.cpu_model = "EPYC".to_owned();
    facts.host.cmdline = "BOOT_IMAGE=/vmlinuz ro isolcpus=1-2".to_owned();
    facts.memory.total_mib = Some(128_700);
    facts.cpu.governor = (0..8).map(|cpu| (cpu, "performance".to_owned())).collect();
    facts.interfaces[0].link.driver = Some("ice".to_owned());
    facts.interfaces[0].link.carrier = true;
    let qdisc = |kind: &str, root| QdiscFacts {
        kind: kind.to_owned(),
        root,
        ..QdiscFacts::default()
    };
    let qdiscs = [("fq_codel", false), ("mq", true), ("fq_codel", false)];
    facts.interfaces[0].link.qdiscs = qdiscs.map(|(kind, root)| qdisc(kind, root)).into();
    facts
}

fn record(name: &str, captured: Option<&str>, facts: &HostFacts) -> HostRecord {
    HostRecord {
        name: name.to_owned(),
        file: format!("{name}-{}.json", captured.unwrap_or("now")),
        captured: captured.map(str::to_owned),
        profile: profile(facts),
        advice: advise(facts, Goal::Throughput, Wishes::default()),
    }
}

fn fleet(hosts: &[HostFacts]) -> FleetReport {
    grouped(hosts, &BY)
}

/// The hosts under the names kvm01, kvm02, …, added from the last to the first.
fn grouped(hosts: &[HostFacts], by: &[GroupBy]) -> FleetReport {
    let mut fleet = Fleet::default();
    for (at, facts) in hosts.iter().enumerate().rev() {
        fleet.add(record(&format!("kvm{:02}", at + 1), None, facts));
    }
    fleet.report(Goal::Throughput, by)
}

/// So many equal hosts, one of which is changed.
fn planted(count: usize, at: usize, change: impl FnOnce(&mut HostFacts)) -> FleetReport {
    let mut hosts = vec![host(); count];
    change(&mut hosts[at]);
    fleet(&hosts)
}

/// `kvm03: eth0 receive ring 256, 4096 on 11`, for each value.
fn said(report: &FleetReport) -> Vec<String> {
    let lines = |of: &FleetDifference| {
        let usual = match &of.usual {
            Some(usual) => format!("{usual} on {}", of.usual_hosts),
            None => "split".to_owned(),
        };
        let others = of.others.iter();
        let line = others.map(|value| {
            let hosts = value.hosts.join(" ");
            format!("{hosts}: {} {}, {usual}", of.setting, value.value)
        });
        line.collect::<Vec<_>>()
    };
    report.differences.iter().flat_map(lines).collect()
}

#[test]
fn equal_hosts_have_no_differences() {
    let report = fleet(&vec![host(); 5]);
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report.groups.len(), 1);
    assert_eq!(report.groups[0].role, Some(Role::Kvm));
    assert!(report.groups[0].compared > 20, "{:?}", report.groups);
    assert_eq!(report.odd_ones(), 0);
    for finding in &report.findings {
        assert_eq!(finding.hosts.len(), 5, "{}", finding.rule);
        assert!(!finding.expects.is_empty(), "{}", finding.rule);
    }
    assert!(!report.findings.is_empty() && !report.waiting.is_empty());
    assert!(report.waiting.iter().all(|waiting| waiting.hosts == 5));
}

#[test]
fn a_planted_difference_is_found_and_no_other() {
    type Change = fn(&mut HostFacts);
    let plants: [(Change, &str); 19] = [
        (
            |facts| facts.interfaces[0].link.rings.as_mut().unwrap().rx = 256,
            "kvm03: eth0 receive ring 256, 4096 on 11",
        ),
        (
            |facts| facts.interfaces[0].link.queues.combined = Some(1),
            "kvm03: eth0 queues 1, 4 on 11",
        ),
        (
            |facts| {
                let queues = &mut facts.interfaces[0].link.queues;
                (queues.combined, queues.rx_only, queues.tx_only) = (None, Some(8), Some(4));
            },
            "kvm03: eth0 queues 8 receive, 4 send, 4 on 11",
        ),
        (|facts| facts.interfaces[0].link.qdiscs.truncate(2), ""),
        (
            |facts| facts.interfaces[0].link.qdiscs[1].kind = "htb".to_owned(),
            "kvm03: eth0 qdisc htb of fq_codel, mq of fq_codel on 11",
        ),
        (
            |facts| facts.memory.total_mib = Some(64_000),
            "kvm03: memory fitted 64 GiB, 128 GiB on 11",
        ),
        (
            |facts| facts.interfaces[0].link.mtu = 9000,
            "kvm03: eth0 MTU 9000, 1500 on 11",
        ),
        (
            |facts| facts.interfaces[0].link.firmware = Some("1".to_owned()),
            "",
        ),
        (
            |facts| {
                let off = FeatureFacts::default();
                let features = &mut facts.interfaces[0].link.features;
                features.insert("rx-gro".to_owned(), off);
            },
            "kvm03: eth0 offload rx-gro off, on on 11",
        ),
        (
            |facts| facts.irqs[1].effective = vec![1],
            "kvm03: eth0 interrupts 2, all on one CPU, on its node, 2, a CPU each, on its node on 11",
        ),
        (
            |facts| facts.host.kernel = "6.1.0".to_owned(),
            "kvm03: kernel 6.1.0, 6.12.1 on 11",
        ),
        (
            |facts| facts.host.cmdline = "quiet".to_owned(),
            "kvm03: kernel option isolcpus not set, 1-2 on 11",
        ),
        (
            |facts| facts.host.cmdline += " mitigations=off",
            "kvm03: kernel option mitigations off, not set on 11",
        ),
        (
            |facts| {
                facts.cpu.governor.insert(7, "powersave".to_owned());
            },
            "kvm03: governor performance 7, powersave 1, performance on 11",
        ),
        (
            |facts| {
                facts
                    .sysctl
                    .insert("net.core.rmem_max".to_owned(), "1".to_owned());
            },
            "kvm03: net.core.rmem_max 1, 212992 on 11",
        ),
        (
            |facts| {
                facts.memory.hugepages.push(HugePages {
                    node: Some(0),
                    size_kib: 1 << 20,
                    total: 16,
                    free: 0,
                });
            },
            "kvm03: huge pages of 1 GiB 16 on node 0, none on 11",
        ),
        (
            |facts| {
                facts.interfaces.remove(1);
                facts.interfaces[0].link.master = None;
            },
            "kvm03: eth0 belongs to nothing, br0 on 11|kvm03: br0 missing, present on 11",
        ),
        // The same memory with another kernel's share of it, other disks and guests, another order of names.
        (
            |facts| {
                facts.memory.total_mib = Some(128_690);
                facts.host.cmdline = "isolcpus=1-2 root=/dev/vda BOOT_IMAGE=x".to_owned();
                facts.vms.clear();
                facts.services.libvirt = true;
                facts.interfaces.reverse();
                facts
                    .sysctl
                    .insert("net.ipv4.tcp_mem".to_owned(), "1 2 3".to_owned());
            },
            "kvm03: libvirt runs, does not run on 11",
        ),
        (
            |facts| facts.interfaces[0].link.up = false,
            "kvm03: eth0 link set down, 10000 Mbit/s on 11",
        ),
    ];
    for (change, line) in plants {
        let report = planted(12, 2, change);
        assert_eq!(said(&report).join("|"), line);
        let odd = usize::from(!line.is_empty());
        assert_eq!(report.odd_ones(), odd, "{line}");
        assert_eq!(report.hosts[2].differs, line.matches("kvm03").count());
    }
}

#[test]
fn without_a_majority_all_values_are_told() {
    let mut hosts = vec![host(); 4];
    hosts[2].interfaces[0].link.mtu = 9000;
    hosts[3].interfaces[0].link.mtu = 9000;
    let report = fleet(&hosts);
    let lines = [
        "kvm01 kvm02: eth0 MTU 1500, split",
        "kvm03 kvm04: eth0 MTU 9000, split",
    ];
    assert_eq!(said(&report), lines);
    assert_eq!(report.odd_ones(), 0);
    // Half is no majority; of two hosts that differ neither is the odd one.
    assert_eq!(said(&fleet(&hosts[1..3])).len(), 2);
    assert_eq!(said(&fleet(&hosts[1..])).len(), 1);
}

#[test]
fn values_of_everybody_are_listed_up_to_a_number() {
    let mut hosts = vec![host(); 40];
    for (at, host) in hosts.iter_mut().enumerate() {
        host.host.microcode = Some(at.to_string());
    }
    let report = fleet(&hosts);
    assert_eq!(report.differences.len(), 1);
    assert_eq!(report.differences[0].others.len(), 12);
    assert_eq!(report.differences[0].more_hosts, 28);
}

#[test]
fn missing_facts_are_no_differences() {
    let mut hosts = vec![host(); 5];
    hosts[1] = HostFacts {
        host: hosts[1].host.clone(),
        vms: hosts[1].vms.clone(),
        ..HostFacts::default()
    };
    hosts[1].host.cmdline = "unknown".to_owned();
    hosts[1].host.kernel = "unknown".to_owned();
    hosts[2].interfaces[0].link.rings = None;
    let report = fleet(&hosts);
    assert_eq!(said(&report), [""; 0]);
    // It has no ports that are known, and goes with those of its role.
    assert_eq!(report.groups.len(), 1);
    hosts[3].interfaces[0].link.rings.as_mut().unwrap().rx = 1;
    let report = fleet(&hosts);
    assert_eq!(said(&report), ["kvm04: eth0 receive ring 1, 4096 on 2"]);
    assert_eq!(report.differences[0].unknown, 2);
    let nothing = fleet(&vec![HostFacts::default(); 3]);
    assert_eq!(said(&nothing), [""; 0]);
}

#[test]
fn one_host_or_none_has_no_siblings() {
    let report = fleet(&[host()]);
    assert_eq!((report.groups.len(), report.groups[0].compared), (1, 0));
    assert_eq!(report.alone(), ["kvm01"]);
    assert!(!report.findings.is_empty());
    let nobody = fleet(&[]);
    assert_eq!((nobody.hosts.len(), nobody.groups.len()), (0, 0));
}

#[test]
fn hosts_of_another_kind_are_not_siblings() {
    let mut hosts = vec![host(); 6];
    for other in &mut hosts[4..] {
        other.host.cpu_model = "Xeon".to_owned();
        other.interfaces[0].link.mtu = 9000;
    }
    let report = fleet(&hosts);
    assert_eq!(said(&report), [""; 0]);
    let sizes: Vec<usize> = report
        .groups
        .iter()
        .map(|group| group.hosts.len())
        .collect();
    assert_eq!(sizes, [4, 2]);
    assert_eq!(report.hosts[5].group, 2);
    let all = grouped(&hosts, &[]);
    let lines = said(&all);
    assert_eq!(all.groups.len(), 1);
    assert!(
        lines.contains(&"kvm05 kvm06: CPU Xeon, EPYC on 4".to_owned()),
        "{lines:?}"
    );
    hosts[5].host.sockets = Some(2);
    let lines = said(&grouped(&hosts, &[]));
    let two = "kvm06: CPU 2 × Xeon, EPYC on 4".to_owned();
    assert!(lines.contains(&two), "{lines:?}");
    let named = grouped(&hosts, &[GroupBy::Name]);
    assert_eq!(named.groups[0].named.as_deref(), Some("kvm"));
}

#[test]
fn a_host_that_lost_a_port_or_a_service_stays_with_its_siblings() {
    let report = planted(6, 5, |facts| {
        facts.interfaces.remove(0);
    });
    let lines = said(&report);
    assert_eq!(report.groups.len(), 1);
    for line in [
        "kvm06: ports none, 1 × ice on 5",
        "kvm06: eth0 missing, present on 5",
    ] {
        assert!(lines.contains(&line.to_owned()), "{lines:?}");
    }
    let report = planted(6, 5, |facts| facts.vms.clear());
    assert_eq!(said(&report), ["kvm06: role plain, kvm-host on 5"]);
}

#[test]
fn interfaces_of_tenants_are_not_compared() {
    let mut hosts = vec![host(); 4];
    for (at, host) in hosts.iter_mut().enumerate() {
        let mut bridge = host.interfaces[1].clone();
        bridge.link.name = format!("qbr{at}");
        host.interfaces.push(bridge);
        let mut tap = NetFacts {
            class: InterfaceClass::Tap,
            ..NetFacts::default()
        };
        tap.link.name = "vnet0".to_owned();
        tap.link.mtu = 1000 + at as u32;
        host.interfaces.push(tap);
    }
    assert_eq!(said(&fleet(&hosts)), [""; 0]);
}

#[test]
fn the_newest_capture_of_a_host_counts() {
    let mut fleet = Fleet::default();
    let mut old = host();
    old.host.kernel = "5.10".to_owned();
    for (name, time, facts) in [
        ("kvm01", "2026-11-01T00:00:00Z", &old),
        ("kvm01", "2026-11-02T00:00:00Z", &host()),
        ("kvm02", "2026-11-01T00:00:00Z", &host()),
    ] {
        fleet.add(record(name, Some(time), facts));
    }
    fleet.add(record("kvm02", None, &old));
    assert_eq!(fleet.len(), 4);
    let report = fleet.report(Goal::Throughput, &BY);
    assert_eq!(report.hosts.len(), 2);
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report.older.len(), 2);
    assert_eq!(report.older[0].newer, "kvm01-2026-11-02T00:00:00Z.json");
}

#[test]
fn findings_are_ranked_by_gain_and_by_hosts() {
    let mut hosts = vec![host(); 3];
    for host in &mut hosts[..2] {
        host.cpu
            .governor
            .values_mut()
            .for_each(|word| *word = "powersave".to_owned());
    }
    let report = fleet(&hosts);
    let at = |rule: &str| report.findings.iter().position(|of| of.rule == rule);
    let governor = &report.findings[at("governor").unwrap()];
    assert_eq!(governor.hosts, ["kvm01", "kvm02"]);
    assert_eq!(governor.example.host, "kvm01");
    let ranks: Vec<_> = report
        .findings
        .iter()
        .map(|of| {
            (
                std::cmp::Reverse(of.gain),
                std::cmp::Reverse(of.hosts.len()),
            )
        })
        .collect();
    let actionable = report
        .findings
        .iter()
        .take_while(|of| of.effect != Effect::Nothing);
    assert!(ranks[..actionable.count()].is_sorted(), "{ranks:?}");
}

#[test]
fn a_finding_takes_effect_as_soon_as_on_the_first_of_its_hosts() {
    let mut fleet = Fleet::default();
    for (name, effect) in [("kvm01", Effect::Reboot), ("kvm02", Effect::VmRestart)] {
        let mut record = record(name, None, &host());
        for finding in &mut record.advice.findings {
            finding.effect = effect;
        }
        fleet.add(record);
    }
    let report = fleet.report(Goal::Throughput, &BY);
    let effects: Vec<Effect> = report.findings.iter().map(|of| of.effect).collect();
    assert!(!effects.is_empty());
    assert_eq!(effects, vec![Effect::VmRestart; effects.len()]);
}

#[test]
fn long_words_of_others_are_cut() {
    let report = planted(3, 0, |facts| {
        facts.host.os = Some("ü".repeat(5000));
        facts.sysctl.insert("x".repeat(5000), "y".repeat(5000));
    });
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.len() < 60_000, "{}", json.len());
}
