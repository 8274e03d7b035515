//! What is kept of a host: what it is, and its settings as words that can be compared.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use nicety_model::HostFacts;
use nicety_model::facts::{InterfaceClass, VmKind};
use nicety_model::finding::Goal;
use nicety_model::fleet::Role;
use nicety_model::host_list::natural;

use super::{options, ports, system};
use crate::case::{Case, Wishes};

/// What stands for a trait that is not known.
pub(super) const UNKNOWN: &str = "unknown";
/// Longest value, in characters: facts are files that somebody else may have written.
const LONGEST: usize = 200;
/// Most settings of a host, for the same reason. A host of 64 ports has 3000.
const MOST: usize = 20_000;

/// What a host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traits {
    /// CPU model and number of sockets.
    pub cpu: String,
    /// Drivers of the physical ports and how many each has.
    pub nics: String,
    /// What it is for.
    pub role: Role,
}

/// Areas of settings, in the order in which differences are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Area {
    /// Kernel, firmware, what is fitted.
    Machine,
    /// Physical ports.
    Ports,
    /// Bridges, bonds and VLANs. They are compared only where most siblings have them: of software, they
    /// may be a tenant's.
    Stacked,
    /// Clock rates, sleep, isolation.
    Cpus,
    /// Protections against flaws of CPUs.
    Mitigations,
    /// The kernel's command line.
    Options,
    /// Sizes of reserved huge pages.
    HugePages,
    /// Other settings of memory.
    Memory,
    Sysctls,
    Modules,
    Services,
}

/// What can be set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Setting {
    pub(super) area: Area,
    /// Interface; empty elsewhere.
    pub(super) interface: String,
    /// Place among those of the area or of the interface.
    place: u16,
    /// Name: `receive ring`; empty for the interface itself.
    pub(super) name: String,
}

impl Setting {
    /// `eth0 receive ring`.
    pub(super) fn words(&self) -> String {
        match (self.interface.as_str(), self.name.as_str()) {
            ("", name) => name.to_owned(),
            (interface, "") => interface.to_owned(),
            (interface, name) => format!("{interface} {name}"),
        }
    }

    /// What a host has whose settings of this area are known and which lacks this one; `None` where each
    /// setting is known or not by itself.
    pub(super) fn lacking(&self) -> Option<&'static str> {
        match self.area {
            Area::Options => Some("not set"),
            Area::HugePages => Some("none"),
            Area::Ports | Area::Stacked if self.name.is_empty() => Some("missing"),
            _ => None,
        }
    }

    /// Order in lists.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.area
            .cmp(&other.area)
            .then_with(|| natural(&self.interface, &other.interface))
            .then_with(|| self.place.cmp(&other.place))
            .then_with(|| natural(&self.name, &other.name))
    }
}

/// A host for the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What it is.
    pub traits: Traits,
    /// Areas of which it is known what the host lacks.
    pub(super) known: Vec<Area>,
    pub(super) settings: Vec<(Setting, String)>,
}

/// Settings under way.
#[derive(Default)]
pub(super) struct Settings {
    settings: Vec<(Setting, String)>,
    known: Vec<Area>,
    interface: String,
    place: u16,
}

impl Settings {
    /// All settings of an area are known: one that does not follow is not there.
    pub(super) fn knows(&mut self, area: Area) {
        self.known.push(area);
    }

    /// What follows is about an interface, or about none.
    pub(super) fn about(&mut self, interface: &str) {
        self.interface = clip(interface);
        self.place = 0;
    }

    /// The next setting, where its value is known.
    pub(super) fn put(&mut self, area: Area, name: &str, value: impl Into<Option<String>>) {
        self.place = self.place.saturating_add(1);
        self.listed(area, name, value);
    }

    /// One of several that are listed by name.
    pub(super) fn listed(&mut self, area: Area, name: &str, value: impl Into<Option<String>>) {
        let Some(value) = value.into().filter(|_| self.settings.len() < MOST) else {
            return;
        };
        let setting = Setting {
            area,
            interface: self.interface.clone(),
            place: self.place,
            name: clip(name),
        };
        self.settings.push((setting, clip(&value)));
    }
}

/// What is compared of a host.
pub fn profile(facts: &HostFacts) -> Profile {
    let case = Case::new(facts, Goal::Throughput, Wishes::default());
    let traits = traits(facts);
    let mut settings = Settings::default();
    let known = |text: &str| (text != UNKNOWN).then(|| text.to_owned());
    settings.put(Area::Machine, "role", traits.role.word().to_owned());
    settings.put(Area::Machine, "CPU", known(&traits.cpu));
    settings.put(Area::Machine, "ports", known(&traits.nics));
    system::settings(facts, &mut settings);
    options::settings(&facts.host.cmdline, &mut settings);
    ports::settings(&case, &mut settings);
    Profile {
        traits,
        known: settings.known,
        settings: settings.settings,
    }
}

fn traits(facts: &HostFacts) -> Traits {
    let model = match facts.host.cpu_model.as_str() {
        "" => UNKNOWN,
        model => model,
    };
    Traits {
        cpu: match facts.host.sockets {
            Some(sockets) if sockets > 1 => clip(&format!("{sockets} × {model}")),
            _ => clip(model),
        },
        nics: clip(&nics(facts)),
        role: role(facts),
    }
}

/// `2 × igb, 2 × mlx5_core`.
fn nics(facts: &HostFacts) -> String {
    if facts.interfaces.is_empty() {
        return UNKNOWN.to_owned();
    }
    let mut drivers = BTreeMap::new();
    for net in &facts.interfaces {
        if net.class == InterfaceClass::Hardware && !net.is_vf {
            let driver = net.link.driver.as_deref().unwrap_or(UNKNOWN);
            *drivers.entry(driver).or_insert(0) += 1;
        }
    }
    let words: Vec<String> = drivers
        .into_iter()
        .map(|(driver, ports)| format!("{ports} × {driver}"))
        .collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

fn role(facts: &HostFacts) -> Role {
    let services = &facts.services;
    if facts.xen.is_some() || facts.vms.iter().any(|vm| vm.kind == VmKind::Xen) {
        Role::Xen
    } else if !facts.vms.is_empty() || services.libvirt {
        Role::Kvm
    } else if services.docker || services.kubelet {
        Role::Containers
    } else if facts.host.hypervisor.is_some() {
        Role::Guest
    } else {
        Role::Plain
    }
}

/// Words of somebody else, of a length that fits.
pub(super) fn clip(text: &str) -> String {
    clip_to(text, LONGEST)
}

/// The same with another length, in characters.
pub(super) fn clip_to(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// One value where all are the same, else the values with their numbers: `performance 60, powersave 4`.
pub(super) fn together(values: impl Iterator<Item = String>) -> Option<String> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_insert(0usize) += 1;
    }
    match counts.len() {
        0 => None,
        1 => counts.into_keys().next(),
        _ => {
            let words = counts.into_iter().map(|(value, n)| format!("{value} {n}"));
            Some(words.collect::<Vec<_>>().join(", "))
        }
    }
}
