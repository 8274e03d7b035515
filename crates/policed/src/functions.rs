//! The virtual functions of one NIC of a policy: counters from whoever has them, limits by the driver.

mod counters;
mod validated;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_model::BitRate;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::policer::Policed;
use nicety_netdev::shaper::Survey;
use nicety_netdev::vf::{self, FunctionList, FunctionState, Limiter, Places, Registers};
use nicety_police::controller::PortSetup;
use nicety_police::driver::Way;
use nicety_police::event::{Event, PortEvent};
use nicety_police::forwarded::{Forwarded, PolicerCounts};
use nicety_police::function::{Function, Limitable, Reported};
use nicety_police::snapshot::{Place, Snapshot};
use nicety_police::totals::{Counts, Total};
use nicety_police::{Driver, Sample, Seen};

use counters::{Source, counters, total};
use validated::validated;

use crate::Error;
use crate::log::Log;
use crate::totals::sent_by;
use crate::vf::inventory::{foreign, way};

/// A NIC whose functions a policy names.
pub struct Wanted {
    pub name: String,
    /// The functions meant.
    pub functions: Vec<u32>,
    /// Capacity of the shared link.
    pub capacity: BitRate,
}

/// The kernel, asked for the functions of one NIC.
pub struct Functions {
    kernel: vf::Functions,
    places: Places,
    wanted: Wanted,
    /// With the number of the interface; none where the kernel does not give them.
    registers: RefCell<Option<(u32, Option<Registers>)>>,
    /// What was last read of the NIC.
    list: RefCell<Option<FunctionList>>,
    /// What the policers have forwarded.
    forwarded: RefCell<BTreeMap<u32, Forwarded>>,
    /// Its switch is not as it was looked at.
    changed: Cell<bool>,
    /// Functions of which it was reported that the host alone limits them.
    soft: RefCell<BTreeSet<u32>>,
    log: Log,
}

/// A NIC at one moment.
#[derive(Debug, Clone)]
pub struct Nic {
    pub name: String,
    /// None when it is not there.
    list: Option<FunctionList>,
    driver: Option<Driver>,
    /// Speed of the link; none when it is down or not known.
    link: Option<BitRate>,
    capacity: BitRate,
    /// When it was asked, and when the interfaces were that count some of its functions.
    at: Duration,
    interfaces_at: Duration,
    sources: BTreeMap<u32, Source>,
    /// Interfaces of functions in this namespace, where these may count them.
    interfaces: BTreeMap<u32, Vec<String>>,
}

impl Functions {
    pub fn open(ns: &NetNs, wanted: Wanted, log: Log) -> Result<Self, Error> {
        Ok(Self {
            kernel: vf::Functions::open(ns)?,
            places: Places::of(ns),
            wanted,
            registers: RefCell::default(),
            list: RefCell::default(),
            forwarded: RefCell::default(),
            changed: Cell::default(),
            soft: RefCell::default(),
            log,
        })
    }

    /// Everything: links and drivers may have changed. With an older look limits and counters only; links,
    /// drivers, places and switches as they were, unless a limit was set: sysfs and devlink(8) are not asked in
    /// every period. Where the NIC holds the functions this is one message. The interfaces are those of another
    /// moment.
    pub fn look(
        &self,
        before: Option<Arc<Nic>>,
        (survey, interfaces_at): (&Survey, Duration),
    ) -> Arc<Nic> {
        let name = &self.wanted.name;
        // One that comes, or is another one, is looked at whole.
        let before = before.map(Arc::unwrap_or_clone);
        let before = before.filter(|nic| nic.list.is_some());
        let changed = self.changed.take();
        let known = before.as_ref().filter(|_| !changed);
        let read = match known.and_then(|nic| Some((nic, nic.list.as_ref()?))) {
            Some((nic, list)) => self.kernel.read_again(name, list, nic.needs_driver()),
            None => self.kernel.read(name),
        };
        let at = since_boot();
        let list = {
            let mut last = self.list.borrow_mut();
            *last = validated(read, last.take());
            last.clone()
        };
        let (driver, link, bound, mut interfaces) = match before {
            Some(before) => (before.driver, before.link, true, before.interfaces),
            None => {
                let pci = self.places.pci(name);
                let bound = pci.as_ref().is_none_or(|pci| pci.driver.is_some());
                let driver = pci.and_then(|pci| Some(Driver::find(&pci.driver?, pci.device)));
                let link = self.places.speed_mbit(name).map(BitRate::from_mbit);
                (driver, link, bound, BTreeMap::new())
            }
        };
        let mut nic = Nic {
            name: name.clone(),
            // While its driver comes or goes the interface may be there already, or still.
            list: list.filter(|_| bound),
            driver,
            link,
            capacity: self.wanted.capacity,
            at,
            interfaces_at,
            sources: BTreeMap::new(),
            interfaces: BTreeMap::new(),
        };
        // Another NIC may have come in its place, or the same with its registers elsewhere.
        let index = survey.face(name).map(|face| face.index);
        self.registers
            .borrow_mut()
            .take_if(|(had, _)| nic.list.is_none() || index != Some(*had));
        if nic.list.is_none() {
            return Arc::new(nic);
        }
        for vf in &self.wanted.functions {
            if let Some(source) = self.source(&nic, *vf, survey, &mut interfaces) {
                nic.sources.insert(*vf, source);
            }
        }
        nic.interfaces = interfaces;
        Arc::new(nic)
    }

