//! What there is.

use nicety_model::vf::{
    Abilities, HostPort, PhysicalFunction, PortCounters, VfReport, VirtualFunction,
};
use nicety_model::{ProblemCode, SCHEMA};
use nicety_netdev::link::{Link, Links};
use nicety_netdev::netns::NetNs;
use nicety_netdev::policer::Policed;
use nicety_netdev::shaper::{PortLimit, Shapers, Survey};
use nicety_netdev::vf::{FunctionState, Functions, Holder, Limiter, Places, Registers, VfHolders};
use nicety_police::Driver;
use nicety_police::driver::{Minimum, VfCounters, Way};

use super::counters::{self, Side};
use crate::Error;

/// The kernel, asked in the calling process's network namespace.
#[derive(Debug)]
pub struct Inventory {
    pub(super) links: Links,
    pub(super) functions: Functions,
    pub(super) shapers: Shapers,
    pub(super) places: Places,
}

impl Inventory {
    /// Opens what the kernel is asked through.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open() -> Result<Self, Error> {
        let ns = NetNs::current()?;
        Ok(Self {
            links: Links::open(&ns)?,
            functions: Functions::open(&ns)?,
            shapers: Shapers::open(&ns)?,
            places: Places::of(&ns),
        })
    }

    /// Everything, or one NIC or port.
    ///
    /// # Errors
    /// When there is no such NIC or port, or the kernel refuses.
    pub fn report(&self, only: Option<&str>) -> Result<VfReport, Error> {
        let links = self.links.list()?;
        let fits = |name: &str| only.is_none_or(|only| only == name);
        if let Some(only) = only
            && links.iter().all(|link| link.name != only)
        {
            return Err(Error::refused(
                ProblemCode::NoSuchPort,
                format!("there is no interface {only} in this network namespace"),
                "see ip link",
            ));
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
        let survey = self.shapers.survey()?;
        for link in &links {
            if fits(&link.name) && matches!(link.kind.as_str(), "veth" | "tun" | "macvtap") {
                report.ports.push(self.port(link, &survey));
            }
        }
        let found = !report.nics.is_empty() || !report.ports.is_empty();
        match only {
            Some(only) if !found => Err(Error::refused(
                ProblemCode::NoSuchPort,
                format!(
                    "{only} is neither a NIC with virtual functions nor a tap, veth or macvtap"
                ),
                "see nicety port list",
            )),
            _ => Ok(report),
        }
    }

    /// What the driver of a NIC can do.
    pub(super) fn driver(&self, nic: &str) -> Option<(String, Driver)> {
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
    ) -> Result<PhysicalFunction, Error> {
        let list = self.functions.read(name)?;
        let driver = self.driver(name);
        let untold = list.announced.saturating_sub(list.functions.len() as u32);
        let functions = list.functions.iter();
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
            enabled: list.announced,
            untold,
            switchdev: list.switch.is_some(),
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
        reported: &FunctionState,
        driver: Option<&Driver>,
        (holders, links): (&VfHolders, &[Link]),
        registers: Option<&Registers>,
    ) -> VirtualFunction {
        let place = self
            .places
            .virtual_function(nic, reported.vf)
            .unwrap_or_default();
        let holder = holders.of(&place);
        let driver = driver.copied().map(|driver| driver.limiting(way(reported)));
        let driver = driver.as_ref();
        let limits = driver.is_none_or(|driver| driver.rate.is_some());
        let minimum = driver
            .is_none_or(|driver| !matches!(driver.minimum, Minimum::Refused | Minimum::Ignored));
        let vlan = reported.vlan.filter(|(id, _)| *id > 0);
        let own = match &holder {
            Holder::Interface(name) => links.iter().find(|link| link.name == *name),
            _ => None,
        };
        let face = |name: &String| links.iter().find(|link| link.name == *name);
        let representor = reported.representor.as_ref().and_then(face);
        let own = match (own, representor) {
            // Its own interface counts what is dropped afterwards.
            (_, Some(link)) if counters::policed(reported).is_some() => {
                Some((link, Side::Representor))
            }
            (Some(link), _) => Some((link, Side::Own)),
            (None, representor) => representor.map(|link| (link, Side::Representor)),
        };
        VirtualFunction {
            vf: reported.vf,
            mac: reported.mac.map(|mac| mac.to_string()),
            vlan: vlan.map(|(id, _)| id),
            vlan_priority: vlan.map(|(_, priority)| priority),
            spoof_check: reported.spoof_check,
            trust: reported.trust,
            link_state: reported.link_state.map(str::to_owned),
            max_mbit: reported.max_mbit.filter(|_| limits),
            min_mbit: reported.min_mbit.filter(|_| limits && minimum),
            counters: counters::of_function(reported, driver, own, registers),
            pci: (!place.address.is_empty()).then_some(place.address),
            driver: place.driver,
            representor: reported.representor.clone(),
            limited_by: limited_by(reported),
            in_hardware: counters::policed(reported).map(|policer| policer.in_hardware),
            foreign: foreign(reported).map(str::to_owned),
            holder: holder_words(&holder),
            shared: None,
        }
    }

    /// What was sent by a function, or a port, so far; none where nobody counts.
    pub(super) fn sent(
        &self,
        interface: &str,
        vf: Option<u32>,
    ) -> Result<Option<PortCounters>, Error> {
        let report = self.report(Some(interface))?;
        Ok(match vf {
            Some(vf) => (report.nics.into_iter())
                .flat_map(|nic| nic.functions)
                .find(|function| function.vf == vf)
                .and_then(|function| function.counters),
            None => (report.ports.into_iter())
                .next()
                .and_then(|port| port.counters),
        })
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
        let found = face.and_then(|face| self.shapers.limit_of(face, survey).ok());
        let found = found.unwrap_or(PortLimit::Open);
        let limited = matches!(found, PortLimit::Limited(_));
        let bucket = face.filter(|_| limited);
        let bucket = bucket.and_then(|face| self.shapers.bucket_of(face, survey));
        HostPort {
            interface: link.name.clone(),
            kind: match link.kind.as_str() {
                "tun" if self.is_tun(&link.name) => "tun".to_owned(),
                "tun" => "tap".to_owned(),
                kind => kind.to_owned(),
            },
            holder: None,
            limit: match found {
                PortLimit::Limited(shape) => Some(shape.rate),
                _ => None,
            },
            foreign: match found {
                PortLimit::Foreign(kind) => Some(kind),
                _ => None,
            },
            shared: None,
            counters: Some(counters::of_port(link, bucket)),
        }
    }
}

/// What limits a function.
pub(crate) fn way(function: &FunctionState) -> Way {
    match function.limiter {
        Limiter::Driver => Way::Driver,
        Limiter::Devlink => Way::Switch,
        Limiter::Policer(_) => Way::Policer,
    }
}

/// Kind of a qdisc of somebody else in a policer's place.
pub(crate) fn foreign(function: &FunctionState) -> Option<&str> {
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
