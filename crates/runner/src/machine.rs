//! What all trials of a run have in common: the CPUs, and what may happen to them.

use nicety_host::placement::Placement;
use nicety_model::Note;
use nicety_model::note::{MachineNote, RestTimes, RestTried};
use nicety_paths::{Path, RaisedSession};
use nicety_port::stalls::StallWatch;
use nicety_port::stillness::{RestChoice, Stillness, choose_rest};
use nicety_port::{Engine, Rest, Stop};
use nicety_trial::Trials;

use crate::priority;

/// The machine as a run uses it.
#[derive(Debug)]
pub struct Machine {
    /// Where everything runs.
    pub placement: Placement,
    /// Rests of the senders and the figures they were chosen by; absent where rests are out of the
    /// question, and where nothing could be measured.
    pub rests: Option<RestChoice>,
    /// Notes when one of these CPUs stands still, or works for others; absent on a physical machine, where a CPU that
    /// does is a property of the path, and where watching is not possible.
    stalls: Option<StallWatch>,
    /// Puts other sessions behind this one.
    _raised: Option<RaisedSession>,
}

impl Machine {
    /// Watches the CPUs of `placement` where a hypervisor may stop them; why that is not possible, if
    /// it is not. Where they are all that a virtual machine has, it is measured first which rests the
    /// senders need, for 2 s at most: nothing else runs meanwhile, and `stop` is seen after each of
    /// three parts. Tester and path come before other programs as long as it lives. What to know comes with it.
    pub fn new(placement: Placement, stop: &Stop) -> (Self, Vec<Note>) {
        let (raised, priority) = priority::raise();
        let tester: Vec<u32> = placement.tester.iter().map(|worker| worker.cpu).collect();
        let rests = placement
            .rests
            .then(|| choose_rest(&tester, &placement.path, stop))
            .flatten();
        let (stalls, note) = watch(&placement);
        let machine = Self {
            placement,
            rests,
            stalls,
            _raised: raised,
        };
        let notes = priority.map(Note::from).into_iter().chain(note);
        (machine, notes.collect())
    }

    /// Rests of the senders in trials that keep the path's CPUs busy.
    fn rest(&self) -> Option<Rest> {
        match &self.rests {
            Some(choice) => choice.rest,
            // Not measured: those that free time under any hypervisor.
            None => self.placement.rests.then_some(Rest::LONG),
        }
    }

    /// What the senders do about a hypervisor that stops CPUs, and why; for the notes of a run.
    pub fn rest_note(&self) -> Option<Note> {
        let note = || rests(self.rest(), self.rests.as_ref());
        self.placement.rests.then(note).map(Note::from)
    }

    /// Time per second for which CPUs stood still before the run, in ms of the worst CPU; `None` where
    /// nobody looked.
    pub fn stalls_ms_per_s(&self) -> Option<f64> {
        let tried = &self.rests.as_ref()?.tried;
        let bare = tried.iter().find(|tried| tried.rest.is_none());
        bare.map(Stillness::worst_ms_per_s)
    }

    /// Trials of `engine` on `path`, numbered from `first`.
    pub fn trials<'a>(
        &'a self,
        engine: &'a mut dyn Engine,
        path: &'a dyn Path,
        first: u8,
    ) -> Trials<'a> {
        // A CPU that tester and path share is busy with both.
        let apart = !self.placement.shared;
        let tester = self.placement.tester.first().map(|worker| worker.cpu);
        // Only a hypervisor moves CPUs.
        let pair = tester
            .zip(self.placement.path_cpu(0))
            .filter(|_| self.placement.virtual_machine && apart);
        Trials::new(engine, path, first)
            .path_on(if apart { &self.placement.path } else { &[] })
            .between(pair)
            .resting(self.rest())
            .watching(self.stalls.as_ref())
    }
}

/// Watches the CPUs of `placement` where a hypervisor may stop them; why that is not possible, if it is not.
pub fn watch(placement: &Placement) -> (Option<StallWatch>, Option<Note>) {
    if !placement.virtual_machine {
        return (None, None);
    }
    match StallWatch::new(&placement.all_cpus()) {
        Ok(watch) => (Some(watch), None),
        Err(why) => {
            let why = why.to_string();
            (None, Some(MachineNote::StallsUnwatched { why }.into()))
        }
    }
}

fn rests(rest: Option<Rest>, measured: Option<&RestChoice>) -> MachineNote {
    let tried = measured.map_or_else(Vec::new, |choice| {
        let one = |tried: &Stillness| RestTried {
            rest: tried.rest.map(times),
            lost_ms_per_s: tried.worst_ms_per_s(),
        };
        choice.tried.iter().map(one).collect()
    });
    MachineNote::Rests {
        rest: rest.map(times),
        tried,
    }
}

fn times(rest: Rest) -> RestTimes {
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    RestTimes {
        length_ms: ms(rest.length),
        period_ms: ms(rest.period),
    }
}

#[cfg(test)]
mod tests {
    use nicety_port::stillness::CpuGaps;

    use super::*;

    fn tried(rest: Option<Rest>, lost_ms_per_s: f64) -> Stillness {
        Stillness {
            rest,
            cpus: vec![CpuGaps {
                cpu: 0,
                gaps_per_s: 10.0,
                lost_ms_per_s,
            }],
        }
    }

    #[test]
    fn the_rests_and_their_reason_are_said() {
        let mut choice = RestChoice {
            rest: None,
            tried: vec![tried(None, 1.26)],
        };
        assert_eq!(
            rests(None, Some(&choice)).to_string(),
            "This VM has no spare CPU, but the sender needs no pauses. Time that the worst CPU lost before the run: 0.1 % without pauses."
        );
        choice.tried[0].cpus[0].lost_ms_per_s = 80.0;
        choice.tried.push(tried(Some(Rest::SHORT), 3.0));
        assert_eq!(
            rests(Some(Rest::SHORT), Some(&choice)).to_string(),
            "This VM has no spare CPU, so the sender pauses 0.2 ms in every 5 ms to avoid being throttled by the hypervisor. Loads are averages. Time that the worst CPU lost before the run: 8.0 % without pauses, 0.3 % with pauses of 0.2 ms in every 5 ms."
        );
        let unmeasured = rests(Some(Rest::LONG), None).to_string();
        assert!(unmeasured.ends_with("was not measured."));
    }
}
