//! Open vSwitch with DPDK between `d0` and `d1`, learning addresses like a bridge (action
//! NORMAL): threads of ovs-vswitchd poll a packet socket or an AF_XDP socket per interface and
//! never sleep.

use nicety_model::Remedy;
use nicety_model::note::{DpdkSwitch, PathNote};
use nicety_model::path::{Datapath, Vdev};
use nicety_netdev::link::LinkCounters;
use nicety_netdev::net_error::NetError;

use super::dpdk::{self, DpdkSpec};
use super::instance::{Instance, Setup, SwitchPort, all_there};
use super::ovs_counters::{DatapathCounters, DatapathPort};
use super::program::Packaged;
use crate::counters::{InterfaceCounters, PathCounters};
use crate::endpoint_site::EndpointSite;
use crate::error::PathError;
use crate::memory::available_mib;
use crate::neighbours;
use crate::path::{Neighbours, Path, PathFacts};
use crate::resettable::Resettable;
use crate::rig::Rig;
use crate::tun::taps_there;

pub(super) const DAEMON: Packaged = Packaged {
    name: "ovs-vswitchd-dpdk",
    places: &["/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"],
    package: "openvswitch-switch-dpdk",
};

/// Two namespaces joined by Open vSwitch with DPDK; gone when dropped.
#[derive(Debug)]
pub struct OvsDpdkPath {
    // Dropped in this order: the program before what it uses.
    instance: Instance,
    rig: Rig,
    vdev: Vdev,
}

impl OvsDpdkPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// As [`OvsDpdkPath::build`], as far as it can be known beforehand.
    pub fn check(spec: &DpdkSpec) -> Result<(), PathError> {
        Self::check_with_guests(spec, 0)
    }

    /// The same with a pair of ports for each of `guests`.
    pub(super) fn check_with_guests(spec: &DpdkSpec, guests: u32) -> Result<(), PathError> {
        spec.check()?;
        spec.polling()?;
        all_there(&DAEMON)?;
        taps_there()?;
        enough(spec, own_ports(guests), available_mib())
    }

    /// Builds the path and waits until both interfaces are switched. Its programs are killed
    /// when this process ends.
    ///
    /// # Errors
    /// As [`TestpmdPath::build`](super::TestpmdPath::build).
    pub fn build(spec: &DpdkSpec) -> Result<Self, PathError> {
        Self::check(spec)?;
        let polling = spec.polling()?;
        let mut rig = Rig::build("ovs-dpdk", &spec.rig)?;
        let queues = spec.rig.queues.max(1);
        let instance = Instance::start(&Setup {
            ns: &rig.dut.ns,
            daemon: &DAEMON,
            cpus: spec.beside(),
            config: configuration(spec, polling, own_ports(0)),
            datapath: Datapath::Userspace,
            ports: vec![
                SwitchPort::plain("p0", port(spec.vdev, 0, queues)),
                SwitchPort::plain("p1", port(spec.vdev, 1, queues)),
            ],
            dpdk: true,
        })?;
        rig.facts.threads.extend(instance.threads()?);
        rig.joined(true);
        let note = PathNote::OvsDpdk {
            version: instance.version().to_owned(),
            switch: words(&instance, spec, polling),
        };
        rig.facts.notes.push(note.into());
        Ok(Self {
            instance,
            rig,
            vdev: spec.vdev,
        })
    }
}

/// Ports of a path: towards the tester, and a pair for each guest.
pub(super) fn own_ports(guests: u32) -> u32 {
    2 + 2 * guests
}

/// Most pairs of neighbours: Debian's DPDK has 32 ports (RTE_MAX_ETHPORTS), and some are the
/// path's own.
const MOST_PAIRS: u32 = 12;

