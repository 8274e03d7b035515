//! What a rule looks at: the facts, the goal, and what several rules derive from them.

use std::collections::BTreeSet;
use std::fmt;

use nicety_model::HostFacts;
use nicety_model::driver::{Meaning, is_control_vector, is_queue_vector};
use nicety_model::facts::way::Way;
use nicety_model::facts::{
    InterfaceClass, IrqFacts, NetFacts, SoftnetFacts, VmFacts, VmNic, VmThread, WindowFacts,
    XenFacts,
};
use nicety_model::finding::Goal;
use nicety_model::path_mtu::PathProbe;
use nicety_model::total;

use crate::draft::Report;
use crate::stacks::Stacks;

/// What the user knows and the facts do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Wishes {
    /// Round trip time of the connections that matter, in ms.
    pub rtt_ms: Option<f64>,
    /// Rate of these connections in Mbit/s; the fastest port's when absent.
    pub rate_mbps: Option<u32>,
    /// Frames of 9000 bytes have been tried on the whole path.
    pub jumbo_path: bool,
    /// A host at the far end of the path, and whether it answers packets of the size there is now.
    pub peer: Option<PathProbe>,
}

/// A thread of a virtual machine that may run on one CPU only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pinned<'a> {
    /// The CPU.
    pub cpu: u32,
    /// The thread's number.
    pub tid: u32,
    kind: &'static str,
    index: usize,
    vm: &'a str,
}

/// What it is: `vCPU 1 of web`.
impl fmt::Display for Pinned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.kind, self.index, self.vm)
    }
}

/// Facts, goal and wishes.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    /// The host.
    pub facts: &'a HostFacts,
    /// What it is to be good at.
    pub goal: Goal,
    /// What the user knows.
    pub wishes: Wishes,
    stacks: Stacks<'a>,
}

impl<'a> Case<'a> {
    /// Facts, goal and wishes.
    pub fn new(facts: &'a HostFacts, goal: Goal, wishes: Wishes) -> Self {
        Self {
            facts,
            goal,
            wishes,
            stacks: Stacks::new(facts),
        }
    }

    /// Physical ports and paravirtual NICs that are up.
    pub fn nics(&self) -> impl Iterator<Item = &'a NetFacts> + use<'a> {
        self.facts
            .interfaces
            .iter()
            .filter(|net| net.is_active_nic())
    }

    /// Speed of the fastest port in Mbit/s, or what the user said.
    pub fn rate_mbps(&self) -> Option<u32> {
        let fastest = self.nics().filter_map(|net| net.link.speed_mbps).max();
        self.wishes.rate_mbps.or(fastest)
    }

    /// Round trip time in ms: what the user said, else that of the farthest busy connection.
    pub fn rtt_ms(&self) -> Option<f64> {
        let measured = || self.facts.tcp.as_ref()?.rtt_ms;
        self.wishes.rtt_ms.or_else(measured)
    }

    /// Rate times round trip time in bytes; `None` until both are known.
    pub fn bdp_bytes(&self) -> Option<u64> {
        let rate = f64::from(self.rate_mbps()?) * 1e6;
        Some((rate * self.rtt_ms()? / 1e3 / 8.0).round() as u64)
    }

    /// The product in words: `10000 Mbit/s × 100 ms / 8 = 125000000 bytes`.
    pub fn bdp_words(&self) -> Option<String> {
        let (rate, rtt) = (self.rate_mbps()?, self.rtt_ms()?);
        let measured = match (self.wishes.rtt_ms, &self.facts.tcp) {
            (None, Some(tcp)) => format!(" (the farthest of {} busy connections)", tcp.busy),
            _ => String::new(),
        };
        Some(format!(
            "{rate} Mbit/s × {rtt} ms{measured} / 8 = {} bytes",
            self.bdp_bytes()?
        ))
    }

