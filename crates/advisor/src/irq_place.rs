//! Which interrupts of a NIC's queues are in the wrong place, and where each should go.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::cpu_list::name_cpus;
use nicety_model::facts::{IrqFacts, NetFacts};
use nicety_model::total;

use crate::case::{Case, Pinned};
use crate::place::irq_cpus;

/// Share of the received soft interrupts on the first CPU above which it counts as crowded.
const CROWDED: f64 = 0.25;
/// With fewer CPUs near the NIC there is nothing to spread to.
const FEWEST_CPUS: usize = 4;

/// Why a CPU is the wrong one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// Away from the NIC's node.
    Far,
    /// A thread of a guest is pinned there: `vCPU 1 of web`.
    Guest(String),
    /// Isolated, or without a tick.
    Isolated,
    /// It has more of the NIC's interrupts than its part.
    Crowded {
        /// So many.
        here: usize,
        /// Of so many.
        all: usize,
    },
    /// The first CPU, with this share of all receive work.
    First(f64),
}

/// One interrupt in the wrong place.
#[derive(Debug, Clone)]
pub(crate) struct Misplaced<'a> {
    /// The interrupt.
    pub(crate) irq: &'a IrqFacts,
    /// What is wrong with where it runs.
    pub(crate) fault: Fault,
    /// Where it should run: the least used CPU near the NIC. `None` when none is free.
    pub(crate) target: Option<u32>,
}

/// CPUs near a NIC, and who else needs them.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    local: Vec<u32>,
    /// For interrupts, best first.
    free: Vec<u32>,
    guests: BTreeMap<u32, Pinned<'a>>,
    isolated: BTreeSet<u32>,
}

impl<'a> Ground<'a> {
    /// Threads that `moves` are about to leave their CPU, and CPUs that are `given` to others.
    pub(crate) fn new(
        case: &Case<'a>,
        net: &NetFacts,
        moves: &BTreeSet<u32>,
        given: &BTreeSet<u32>,
    ) -> Self {
        let mut guests = BTreeMap::new();
        for thread in case.pinned().filter(|thread| !moves.contains(&thread.tid)) {
            guests.entry(thread.cpu).or_insert(thread);
        }
        let free = irq_cpus(case, net);
        let left: Vec<u32> = free
            .iter()
            .copied()
            .filter(|c| !given.contains(c))
            .collect();
        Self {
            local: case.local_cpus(net),
            free: if left.is_empty() { free } else { left },
            guests,
            isolated: case.isolated_cpus(),
        }
    }

    /// What is wrong with these CPUs for an interrupt. Guests and isolation count only where
    /// there is a better place.
    pub(crate) fn fault(&self, cpus: &[u32]) -> Option<Fault> {
        if cpus.iter().any(|cpu| !self.local.contains(cpu)) {
            return Some(Fault::Far);
        }
        let room = self.local.len() >= FEWEST_CPUS && !self.free.is_empty();
        self.taken(cpus).filter(|_| room)
    }

    /// Who else needs all of these CPUs.
    fn taken(&self, cpus: &[u32]) -> Option<Fault> {
        let guest = cpus.iter().find_map(|cpu| self.guests.get(cpu));
        let taken = |cpu: &u32| self.guests.contains_key(cpu) || self.isolated.contains(cpu);
        let all = !cpus.is_empty() && cpus.iter().all(taken);
        let fault = guest.map_or(Fault::Isolated, |thread| Fault::Guest(thread.to_string()));
        all.then_some(fault)
    }
}

/// Interrupts of a NIC's queues that are in the wrong place. All others keep theirs.
pub(crate) fn misplaced<'a>(
    case: &Case<'a>,
    net: &NetFacts,
    moves: &BTreeSet<u32>,
    given: &BTreeSet<u32>,
) -> Vec<Misplaced<'a>> {
    let ground = Ground::new(case, net, moves, given);
    let irqs = case.queue_irqs(net);
    if ground.local.len() < FEWEST_CPUS {
        return Vec::new();
    }
    let room = !ground.free.is_empty();
    let mut faults: BTreeMap<usize, Fault> = irqs
        .iter()
        .enumerate()
        .filter_map(|(index, irq)| {
            let fault = if room {
                ground.fault(&irq.effective)
            } else {
                ground.taken(&irq.effective)
            };
            Some((index, fault?))
        })
        .collect();
    if room {
        crowds(case, &irqs, &ground.free, &mut faults);
    }
    targets(&irqs, &ground.free, faults)
}

/// The one CPU that takes an interrupt; where it may go to several, none is crowded for sure.
fn only_cpu(irq: &IrqFacts) -> Option<u32> {
    match irq.effective.as_slice() {
        [cpu] => Some(*cpu),
        _ => None,
    }
}

