//! The route of frames over a path: its stations from port A to port B, by its parameters alone.
//!
//! What a run recorded is laid over it by name: see [`BuiltPath`](crate::BuiltPath).

mod guest;
mod laid;

use crate::path::{PathSpec, SubMode, Tagging};

/// Stations from A to B, in sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Sites in the order in which frames from A to B meet them; a wire leads from each to the next.
    pub sites: Vec<Site>,
}

/// What is together: in a namespace, in a guest, in a NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// What it is.
    pub kind: SiteKind,
    /// Its stations in order; never empty.
    pub stations: Vec<Station>,
}

/// Kind of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteKind {
    /// The tester at port A.
    TesterA,
    /// The tester at port B.
    TesterB,
    /// The host: interfaces and switches under test.
    Host,
    /// The guests between the two sides of the host: so many, side by side.
    Guests(u32),
    /// The switch inside a NIC, between its virtual functions.
    Nic,
    /// Cables and devices that were there before.
    Outside,
}

/// One station: an interface or a switch, or those of several guests side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// Names as counters have them: one, or one for each guest; none for what has no name.
    pub names: Vec<String>,
    /// What it is.
    pub kind: StationKind,
    /// Which of its counters sees frames from A to B.
    pub counts: Counts,
}

/// Kind of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StationKind {
    /// One of the tester's ports.
    Port,
    /// A veth end.
    Veth,
    /// The kernel's bridge.
    Bridge,
    /// The kernel's bridge, which tells VLANs apart.
    FilteringBridge,
    /// A VLAN sub-interface.
    Vlan,
    /// Open vSwitch.
    Ovs,
    /// Open vSwitch with DPDK.
    OvsDpdk,
    /// DPDK's testpmd.
    Testpmd,
    /// A port of a switch that is a program.
    SwitchPort,
    /// A tap.
    Tap,
    /// A macvtap.
    Macvtap,
    /// A guest's own interface.
    GuestNic,
    /// The switch of a NIC.
    NicSwitch,
    /// A virtual function.
    Function,
    /// The kernel's router.
    Router,
    /// An end of a tunnel.
    Tunnel,
    /// A macvlan.
    Macvlan,
    /// An ipvlan.
    Ipvlan,
    /// tc, which hands frames to another interface.
    Redirect,
    /// An XDP program, which does the same.
    XdpRedirect,
    /// Bundled links.
    Bundle,
    /// An end of a netkit pair.
    Netkit,
    /// What nobody here built.
    Unknown,
}

impl StationKind {
    /// Whether it joins its neighbours, as a switch does.
    pub fn joins(self) -> bool {
        matches!(
            self,
            Self::Bridge
                | Self::FilteringBridge
                | Self::Ovs
                | Self::OvsDpdk
                | Self::Testpmd
                | Self::NicSwitch
                | Self::Router
                | Self::Redirect
                | Self::XdpRedirect
                | Self::Unknown
        )
    }

    /// What it is in words: `Linux bridge`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Port => "tester",
            Self::Veth => "veth",
            Self::Bridge => "bridge",
            Self::FilteringBridge => "VLAN-filtering bridge",
            Self::Vlan => "VLAN sub-interface",
            Self::Ovs => "Open vSwitch",
            Self::OvsDpdk => "Open vSwitch with DPDK",
            Self::Testpmd => "testpmd",
            Self::SwitchPort => "switch port",
            Self::Tap => "tap",
            Self::Macvtap => "macvtap",
            Self::GuestNic => "guest interface",
            Self::NicSwitch => "NIC switch",
            Self::Function => "virtual function",
            Self::Router => "router",
            Self::Tunnel => "tunnel end",
            Self::Macvlan => "macvlan",
            Self::Ipvlan => "ipvlan",
            Self::Redirect => "tc redirect",
            Self::XdpRedirect => "XDP redirect",
            Self::Bundle => "bundled links",
            Self::Netkit => "netkit",
            Self::Unknown => "device under test",
        }
    }
}

/// Which counter of a station sees frames from A to B; the other one sees those from B to A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Received frames: it faces A.
    Received,
    /// Sent frames: it faces B.
    Sent,
    /// None that tells directions apart.
    Neither,
}

