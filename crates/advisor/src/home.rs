//! Where a guest's NIC is: the ports that carry it and their node, or why that is not known.

use std::collections::BTreeSet;

use nicety_model::facts::way::Doubt;
use nicety_model::facts::{NetFacts, VmFacts, VmNic};

use crate::case::Case;
use crate::draft::Report;

/// Back ends whose frames go through sockets of the host.
const SOCKETS: [&str; 7] = [
    "user", "passt", "socket", "stream", "dgram", "l2tpv3", "vde",
];

/// Where a guest's NIC is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Home<'a> {
    /// Ports known to carry the guest.
    pub(crate) nics: Vec<&'a NetFacts>,
    /// Their node; absent where the machine tells of none.
    pub(crate) node: Option<u32>,
    names: Vec<String>,
}

impl<'a> Home<'a> {
    /// That of these ports.
    pub(crate) fn of(case: &Case<'_>, nics: Vec<&'a NetFacts>) -> Result<Self, String> {
        let nodes: BTreeSet<Option<u32>> = nics.iter().map(|net| case.node_of(net)).collect();
        let names: Vec<String> = nics.iter().map(|net| net.name().to_owned()).collect();
        let node = nodes.first().copied().flatten();
        match nodes.len() {
            _ if !case.has_nodes() => {}
            1 if node.is_some() => {}
            1 => return Err(format!("the firmware does not tell it of {}", names[0])),
            _ => return Err(format!("{} are on several nodes", names.join(", "))),
        }
        Ok(Self { nics, node, names })
    }

    /// The same place, with nothing known of the ports themselves.
    fn anywhere_near(self) -> Self {
        let nics = Vec::new();
        Self { nics, ..self }
    }

    /// `eth0`, `eth0 and eth1`.
    pub(crate) fn name(&self) -> String {
        self.names.join(" and ")
    }

    /// `eth0 is on node 1`.
    pub(crate) fn place(&self) -> String {
        let node = self.node.unwrap_or_default();
        format!("{} on node {node}", self.being())
    }

    /// `eth0 is`.
    pub(crate) fn being(&self) -> String {
        let verb = if self.names.len() == 1 { "is" } else { "are" };
        format!("{} {verb}", self.name())
    }
}

