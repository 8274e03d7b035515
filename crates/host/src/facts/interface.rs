//! What sysfs adds to an interface: node, link to the host, virtual functions, interrupts, steering.

use nicety_model::Note;
use nicety_model::cpu_list::parse_cpu_mask;
use nicety_model::facts::{InterfaceClass, LinkFacts, NetFacts, QueueSteering, VfFacts};
use nicety_model::note::FactsNote;

use super::irq::{Device, Interrupts};
use super::source::Source;
use super::{bond, function, pci};
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
    let own = |file: &str| sys.text(format!("{dir}/{file}"));
    // Where netlink's answers were recorded without it.
    let speed = || own("speed")?.parse().ok().filter(|mbps| *mbps != u32::MAX);
    let speed_mbps = link.speed_mbps.or_else(|| has_device.then(speed)?);
    let link = LinkFacts { speed_mbps, ..link };
    let number = |text: Option<String>| text?.parse::<u32>().ok();
    let count = |file: &str| number(function::text(sys, &link, file));
    let is_device = has_device || link.bus.is_some();
    let queues = sys.entries_where(format!("{dir}/queues"), |name| {
        name.starts_with("rx-") || name.starts_with("tx-")
    });
    NetFacts {
        class: match InterfaceClass::of(&link.kind, is_device && !is_xen_backend(&link), tap) {
            InterfaceClass::Hardware if is_radio(sys, &dir, &link) => InterfaceClass::Wireless,
            class => class,
        },
        numa_node: count("numa_node"),
        vfs: count("sriov_totalvfs")
            .filter(|&max| max > 0)
            .map(|max| VfFacts {
                count: count("sriov_numvfs").unwrap_or(0),
                max,
            }),
        is_vf: function::link(sys, &link, "physfn").is_some(),
        // Software has none of these; of links without carrier the kernel tells no duplex.
        duplex: own("duplex").filter(|word| has_device && link.carrier && word != "unknown"),
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

/// A guest's port on Xen's first domain (drivers/net/xen-netback/interface.c, `xenvif_alloc`): it has a device, but
/// no wire. In a guest the front end has the same driver name and another one of its own.
fn is_xen_backend(link: &LinkFacts) -> bool {
    link.driver.as_deref() == Some("vif") && link.name.starts_with("vif")
}

/// Whether cfg80211 says so (net/wireless/core.c, `wiphy_type`), or the driver's name where nobody recorded that.
fn is_radio(sys: &SysRoot, dir: &str, link: &LinkFacts) -> bool {
    let type_of = |text: &str| text.contains("DEVTYPE=wlan").then(|| text.to_owned());
    let driver = link.driver.as_deref().unwrap_or_default();
    link.kind == "wlan"
        || sys.text_if(format!("{dir}/uevent"), type_of).is_some()
        || RADIOS.iter().any(|begin| driver.starts_with(begin))
}

/// How drivers of radios begin (drivers/net/wireless).
const RADIOS: [&str; 15] = [
    "ath10k", "ath11k", "ath12k", "ath5k", "ath9k", "b43", "brcmfmac", "brcmsmac", "iwl", "mt76",
    "mt79", "mwifiex", "rtl8xxxu", "rtw88", "rtw89",
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radios_and_ports_of_xens_guests_are_no_nics() {
        let dir = tempfile::tempdir().unwrap();
        let source = Source::under(dir.path());
        let read = |name: &str, driver: &str, files: &[(&str, &str)]| {
            let here = dir.path().join("sys/class/net").join(name);
            let files = [("ifindex", "7"), ("device/uevent", "DRIVER=x")]
                .iter()
                .chain(files);
            for (file, text) in files {
                let file = here.join(file);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            let link = LinkFacts {
                name: name.to_owned(),
                index: 7,
                carrier: true,
                driver: Some(driver.to_owned()),
                ..LinkFacts::default()
            };
            read(&source, link, &Interrupts::default(), &mut Vec::new())
        };
        let class = |name, driver, files| read(name, driver, files).class;
        assert_eq!(class("eth0", "vif", &[]), InterfaceClass::Hardware);
        assert_eq!(class("vif1.0", "vif", &[]), InterfaceClass::Virtual);
        assert_eq!(class("wlan0", "iwlwifi", &[]), InterfaceClass::Wireless);
        let wlan = [("uevent", "DEVTYPE=wlan\nIFINDEX=7")];
        assert_eq!(class("eth1", "new", &wlan), InterfaceClass::Wireless);
        let wire = [
            ("speed", "100"),
            ("duplex", "half"),
            ("device/current_link_speed", "8.0 GT/s PCIe"),
        ];
        let net = read("eth2", "igb", &wire);
        assert_eq!(net.class, InterfaceClass::Hardware);
        assert_eq!(
            (net.link.speed_mbps, net.duplex.as_deref()),
            (Some(100), Some("half"))
        );
        assert_eq!(net.pcie, None, "no width");
        let net = read(
            "eth2",
            "igb",
            &[("device/current_link_width", "4"), ("speed", "-1")],
        );
        assert_eq!(
            (net.pcie.map(|link| link.width), net.link.speed_mbps),
            (Some(4), None)
        );
    }
}
