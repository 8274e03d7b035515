//! What notes the fate of lost frames, for cells and beforehand.

use std::time::Duration;

use nicety_fate::{Fates, Hops, Refusal, TesterPorts};
use nicety_model::note::TrialNote;
use nicety_model::{CellKey, Direction, FateMode, Note, Plan};
use nicety_paths::Path;
use nicety_port::Engine;
use nicety_search::{CellPlan, Settings};

use crate::error::RunError;

/// Why frames of a mix and with other headers are not followed: the program knows its frames by their
/// length and by where the stamp stands.
const NOT_PLAIN: &str = "only frames of one size of IPv4 and UDP are followed";

/// Whether the fates of a cell's lost frames can be found out.
pub(crate) fn are_followed(key: &CellKey) -> bool {
    key.shape.is_plain()
}

/// Has a run of `plan` do without trials of fates where they are not possible; the note that says so.
///
/// # Errors
/// [`RunError::Fates`] where the plan asks for them in any case.
pub(crate) fn possible(plan: &Plan, settings: &mut Settings) -> Result<Option<Note>, RunError> {
    // A plan that asks for sockets only has no frames.
    let Some((size, _)) = plan.traffic.sizes().next() else {
        return Ok(None);
    };
    if settings.fate.is_zero() {
        return Ok(None);
    }
    let mode = plan.search.fate;
    if plan.traffic.frame_sizes.is_empty() || !plan.traffic.shape.is_plain() {
        settings.fate = Duration::ZERO;
        let why = NOT_PLAIN.to_owned();
        return Ok(Some(TrialNote::FatesUnknown { why }.into()));
    }
    let tried = Fates::new(size, 1, TesterPorts::default()).and_then(|_| match mode {
        FateMode::Hops => Hops::new(1, TesterPorts::default()).map(drop),
        _ => Ok(()),
    });
    match tried {
        Ok(()) => Ok(None),
        Err(why) if matches!(mode, FateMode::Drops | FateMode::Hops) => {
            Err(RunError::Fates { mode, why })
        }
        Err(why) => {
            settings.fate = Duration::ZERO;
            let why = why.to_string();
            Ok(Some(TrialNote::FatesUnknown { why }.into()))
        }
    }
}

/// The program for a cell whose plan has trials of fates.
pub(crate) fn of(
    plan: &CellPlan,
    key: &CellKey,
    path: &dyn Path,
    engine: &dyn Engine,
) -> Option<Result<Fates, Refusal>> {
    if plan.settings.fate.is_zero() || !are_followed(key) {
        return None;
    }
    let (streams, tester) = tester(key, path, engine);
    Some(Fates::new(key.frame_size_bytes, streams, tester))
}

/// The programs for a cell in which it is looked for where frames spend their time.
pub(crate) fn hops(
    plan: &CellPlan,
    key: &CellKey,
    path: &dyn Path,
    engine: &dyn Engine,
) -> Option<Result<Hops, Refusal>> {
    if plan.settings.fate.is_zero() || !plan.settings.hops || !are_followed(key) {
        return None;
    }
    let (streams, tester) = tester(key, path, engine);
    Some(Hops::new(streams, tester))
}

/// Number of streams, and where the tester receives them.
pub(crate) fn tester(key: &CellKey, path: &dyn Path, engine: &dyn Engine) -> (u32, TesterPorts) {
    let both = key.direction == Direction::Bi;
    // Stream 0 arrives at port B, stream 1 at port A.
    let sides: &[usize] = if both { &[1, 0] } else { &[1] };
    let port = |side: &usize| {
        let port = &path.ports()[*side];
        (port.name.clone(), port.ns.inode())
    };
    let tester = TesterPorts {
        ports: sides.iter().map(port).collect(),
        by_socket: engine.receives_by_socket(),
        mark: engine.mark(),
    };
    (sides.len() as u32, tester)
}