impl<'a> Case<'a> {
    /// Where the NIC of a guest is, or why that is not known. Of a machine without nodes it is
    /// always known: nothing is far.
    pub(crate) fn home_of(&self, vm: &VmFacts) -> Result<Home<'a>, String> {
        let by_socket = |nic: &&VmNic| SOCKETS.contains(&nic.backend.as_str());
        let homes = vm.nics.iter().filter(|nic| !by_socket(nic));
        let homes: Vec<Result<Home<'a>, String>> = homes.map(|nic| self.carrier(nic)).collect();
        let homes = match homes.as_slice() {
            [] => vec![self.only_home("no NIC of it is known")],
            _ => homes,
        };
        let known = homes.iter().filter_map(|home| home.as_ref().ok());
        let mut nics: Vec<&'a NetFacts> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut nodes = BTreeSet::new();
        for home in known {
            nodes.insert(home.node);
            let new = |net: &&&NetFacts| !nics.iter().any(|other| other.name() == net.name());
            let new: Vec<&NetFacts> = home.nics.iter().filter(new).copied().collect();
            nics.extend(new);
            let new = home.names.iter().filter(|name| !names.contains(name));
            let new: Vec<String> = new.cloned().collect();
            names.extend(new);
        }
        if self.has_nodes() {
            if let Some(why) = homes.into_iter().find_map(Result::err) {
                return Err(why);
            }
            if nodes.len() > 1 {
                return Err(format!("{} are on several nodes", names.join(", ")));
            }
        }
        let node = nodes.first().copied().flatten();
        Ok(Home { nics, node, names })
    }

    fn carrier(&self, nic: &VmNic) -> Result<Home<'a>, String> {
        match (nic.backend.as_str(), nic.interface.as_deref()) {
            ("vfio", Some(address)) => self.function(nic, address),
            ("vhost-user" | "vhost-vdpa", _) => self.only_home("a program moves its frames"),
            _ if nic.other_namespace => self.only_home("its tap is in another network namespace"),
            (_, Some(name)) => self.below(name),
            (_, None) => match &nic.bridge {
                Some(bridge) => self.below(bridge),
                None => self.only_home("its tap is not known"),
            },
        }
    }

    /// The way from an interface goes.
    fn below(&self, name: &str) -> Result<Home<'a>, String> {
        let way = self.way(name);
        let nics = way.nics.iter().filter_map(|name| self.interface(name));
        match &way.doubt {
            None => Home::of(self, nics.collect()),
            Some(doubt @ Doubt::Several(_)) => Home::of(self, nics.collect())
                .map(Home::anywhere_near)
                .map_err(|_| doubt.to_string()),
            Some(doubt) => self.only_home(&doubt.to_string()),
        }
    }

    /// A function that the guest drives itself.
    fn function(&self, nic: &VmNic, address: &str) -> Result<Home<'a>, String> {
        let mut ports = self.nics();
        let port = ports.find(|net| net.link.bus.is_some() && net.link.bus == nic.physfn);
        let node = nic.numa_node.or_else(|| self.node_of(port?));
        if node.is_none() && port.is_none() && nic.physfn.is_none() {
            // It is one of somebody's virtual functions.
            let parents = self.facts.interfaces.iter();
            let parents = parents.filter(|net| net.vfs.as_ref().is_some_and(|vfs| vfs.count > 0));
            let parents: Vec<&NetFacts> = parents.collect();
            if !parents.is_empty() {
                return Home::of(self, parents).map_err(|_| unplaced(address));
            }
        }
        if node.is_none() && self.has_nodes() {
            return Err(unplaced(address));
        }
        let names = vec![port.map_or(address, |net| net.name()).to_owned()];
        let nics = port.into_iter().collect();
        Ok(Home { nics, node, names })
    }

    /// Whether a program drives NICs that are no interfaces, as a switch in user space does.
    fn has_driven(&self) -> bool {
        let guests = self.facts.vms.iter().flat_map(|vm| &vm.nics);
        let given: BTreeSet<&str> = guests.filter_map(|nic| nic.interface.as_deref()).collect();
        let mut functions = self.facts.user_functions.iter();
        functions.any(|function| !given.contains(function.address.as_str()))
    }

    /// All NICs, where one node has them; else why it is not known which.
    fn only_home(&self, why: &str) -> Result<Home<'a>, String> {
        let mut nics: Vec<&NetFacts> = self.nics().collect();
        if nics.iter().any(|net| net.link.carrier) {
            nics.retain(|net| net.link.carrier);
        }
        if self.has_nodes() && (nics.is_empty() || self.has_driven()) {
            return Err(why.to_owned());
        }
        let one = nics.len() < 2;
        let home = Home::of(self, nics).map_err(|_| why.to_owned())?;
        Ok(if one { home } else { home.anywhere_near() })
    }

    /// CPUs near a guest's NIC, one per core first.
    pub(crate) fn cpus_near(&self, home: &Home<'_>) -> Vec<u32> {
        match (home.nics.first(), home.node) {
            (Some(net), _) => self.local_cpus(net),
            (None, Some(node)) => self.facts.cpu.cores_first(node),
            (None, None) => self.spread(),
        }
    }

    /// Ports whose interrupts a guest's threads keep clear of: those that carry it, else those of
    /// its node.
    pub(crate) fn ports_near(&self, home: &Home<'a>) -> Vec<&'a NetFacts> {
        let near = |net: &&NetFacts| self.node_of(net) == home.node;
        match home.nics.as_slice() {
            [] => self.nics().filter(near).collect(),
            nics => nics.to_vec(),
        }
    }
}

fn unplaced(address: &str) -> String {
    format!("sysfs tells no node of {address}")
}

/// Guests whose NIC a rule does not know.
#[derive(Debug, Default)]
pub(crate) struct Unplaced(Vec<(String, String)>);

impl Unplaced {
    pub(crate) fn add(&mut self, vm: &VmFacts, why: String) {
        self.0.push((vm.name.clone(), why));
    }

