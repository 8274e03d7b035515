//! What sysfs adds to an interface: node, link to the host, virtual functions, interrupts, steering.

use nicety_model::Note;
use nicety_model::cpu_list::parse_cpu_mask;
use nicety_model::facts::{InterfaceClass, LinkFacts, NetFacts, QueueSteering, VfFacts};
use nicety_model::note::FactsNote;

use super::irq::{Device, Interrupts};
use super::{bond, function, pci};
use super::source::Source;
use crate::roots::SysRoot;

/// Adds what files tell.
pub(super) fn read(
    source: &Source,
    link: LinkFacts,
    interrupts: &Interrupts,
    notes: &mut Vec<Note>,
) -> NetFacts {
    let sys = &source.roots.sys;
    let dir = format!("class/net/{}", link.name);
    // /sys shows the network namespace it was mounted from, perhaps not that of this process.
    let index = sys
        .text(format!("{dir}/ifindex"))
        .and_then(|t| t.parse().ok());
    if index != Some(link.index) {
        let note = Note::from(FactsNote::OtherNamespace);
        if index.is_some() || source.lacks_namespace() {
            if !notes.contains(&note) {
                notes.push(note);
            }
            return NetFacts {
                class: InterfaceClass::of(&link.kind, false, false),
                link,
                ..NetFacts::default()
            };
        }
    }
    let tun_flags = sys.text(format!("{dir}/tun_flags"));
    let tun_flags =
        tun_flags.map(|flags| u32::from_str_radix(flags.trim_start_matches("0x"), 16).unwrap_or(0));
    let tap = tun_flags.is_some_and(|flags| flags & IFF_TAP != 0);
    let has_device = sys.text(format!("{dir}/device/uevent")).is_some()
        || sys.link_name(format!("{dir}/device/driver")).is_some();
    let number = |text: Option<String>| text?.parse::<u32>().ok();
    let count = |file: &str| number(function::text(sys, &link, file));
    let own = |file: &str| sys.text(format!("{dir}/{file}"));
    let queues = sys.entries_where(format!("{dir}/queues"), |name| {
        name.starts_with("rx-") || name.starts_with("tx-")
    });
    NetFacts {
        class: InterfaceClass::of(&link.kind, has_device || link.bus.is_some(), tap),
        numa_node: count("numa_node"),
        vfs: count("sriov_totalvfs")
            .filter(|&max| max > 0)
            .map(|max| VfFacts {
                count: count("sriov_numvfs").unwrap_or(0),
                max,
            }),
        is_vf: function::link(sys, &link, "physfn").is_some(),
        // Software has none of these; of links without carrier the kernel tells no duplex.
        duplex: own("duplex").filter(|_| has_device && link.carrier),
        pcie: if has_device {
            pci::link(|file| function::text(sys, &link, file))
        } else {
            None
        },
        irqs: interrupts.of(&link, &device(sys, &dir, &link)),
        rx_steering: steering(sys, &dir, &queues, "rx-"),
        tx_steering: steering(sys, &dir, &queues, "tx-"),
        napi_threaded: sys.text(format!("{dir}/threaded")).map(|text| text == "1"),
        vnet_hdr: tun_flags
            .filter(|_| tap)
            .map(|flags| flags & IFF_VNET_HDR != 0),
        bond: bond::read(source, &link),
        link,
    }
}

/// Of include/uapi/linux/if_tun.h.
const IFF_TAP: u32 = 2;
const IFF_VNET_HDR: u32 = 0x4000;

/// Numbers of the MSI interrupts, of the device itself or of the PCI function that carries a virtio
/// device, and names.
fn device(sys: &SysRoot, dir: &str, link: &LinkFacts) -> Device {
    let mut irqs = sys.entries(format!("{dir}/device/msi_irqs"));
    let mut names = Vec::new();
    if let (true, Some(bus)) = (irqs.is_empty(), &link.bus) {
        let function = format!("bus/pci/devices/{bus}");
        irqs = sys.entries(format!("{function}/msi_irqs"));
        if irqs.is_empty() {
            names = sys.entries_where(function, |name| name.starts_with("virtio"));
        }
        names.push(bus.clone());
    }
    Device {
        irqs: irqs.iter().filter_map(|name| name.parse().ok()).collect(),
        names,
    }
}

/// The device of an interface, where `/sys` is that of this network namespace.
pub(super) fn device_of(sys: &SysRoot, link: &LinkFacts) -> Device {
    let dir = format!("class/net/{}", link.name);
    let index = sys.text(format!("{dir}/ifindex"));
    if index.and_then(|text| text.parse().ok()) == Some(link.index) {
        device(sys, &dir, link)
    } else {
        Device::default()
    }
}

/// CPUs of each queue: receive packet steering, or transmit packet steering.
fn steering(sys: &SysRoot, dir: &str, queues: &[String], prefix: &str) -> Vec<QueueSteering> {
    let file = if prefix == "rx-" {
        "rps_cpus"
    } else {
        "xps_cpus"
    };
    let mut steering: Vec<QueueSteering> = queues
        .iter()
        .filter_map(|name| {
            let queue = name.strip_prefix(prefix)?.parse().ok()?;
            let path = format!("{dir}/queues/{name}");
            Some(QueueSteering {
                queue,
                cpus: parse_cpu_mask(&sys.text(format!("{path}/{file}"))?)?,
                flow_entries: sys
                    .text(format!("{path}/rps_flow_cnt"))
                    .and_then(|text| text.parse().ok()),
            })
        })
        .collect();
    steering.sort_by_key(|queue| queue.queue);
    steering
}
