//! The virtual functions of one NIC of a policy: counters from whoever has them, limits by the driver.

mod believed;
mod counted;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_host::policer::Policed;
use nicety_host::shaper::Survey;
use nicety_host::vf::{self, FunctionState, Limiter, Places, Registers, Told};
use nicety_model::BitRate;
use nicety_police::controller::PortSetup;
use nicety_police::driver::{Top, VfCounters, Way};
use nicety_police::{Driver, Sample, Seen};

use believed::believed;
use counted::{Counted, counters, total};

use super::journal::{self, Event, Priority};
use super::passed::{Passed, Police};
use super::ports::{Moment, Place, sent_by, turned};
use super::totals::{Counts, Total};
use crate::exit::Failure;
use crate::vf::limit::SOFTWARE_ONLY;
use crate::vf::look::{foreign, way};

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
    /// What was last told of the NIC.
    told: RefCell<Option<Told>>,
    /// What has passed the policers.
    passed: RefCell<BTreeMap<u32, Passed>>,
    /// Its switch is not as it was looked at.
    changed: Cell<bool>,
    /// Functions of which it was said that the host alone limits them.
    told_soft: RefCell<BTreeSet<u32>>,
}

/// A NIC at one moment.
#[derive(Debug, Clone)]
pub struct Nic {
    pub name: String,
    /// None when it is not there.
    told: Option<Told>,
    driver: Option<Driver>,
    /// Speed of the link; none when it is down or not known.
    link: Option<BitRate>,
    capacity: BitRate,
    /// When it was asked, and when the interfaces were that count some of its functions.
    at: Duration,
    interfaces_at: Duration,
    counted: BTreeMap<u32, Counted>,
    /// Interfaces of functions in this namespace, where these may count them.
    interfaces: BTreeMap<u32, Vec<String>>,
}