/// Adds those that share a CPU with more than their part, and those on a busy first CPU.
fn crowds(case: &Case<'_>, irqs: &[&IrqFacts], free: &[u32], faults: &mut BTreeMap<usize, Fault>) {
    let mut on: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, irq) in irqs.iter().enumerate() {
        if let (Some(cpu), false) = (only_cpu(irq), faults.contains_key(&index)) {
            on.entry(cpu).or_default().push(index);
        }
    }
    let fair = irqs.len().div_ceil(free.len());
    let first = first_cpu_share(case).filter(|share| *share > CROWDED);
    for (cpu, here) in on {
        let (count, stay) = (here.len(), if free.contains(&cpu) { fair } else { 0 });
        let fault = match first {
            _ if count > fair => Fault::Crowded {
                here: count,
                all: irqs.len(),
            },
            Some(share) if cpu == 0 => Fault::First(share),
            _ => continue,
        };
        let surplus = here.into_iter().skip(stay);
        faults.extend(surplus.map(|index| (index, fault.clone())));
    }
}

/// Share of all receive work that the first CPU does.
fn first_cpu_share(case: &Case<'_>) -> Option<f64> {
    let all = total(case.softnet().iter().filter_map(|cpu| cpu.net_rx));
    let first = case.softnet().iter().find(|cpu| cpu.cpu == 0)?.net_rx?;
    Some(first as f64 / all.max(1) as f64)
}

/// Gives each the CPU that has the fewest, in the order of `free`.
fn targets<'a>(
    irqs: &[&'a IrqFacts],
    free: &[u32],
    faults: BTreeMap<usize, Fault>,
) -> Vec<Misplaced<'a>> {
    let mut load: Vec<(u32, usize)> = free.iter().map(|cpu| (*cpu, 0)).collect();
    for (index, irq) in irqs.iter().enumerate() {
        let cpu = only_cpu(irq).filter(|_| !faults.contains_key(&index));
        if let Some((_, count)) = load.iter_mut().find(|(free, _)| Some(*free) == cpu) {
            *count += 1;
        }
    }
    let mut least = || {
        let (cpu, count) = load.iter_mut().min_by_key(|(_, count)| *count)?;
        *count += 1;
        Some(*cpu)
    };
    faults
        .into_iter()
        .map(|(index, fault)| Misplaced {
            irq: irqs[index],
            fault,
            target: least(),
        })
        .collect()
}

/// What is wrong, in words: `on CPU 4, where vCPU 1 of web is pinned; on isolated CPUs 8-9`.
pub(crate) fn problem(case: &Case<'_>, misplaced: &[Misplaced<'_>]) -> String {
    let cpus_with = |wanted: fn(&Fault) -> bool| {
        let here = misplaced.iter().filter(move |place| wanted(&place.fault));
        let cpus: BTreeSet<u32> = here.flat_map(|place| place.irq.effective.clone()).collect();
        (!cpus.is_empty()).then(|| cpus.into_iter().collect::<Vec<u32>>())
    };
    let far = cpus_with(|fault| *fault == Fault::Far);
    let guests = cpus_with(|fault| matches!(fault, Fault::Guest(_)));
    let isolated = cpus_with(|fault| *fault == Fault::Isolated);
    let mut words: Vec<String> = Vec::new();
    words.extend(far.map(|cpus| format!("on {}, not on the NIC's node", name_cpus(&cpus))));
    words.extend(guests.map(|cpus| format!("on {}, {}", name_cpus(&cpus), pinned(misplaced))));
    words.extend(isolated.map(|cpus| format!("on isolated {}", name_cpus(&cpus))));
    if words.is_empty() {
        words.extend(crowd(case, misplaced));
    }
    words.join("; ")
}

/// `where vCPU 0 of web and 3 others are pinned`.
fn pinned(misplaced: &[Misplaced<'_>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for place in misplaced {
        if let Fault::Guest(name) = &place.fault
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [name] => format!("where {name} is pinned"),
        [name, other] => format!("where {name} and {other} are pinned"),
        [name, rest @ ..] => format!("where {name} and {} others are pinned", rest.len()),
    }
}

/// The most crowded CPU.
fn crowd(case: &Case<'_>, misplaced: &[Misplaced<'_>]) -> Option<String> {
    let most = misplaced.iter().max_by_key(|place| match place.fault {
        Fault::Crowded { here, .. } => here,
        _ => 0,
    })?;
    let cpus = name_cpus(&most.irq.effective);
    Some(match most.fault {
        Fault::First(share) => format!(
            "one on {cpus}, which does {:.0} % of all receive work {}",
            share * 100.0,
            case.softnet_time()
        ),
        Fault::Crowded { here, all } => format!("{here} of {all} on {cpus}"),
        Fault::Far | Fault::Guest(_) | Fault::Isolated => return None,
    })
}
