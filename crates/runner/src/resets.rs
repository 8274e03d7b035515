//! Which cells have trials of system recovery and of reset.

use nicety_model::note::{MachineNote, TrialNote};
use nicety_model::{EngineChoice, EngineName, Note, Plan};
use nicety_paths::Path;
use nicety_port::Engine;
use nicety_search::{Cell, CellPlan};

/// The engine of a run of `plan`: where that is to be chosen and recovery is measured, one that can lower its load;
/// and the note that says so.
pub(crate) fn engine(choice: EngineChoice, plan: &Plan) -> (EngineChoice, Option<Note>) {
    let frames = !plan.traffic.is_none();
    match choice {
        EngineChoice::Auto if frames && !plan.search.recovery.is_zero() => {
            let name = EngineName::AfPacket;
            let engine = name.to_string();
            let note = MachineNote::EngineByRecovery { engine };
            (EngineChoice::Only(name), Some(note.into()))
        }
        choice => (choice, None),
    }
}

/// Has a cell do without the trials that path and engine do not allow; the notes that say so.
pub(crate) fn left_out(
    cell: &mut Cell,
    plan: &CellPlan,
    path: &dyn Path,
    engine: &dyn Engine,
) -> Vec<Note> {
    let mut notes = Vec::new();
    if !plan.recovery.is_zero() && !engine.steps() {
        cell.without_recovery();
        let engine = engine.name();
        let engine = engine.split(' ').next().unwrap_or_default();
        let why = format!(
            "engine {engine} cannot change its load while a trial runs, --engine af_packet and af_xdp can"
        );
        notes.push(TrialNote::RecoveryUnknown { why }.into());
    }
    if plan.resets > 0 {
        match path.resettable() {
            Some(resettable) => cell.reset_within(resettable.limit()),
            None => {
                cell.without_reset();
                let kind = path.facts().kind;
                let why = format!("nothing in a path of kind {kind} can be reset");
                notes.push(TrialNote::ResetUnknown { why }.into());
            }
        }
    }
    notes
}
