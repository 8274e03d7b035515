//! Interrupts: `/proc/interrupts` and `/proc/irq`.

use std::collections::BTreeMap;

use nicety_model::cpu_list::{parse_cpu_list, parse_cpu_mask};
use nicety_model::facts::{IrqFacts, LinkFacts};
use nicety_model::total;

use crate::roots::{ProcRoot, Roots};

/// The table of interrupts, and whose names may stand in it.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    rows: BTreeMap<u32, Row>,
    ports: Vec<Port>,
}

/// A hardware interface.
#[derive(Debug)]
struct Port {
    name: String,
    bus: Option<String>,
}

/// The device of an interface.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// Numbers of its MSI interrupts, where `/sys` tells them.
    pub(super) irqs: Vec<u32>,
    /// What its interrupts may be called after: its address on the bus, `virtio0`.
    pub(super) names: Vec<String>,
}

#[derive(Debug)]
struct Row {
    counts: BTreeMap<u32, u64>,
    /// Chip, hardware number and handlers, as printed.
    tail: String,
    /// The port whose name a handler bears.
    port: Option<usize>,
}

impl Row {
    fn new(counts: BTreeMap<u32, u64>, tail: String, ports: &[Port]) -> Self {
        let mut row = Self {
            counts,
            tail,
            port: None,
        };
        let ports = ports.iter().enumerate();
        let named = ports.filter(|(_, port)| bears(row.handlers(), &port.name));
        // Of `lan` and `lan-1` the longer.
        let longest = named.max_by_key(|(_, port)| port.name.len());
        row.port = longest.map(|(index, _)| index);
        row
    }

    /// What stands behind the chip's name.
    fn handlers(&self) -> &str {
        self.tail.split_once(' ').map_or("", |(_, rest)| rest)
    }

    /// The handler of an interface: the one that bears its name, else the last.
    fn handler(&self, interface: &str) -> &str {
        let words = || self.tail.split([' ', ',']).filter(|word| !word.is_empty());
        let named = words().skip(1).find(|word| bears(word, interface));
        named.or_else(|| words().next_back()).unwrap_or_default()
    }
}

/// Whether a name stands in a text as a whole word: `eth1` does not in `eth10-rx-0`.
fn bears(text: &str, name: &str) -> bool {
    let ends = |letter: Option<char>| !letter.is_some_and(char::is_alphanumeric);
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            ends(before) && ends(text[at + name.len()..].chars().next())
        })
}

impl Interrupts {
    pub(super) fn read(proc: &ProcRoot, links: &[LinkFacts]) -> Self {
        let text = proc.text("interrupts").unwrap_or_default();
        let hardware = links
            .iter()
            .filter(|link| link.kind.is_empty() && link.name != "lo");
        let ports: Vec<Port> = hardware
            .map(|link| Port {
                name: link.name.clone(),
                bus: link.bus.clone(),
            })
            .collect();
        let mut lines = text.lines();
        let cpus: Vec<u32> = lines
            .next()
            .unwrap_or_default()
            .split_ascii_whitespace()
            .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
            .collect();
        let rows = lines.filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let number = number.trim().parse().ok()?;
            let mut words = rest.split_ascii_whitespace();
            let mut counts = BTreeMap::new();
            for &cpu in &cpus {
                let count: u64 = words.next()?.parse().ok()?;
                if count > 0 {
                    counts.insert(cpu, count);
                }
            }
            let tail = words.collect::<Vec<_>>().join(" ");
            Some((number, Row::new(counts, tail, &ports)))
        });
        Self {
            rows: rows.collect(),
            ports,
        }
    }

    /// Interrupts of an interface. Where `/sys` tells those of its device, these, without those
    /// named after another port of the same device. Else those that bear its name or its device's:
    /// `eth0`, `i40e-eth0-TxRx-3`, `mlx5_comp0@pci:0000:12:00.0`.
    pub(super) fn of(&self, link: &LinkFacts, device: &Device) -> Vec<u32> {
        let own = |number: &u32, row: &Row| {
            let port = row.port.and_then(|port| self.ports.get(port));
            if device.irqs.is_empty() {
                return port.map_or_else(
                    || device.names.iter().any(|name| bears(&row.tail, name)),
                    |port| port.name == link.name,
                );
            }
            let sibling = |port: &Port| port.name != link.name && port.bus == link.bus;
            let other = link.bus.is_some() && port.is_some_and(sibling);
            device.irqs.contains(number) && !other
        };
        let rows = self.rows.iter().filter(|(number, row)| own(number, row));
        rows.map(|(number, _)| *number).collect()
    }

    /// Interrupts since boot by CPU.
    pub(super) fn counts(&self, irq: u32) -> Option<&BTreeMap<u32, u64>> {
        self.rows.get(&irq).map(|row| &row.counts)
    }

    pub(super) fn facts(&self, roots: &Roots, irq: u32, interface: &str) -> Option<IrqFacts> {
        let row = self.rows.get(&irq)?;
        let text = |file: &str| roots.proc.text(format!("irq/{irq}/{file}"));
        let list = |file: &str| text(file).and_then(|text| parse_cpu_list(&text));
        let affinity = list("smp_affinity_list")
            .or_else(|| parse_cpu_mask(&text("smp_affinity")?))
            .unwrap_or_default();
        Some(IrqFacts {
            irq,
            name: row.handler(interface).to_owned(),
            interface: interface.to_owned(),
            counts: row.counts.clone(),
            // Kernels before 4.13 do not tell: then the CPU that had all interrupts is it.
            effective: list("effective_affinity_list")
                .filter(|cpus| !cpus.is_empty())
                .or_else(|| dominant_cpu(&row.counts, &affinity))
                .unwrap_or_default(),
            affinity,
            hint: text("affinity_hint")
                .and_then(|text| parse_cpu_mask(&text))
                .unwrap_or_default(),
            managed: roots
                .sys
                .text_as(format!("kernel/debug/irq/irqs/{irq}"), state_flags)
                .map(|text| text.contains("IRQD_AFFINITY_MANAGED")),
        })
    }
}

