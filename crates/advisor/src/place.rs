//! Which CPU gets which work near a NIC.

use std::collections::BTreeSet;

use nicety_model::facts::NetFacts;

use crate::case::Case;
use crate::home::Home;
use crate::irq_place::misplaced;

/// CPUs for a NIC's interrupts, best first: near it, one per core before siblings, without the
/// first CPU (every other device's interrupts start there), isolated ones, and those that
/// virtual machines are pinned to. Siblings of what is left out come last.
pub(crate) fn irq_cpus(case: &Case<'_>, net: &NetFacts) -> Vec<u32> {
    let pinned = case.pinned_cpus();
    let isolated = case.isolated_cpus();
    let free = |cpu: &u32| *cpu != 0 && !isolated.contains(cpu) && !pinned.contains(cpu);
    case.local_cpus(net).into_iter().filter(free).collect()
}

/// CPUs near a guest's NIC for its threads, best first: without the first CPU and the cores that
/// take the interrupts of NICs there, now or by the rule about them.
pub(crate) fn vm_cpus<'a>(case: &Case<'a>, home: &Home<'a>) -> Vec<u32> {
    let mut busy: BTreeSet<u32> = BTreeSet::new();
    for net in case.ports_near(home) {
        let irqs = case.queue_irqs(net);
        let misplaced = misplaced(case, net, &BTreeSet::new(), &BTreeSet::new());
        busy.extend(misplaced.iter().filter_map(|place| place.target));
        busy.extend(irqs.iter().flat_map(|irq| irq.effective.iter().copied()));
    }
    let free = |cpu: &u32| *cpu != 0 && !busy.contains(cpu);
    case.cpus_near(home).into_iter().filter(free).collect()
}

/// A CPU mask as the kernel prints it: words of 32 bits, highest first, for `cpus` CPUs.
pub(crate) fn mask(cpus: &[u32], online: usize) -> String {
    let bits = online.max(1);
    let words = bits.div_ceil(32);
    let word = |index: usize| {
        let own = cpus.iter().filter(|&&cpu| cpu as usize / 32 == index);
        own.fold(0u32, |word, cpu| word | 1 << (cpu % 32))
    };
    // The kernel cuts the highest word to as many digits as its CPUs need.
    let digits = (bits - 32 * (words - 1)).div_ceil(4);
    let mut text = format!("{:0digits$x}", word(words - 1));
    for index in (0..words - 1).rev() {
        text.push_str(&format!(",{:08x}", word(index)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_the_kernels() {
        assert_eq!(mask(&[0, 1], 2), "3");
        assert_eq!(mask(&[], 8), "00");
        assert_eq!(mask(&[0, 33], 40), "02,00000001");
        assert_eq!(
            mask(&[159], 160),
            "80000000,00000000,00000000,00000000,00000000"
        );
    }
}
