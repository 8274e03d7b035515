//! Settings that are to hold after the next boot.

use std::path::{Path, PathBuf};

use nicety_advisor::persist::{self, HostFile, KEPT, Layout};
use nicety_advisor::transaction::{can_be_kept, changes};
use nicety_host::facts::Source;
use nicety_host::knob::kept_below;
use nicety_model::SCHEMA;
use nicety_model::kept::{Kept, PersistReport, TUNED_PROFILES};
use nicety_model::knob::{Change, Knob};

use crate::advice::{self, AdviceRequest};
use crate::apply::commit;
use crate::{Listener, TuneError, Work, boot};

/// What is to be kept, and how.
#[derive(Debug, Clone)]
pub struct PersistRequest<'a> {
    /// What the rules are asked.
    pub ask: AdviceRequest,
    /// Plan to keep; without one what was confirmed, or of a recorded host what the rules say.
    pub plan: Option<&'a Path>,
    /// Only this transaction.
    pub transaction: Option<u32>,
    /// Folder to read below, instead of the running host.
    pub sysroot: Option<&'a Path>,
    /// What is written.
    pub layout: Layout,
    /// Nothing is written.
    pub dry_run: bool,
    /// All files are taken away.
    pub remove: bool,
}

/// Writes the files below `root`, or finds out what would be written; returns them beside the report.
///
/// # Errors
/// When something cannot be read, kept or written.
pub fn persist(
    work: &Work,
    request: &PersistRequest<'_>,
    root: &Path,
    listener: Listener<'_>,
) -> Result<(PersistReport, Vec<HostFile>), TuneError> {
    let mut report = PersistReport {
        schema: SCHEMA,
        ..PersistReport::default()
    };
    let files = if request.remove {
        Vec::new()
    } else {
        files(work, request, root, &mut report, listener)?
    };
    let there = kept_below(root);
    let stale = persist::stale(there, request.remove, request.layout);
    let changes = differences(work, root, &files, stale)?;
    for change in &changes {
        let path = change.knob.to_string();
        if change.to.is_empty() {
            report.removed.push(path);
        } else {
            report.written.push(path);
        }
    }
    if !request.dry_run && !changes.is_empty() {
        report.transaction = Some(commit(work, &changes.iter().collect::<Vec<_>>())?);
    }
    Ok((report, files))
}

/// The absolute path of the folder to write below.
///
/// # Errors
/// [`TuneError::NoFolder`], [`TuneError::Folder`].
pub fn check_folder(sysroot: Option<&Path>) -> Result<PathBuf, TuneError> {
    let Some(dir) = sysroot else {
        return Ok("/".into());
    };
    if dir.is_file() {
        return Err(TuneError::NoFolder {
            path: dir.to_owned(),
        });
    }
    dir.canonicalize().map_err(|source| TuneError::Folder {
        path: dir.to_owned(),
        source,
    })
}

/// The files that should be there, and what else there is to say.
fn files(
    work: &Work,
    request: &PersistRequest<'_>,
    root: &Path,
    report: &mut PersistReport,
    listener: Listener<'_>,
) -> Result<Vec<HostFile>, TuneError> {
    let source = Source::at(request.sysroot)?;
    let facts = advice::facts(&source, &request.ask, listener);
    let advice = match request.plan {
        Some(path) => {
            let boot = request.sysroot.is_none().then_some(work.boot_id.as_str());
            advice::read_plan(path, &request.ask, boot)?
        }
        None => advice::of_facts(&facts, &request.ask, None),
    };
    let changes = match (request.plan, request.sysroot) {
        (None, None) => confirmed(work, request.transaction)?,
        _ => advice.changes().into_iter().cloned().collect(),
    };
    let (settings, left) = persist::portable(&facts, changes.iter());
    let mut kept = boot::read(&root.join(KEPT))?.unwrap_or_default();
    kept.merge(Kept {
        schema: SCHEMA,
        settings,
        modules: persist::modules(&advice),
    });
    report.left = left;
    report.by_hand = persist::by_hand(&advice);
    report.owners = persist::rivals(&facts, &kept);
    if kept.is_empty() {
        return Err(TuneError::NothingToKeep);
    }
    let files = match request.layout {
        Layout::Tuned => {
            let [new, old] = TUNED_PROFILES;
            let profiles = if root.join(new).is_dir() { new } else { old };
            let (file, left) = persist::tuned(&facts, &kept, profiles);
            report.left.extend(left);
            vec![file]
        }
        Layout::Files => {
            let program = std::env::current_exe().map_err(TuneError::Program)?;
            persist::files(&facts, &kept, &program.display().to_string())
        }
    };
    report.by_hand.extend(persist::after_files(&files));
    Ok(files)
}

/// Changes of the transactions of this boot and namespace that were confirmed, older ones first.
fn confirmed(work: &Work, only: Option<u32>) -> Result<Vec<Change>, TuneError> {
    let mut journals = work.state.journals()?.readable;
    match only {
        None => journals.retain(|(_, journal)| can_be_kept(journal, work.here())),
        Some(id) => {
            journals.retain(|(other, _)| *other == id);
            let (_, journal) = journals.first().ok_or_else(|| work.no_transaction(only))?;
            if !can_be_kept(journal, work.here()) {
                let phase = journal.phase();
                return Err(TuneError::NotToBeKept { id, phase });
            }
        }
    }
    Ok(journals
        .iter()
        .flat_map(|(_, journal)| changes(journal))
        .collect())
}

/// What is to be written and removed, by path.
fn differences(
    work: &Work,
    root: &Path,
    files: &[HostFile],
    stale: Vec<PathBuf>,
) -> Result<Vec<Change>, TuneError> {
    let mut changes = Vec::new();
    for (path, to) in persist::wanted(root, files, stale) {
        let path = path.display().to_string();
        let knob = Knob::File { path };
        let from = work.knobs.read(&knob)?;
        if from != to {
            changes.push(Change { knob, from, to });
        }
    }
    Ok(changes)
}