    /// CPUs near a NIC, one per core first. Without nodes that is the whole machine; under Xen,
    /// whose first domain does not see nodes, the first socket.
    pub fn local_cpus(&self, net: &NetFacts) -> Vec<u32> {
        let cpu = &self.facts.cpu;
        if let Some(xen) = &self.facts.xen {
            let threads = xen.threads_per_socket().unwrap_or(u32::MAX);
            return self.spread().into_iter().filter(|&c| c < threads).collect();
        }
        match self.node_of(net) {
            Some(node) => cpu.cores_first(node),
            None => self.spread(),
        }
    }

    /// CPUs of the socket that Xen's first domain is pinned to, else of the first one, where rule T01
    /// puts it.
    pub(crate) fn first_domain_cpus(&self) -> Vec<u32> {
        let size = self
            .facts
            .xen
            .as_ref()
            .and_then(XenFacts::threads_per_socket);
        let (Some(xen), Some(size @ 1..)) = (&self.facts.xen, size) else {
            return Vec::new();
        };
        let pinned = xen.dom0_vcpus.iter().filter(|vcpu| !vcpu.cpus.is_empty());
        let sockets: BTreeSet<u32> = pinned
            .flat_map(|vcpu| vcpu.cpus.iter().map(|cpu| cpu / size))
            .collect();
        let socket = match sockets.len() {
            1 => sockets.first().copied().unwrap_or(0),
            _ => 0,
        };
        let all = xen.cpus.unwrap_or(u32::MAX);
        (socket * size..(socket + 1) * size)
            .filter(|cpu| *cpu < all)
            .collect()
    }

    /// All CPUs, one per core first.
    pub(crate) fn spread(&self) -> Vec<u32> {
        let cpus = &self.facts.cpu.cpus;
        let first = cpus.iter().filter(|seat| seat.cpu == seat.core);
        let second = cpus.iter().filter(|seat| seat.cpu != seat.core);
        first.chain(second).map(|seat| seat.cpu).collect()
    }

    /// Node of a NIC; of a machine with one node that one.
    pub fn node_of(&self, net: &NetFacts) -> Option<u32> {
        let only = match self.facts.cpu.nodes.as_slice() {
            [node] => Some(node.node),
            _ => None,
        };
        net.numa_node.or(only)
    }

    /// Whether distance to memory matters.
    pub fn has_nodes(&self) -> bool {
        self.facts.cpu.nodes.len() > 1
    }

    /// Number of physical cores near a NIC.
    pub fn local_cores(&self, net: &NetFacts) -> usize {
        let local = self.local_cpus(net);
        let core = |cpu: &u32| self.facts.cpu.seat(*cpu).map(|seat| seat.core);
        local.iter().filter_map(core).collect::<BTreeSet<_>>().len()
    }

