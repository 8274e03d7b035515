//! Which preset a run has whose plan names none.

use nicety_model::Plan;
use nicety_model::note::MachineNote;
use nicety_model::plan::Preset;

use crate::machine::Machine;

/// The preset of `plan`, or the one that suits `machine`, and why.
pub(super) fn of(plan: &Plan, machine: &Machine) -> (Preset, Option<MachineNote>) {
    if let Some(preset) = plan.search.preset {
        return (preset, None);
    }
    let (preset, why) = choose(machine.placement.virtual_machine, machine.stalls_ms_per_s());
    (preset, Some(why))
}

/// Stalls of CPUs per second, in ms, from which on whole trials judge the machine.
const STALLS_MS: f64 = 1.0;

fn choose(virtual_machine: bool, stalls_ms_per_s: Option<f64>) -> (Preset, MachineNote) {
    let stalls_ms_per_s = stalls_ms_per_s.filter(|ms| *ms >= STALLS_MS);
    if virtual_machine || stalls_ms_per_s.is_some() {
        (
            Preset::Robust,
            MachineNote::PresetRobust { stalls_ms_per_s },
        )
    } else {
        (Preset::Std, MachineNote::PresetStd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_whose_cpus_stand_still_are_judged_by_windows() {
        let robust = |virtual_machine, ms| {
            let (preset, why) = choose(virtual_machine, ms);
            (preset, why.to_string())
        };
        assert_eq!(robust(true, None).0, Preset::Robust);
        let (preset, why) = robust(false, Some(19.4));
        assert_eq!(preset, Preset::Robust);
        assert!(why.contains("19 ms per second"), "{why}");
        assert_eq!(robust(false, Some(0.1)).0, Preset::Std);
    }
}
