//! Whether the CPUs of tester and path did their work in a trial: where nobody watches, nothing is excused.

use nicety_paths::Path;
use nicety_port::stalls::StallWatch;
use nicety_search::stateful::Stalled;
use nicety_trial::stall_span;

/// Looks at the CPUs of one path and its tester.
pub(super) struct Watch(Option<StallWatch>);

impl Watch {
    /// The path's own threads are not other programs.
    pub(super) fn new(watch: Option<StallWatch>, path: &dyn Path) -> Self {
        let threads = &path.facts().threads;
        let threads: Vec<u32> = threads.iter().map(|thread| thread.thread.pid).collect();
        Self(watch.filter(|watch| watch.spare(&threads).is_ok()))
    }

    /// Forgets what was before a trial.
    pub(super) fn begin(&self) {
        if let Some(watch) = &self.0 {
            watch.forget();
        }
    }

    /// What was seen since.
    pub(super) fn seen(&self) -> Stalled {
        match self.0.as_ref().map(StallWatch::seen) {
            None => Stalled::default(),
            // More than can be noted.
            Some(None) => Stalled::always(),
            Some(Some(stalls)) => Stalled::of(stalls.iter().map(stall_span).collect()),
        }
    }

    /// A count where somebody watches.
    pub(super) fn counted(&self, count: u32) -> Option<u32> {
        self.0.as_ref().map(|_| count)
    }
}
