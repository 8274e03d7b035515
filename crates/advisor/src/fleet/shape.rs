//! Where the interrupts of a port go, without numbers: on a host of another order of CPUs the same may have
//! other numbers.

use std::collections::BTreeSet;

use nicety_model::facts::NetFacts;

use crate::case::Case;

/// `16, a CPU each, on its node`. Where irqbalance runs, only that: it moves them all the time.
pub(super) fn interrupts(case: &Case<'_>, net: &NetFacts) -> Option<String> {
    let irqs = case.queue_irqs(net);
    if irqs.is_empty() {
        return None;
    }
    let count = irqs.len();
    if case.facts.services.irqbalance {
        return Some(format!("{count}, moved by irqbalance"));
    }
    let mut cpus = BTreeSet::new();
    let (mut single, mut anywhere) = (0, 0);
    for irq in &irqs {
        let allowed = if irq.effective.is_empty() {
            &irq.affinity
        } else {
            &irq.effective
        };
        match allowed.as_slice() {
            [] => return Some(count.to_string()),
            [cpu] => {
                single += 1;
                cpus.insert(*cpu);
            }
            several => {
                anywhere += 1;
                cpus.extend(several);
            }
        }
    }
    let spread = match (single, anywhere) {
        (_, several) if several > 0 => "several CPUs each",
        (1, _) => "on a CPU",
        (_, _) if cpus.len() == 1 => "all on one CPU",
        (single, _) if cpus.len() == single => "a CPU each",
        _ => "some share a CPU",
    };
    let place = place(case, net, &cpus).map_or_else(String::new, |place| format!(", {place}"));
    Some(format!("{count}, {spread}{place}"))
}

/// Nothing where there is one node, or that of the port is not known.
fn place(case: &Case<'_>, net: &NetFacts, cpus: &BTreeSet<u32>) -> Option<&'static str> {
    let home = case.node_of(net).filter(|_| case.has_nodes())?;
    let near = |cpu: &&u32| case.facts.cpu.node_of(**cpu) == Some(home);
    Some(match cpus.iter().filter(near).count() {
        0 => "on another node",
        all if all == cpus.len() => "on its node",
        _ => "on several nodes",
    })
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Goal;

    use super::*;
    use crate::case::Wishes;
    use crate::fixture::Host;

    fn shape(irqs: &[&[u32]]) -> Option<String> {
        let mut host = Host::new(2, 4).nic("eth0", 10_000, 1);
        for (number, cpus) in (30..).zip(irqs) {
            host = host.irq(number, "eth0", cpus, 1);
        }
        let case = Case::new(&host.facts, Goal::Throughput, Wishes::default());
        interrupts(&case, &host.facts.interfaces[0])
    }

    #[test]
    fn interrupts_have_a_shape() {
        for (irqs, words) in [
            (&[&[4][..], &[5]][..], "2, a CPU each, on its node"),
            (&[&[0], &[0]], "2, all on one CPU, on another node"),
            (&[&[0], &[4], &[4]], "3, some share a CPU, on several nodes"),
            (&[&[4, 5], &[4]], "2, several CPUs each, on its node"),
            (&[&[7]], "1, on a CPU, on its node"),
        ] {
            assert_eq!(shape(irqs).as_deref(), Some(words));
        }
        assert_eq!(shape(&[]), None);
        let mut host = Host::new(1, 4).nic("eth0", 10_000, 0);
        host.facts.services.irqbalance = true;
        let host = host.irq(30, "eth0", &[1], 1);
        let case = Case::new(&host.facts, Goal::Throughput, Wishes::default());
        let words = interrupts(&case, &host.facts.interfaces[0]);
        assert_eq!(words.as_deref(), Some("1, moved by irqbalance"));
    }
}
