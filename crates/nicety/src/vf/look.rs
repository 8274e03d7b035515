//! What there is.

use anyhow::anyhow;
use nicety_host::link::{Link, Links};
use nicety_host::netns::NetNs;
use nicety_host::policer::Policed;
use nicety_host::shaper::{Found, Shapers, Survey};
use nicety_host::vf::{FunctionState, Functions, Holder, Limiter, Places, Registers, VfHolders};
use nicety_model::SCHEMA;
use nicety_model::vf::{Abilities, HostPort, PhysicalFunction, VfReport, VirtualFunction};
use nicety_police::Driver;
use nicety_police::driver::{Minimum, VfCounters, Way};

use super::counters::{self, Side};
use crate::exit::Failure;

/// The kernel, asked in the calling process's network namespace.
pub struct Eyes {
    pub links: Links,
    pub functions: Functions,
    pub shapers: Shapers,
    pub places: Places,
}

impl Eyes {
    pub fn open() -> Result<Self, Failure> {
        let ns = NetNs::current().map_err(Failure::environment)?;
        Ok(Self {
            links: Links::open(&ns).map_err(Failure::environment)?,
            functions: Functions::open(&ns).map_err(Failure::environment)?,
            shapers: Shapers::open(&ns).map_err(Failure::environment)?,
            places: Places::of(&ns),
        })
    }

    /// Everything, or one NIC or port.
    pub fn look(&self, only: Option<&str>) -> Result<VfReport, Failure> {
        let links = self.links.list().map_err(Failure::environment)?;
        let fits = |name: &str| only.is_none_or(|only| only == name);
        if let Some(only) = only
            && links.iter().all(|link| link.name != only)
        {
            return Err(Failure::usage(anyhow!(
                "there is no interface {only} in this network namespace; see ip link"
            )));
        }
        let holders = VfHolders::find();
        let physical = self.places.physical_functions();
        let mut report = VfReport {
            schema: SCHEMA,
            ..VfReport::default()
        };
        for name in physical.unwrap_or_default() {
            if fits(&name) && links.iter().any(|link| link.name == name) {
                report.nics.push(self.nic(&name, &holders, &links)?);
            }
        }
        let survey = self.shapers.survey().map_err(Failure::environment)?;
        for link in &links {
            if fits(&link.name) && matches!(link.kind.as_str(), "veth" | "tun" | "macvtap") {
                report.ports.push(self.port(link, &survey));
            }
        }
        let found = !report.nics.is_empty() || !report.ports.is_empty();
        match only {
            Some(only) if !found => Err(Failure::usage(anyhow!(
                "{only} is no NIC with virtual functions and no tap, veth or macvtap; see nicety vf list"
            ))),
            _ => Ok(report),
        }
    }

    /// What the driver of a NIC can do.
    pub fn driver(&self, nic: &str) -> Option<(String, Driver)> {
        let pci = self.places.pci(nic)?;
        let name = pci.driver?;
        let driver = Driver::find(&name, pci.device);
        Some((name, driver))
    }

    fn nic(
        &self,
        name: &str,
        holders: &VfHolders,
        links: &[Link],
    ) -> Result<PhysicalFunction, Failure> {
        let told = self.functions.read(name).map_err(Failure::environment)?;
        let driver = self.driver(name);
        let untold = told.announced.saturating_sub(told.functions.len() as u32);
        let functions = told.functions.iter();
        // Where the kernel keeps them to itself the driver or nobody counts.
        let registers = self.places.registers(name).ok().flatten();
        let mut can = (driver.as_ref())
            .map(|(_, driver)| abilities(driver))
            .unwrap_or_default();
        if registers.is_some() {
            can.counters = "registers".to_owned();
        }
        let total = self.places.attribute(name, "device/sriov_totalvfs");
        Ok(PhysicalFunction {
            interface: name.to_owned(),
            pci: self.places.pci(name).map(|pci| pci.address),
            link_mbit: self.places.speed_mbit(name),
            total: total.and_then(|text| text.parse().ok()),
            enabled: told.announced,
            untold,
            switchdev: told.switch.is_some(),
            can,
            functions: functions
                .map(|function| {
                    let driver = driver.as_ref().map(|(_, driver)| driver);
                    let held = (holders, links);
                    self.function(name, function, driver, held, registers.as_ref())
                })
                .collect(),
            driver: driver.map(|(name, _)| name),
        })
    }

