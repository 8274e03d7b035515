//! Interrupts: `/proc/interrupts` and `/proc/irq`.

use std::collections::BTreeMap;

use nicety_model::cpu_list::{parse_cpu_list, parse_cpu_mask};
use nicety_model::facts::IrqFacts;
use nicety_model::total;

use crate::roots::{ProcRoot, Roots};

/// The table of interrupts.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    rows: BTreeMap<u32, Row>,
}

#[derive(Debug)]
struct Row {
    counts: BTreeMap<u32, u64>,
    /// Chip, hardware number and handlers, as printed.
    tail: String,
}

impl Interrupts {
    pub(super) fn read(proc: &ProcRoot) -> Self {
        let text = proc.text("interrupts").unwrap_or_default();
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
            Some((number, Row { counts, tail }))
        });
        Self {
            rows: rows.collect(),
        }
    }

    /// Interrupts of an interface: those of its device, and those whose handler bears its name
    /// (`eth0`, `eth0-TxRx-3`).
    pub(super) fn of(&self, interface: &str, device: &[u32]) -> Vec<u32> {
        let named = |row: &Row| {
            row.tail.split([' ', ',']).any(|word| {
                word.strip_prefix(interface)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', ':', '@']))
            })
        };
        let own = |number: &u32, row: &Row| device.contains(number) || named(row);
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
            name: row.tail.rsplit(' ').next().unwrap_or_default().to_owned(),
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