    /// Registers where they can be read, else the driver, else the function's interface when it
    /// is in this namespace.
    fn source(
        &self,
        nic: &Nic,
        vf: u32,
        survey: &Survey,
        interfaces: &mut BTreeMap<u32, Vec<String>>,
    ) -> Option<Source> {
        if let Some(function) = nic.function(vf)
            && let Limiter::Policer(found) = &function.limiter
            && let Some(face) = survey.face(function.representor.as_ref()?)
        {
            let received = sent_by(face).turned();
            return Some(self.policed(nic, vf, received, found));
        }
        let mut registers = self.registers.borrow_mut();
        let index = survey.face(&nic.name).map_or(0, |face| face.index);
        let map = || (index, self.places.registers(&nic.name).ok().flatten());
        let (_, mapped) = registers.get_or_insert_with(map);
        if let Some(registers) = mapped
            && let Some(counters) = registers.read(vf)
        {
            let bits = registers.chip().byte_bits();
            return Some(Source::Registers { bits, counters });
        }
        let reported = nic.function(vf)?.counters;
        let driver = nic.driver?;
        if reported.is_some_and(|c| driver.counts(c.tx_packets + c.rx_packets)) {
            return Some(Source::Driver);
        }
        let look = || {
            let place = self.places.virtual_function(&nic.name, vf);
            place.unwrap_or_default().interfaces
        };
        let mut names = interfaces.entry(vf).or_insert_with(look).iter();
        if let Some(face) = names.find_map(|name| survey.face(name)) {
            return Some(Source::Interface(sent_by(face)));
        }
        // On the NIC's switch what the representor receives was sent by the function.
        let representor = nic.function(vf)?.representor.as_ref()?;
        let face = survey.face(representor)?;
        Some(Source::Interface(sent_by(face).turned()))
    }

    /// What a policer has forwarded.
    fn policed(&self, nic: &Nic, vf: u32, received: Total, found: &Policed) -> Source {
        let policer = match found {
            Policed::Limited(policer) => Some(policer),
            Policed::Open | Policed::Foreign(_) => None,
        };
        let mut forwarded = self.forwarded.borrow_mut();
        let forwarded = forwarded.entry(vf).or_default();
        // What the NIC has dropped it does not report to the host.
        let soft = policer.filter(|policer| !policer.in_hardware);
        if soft.is_some() && self.soft.borrow_mut().insert(vf) {
            self.log.report(&Event::Port {
                interface: None,
                port: format!("{}/vf{vf}", nic.name),
                tenant: None,
                event: PortEvent::SoftwareOnly,
            });
        }
        let counts = soft.map(|policer| PolicerCounts {
            rate: policer.rate,
            frames: policer.frames,
            drops: policer.drops,
        });
        let total = forwarded.take(received, counts);
        Source::Policed(total, forwarded.dropped())
    }

    /// Sets the rate of a function; its minimum stays as far as the maximum leaves room for it.
    pub fn set(&self, vf: u32, nic: &Nic, rate: BitRate) -> Result<(), NetError> {
        // Whatever comes of it is looked at.
        self.changed.set(true);
        let max = u32::try_from(rate.0 / 1_000_000).unwrap_or(u32::MAX);
        let min = nic.function(vf).and_then(|function| function.min_mbit);
        let min = min.unwrap_or(0).min(max);
        self.kernel.set_rate(&self.wanted.name, vf, max, min)
    }
}