impl Functions {
    pub fn open(ns: &NetNs, wanted: Wanted) -> Result<Self, Failure> {
        Ok(Self {
            kernel: vf::Functions::open(ns).map_err(Failure::environment)?,
            places: Places::of(ns),
            wanted,
            registers: RefCell::default(),
            told: RefCell::default(),
            passed: RefCell::default(),
            changed: Cell::default(),
            told_soft: RefCell::default(),
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
        let before = before.filter(|nic| nic.told.is_some());
        let changed = self.changed.take();
        let known = before.as_ref().filter(|_| !changed);
        let told = match known.and_then(|nic| Some((nic, nic.told.as_ref()?))) {
            Some((nic, told)) => self.kernel.read_again(name, told, nic.needs_driver()),
            None => self.kernel.read(name),
        };
        let at = since_boot();
        let told = {
            let mut last = self.told.borrow_mut();
            *last = believed(told, last.take());
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
            told: told.filter(|_| bound),
            driver,
            link,
            capacity: self.wanted.capacity,
            at,
            interfaces_at,
            counted: BTreeMap::new(),
            interfaces: BTreeMap::new(),
        };
        // Another NIC may have come in its place, or the same with its registers elsewhere.
        let index = survey.face(name).map(|face| face.index);
        self.registers
            .borrow_mut()
            .take_if(|(had, _)| nic.told.is_none() || index != Some(*had));
        if nic.told.is_none() {
            return Arc::new(nic);
        }
        for vf in &self.wanted.functions {
            if let Some(counted) = self.counted(&nic, *vf, survey, &mut interfaces) {
                nic.counted.insert(*vf, counted);
            }
        }
        nic.interfaces = interfaces;
        Arc::new(nic)
    }

    /// Registers where they can be read, else the driver, else the function's interface when it
    /// is in this namespace.
    fn counted(
        &self,
        nic: &Nic,
        vf: u32,
        survey: &Survey,
        interfaces: &mut BTreeMap<u32, Vec<String>>,
    ) -> Option<Counted> {
        if let Some(function) = nic.function(vf)
            && let Limiter::Policer(found) = &function.limiter
            && let Some(face) = survey.face(function.representor.as_ref()?)
        {
            let received = turned(sent_by(face));
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
            return Some(Counted::Registers { bits, counters });
        }
        let told = nic.function(vf)?.counters;
        let by_driver = match nic.driver?.counters {
            VfCounters::Live | VfCounters::Every(_) => told.is_some(),
            VfCounters::Unknown => told.is_some_and(|c| c.tx_packets + c.rx_packets > 0),
            VfCounters::None => false,
        };
        if by_driver {
            return Some(Counted::Driver);
        }
        let look = || {
            let place = self.places.virtual_function(&nic.name, vf);
            place.unwrap_or_default().interfaces
        };
        let mut names = interfaces.entry(vf).or_insert_with(look).iter();
        if let Some(face) = names.find_map(|name| survey.face(name)) {
            return Some(Counted::Interface(sent_by(face)));
        }
        // On the NIC's switch what the representor receives was sent by the function.
        let representor = nic.function(vf)?.representor.as_ref()?;
        let face = survey.face(representor)?;
        Some(Counted::Interface(turned(sent_by(face))))
    }

    /// What has passed a policer.
    fn policed(&self, nic: &Nic, vf: u32, received: Total, found: &Policed) -> Counted {
        let policer = match found {
            Policed::Limited(policer) => Some(policer),
            Policed::Open | Policed::Foreign(_) => None,
        };
        let mut passed = self.passed.borrow_mut();
        let passed = passed.entry(vf).or_default();
        // What the NIC has dropped it does not tell the host of.
        let soft = policer.filter(|policer| !policer.in_hardware);
        if soft.is_some() {
            self.tell_soft(nic, vf);
        }
        let police = soft.map(|policer| Police {
            rate: policer.rate,
            frames: policer.frames,
            drops: policer.drops,
        });
        let total = passed.take(received, police);
        Counted::Policed(total, passed.dropped())
    }

    /// Says once what a policer cannot hold.
    fn tell_soft(&self, nic: &Nic, vf: u32) {
        if self.told_soft.borrow_mut().insert(vf) {
            let port = format!("{}/vf{vf}", nic.name);
            let event = Event {
                name: "software-only",
                port: Some(&port),
                ..Event::default()
            };
            let line = format!("port {port}: {SOFTWARE_ONLY}");
            journal::tell(Priority::Warning, event, &line);
        }
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
        let functions = &self.told.as_ref()?.functions;
        let is_it = |function: &&FunctionState| function.vf == vf;
        // Drivers tell them in their order.
        let expected = functions.get(vf as usize).filter(is_it);
        expected.or_else(|| functions.iter().find(is_it))
    }

    /// It is there.
    pub fn is_there(&self) -> bool {
        self.told.is_some()
    }

    /// The interface that represents a function.
    pub fn representor(&self, vf: u32) -> Option<&str> {
        self.function(vf)?.representor.as_deref()
    }

    /// The driver tells of the function.
    pub fn has(&self, vf: u32) -> bool {
        self.function(vf).is_some()
    }

    /// A function is counted by the driver.
    fn needs_driver(&self) -> bool {
        let mut counted = self.counted.values();
        counted.any(|counted| matches!(counted, Counted::Driver))
    }

    /// A function is counted by its interface: a look without interfaces would be an old one.
    pub fn needs_interfaces(&self) -> bool {
        let mut counted = self.counted.values();
        counted.any(|counted| matches!(counted, Counted::Interface(_) | Counted::Policed(..)))
    }

    /// One function.
    pub fn moment(&self, vf: u32) -> Moment {
        let name = format!("{}/vf{vf}", self.name);
        let waits = |why: String| Moment::without(Place::Waits(why));
        let Some(told) = &self.told else {
            return Moment::without(Place::Gone);
        };
        let none = vf >= told.announced;
        let driver = match self.driver {
            Some(driver) => driver,
            None if none => return Moment::without(Place::Gone),
            None => return waits(format!("the driver of {} is not known", self.name)),
        };
        let driver = driver.limiting(self.function(vf).map_or(Way::Driver, way));
        let Some(range) = driver.rate else {
            let why = format!("the driver {} cannot limit virtual functions", driver.name);
            return Moment::without(Place::Unfit(why));
        };
        if none {
            return Moment::without(Place::Gone);
        }
        let Some(function) = self.function(vf) else {
            return waits(format!("{} does not tell about it just now", driver.name));
        };
        if matches!(range.top, Top::Link | Top::OnlyAt(_)) && self.link.is_none() {
            return waits(format!("{} has no link", self.name));
        }
        if let Top::OnlyAt(mbit) = range.top
            && self.link != Some(BitRate::from_mbit(mbit.into()))
        {
            let needs = BitRate::from_mbit(mbit.into());
            return waits(format!("{} limits on a link of {needs} only", driver.name));
        }
        if let Some(kind) = foreign(function) {
            return Moment::without(Place::Foreign(kind.to_owned()));
        }
        let Some(max) = function.max_mbit else {
            return waits(format!("{name} has no rate"));
        };
        let link = self.link.unwrap_or(self.capacity);
        let counted = self.counted.get(&vf);
        let now = counted.map(|counted| total(counted, function));
        let counters = counters(counted, &driver, link);
        Moment {
            seen: Seen {
                present: true,
                sample: now.map(|now| Sample {
                    at: match counted {
                        Some(Counted::Interface(_) | Counted::Policed(..)) => self.interfaces_at,
                        _ => self.at,
                    },
                    bytes: now.tx_bytes,
                    frames: now.tx_frames,
                    drops: match counted {
                        Some(Counted::Policed(_, dropped)) => Some(*dropped),
                        _ => None,
                    },
                    backlog: None,
                }),
                limit: Some(BitRate::from_mbit(max.into())),
                silent: false,
            },
            index: None,
            place: Place::There(format!("max {max} min {}", function.min_mbit.unwrap_or(0))),
            setup: Some(PortSetup {
                steps: range.steps(link),
                counters,
                cap_bps: f64::INFINITY,
            }),
            counts: self.counts(vf).zip(now).map(|(source, now)| Counts {
                source,
                now,
                byte_bits: counters.byte_bits,
                frame_bits: counters.frame_bits,
            }),
        }
    }

    /// Who counts a function, in words; none for nobody.
    pub fn counts(&self, vf: u32) -> Option<&'static str> {
        self.counted.get(&vf).map(|counted| match counted {
            Counted::Registers { .. } => "registers",
            Counted::Driver => "driver",
            Counted::Interface(_) => "interface",
            Counted::Policed(..) => "policer",
        })
    }

    /// The longest period in which no counter of a function wraps more than a quarter.
    pub fn longest_period(&self, vf: u32) -> Option<Duration> {
        let Some(Counted::Registers { bits, .. }) = self.counted.get(&vf) else {
            return None;
        };
        let bytes_per_second = self.link.unwrap_or(self.capacity).bps() / 8.0;
        let seconds = (*bits as f64).exp2() / bytes_per_second.max(1.0) / 4.0;
        Some(Duration::from_secs_f64(seconds.min(3600.0)))
    }
}