impl Station {
    fn new(name: &str, kind: StationKind, counts: Counts) -> Self {
        Self {
            names: vec![name.to_owned()],
            kind,
            counts,
        }
    }

    /// One that faces A.
    fn near(name: &str, kind: StationKind) -> Self {
        Self::new(name, kind, Counts::Received)
    }

    /// One that faces B.
    fn far(name: &str, kind: StationKind) -> Self {
        Self::new(name, kind, Counts::Sent)
    }

    /// A switch.
    fn switch(name: &str, kind: StationKind) -> Self {
        Self::new(name, kind, Counts::Neither)
    }

    /// What has no name of its own.
    fn unnamed(kind: StationKind) -> Self {
        Self {
            names: Vec::new(),
            kind,
            counts: Counts::Neither,
        }
    }
}

impl Site {
    fn host(stations: Vec<Station>) -> Self {
        Self {
            kind: SiteKind::Host,
            stations,
        }
    }
}

/// What is between `d0` and `d1` of a tunnel: its two ends, behind bridges where it carries Ethernet, and the
/// wire between them.
fn tunnelled(routed: bool) -> Vec<Station> {
    use StationKind::{Bridge, Router, Tunnel, Veth};
    let switch = |name: &str| {
        if routed {
            Station::unnamed(Router)
        } else {
            Station::switch(name, Bridge)
        }
    };
    vec![
        switch("br0"),
        Station::far("t0", Tunnel),
        Station::far("u0", Veth),
        Station::near("u1", Veth),
        Station::near("t1", Tunnel),
        switch("br1"),
    ]
}

/// What is between `d0` and `d1` of bundled links.
fn bundled(near: &str, far: &str) -> Vec<Station> {
    use StationKind::{Bridge, Bundle, Veth};
    let both = |names: [&str; 2], counts| Station {
        names: names.map(str::to_owned).into(),
        kind: Veth,
        counts,
    };
    vec![
        Station::switch("br0", Bridge),
        Station::far(near, Bundle),
        both(["u0", "u1"], Counts::Sent),
        both(["v0", "v1"], Counts::Received),
        Station::near(far, Bundle),
        Station::switch("br1", Bridge),
    ]
}