/// Memory in MiB that a port takes.
///
/// Its buffers are those of `dpdk_calculate_mbufs` in Open vSwitch's lib/netdev-dpdk.c: 16384, and
/// one for every place in a queue; a polling thread has a queue to send on, as has the main
/// thread. A buffer for an MTU of 1500 is just under 3 KiB, and may not cross the end of a page.
/// With 8 MiB a queue for rings it is what 26 ports were seen to take, 2.4 GiB.
fn port_mib(queues: u32, threads: u32) -> u32 {
    let places = 2048 * (queues + threads + 1);
    let buffers = 16_384 + places + 32 * queues;
    8 * queues + (buffers * 4).div_ceil(1024)
}

/// Refuses queues whose buffers do not fit into the memory that is available, where that is known.
fn enough(spec: &DpdkSpec, own: u32, available_mib: Option<u64>) -> Result<(), PathError> {
    let queues = spec.rig.queues.max(1);
    let needed = u64::from(own * port_mib(queues, spec.cores.max(1)));
    match available_mib {
        Some(have) if have < needed => Err(PathError::Guest {
            why: format!(
                "Open vSwitch with DPDK needs {needed} MiB of memory for {own} ports with {queues} queues each, {have} MiB are available"
            ),
            remedy: match queues {
                1 => Remedy::elsewhere("measure on a machine with more memory"),
                _ => Remedy::plan("write fewer queues"),
            },
        }),
        _ => Ok(()),
    }
}

/// Pairs of neighbours that there is room for in `available_mib` of memory.
fn most_pairs(port_mib: u32, available_mib: Option<u64>) -> u32 {
    let room = available_mib.map(|mib| mib / u64::from(2 * port_mib));
    let room = room.and_then(|pairs| u32::try_from(pairs).ok());
    room.unwrap_or(MOST_PAIRS).min(MOST_PAIRS)
}

/// What it is, for the run's notes.
pub(super) fn words(instance: &Instance, spec: &DpdkSpec, polling: &[u32]) -> DpdkSwitch {
    DpdkSwitch {
        polling_cpus: polling.to_vec(),
        interfaces: dpdk::interfaces(spec.vdev),
        queues: instance.queues("p0"),
    }
}

/// `other_config` of the switch with `own` ports of the path.
pub(super) fn configuration(spec: &DpdkSpec, polling: &[u32], own: u32) -> Vec<String> {
    // Neighbours may come, with one queue each: a page is taken when a port's buffers are written
    // to it. What is over is for the rings of vhost-user's devices and the program itself.
    let threads = spec.cores.max(1);
    let neighbours = 2 * MOST_PAIRS * port_mib(1, threads);
    let memory = 256 + own * port_mib(spec.rig.queues.max(1), threads) + neighbours;
    vec![
        "dpdk-init=true".to_owned(),
        format!("dpdk-lcore-mask={}", mask(&spec.beside()[..1])),
        format!("pmd-cpu-mask={}", mask(polling)),
        // Buffers that all ports share are 262144 at first and half as many only if DPDK answers
        // ENOMEM; without huge pages it sometimes answers ENOBUFS, and the port is refused.
        "per-port-memory=true".to_owned(),
        // Pages of the ordinary size: huge ones are the administrator's to reserve.
        format!(
            "dpdk-extra=\"--no-pci --no-huge --legacy-mem --iova-mode=va -m {memory} --no-telemetry\""
        ),
    ]
}

/// Columns of the port on interface `number`.
pub(super) fn port(vdev: Vdev, number: usize, queues: u32) -> Vec<String> {
    vec![
        "type=dpdk".to_owned(),
        format!(
            "options:dpdk-devargs=\"{}\"",
            dpdk::device(vdev, number, queues)
        ),
        format!("options:n_rxq={queues}"),
    ]
}

/// What a port counted on whose interface `arrived` frames arrived.
pub(super) fn port_counters(
    seen: &DatapathCounters,
    name: &str,
    arrived: Option<u64>,
) -> LinkCounters {
    let DatapathPort {
        received,
        sent,
        not_sent,
    } = seen.ports.get(name).copied().unwrap_or_default();
    LinkCounters {
        rx_packets: received,
        tx_packets: sent,
        // What the interface received and the polling thread never saw: the socket's ring was
        // full.
        rx_missed_errors: arrived.map_or(0, |arrived| arrived.saturating_sub(received)),
        tx_dropped: not_sent,
        ..LinkCounters::default()
    }
}