    /// One sentence for all of them.
    pub(crate) fn say(self, report: &mut Report) {
        let Some((name, why)) = self.0.first() else {
            return;
        };
        let more = match self.0.len() {
            1 => String::new(),
            2 => " and of another guest".to_owned(),
            all => format!(" and of {} other guests", all - 1),
        };
        let needs = format!("The node of the NIC of {name}{more} is not known: {why}.");
        report.undecided(&needs, None);
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::InterfaceClass;
    use nicety_model::finding::Goal;

    use super::*;
    use crate::case::Wishes;
    use crate::fixture::Host;

    /// Two ports on two nodes, the slow one with a bridge and a tap on it.
    fn host(nic: VmNic) -> Host {
        let host = Host::new(2, 4).nic("eth0", 10_000, 0).bridged();
        let host = host.nic("eth1", 25_000, 1).vm("a", &[&[1]]);
        host.facts_with(|facts| {
            let mut tap = facts.interfaces[1].clone();
            tap.class = InterfaceClass::Tap;
            tap.link.name = "vnet0".to_owned();
            tap.link.master = Some("br0".to_owned());
            facts.interfaces.push(tap);
            facts.interfaces[0].link.bus = Some("0000:12:00.0".to_owned());
            facts.vms[0].nics.push(nic);
        })
    }

    fn nic(backend: &str, interface: Option<&str>) -> VmNic {
        VmNic {
            backend: backend.to_owned(),
            interface: interface.map(str::to_owned),
            ..VmNic::default()
        }
    }

    /// `eth0 is on node 0`, or why that is not known.
    fn home(host: &Host) -> String {
        let case = Case::new(&host.facts, Goal::Throughput, Wishes::default());
        match case.home_of(&host.facts.vms[0]) {
            Ok(home) => home.place(),
            Err(why) => why,
        }
    }

    #[test]
    fn a_guest_lives_on_the_nic_below_its_tap_or_not_at_all() {
        let elsewhere = VmNic {
            other_namespace: true,
            ..nic("tap", None)
        };
        let bridged = VmNic {
            bridge: Some("br0".to_owned()),
            ..nic("tap", None)
        };
        for (nic, words) in [
            (nic("tap", Some("vnet0")), "eth0 is on node 0"),
            (bridged, "eth0 is on node 0"),
            (
                nic("tap", Some("other")),
                "other is no interface of the host's namespace",
            ),
            (nic("tap", None), "its tap is not known"),
            (elsewhere, "its tap is in another network namespace"),
            (nic("user", None), "no NIC of it is known"),
            (nic("vhost-user", None), "a program moves its frames"),
        ] {
            let mut host = host(nic);
            assert_eq!(home(&host), words);
            // Where one node has all NICs, it does not matter which it is.
            host.facts.interfaces[2].numa_node = Some(0);
            assert!(home(&host).ends_with("on node 0"), "{words}");
            // But for those that a program drives.
            host.facts.user_functions = vec![nicety_model::facts::UserFunction::default()];
            assert_eq!(home(&host), words);
        }
    }

    #[test]
    fn a_function_is_where_sysfs_says() {
        let address = "0000:13:02.3";
        let function = |node: Option<u32>, physfn: Option<&str>| VmNic {
            numa_node: node,
            physfn: physfn.map(str::to_owned),
            ..nic("vfio", Some(address))
        };
        let unknown = "sysfs tells no node of 0000:13:02.3";
        for (nic, words) in [
            (function(None, Some("0000:12:00.0")), "eth0 is on node 0"),
            (function(Some(0), Some("0000:12:00.0")), "eth0 is on node 0"),
            (function(Some(1), None), "0000:13:02.3 is on node 1"),
            (function(None, None), unknown),
            (function(None, Some("0000:99:00.0")), unknown),
        ] {
            assert_eq!(home(&host(nic)), words);
        }
        // No other port has virtual functions.
        let mut host = host(function(None, None));
        host.facts.interfaces[2].vfs = Some(nicety_model::facts::VfFacts { count: 8, max: 63 });
        assert_eq!(home(&host), "eth1 is on node 1");
    }

    #[test]
    fn several_nics_have_one_node_or_none() {
        let second = |host: Host, node| {
            host.facts_with(|facts| {
                facts.interfaces[2].link.master = Some("br0".to_owned());
                facts.interfaces[2].numa_node = node;
            })
        };
        let tap = || host(nic("tap", Some("vnet0")));
        assert_eq!(home(&second(tap(), Some(0))), "eth0 and eth1 are on node 0");
        assert_eq!(home(&second(tap(), Some(1))), "it may be any of eth0, eth1");
        assert_eq!(home(&second(tap(), None)), "it may be any of eth0, eth1");
        let bond = |node| {
            second(tap(), node).facts_with(|facts| facts.interfaces[1].class = InterfaceClass::Bond)
        };
        assert_eq!(home(&bond(Some(0))), "eth0 and eth1 are on node 0");
        assert_eq!(home(&bond(Some(1))), "eth0, eth1 are on several nodes");
        let two = tap().facts_with(|f| f.vms[0].nics.push(nic("tap", Some("eth1"))));
        assert_eq!(home(&two), "eth0, eth1 are on several nodes");
        let silent = tap().facts_with(|facts| facts.interfaces[0].numa_node = None);
        assert_eq!(home(&silent), "the firmware does not tell it of eth0");
    }
}
