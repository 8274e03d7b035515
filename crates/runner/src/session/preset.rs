//! Which preset a run has whose plan names none.

use nicety_model::Plan;
use nicety_model::plan::Preset;

use crate::machine::Machine;

/// The preset of `plan`, or the one that suits `machine`, and why.
pub(super) fn of(plan: &Plan, machine: &Machine) -> (Preset, Option<String>) {
    if let Some(preset) = plan.search.preset {
        return (preset, None);
    }
    choose(machine.placement.virtual_machine, machine.stalls_ms_per_s())
}

/// Stalls of CPUs per second, in ms, from which on whole trials judge the machine.
const STALLS_MS: f64 = 1.0;

fn choose(virtual_machine: bool, stalls_ms_per_s: Option<f64>) -> (Preset, Option<String>) {
    let stalls = stalls_ms_per_s.filter(|ms| *ms >= STALLS_MS);
    let why = match (stalls, virtual_machine) {
        (Some(ms), _) => format!(
            "CPUs stood still for {ms:.0} ms per second before the run, which whole trials would count as the path's loss"
        ),
        (None, true) => "this is a virtual machine, whose hypervisor may stop CPUs".to_owned(),
        (None, false) => {
            return (
                Preset::Std,
                Some("preset std: this machine is not virtual and its CPUs did not stand still; --preset robust judges loads by windows".to_owned()),
            );
        }
    };
    (
        Preset::Robust,
        Some(format!(
            "preset robust: {why}; --preset std judges whole trials"
        )),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_whose_cpus_stand_still_are_judged_by_windows() {
        let robust = |virtual_machine, ms| {
            let (preset, why) = choose(virtual_machine, ms);
            (preset, why.unwrap())
        };
        assert_eq!(robust(true, None).0, Preset::Robust);
        let (preset, why) = robust(false, Some(19.4));
        assert_eq!(preset, Preset::Robust);
        assert!(why.contains("19 ms per second"), "{why}");
        assert_eq!(robust(false, Some(0.1)).0, Preset::Std);
    }
}
