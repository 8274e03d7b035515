//! Which CPUs the tester and the path get. Pure: a topology and wants in, CPUs out.
//!
//! In this order: the tester apart from the path; physical cores before SMT siblings, and
//! siblings rather within the tester or within the path than between the two; the NUMA node
//! of the NIC; CPU 0, where the system's housekeeping runs, left to others; transmit and
//! receive apart.

mod cores;
mod notes;
#[cfg(test)]
mod tests;

use nicety_model::Note;

use crate::topology::Topology;
use cores::Core;

/// What is to be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// Tester workers, 1 to 4. More than one needs four CPUs.
    pub tester: usize,
    /// Workers of the path (NAPI threads, vCPUs), at least 1.
    pub path: usize,
    /// NUMA node of the NIC, when it has one.
    pub nic_node: Option<u32>,
}

/// What a tester worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Transmits only.
    Transmit,
    /// Receives only.
    Receive,
    /// Transmits and receives by turns, polling.
    Both,
}

/// A tester worker and its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TesterCpu {
    /// CPU number.
    pub cpu: u32,
    /// What runs there.
    pub role: Role,
}

/// Where everything goes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placement {
    /// One entry per tester worker: as many as wanted, or fewer where there are not enough CPUs.
    pub tester: Vec<TesterCpu>,
    /// CPUs of the path, at most as many as wanted; worker `i` goes to `path[i % path.len()]`.
    pub path: Vec<u32>,
    /// Whether the tester and the path share a CPU.
    pub shared: bool,
    /// Whether the senders may have to rest now and then: in a virtual machine all of whose CPUs are
    /// in use, the hypervisor may stop them otherwise, at times of its own choice.
    pub rests: bool,
    /// Whether there is a hypervisor that may stop these CPUs.
    pub virtual_machine: bool,
    /// Who has which CPU and what that costs, most important first.
    pub notes: Vec<Note>,
}

impl Placement {
    /// The CPU of the path's worker `index`.
    pub fn path_cpu(&self, index: usize) -> Option<u32> {
        self.path.get(index.checked_rem(self.path.len())?).copied()
    }

    /// The CPUs of tester and path, in order.
    pub fn all_cpus(&self) -> Vec<u32> {
        let tester = self.tester.iter().map(|worker| worker.cpu);
        let mut cpus: Vec<_> = tester.chain(self.path.iter().copied()).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
}

/// Chooses CPUs among those this process may use. Empty only if the topology is.
pub fn place(topology: &Topology, wants: Wants) -> Placement {
    let usable = topology.allowed.len();
    let counts = Counts::of(usable, topology.quota_cpus, wants);
    let mut placement = match usable {
        0 => return Placement::default(),
        1 => {
            let cpu = topology.allowed.first().copied().unwrap_or(0);
            assign(&[cpu], &[cpu])
        }
        _ => {
            let cores = cores::preferred(topology, counts.tester + counts.path, wants.nic_node);
            let (path, tester) = split(&cores, counts);
            assign(&tester, &path)
        }
    };
    placement.shared = placement
        .tester
        .iter()
        .any(|worker| placement.path.contains(&worker.cpu));
    let all = placement.all_cpus();
    let fills = topology.cpus.keys().all(|cpu| all.contains(cpu));
    placement.virtual_machine = topology.virtual_machine;
    placement.rests = topology.virtual_machine && !placement.shared && fills;
    placement.notes = notes::notes(topology, wants, &placement);
    placement
}

/// How many CPUs each side gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    tester: usize,
    path: usize,
}

impl Counts {
    fn of(usable: usize, quota: Option<f64>, wants: Wants) -> Self {
        let (want_tester, want_path) = (wants.tester.clamp(1, 4), wants.path.max(1));
        // Fewer than four CPUs: one worker that polls leaves the rest to the path.
        let tester = match usable {
            0..=3 => 1,
            _ => want_tester.min(usable / 2),
        };
        let path = want_path.min(usable.saturating_sub(tester)).max(1);
        // What the path does not want goes back to the tester.
        let tester = match usable {
            0..=3 => tester,
            _ => want_tester.min(usable - path),
        };
        // Workers that poll use up a quota of CPU time at once and are then stopped.
        let affordable = quota.map_or(tester, |cpus| (cpus.max(1.0)) as usize);
        Self {
            tester: tester.min(affordable),
            path,
        }
    }
}

fn assign(tester: &[u32], path: &[u32]) -> Placement {
    let roles: &[Role] = match tester.len() {
        0 | 1 => &[Role::Both],
        2 => &[Role::Transmit, Role::Receive],
        // Receiving costs more than sending, and what it misses is lost.
        3 => &[Role::Transmit, Role::Receive, Role::Receive],
        _ => &[Role::Transmit, Role::Receive, Role::Transmit, Role::Receive],
    };
    let tester = tester
        .iter()
        .zip(roles)
        .map(|(&cpu, &role)| TesterCpu { cpu, role })
        .collect();
    Placement {
        tester,
        path: path.to_vec(),
        ..Placement::default()
    }
}

/// CPUs for the path and for the tester, no physical core on both sides if it can be had.
fn split(cores: &[Core], counts: Counts) -> (Vec<u32>, Vec<u32>) {
    // Every division of the cores in order, the path's side first and then the tester's; the
    // one with the fewest siblings at work together wins, and of equals the first: the path
    // then lies nearest to the NIC.
    let divisions = (1..cores.len()).map(|at| cores.split_at(at));
    let best = divisions
        .clone()
        .chain(divisions.map(|(near, far)| (far, near)))
        .filter_map(|(for_path, for_tester)| {
            let path = take(for_path, counts.path)?;
            let tester = take(for_tester, counts.tester)?;
            let doubled = counts.path.saturating_sub(for_path.len())
                + counts.tester.saturating_sub(for_tester.len());
            Some((doubled, path, tester))
        })
        .min_by_key(|(doubled, _, _)| *doubled);
    if let Some((_, path, tester)) = best {
        return (path, tester);
    }
    // A core must serve both: then by CPU number, CPU 0 to the path.
    let mut cpus = flatten(cores);
    cpus.truncate(counts.path + counts.tester);
    cpus.sort_unstable();
    let tester = cpus.split_off(counts.path.min(cpus.len()));
    (cpus, tester)
}

/// `count` CPUs of these cores, one per core first; `None` when there are not so many.
fn take(cores: &[Core], count: usize) -> Option<Vec<u32>> {
    let mut cpus = flatten(cores);
    (cpus.len() >= count).then(|| {
        cpus.truncate(count);
        cpus.sort_unstable();
        cpus
    })
}

/// All CPUs: the first of each core, then the second of each, and so on.
fn flatten(cores: &[Core]) -> Vec<u32> {
    let depth = cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0);
    (0..depth)
        .flat_map(|level| cores.iter().filter_map(move |core| core.cpus.get(level)))
        .copied()
        .collect()
}