impl Route {
    /// The route over a path with these parameters. Of a kind that this version does not know only
    /// the ends are there.
    pub fn of(path: &PathSpec) -> Self {
        use StationKind::{Bridge, FilteringBridge, Ovs, OvsDpdk, SwitchPort, Testpmd, Veth, Vlan};
        let [a, b] = path.interfaces().unwrap_or(["a", "b"]);
        let ends = |stations: Vec<Station>| {
            let mut all = vec![Station::near("d0", Veth)];
            all.extend(stations);
            all.push(Station::far("d1", Veth));
            vec![Site::host(all)]
        };
        let ports = |names: [&str; 2], program: Station| {
            let [near, far] = names;
            vec![
                Station::near(near, SwitchPort),
                program,
                Station::far(far, SwitchPort),
            ]
        };
        let testpmd = || {
            let names = ["testpmd port 0", "testpmd port 1"];
            ports(names, Station::unnamed(Testpmd))
        };
        let between = match path {
            PathSpec::Bridge => ends(vec![Station::switch("br0", Bridge)]),
            PathSpec::VlanBridge {
                tagging: Some(Tagging::Filtering),
            } => ends(vec![Station::switch("br0", FilteringBridge)]),
            PathSpec::VlanBridge { .. } => ends(vec![
                Station::near("d0.100", Vlan),
                Station::switch("br0", Bridge),
                Station::far("d1.100", Vlan),
            ]),
            PathSpec::Ovs { .. } | PathSpec::Ovn { .. } => ends(vec![Station::switch("ovs", Ovs)]),
            PathSpec::OvsDpdk(_) => {
                ends(ports(["ovs p0", "ovs p1"], Station::switch("ovs", OvsDpdk)))
            }
            PathSpec::Testpmd { nics: None, .. } => ends(testpmd()),
            PathSpec::Testpmd { nics: Some(_), .. } => vec![Site::host(testpmd())],
            PathSpec::Routed(_) => ends(vec![Station::unnamed(StationKind::Router)]),
            PathSpec::TcRedirect { .. } => ends(vec![Station::unnamed(StationKind::Redirect)]),
            PathSpec::Tunnel(tunnel) => ends(tunnelled(tunnel.encapsulation().is_routed())),
            PathSpec::Macvlan { .. } | PathSpec::Ipvlan { .. } => {
                vec![Site::host(vec![Station::near("d0", Veth)])]
            }
            PathSpec::XdpRedirect => ends(vec![Station::unnamed(StationKind::XdpRedirect)]),
            PathSpec::Bond { .. } => ends(bundled("bond0", "bond1")),
            PathSpec::Team { .. } => ends(bundled("team0", "team1")),
            PathSpec::Netkit { mode } => {
                let switch = match mode {
                    Some(SubMode::L2) => Station::switch("br0", Bridge),
                    _ => Station::unnamed(StationKind::Router),
                };
                vec![Site::host(vec![
                    Station::near("d0", Veth),
                    switch,
                    Station::far("nk0", StationKind::Netkit),
                ])]
            }
            PathSpec::Vm(vm) => guest::sites(&vm.config()),
            PathSpec::Ports { .. } | PathSpec::Foreign(_) => vec![Site {
                kind: SiteKind::Outside,
                stations: vec![Station::unnamed(StationKind::Unknown)],
            }],
        };
        let port = |kind, station| Site {
            kind,
            stations: vec![station],
        };
        let far = match path {
            PathSpec::Macvlan { .. } => StationKind::Macvlan,
            PathSpec::Ipvlan { .. } => StationKind::Ipvlan,
            PathSpec::Netkit { .. } => StationKind::Netkit,
            _ => StationKind::Port,
        };
        let mut sites = vec![port(SiteKind::TesterA, Station::far(a, StationKind::Port))];
        sites.extend(between);
        sites.push(port(SiteKind::TesterB, Station::near(b, far)));
        Self { sites }
    }

    /// The stations in order.
    pub fn stations(&self) -> impl Iterator<Item = &Station> {
        self.sites.iter().flat_map(|site| &site.stations)
    }

    /// Adds the places of a built path that parameters alone do not tell of, in their order: interfaces
    /// of guests take the places of the guest's, others stand behind the place before them.
    pub fn lay_out<'a>(&mut self, places: impl IntoIterator<Item = &'a str>) {
        let (mut at, mut nics) = ((0, 0), 0);
        for name in places {
            let known = self.find(name).or_else(|| {
                // A guest names its interfaces itself.
                let guest = name.starts_with("guest").then(|| self.take_nic(name, nics));
                nics += usize::from(guest.is_some());
                guest.flatten()
            });
            at = known.unwrap_or_else(|| {
                let (site, station) = at;
                let stations = &mut self.sites[site].stations;
                let counts = stations.get(station).map_or(Counts::Neither, |s| s.counts);
                let new = Station::new(name, StationKind::SwitchPort, counts);
                let next = (station + 1).min(stations.len());
                stations.insert(next, new);
                (site, next)
            });
        }
    }

    fn find(&self, name: &str) -> Option<(usize, usize)> {
        self.sites.iter().enumerate().find_map(|(site, of)| {
            let named = |station: &Station| station.names.iter().any(|own| own == name);
            Some((site, of.stations.iter().position(named)?))
        })
    }

    /// Gives the guests' interface number `number`, over all guests, this name: even ones face A.
    fn take_nic(&mut self, name: &str, number: usize) -> Option<(usize, usize)> {
        let is_guest = |site: &Site| matches!(site.kind, SiteKind::Guests(_));
        let site = self.sites.iter().position(is_guest)?;
        let stations = &mut self.sites[site].stations;
        let mut own = (0..stations.len()).filter(|at| stations[*at].kind == StationKind::GuestNic);
        let at = own.nth(number % 2)?;
        let slot = stations[at].names.get_mut(number / 2)?;
        name.clone_into(slot);
        Some((site, at))
    }
}

#[cfg(test)]
mod tests;
