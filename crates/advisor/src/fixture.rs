//! Hosts for the rules' tests, built step by step.

use nicety_model::HostFacts;
use nicety_model::facts::{
    CpuSeatFacts, FeatureFacts, InterfaceClass, IrqFacts, LinkFacts, NetFacts, NodeFacts, Owner,
    OwnerKind, QueueSteering, RingsFacts, SoftnetFacts, VmFacts, VmThread, WindowFacts,
};
use nicety_model::finding::{Advice, Finding, Goal};

use crate::{Wishes, advise};

/// A host, a goal and wishes.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) facts: HostFacts,
    goal: Goal,
    wishes: Wishes,
}

/// A thread of a virtual machine.
pub(crate) fn thread(tid: u32, name: &str, cpus: &[u32]) -> VmThread {
    VmThread {
        tid,
        name: name.to_owned(),
        cpus: cpus.to_vec(),
        last_cpu: None,
    }
}

impl Host {
    /// `nodes` nodes of `cores` CPUs each, without siblings, numbered through.
    pub(crate) fn new(nodes: u32, cores: u32) -> Self {
        let mut facts = HostFacts::default();
        for node in 0..nodes {
            let cpus: Vec<u32> = (node * cores..(node + 1) * cores).collect();
            facts.cpu.cpus.extend(cpus.iter().map(|&cpu| CpuSeatFacts {
                cpu,
                core: cpu,
                socket: Some(node),
                node: Some(node),
            }));
            facts.cpu.housekeeping.extend(&cpus);
            facts.cpu.nodes.push(NodeFacts {
                node,
                cpus,
                ..NodeFacts::default()
            });
        }
        Self {
            facts,
            goal: Goal::Throughput,
            wishes: Wishes::default(),
        }
    }