    fn function(
        &self,
        nic: &str,
        told: &FunctionState,
        driver: Option<&Driver>,
        (holders, links): (&VfHolders, &[Link]),
        registers: Option<&Registers>,
    ) -> VirtualFunction {
        let place = self
            .places
            .virtual_function(nic, told.vf)
            .unwrap_or_default();
        let holder = holders.of(&place);
        let driver = driver.copied().map(|driver| driver.limiting(way(told)));
        let driver = driver.as_ref();
        let limits = driver.is_none_or(|driver| driver.rate.is_some());
        let minimum = driver
            .is_none_or(|driver| !matches!(driver.minimum, Minimum::Refused | Minimum::Ignored));
        let vlan = told.vlan.filter(|(id, _)| *id > 0);
        let own = match &holder {
            Holder::Interface(name) => links.iter().find(|link| link.name == *name),
            _ => None,
        };
        let face = |name: &String| links.iter().find(|link| link.name == *name);
        let representor = told.representor.as_ref().and_then(face);
        let own = match (own, representor) {
            // Its own interface counts what is dropped afterwards.
            (_, Some(link)) if counters::policed(told).is_some() => Some((link, Side::Representor)),
            (Some(link), _) => Some((link, Side::Own)),
            (None, representor) => representor.map(|link| (link, Side::Representor)),
        };
        VirtualFunction {
            vf: told.vf,
            mac: told.mac.map(|mac| mac.to_string()),
            vlan: vlan.map(|(id, _)| id),
            vlan_priority: vlan.map(|(_, priority)| priority),
            spoof_check: told.spoof_check,
            trust: told.trust,
            link_state: told.link_state.map(str::to_owned),
            max_mbit: told.max_mbit.filter(|_| limits),
            min_mbit: told.min_mbit.filter(|_| limits && minimum),
            counters: counters::of_function(told, driver, own, registers),
            pci: (!place.address.is_empty()).then_some(place.address),
            driver: place.driver,
            representor: told.representor.clone(),
            limited_by: limited_by(told),
            in_hardware: counters::policed(told).map(|policer| policer.in_hardware),
            foreign: foreign(told).map(str::to_owned),
            holder: holder_words(&holder),
            shared: None,
        }
    }

    /// Packets without an Ethernet header: IFF_TUN of linux/if_tun.h.
    fn is_tun(&self, interface: &str) -> bool {
        let flags = self.places.attribute(interface, "tun_flags");
        let flags = flags.and_then(|text| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok());
        flags.is_some_and(|flags| flags & 1 != 0)
    }

    fn port(&self, link: &Link, survey: &Survey) -> HostPort {
        // A port may go while it is looked at.
        let face = survey.face(&link.name);
        let found = face.and_then(|face| self.shapers.found(face, survey).ok());
        let found = found.unwrap_or(Found::Open);
        let limited = matches!(found, Found::Limited(_));
        let bucket = face.filter(|_| limited);
        let bucket = bucket.and_then(|face| self.shapers.bucket_of(face, survey));
        HostPort {
            interface: link.name.clone(),
            kind: match link.kind.as_str() {
                "tun" if self.is_tun(&link.name) => "tun".to_owned(),
                "tun" => "tap".to_owned(),
                kind => kind.to_owned(),
            },
            limit: match found {
                Found::Limited(shape) => Some(shape.rate),
                _ => None,
            },
            foreign: match found {
                Found::Foreign(kind) => Some(kind),
                _ => None,
            },
            shared: None,
            counters: Some(counters::of_port(link, bucket)),
        }
    }
}

/// What limits a function.
pub fn way(function: &FunctionState) -> Way {
    match function.limiter {
        Limiter::Driver => Way::Driver,
        Limiter::Devlink => Way::Switch,
        Limiter::Policer(_) => Way::Policer,
    }
}

/// Kind of a qdisc of somebody else in a policer's place.
pub fn foreign(function: &FunctionState) -> Option<&str> {
    match &function.limiter {
        Limiter::Policer(Policed::Foreign(kind)) => Some(kind),
        _ => None,
    }
}

fn limited_by(function: &FunctionState) -> Option<String> {
    let representor = function.representor.as_deref();
    match function.limiter {
        Limiter::Driver => None,
        Limiter::Devlink => Some("devlink-rate".to_owned()),
        Limiter::Policer(_) => Some(format!("tc police on {}", representor.unwrap_or_default())),
    }
}

fn holder_words(holder: &Holder) -> String {
    match holder {
        Holder::Interface(name) => name.clone(),
        Holder::OtherNamespace(None) => "another namespace".to_owned(),
        Holder::OtherNamespace(Some(name)) => format!("namespace {name}"),
        Holder::Process { pid, name } => format!("{name} (pid {pid})"),
        Holder::Vfio => "vfio".to_owned(),
        Holder::Uio => "uio".to_owned(),
        Holder::Nobody => "nobody".to_owned(),
    }
}

fn abilities(driver: &Driver) -> Abilities {
    let word = match driver.minimum {
        Minimum::Refused => "refused",
        Minimum::Honoured => "honoured",
        Minimum::Relative => "relative",
        Minimum::Ignored => "ignored",
        Minimum::Unknown => "unknown",
    };
    Abilities {
        known: driver.known,
        max_rate: driver.rate.map(|range| range.to_string()),
        min_rate: word.to_owned(),
        counters: match driver.counters {
            VfCounters::None => "none".to_owned(),
            VfCounters::Live => "live".to_owned(),
            VfCounters::Every(seconds) => format!("every {seconds} s"),
            VfCounters::Unknown => "unknown".to_owned(),
        },
        note: driver.note.to_owned(),
    }
}