impl Nic {
    fn function(&self, vf: u32) -> Option<&FunctionState> {
        let functions = &self.list.as_ref()?.functions;
        let is_it = |function: &&FunctionState| function.vf == vf;
        // Drivers report them in their order.
        let expected = functions.get(vf as usize).filter(is_it);
        expected.or_else(|| functions.iter().find(is_it))
    }

    /// It is there.
    pub fn is_there(&self) -> bool {
        self.list.is_some()
    }

    /// The interface that represents a function.
    pub fn representor(&self, vf: u32) -> Option<&str> {
        self.function(vf)?.representor.as_deref()
    }

    /// The driver reports the function.
    pub fn has(&self, vf: u32) -> bool {
        self.function(vf).is_some()
    }

    /// A function is counted by the driver.
    fn needs_driver(&self) -> bool {
        let mut sources = self.sources.values();
        sources.any(|source| matches!(source, Source::Driver))
    }

    /// A function is counted by its interface: a look without interfaces would be an old one.
    pub fn needs_interfaces(&self) -> bool {
        let mut sources = self.sources.values();
        sources.any(|source| matches!(source, Source::Interface(_) | Source::Policed(..)))
    }

    /// One function.
    pub fn snapshot(&self, vf: u32) -> Snapshot {
        let Some(list) = &self.list else {
            return Snapshot::without(Place::Gone);
        };
        let state = self.function(vf);
        let limited_by = state.map_or(Way::Driver, way);
        let function = Function {
            nic: &self.name,
            vf,
            announced: list.announced,
            driver: self.driver.map(|driver| driver.limiting(limited_by)),
            link: self.link,
            reported: state.map(|state| Reported {
                foreign: foreign(state),
                max_mbit: state.max_mbit,
                min_mbit: state.min_mbit,
            }),
        };
        match (function.limitable(), state) {
            (Ok(limitable), Some(state)) => self.there(vf, &limitable, state),
            (Err(place), _) => Snapshot::without(place),
            (Ok(_), None) => Snapshot::without(Place::Gone),
        }
    }

    /// A function that can be limited.
    fn there(&self, vf: u32, limitable: &Limitable, state: &FunctionState) -> Snapshot {
        let link = self.link.unwrap_or(self.capacity);
        let source = self.sources.get(&vf);
        let now = source.map(|source| total(source, state));
        let counters = counters(source, &limitable.driver, link);
        let (max, min) = (limitable.max_mbit, limitable.min_mbit);
        Snapshot {
            seen: Seen {
                present: true,
                sample: now.map(|now| Sample {
                    at: match source {
                        Some(Source::Interface(_) | Source::Policed(..)) => self.interfaces_at,
                        _ => self.at,
                    },
                    bytes: now.tx_bytes,
                    frames: now.tx_frames,
                    drops: match source {
                        Some(Source::Policed(_, dropped)) => Some(*dropped),
                        _ => None,
                    },
                    backlog: None,
                }),
                limit: Some(BitRate::from_mbit(max.into())),
                // Of the function's own interface, which may be a guest's.
                longest: 0,
                silent: false,
            },
            index: None,
            place: Place::There(format!("max {max} min {min}")),
            setup: Some(PortSetup {
                steps: limitable.range.steps(link),
                counters,
                cap_bps: f64::INFINITY,
            }),
            adopted: None,
            replaces: false,
            packets: None,
            counts: source.zip(now).map(|(source, now)| Counts {
                source: source.word().into(),
                now,
                byte_bits: counters.byte_bits,
                frame_bits: counters.frame_bits,
                interface: None,
                held: None,
            }),
        }
    }

    /// Somebody counts a function.
    pub fn counts(&self, vf: u32) -> bool {
        self.sources.contains_key(&vf)
    }

    /// The longest period in which no counter of a function wraps more than a quarter.
    pub fn longest_period(&self, vf: u32) -> Option<Duration> {
        let Some(Source::Registers { bits, .. }) = self.sources.get(&vf) else {
            return None;
        };
        let bytes_per_second = self.link.unwrap_or(self.capacity).bps() / 8.0;
        let seconds = (*bits as f64).exp2() / bytes_per_second.max(1.0) / 4.0;
        Some(Duration::from_secs_f64(seconds.min(3600.0)))
    }
}
