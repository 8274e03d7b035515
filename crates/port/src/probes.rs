//! Probes: frames beside the load of a latency trial that the NICs of both ports stamp. What they
//! measure and what they do not: `docs/methodology/engines.md`.

mod arm;
mod choice;
mod run;
mod socket;

use std::io;

use nicety_account::{AccountError, Offset, OffsetSample, Reading};
use nicety_model::Direction;
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::phc::Phc;
use nicety_packet::MacAddr;
use nicety_packet::ptp;

pub use arm::{Armed, restore_left};
pub use choice::{NoStampsWord, Stamps};

use crate::error::PortError;

/// Why hardware stamps were not used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A port's NIC cannot stamp probes.
    #[error("{interface}: {why}")]
    NoStamps {
        /// The interface.
        interface: String,
        /// What its driver lacks.
        why: &'static str,
    },
    /// Somebody else uses the NIC's stamps in another way.
    #[error(
        "{interface}: another program has its NIC stamp other frames (hwtstamp_ctl -i {interface} \
         shows which); nicety leaves that as it is"
    )]
    InUse {
        /// The interface.
        interface: String,
    },
    /// Another nicety has changed what NICs stamp.
    #[error("another nicety uses the time stamps of this network namespace: wait for its end")]
    Busy,
    /// The driver takes another filter than it offers.
    #[error("{interface}: the driver stamps other frames than it was asked for")]
    NotApplied {
        /// The interface.
        interface: String,
    },
    /// A clock cannot be read.
    #[error("cannot read the clock {clock}: {source}")]
    Clock {
        /// As in /sys/class/ptp.
        clock: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The clocks were read too rarely, or the system's clock was stepped whenever they were.
    #[error("the NICs' clocks cannot be compared: the system's clock was stepped meanwhile")]
    Stepped,
    /// What is changed cannot be written down.
    #[error("cannot note in /run/nicety what is changed: {0}")]
    UndoLog(#[source] io::Error),
    /// The kernel refused something.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A socket of a port failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Nothing can be counted.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The thread that sends them ended.
    #[error("the thread that sends probes ended early")]
    Ended,
}

/// Where probes are sent and arrive.
#[derive(Debug, Clone)]
pub struct ProbePort {
    /// Namespace of the interface.
    pub ns: NetNs,
    /// The interface.
    pub interface: String,
    /// Its address.
    pub mac: MacAddr,
}

/// A port whose NIC stamps probes.
#[derive(Debug)]
struct Stamping {
    port: ProbePort,
    driver: String,
    /// What its driver is asked for.
    filter: u32,
    clock: u32,
}

impl Stamping {
    fn of(port: ProbePort) -> Result<Self, ProbeError> {
        let lacks = |why| ProbeError::NoStamps {
            interface: port.interface.clone(),
            why,
        };
        let ethtool = Ethtool::open(&port.ns)?;
        let stamps = match ethtool.hardware_stamps(&port.interface) {
            Err(NetError::Unsupported { .. }) => {
                return Err(lacks("its driver has no time stamps"));
            }
            result => result?,
        };
        if !stamps.tx && !stamps.rx {
            return Err(lacks("its driver stamps in software only"));
        }
        if !stamps.tx || !stamps.rx {
            return Err(lacks(
                "its NIC does not stamp both sent and received frames",
            ));
        }
        let filter = ptp::wanted(stamps.rx_filters)
            .ok_or_else(|| lacks("its NIC does not stamp PTP over Ethernet"))?;
        let clock = stamps
            .clock
            .ok_or_else(|| lacks("its driver does not show the NIC's clock"))?;
        let driver = ethtool.driver(&port.interface)?.driver;
        Ok(Self {
            port,
            driver,
            filter,
            clock,
        })
    }
}

/// The clocks of both ports.
#[derive(Debug)]
struct Clocks {
    a: Phc,
    /// None where both ports share one.
    b: Option<Phc>,
}

impl Clocks {
    fn open(a: u32, b: u32) -> Result<Self, ProbeError> {
        let open = |index| {
            let error = |source| ProbeError::Clock {
                clock: format!("ptp{index}"),
                source,
            };
            Phc::open(index).map_err(error)
        };
        let b = (a != b).then(|| open(b)).transpose()?;
        Ok(Self { a: open(a)?, b })
    }

    fn names(&self) -> Vec<String> {
        [Some(&self.a), self.b.as_ref()]
            .into_iter()
            .flatten()
            .map(Phc::name)
            .collect()
    }

    /// How far they are apart now; none where they are one, or the system's clock was just stepped.
    fn sample(&self) -> Result<Option<OffsetSample>, ProbeError> {
        let Some(b) = &self.b else {
            return Ok(None);
        };
        let read = |clock: &Phc| -> Result<Vec<Reading>, ProbeError> {
            let readings = clock.read().map_err(|source| ProbeError::Clock {
                clock: clock.name(),
                source,
            })?;
            let one = |[before_ns, clock_ns, after_ns]: [i64; 3]| Reading {
                before_ns,
                clock_ns,
                after_ns,
            };
            Ok(readings.into_iter().map(one).collect())
        };
        Ok(OffsetSample::of(
            &read(&self.a)?,
            &read(b)?,
            &read(&self.a)?,
        ))
    }

    fn offset(&self, samples: &[OffsetSample]) -> Result<Offset, ProbeError> {
        match self.b {
            None => Ok(Offset::NONE),
            Some(_) => Offset::over(samples).ok_or(ProbeError::Stepped),
        }
    }
}

/// Sends probes between two ports whose NICs stamp them.
#[derive(Debug)]
pub struct Prober {
    ports: [Stamping; 2],
    clocks: Clocks,
    direction: Direction,
}

impl Prober {
    /// Asks what the NICs of both ports stamp. Changes nothing.
    ///
    /// # Errors
    /// [`ProbeError::NoStamps`] with what is missing, [`ProbeError::Clock`] when a clock is not the
    /// caller's to read.
    pub fn new(ports: [ProbePort; 2], direction: Direction) -> Result<Self, ProbeError> {
        let [a, b] = ports;
        let ports = [Stamping::of(a)?, Stamping::of(b)?];
        let clocks = Clocks::open(ports[0].clock, ports[1].clock)?;
        Ok(Self {
            ports,
            clocks,
            direction,
        })
    }

    /// Whose stamps: drivers and clocks.
    pub fn name(&self) -> String {
        let [a, b] = self.ports.each_ref().map(|port| port.driver.as_str());
        let drivers = if a == b {
            a.to_owned()
        } else {
            format!("{a} and {b}")
        };
        format!("{drivers}, PHC {}", self.clocks.names().join(" and "))
    }
}