    /// Interrupts of a NIC's queues: those that carry frames. By the words of its driver, else of any
    /// driver; where no name is known, all but what any driver calls its events.
    pub fn queue_irqs(&self, net: &NetFacts) -> Vec<&'a IrqFacts> {
        let named = self.named_queue_irqs(net);
        if !named.is_empty() {
            return named;
        }
        let all = self.irqs_of(net);
        all.filter(|irq| !is_control_vector(&irq.name)).collect()
    }

    /// Whether [`Self::queue_irqs`] knows which they are: by name, or because there is one only.
    pub fn knows_queue_irqs(&self, net: &NetFacts) -> bool {
        self.queue_irqs(net).len() < 2 || !self.named_queue_irqs(net).is_empty()
    }

    fn named_queue_irqs(&self, net: &NetFacts) -> Vec<&'a IrqFacts> {
        let by = |driver: Option<&str>| -> Vec<&'a IrqFacts> {
            let all = self.irqs_of(net);
            all.filter(|irq| is_queue_vector(driver, net.name(), &irq.name))
                .collect()
        };
        let driver = net.link.driver.as_deref();
        let own = driver.map(|driver| by(Some(driver)));
        own.filter(|irqs| !irqs.is_empty())
            .unwrap_or_else(|| by(None))
    }

    fn irqs_of(&self, net: &NetFacts) -> impl Iterator<Item = &'a IrqFacts> + use<'a> {
        let name = net.link.name.clone();
        let irqs = self.facts.irqs.iter();
        irqs.filter(move |irq| irq.interface == name)
    }

    /// Threads of virtual machines that may run on one CPU only: vCPUs and vhost threads.
    pub fn pinned(&self) -> impl Iterator<Item = Pinned<'a>> + use<'a> {
        let kinds = |vm: &'a VmFacts| {
            let kinds = [("vCPU", &vm.vcpus), ("vhost thread", &vm.vhost)];
            kinds.map(|(kind, threads)| (vm.name.as_str(), kind, threads))
        };
        let threads = |(vm, kind, threads): (&'a str, &'static str, &'a Vec<VmThread>)| {
            let pinned = move |(index, thread): (usize, &VmThread)| match thread.cpus[..] {
                [cpu] => Some(Pinned {
                    cpu,
                    tid: thread.tid,
                    kind,
                    index,
                    vm,
                }),
                _ => None,
            };
            threads.iter().enumerate().filter_map(pinned)
        };
        self.facts.vms.iter().flat_map(kinds).flat_map(threads)
    }

    /// CPUs that have work of their own: pinned vCPUs and vhost threads.
    pub fn pinned_cpus(&self) -> BTreeSet<u32> {
        self.pinned().map(|thread| thread.cpu).collect()
    }

    /// CPUs kept free of other work by `isolcpus=` or `nohz_full=`.
    pub fn isolated_cpus(&self) -> BTreeSet<u32> {
        let cpu = &self.facts.cpu;
        cpu.isolated.iter().chain(&cpu.nohz_full).copied().collect()
    }

    /// Whether frames of an interface are forwarded: it or something stacked on it is a port of
    /// a bridge or switch, carries a macvtap, or the host routes.
    pub fn forwards(&self, net: &NetFacts) -> bool {
        let routes = ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"];
        routes
            .iter()
            .any(|name| self.facts.sysctl_number(name) == Some(1))
            || self.bridged(net, 0)
    }

    /// As [`Self::forwards`], without routing. Stacks are a few deep; the limit ends a loop.
    pub fn bridged(&self, net: &NetFacts, depth: u8) -> bool {
        let master = net.link.master.as_deref();
        let master = master.and_then(|name| self.stacks.interface(name));
        let by_master = master.is_some_and(|master| match master.class {
            InterfaceClass::Bridge | InterfaceClass::OpenVswitch => true,
            _ => depth < 8 && self.bridged(master, depth + 1),
        });
        by_master
            || self.stacks.above(net.name()).any(|other| {
                other.class == InterfaceClass::Macvtap
                    || depth < 8 && self.bridged(other, depth + 1)
            })
    }

    /// Interfaces a frame of a NIC passes on this host: itself, what is stacked on it, its
    /// masters and their other ports.
    pub fn stack(&self, net: &'a NetFacts) -> Vec<&'a NetFacts> {
        self.stacks.traversed(net)
    }

    /// The same from an interface of any kind upwards, by name.
    pub fn stack_of(&self, name: &str) -> Vec<&'a NetFacts> {
        let net = self.stacks.interface(name);
        net.map(|net| self.stacks.traversed(net))
            .unwrap_or_default()
    }

    /// An interface by name.
    pub fn interface(&self, name: &str) -> Option<&'a NetFacts> {
        self.stacks.interface(name)
    }

    /// What is stacked on an interface: VLANs, tunnels, macvtaps.
    pub fn above(&self, name: &str) -> impl Iterator<Item = &'a NetFacts> {
        self.stacks.above(name)
    }

    /// The way from a guest's interface to the NIC that carries it.
    pub fn way(&self, from: &str) -> Way {
        self.stacks.way(from)
    }

    /// Receive work per CPU, in the window where somebody looked on, else since boot.
    pub fn softnet(&self) -> &'a [SoftnetFacts] {
        match &self.facts.window {
            Some(window) => &window.softnet,
            None => &self.facts.softnet,
        }
    }

    /// The time that [`Self::softnet`] tells of: `since boot`, `in 5 s`.
    pub fn softnet_time(&self) -> String {
        match &self.facts.window {
            Some(window) => in_seconds(window),
            None => "since boot".to_owned(),
        }
    }

    /// Share of received frames that the busiest CPU took in, with that CPU; `None` when there
    /// are too few to say anything: a million since boot, 10000 a second in a window.
    pub fn busiest_receiver(&self) -> Option<(u32, f64)> {
        let total = total(self.softnet().iter().map(|cpu| cpu.processed));
        let busiest = self.softnet().iter().max_by_key(|cpu| cpu.processed)?;
        let least = match &self.facts.window {
            Some(window) => (window.seconds * 10_000.0) as u64,
            None => 1_000_000,
        };
        (total >= least.max(1)).then(|| (busiest.cpu, busiest.processed as f64 / total as f64))
    }

    /// The same where these frames are a NIC's: it is the only one, or its interrupts come to that
    /// CPU.
    pub fn busiest_receiver_of(&self, net: &NetFacts) -> Option<(u32, f64)> {
        let busiest = self.busiest_receiver()?;
        (self.interrupts(net, busiest.0) || self.nics().count() == 1).then_some(busiest)
    }

    /// Whether an interrupt of a NIC's queues comes to a CPU.
    pub fn interrupts(&self, net: &NetFacts, cpu: u32) -> bool {
        let mut irqs = self.queue_irqs(net).into_iter();
        irqs.any(|irq| irq.effective.contains(&cpu))
    }

    /// NICs of all guests, each with its guest.
    pub fn guest_nics(&self) -> impl Iterator<Item = (&'a VmFacts, &'a VmNic)> + use<'a> {
        let nics = |vm: &'a VmFacts| vm.nics.iter().map(move |nic| (vm, nic));
        self.facts.vms.iter().flat_map(nics)
    }

    /// The window, or `None` after saying that the rule needs one to count `what`.
    pub fn window(&self, report: &mut Report, what: &str) -> Option<&'a WindowFacts> {
        if self.facts.window.is_none() {
            let needs = format!("Rerun with --window 10s under your real load; it counts {what}.");
            report.undecided(&needs, Some("--window 10s"));
        }
        self.facts.window.as_ref()
    }

    /// As [`Self::window`], silent where nothing of these kinds was counted since boot.
    pub fn window_of(
        &self,
        report: &mut Report,
        kinds: &[Meaning],
        what: &str,
    ) -> Option<&'a WindowFacts> {
        let counted = |net: &NetFacts| kinds.iter().any(|kind| net.tally(*kind).is_some());
        if self.facts.window.is_none() && !self.nics().any(counted) {
            return None;
        }
        self.window(
            report,
            &format!("{what}, of which there were some since boot"),
        )
    }
}

/// `in 5 s`.
pub(crate) fn in_seconds(window: &WindowFacts) -> String {
    format!("in {} s", (window.seconds * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use crate::case::{Case, Wishes};
    use crate::fixture::Host;
    use nicety_model::finding::Goal;

    #[test]
    fn a_port_forwards_when_something_on_it_is_bridged() {
        let forwards = |host: &Host| {
            let case = Case::new(&host.facts, Goal::Throughput, Wishes::default());
            case.forwards(&host.facts.interfaces[0])
        };
        let mut host = Host::new(1, 2).nic("eth0", 10_000, 0);
        assert!(!forwards(&host));
        host = host.vlan_bridged();
        assert!(forwards(&host));
        for net in &mut host.facts.interfaces {
            net.link.master = None;
        }
        assert!(!forwards(&host), "a VLAN alone ends on this host");
    }
}