/// Frames looked up, and those lost on the way to a decision there was no room for.
pub(super) fn lookups(seen: &DatapathCounters) -> LinkCounters {
    LinkCounters {
        rx_packets: seen.hit + seen.missed + seen.lost,
        rx_dropped: seen.lost,
        ..LinkCounters::default()
    }
}

/// A CPU mask as Open vSwitch reads it: hexadecimal, as long as needed.
fn mask(cpus: &[u32]) -> String {
    let highest = cpus.iter().max().copied().unwrap_or(0);
    let digits = (0..=highest / 4).rev().map(|digit| {
        let bits = cpus.iter().filter(|cpu| **cpu / 4 == digit);
        let value = bits.fold(0, |value, cpu| value | 1 << (cpu % 4));
        char::from_digit(value, 16).unwrap_or('0')
    });
    "0x".chars().chain(digits).collect()
}

impl Path for OvsDpdkPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.rig.counters(&[])?;
        let seen = self.instance.counters()?;
        let arrived = ["d0", "d1"].map(|name| counters.of(name).map_or(0, |c| c.rx_packets));
        let ports = [0, 1].map(|number| {
            let name = format!("p{number}");
            let port = port_counters(&seen, &name, Some(arrived[number]));
            InterfaceCounters::inner(format!("ovs {name}"), port)
        });
        let [near, far] = ports;
        // After `a` and `d0`.
        let places = [near, InterfaceCounters::inner("ovs", lookups(&seen)), far];
        counters.interfaces.splice(2..2, places);
        counters.polling = self.instance.polling();
        Ok(counters)
    }

    fn resettable(&self) -> Option<&dyn Resettable> {
        Some(self.instance.daemon())
    }

    fn neighbours(&mut self) -> Option<&mut dyn Neighbours> {
        Some(self)
    }
}

impl Neighbours for OvsDpdkPath {
    fn add(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
        let port = port_mib(1, self.instance.polling().len() as u32);
        let (instance, vdev) = (&mut self.instance, self.vdev);
        let pairs = pairs.min(most_pairs(port, available_mib()));
        neighbours::on_switch(&self.rig.dut.ns, pairs, &mut |joining| {
            let columns = self::port(vdev, joining.number, 1);
            instance.join_polled("br0", joining, &columns)
        })
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::{FrameSize, Remedy};

    use super::{DpdkSpec, Vdev, enough, mask, most_pairs, port_mib};
    use crate::rig::RigSpec;

    #[test]
    fn neighbours_fit_into_the_memory_there_is() {
        let port = port_mib(1, 1);
        assert_eq!(port, 97);
        assert_eq!(most_pairs(port, None), 12);
        assert_eq!(most_pairs(port, Some(16_000)), 12);
        assert_eq!(most_pairs(port, Some(1000)), 5);
        assert_eq!(most_pairs(port, Some(100)), 0);
    }

    #[test]
    fn buffers_of_many_queues_need_memory() {
        let spec = |queues| DpdkSpec {
            rig: RigSpec {
                path_cpus: Vec::new(),
                largest_frame: FrameSize::new(1518).unwrap(),
                queues,
            },
            vdev: Vdev::AfPacket,
            cores: 1,
            cpus: vec![1],
        };
        assert!(enough(&spec(1), 2, None).is_ok());
        assert!(enough(&spec(1), 2, Some(194)).is_ok());
        let error = enough(&spec(64), 2, Some(1000)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Open vSwitch with DPDK needs 2224 MiB of memory for 2 ports with 64 queues each, 1000 MiB are available"
        );
        assert_eq!(error.remedy(), Some(Remedy::plan("write fewer queues")));
    }

    #[test]
    fn masks_have_a_bit_per_cpu() {
        assert_eq!(mask(&[0]), "0x1");
        assert_eq!(mask(&[1, 2]), "0x6");
        assert_eq!(mask(&[1, 9, 160]), format!("0x1{:0>40}", "202"));
    }
}
