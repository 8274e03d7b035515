//! What all trials of a run have in common: the CPUs, and what may happen to them.

use nicety_host::placement::Placement;
use nicety_port::stalls::StallWatch;
use nicety_port::{Engine, Rest};
use nicety_testbed::Path;
use nicety_trial::Trials;

/// The machine as a run uses it.
#[derive(Debug)]
pub struct Machine {
    /// Where everything runs.
    pub placement: Placement,
    /// Notes when one of these CPUs stands still, or works for others; absent on a physical machine, where a CPU that
    /// does is a property of the path, and where watching is not possible.
    stalls: Option<StallWatch>,
}

impl Machine {
    /// Watches the CPUs of `placement` where a hypervisor may stop them; why that is not possible, if
    /// it is not.
    pub fn new(placement: Placement) -> (Self, Option<String>) {
        let watch = placement
            .virtual_machine
            .then(|| StallWatch::new(&placement.all_cpus()));
        let (stalls, note) = match watch {
            Some(Ok(watch)) => (Some(watch), None),
            Some(Err(why)) => (
                None,
                Some(format!(
                    "what is lost while the hypervisor stops a CPU, or other programs have it, counts as lost by the path: {why}"
                )),
            ),
            None => (None, None),
        };
        (Self { placement, stalls }, note)
    }

    /// Time per second for which CPUs stood still before the run, in ms of the worst CPU; `None` where
    /// nobody looked.
    pub fn stalls_ms_per_s(&self) -> Option<f64> {
        None
    }

    /// Trials of `engine` on `path`, numbered from `first`.
    pub fn trials<'a>(
        &'a self,
        engine: &'a mut dyn Engine,
        path: &'a dyn Path,
        first: u8,
    ) -> Trials<'a> {
        let rest = self.placement.rests.then_some(Rest::IN_A_FULL_MACHINE);
        Trials::new(engine, path, first)
            .resting(rest)
            .watching(self.stalls.as_ref())
    }
}