    pub(crate) fn facts_with(mut self, change: impl FnOnce(&mut HostFacts)) -> Self {
        change(&mut self.facts);
        self
    }

    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }

    pub(crate) fn wish(mut self, wish: impl FnOnce(&mut Wishes)) -> Self {
        wish(&mut self.wishes);
        self
    }

    /// A port that is up.
    pub(crate) fn nic(mut self, name: &str, speed_mbps: u32, node: u32) -> Self {
        self.facts.interfaces.push(NetFacts {
            class: InterfaceClass::Hardware,
            numa_node: Some(node),
            link: LinkFacts {
                name: name.to_owned(),
                up: true,
                mtu: 1500,
                speed_mbps: Some(speed_mbps),
                ..LinkFacts::default()
            },
            ..NetFacts::default()
        });
        self
    }

    /// Changes the first interface.
    pub(crate) fn nic_with(mut self, change: impl FnOnce(&mut NetFacts)) -> Self {
        change(&mut self.facts.interfaces[0]);
        self
    }

    pub(crate) fn ring(self, rx: u32, rx_max: u32) -> Self {
        let rings = RingsFacts {
            rx,
            rx_max,
            tx: rx,
            tx_max: rx_max,
        };
        self.nic_with(|net| net.link.rings = Some(rings))
    }

    pub(crate) fn counter(self, name: &str, value: u64) -> Self {
        self.nic_with(|net| net.link.counters.extend([(name.to_owned(), value)]))
    }

    pub(crate) fn combined(self, now: u32, max: u32) -> Self {
        self.nic_with(|net| {
            net.link.queues.combined = Some(now);
            net.link.queues.combined_max = Some(max);
        })
    }

    pub(crate) fn feature(self, name: &str, on: bool) -> Self {
        let feature = FeatureFacts {
            on,
            changeable: true,
        };
        self.nic_with(|net| net.link.features.extend([(name.to_owned(), feature)]))
    }

    /// Receive queues, each steered to `cpus`, with flow tables switched off.
    pub(crate) fn queues(self, count: u32, cpus: &[u32]) -> Self {
        let queue = |queue| QueueSteering {
            queue,
            cpus: cpus.to_vec(),
            flow_entries: Some(0),
        };
        self.nic_with(|net| net.rx_steering = (0..count).map(queue).collect())
    }

    pub(crate) fn tx_queues(self, maps: &[&[u32]]) -> Self {
        let queue = |(queue, cpus): (u32, &&[u32])| QueueSteering {
            queue,
            cpus: cpus.to_vec(),
            flow_entries: None,
        };
        self.nic_with(|net| net.tx_steering = (0..).zip(maps).map(queue).collect())
    }

    pub(crate) fn irq(mut self, irq: u32, interface: &str, cpus: &[u32], count: u64) -> Self {
        self.facts.irqs.push(IrqFacts {
            irq,
            name: format!("{interface}-rx-{irq}"),
            interface: interface.to_owned(),
            counts: [(cpus[0], count)].into(),
            affinity: cpus.to_vec(),
            effective: cpus.to_vec(),
            ..IrqFacts::default()
        });
        self
    }

    pub(crate) fn net_rx(mut self, counts: &[u64]) -> Self {
        self.facts.softnet = (0..)
            .zip(counts)
            .map(|(cpu, &count)| SoftnetFacts {
                cpu,
                net_rx: Some(count),
                ..SoftnetFacts::default()
            })
            .collect();
        self
    }

    pub(crate) fn processed(mut self, counts: &[u64]) -> Self {
        self.facts.softnet = (0..)
            .zip(counts)
            .map(|(cpu, &processed)| SoftnetFacts {
                cpu,
                processed,
                ..SoftnetFacts::default()
            })
            .collect();
        self
    }

    /// Somebody looked on for so many seconds.
    pub(crate) fn window(mut self, seconds: f64, fill: impl FnOnce(&mut WindowFacts)) -> Self {
        let mut window = WindowFacts {
            seconds,
            ..WindowFacts::default()
        };
        fill(&mut window);
        self.facts.window = Some(window);
        self
    }

    /// The same, with one CPU's counters.
    pub(crate) fn watched(self, cpu: SoftnetFacts) -> Self {
        self.window(5.0, |window| window.softnet = vec![cpu])
    }

    /// A KVM guest with these CPUs for each vCPU.
    pub(crate) fn vm(mut self, name: &str, vcpus: &[&[u32]]) -> Self {
        let threads = (100..).zip(vcpus);
        self.facts.vms.push(VmFacts {
            name: name.to_owned(),
            kvm: Some(true),
            vcpus: threads
                .map(|(tid, cpus)| thread(tid, "CPU 0/KVM", cpus))
                .collect(),
            ..VmFacts::default()
        });
        self
    }

    pub(crate) fn sysctl(mut self, name: &str, value: &str) -> Self {
        self.facts.sysctl.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn owner(mut self, file: &str, key: &str, value: &str) -> Self {
        self.facts.owners.push(Owner {
            kind: OwnerKind::Sysctl,
            file: file.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        });
        self
    }

    /// A bridge whose port is the first interface.
    pub(crate) fn bridged(self) -> Self {
        let mut host = self.nic_with(|net| net.link.master = Some("br0".to_owned()));
        host.facts.interfaces.push(NetFacts {
            class: InterfaceClass::Bridge,
            link: LinkFacts {
                name: "br0".to_owned(),
                up: true,
                mtu: 1500,
                ..LinkFacts::default()
            },
            ..NetFacts::default()
        });
        host
    }

    /// A VLAN on the first interface, and a bridge on that.
    pub(crate) fn vlan_bridged(mut self) -> Self {
        let lower = self.facts.interfaces[0].link.name.clone();
        self.facts.interfaces.push(NetFacts {
            class: InterfaceClass::Vlan,
            link: LinkFacts {
                name: "vlan7".to_owned(),
                lower: Some(lower),
                master: Some("br0".to_owned()),
                ..LinkFacts::default()
            },
            ..NetFacts::default()
        });
        let port = self.facts.interfaces[0].clone();
        let mut host = self.bridged();
        host.facts.interfaces[0] = port;
        host
    }

    /// What all rules say.
    pub(crate) fn advice(&self) -> Advice {
        advise(&self.facts, self.goal, self.wishes)
    }

    /// What a rule finds.
    pub(crate) fn find(&self, rule: &str) -> Vec<Finding> {
        let findings = self.advice().findings.into_iter();
        findings.filter(|f| f.rule == rule).collect()
    }

    /// The one finding of a rule.
    #[track_caller]
    pub(crate) fn one(&self, rule: &str) -> Finding {
        let mut findings = self.find(rule);
        assert_eq!(findings.len(), 1, "{rule}: {findings:#?}");
        findings.remove(0)
    }

    /// The rule finds nothing.
    #[track_caller]
    pub(crate) fn none(&self, rule: &str) {
        let findings = self.find(rule);
        assert!(findings.is_empty(), "{rule}: {findings:#?}");
    }

    /// What a rule waits for.
    pub(crate) fn waits(&self, rule: &str) -> String {
        let waiting = self.advice().waiting.into_iter().find(|w| w.rule == rule);
        waiting.map(|w| w.needs).unwrap_or_default()
    }
}