/// The one CPU that had more than nine tenths of the interrupts, among those allowed.
fn dominant_cpu(counts: &BTreeMap<u32, u64>, allowed: &[u32]) -> Option<Vec<u32>> {
    let total = total(counts.values());
    let (&cpu, &most) = counts.iter().max_by_key(|(_, count)| **count)?;
    let one = most > 0 && most.saturating_mul(10) > total.saturating_mul(9);
    (one && (allowed.is_empty() || allowed.contains(&cpu))).then(|| vec![cpu])
}

/// Only the flags; the rest holds addresses.
fn state_flags(text: &str) -> String {
    let lines = text.lines().filter(|line| line.contains("IRQD_"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str, bus: &str) -> LinkFacts {
        LinkFacts {
            name: name.to_owned(),
            bus: Some(bus.to_owned()),
            ..LinkFacts::default()
        }
    }

    /// Interrupts 1, 2, … with these words behind their counts.
    fn table(links: &[LinkFacts], tails: &[&str]) -> Interrupts {
        let empty = Interrupts::read(&ProcRoot::new("/nonexistent"), links);
        let row = |tail: &&str| Row::new(BTreeMap::new(), (*tail).to_owned(), &empty.ports);
        Interrupts {
            rows: (1..).zip(tails.iter().map(row)).collect(),
            ..empty
        }
    }

    fn named(bus: &str) -> Device {
        Device {
            irqs: Vec::new(),
            names: vec![bus.to_owned()],
        }
    }

    #[test]
    fn interrupts_are_known_by_whole_words() {
        let links = [
            link("eth1", "0000:12:00.0"),
            link("eth10", "0000:13:00.0"),
            link("lan", "0000:14:00.0"),
            link("lan-1", "0000:15:00.0"),
        ];
        let tails = [
            "PCI-MSI-edge eth1-TxRx-0",
            "PCI-MSI-edge eth10-TxRx-0",
            "PCI-MSI-edge i40e-eth1-TxRx-1",
            "PCI-MSI-edge mlx5_comp0@pci:0000:12:00.0",
            "PCI-MSIX-0000:12:00.0 7-edge virtio0-input.0",
            "PCI-MSI-edge lan-1-rx-0",
            "IO-APIC 16-fasteoi ehci_hcd:usb1, lan",
            "PCI-MSI-edge mlx5_comp0@pci:0000:12:00.01",
        ];
        let table = table(&links, &tails);
        for (link, irqs) in links.iter().zip([&[1, 3, 4, 5][..], &[2], &[7], &[6]]) {
            let bus = link.bus.as_deref().unwrap_or_default();
            assert_eq!(table.of(link, &named(bus)), irqs, "{}", link.name);
        }
        assert_eq!(table.rows[&7].handler("lan"), "lan");
        assert_eq!(
            table.rows[&4].handler("eth1"),
            "mlx5_comp0@pci:0000:12:00.0"
        );
    }

    #[test]
    fn ports_of_one_function_have_interrupts_of_their_own() {
        let links = [link("eth4", "0000:05:00.4"), link("eth5", "0000:05:00.4")];
        let chip = |handler: &str| format!("PCI-MSIX-0000:05:00.4 0-edge {handler}");
        let tails = ["eth4-Rx0", "eth5-Rx0", "ctrl"].map(chip);
        let table = table(&links, &tails.each_ref().map(String::as_str));
        let device = Device {
            irqs: vec![1, 2, 3],
            names: Vec::new(),
        };
        assert_eq!(table.of(&links[0], &device), [1, 3]);
        assert_eq!(table.of(&links[1], &device), [2, 3]);
    }
}
