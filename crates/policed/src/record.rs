//! The record of a run: a directory that `nicety report` draws.
//!
//! The loop hands each period over and goes on: a slow disk makes gaps in the record, never in the
//! sharing.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime};

use nicety_host::fingerprint::{self, Measurer};
use nicety_host::roots::Roots;
use nicety_model::policed::{Policed, PolicedPeriod};
use nicety_model::run::Naming;
use nicety_police::Decision;
use nicety_police::event::Event;
use nicety_police::record::{self, Beside, summary};
use nicety_report::html;
use nicety_store::{PolicedDir, StoreError};

use crate::log::Log;
use crate::{Error, PolicyFile};

/// Periods that may wait for the disk.
const WAITING: usize = 64;

/// A record under way.
pub struct Recorder {
    begin: Instant,
    /// None when the record has ended early.
    to: Option<SyncSender<PolicedPeriod>>,
    writer: JoinHandle<(PolicedDir, Option<StoreError>)>,
    left_out: u64,
    log: Log,
}

impl Recorder {
    /// Makes the directory; nothing of the host has been changed yet.
    ///
    /// # Errors
    /// When the directory is there already or cannot be written.
    pub fn start(
        dir: &Path,
        policy: &PolicyFile,
        naming: Naming,
        log: &Log,
    ) -> Result<Self, Error> {
        let started = nicety_store::rfc3339(SystemTime::now());
        let head = record::head(&policy.policy, &policy.file, started, again(dir));
        let measurer = Measurer {
            version: env!("CARGO_PKG_VERSION"),
            privileged: rustix::process::geteuid().is_root(),
        };
        let mut host = fingerprint::read(&Roots::live(), measurer);
        host.name(naming);
        let dir = PolicedDir::create(dir, &policy.text, &head, &host)?;
        let (to, from) = sync_channel(WAITING);
        let writer = std::thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || write(dir, &from))?;
        Ok(Self {
            begin: Instant::now(),
            to: Some(to),
            writer,
            left_out: 0,
            log: log.clone(),
        })
    }

    /// Hands a period over, or counts it where the disk is behind. `names` are those of the tenants.
    pub fn take(&mut self, decision: &Decision, names: &[&str], beside: Beside<'_>) {
        let Some(to) = &self.to else {
            return;
        };
        let at = self.begin.elapsed().as_secs_f64();
        match to.try_send(record::period(decision, at, names, beside)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.left_out += 1,
            // The writer says why when the run ends.
            Err(TrySendError::Disconnected(_)) => {
                self.log.report(&Event::RecordEnds);
                self.to = None;
            }
        }
    }

    /// Writes what waits and the page.
    ///
    /// # Errors
    /// Why the record is not whole.
    pub fn finish(self) -> Result<(), Error> {
        drop(self.to);
        let Ok((dir, failed)) = self.writer.join() else {
            return Err(Error::RecordWriter);
        };
        if self.left_out > 0 {
            self.log.report(&Event::RecordGaps(self.left_out));
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        let mut page = Vec::new();
        html(&read(dir.path())?, &mut page)?;
        let page = dir.write_report(&page)?;
        self.log.report(&Event::RecordPage(page));
        Ok(())
    }
}

/// A record with its summary.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn read(path: &Path) -> Result<Policed, StoreError> {
    let mut run = nicety_store::read_policed(path)?;
    run.summary = summary(&run.run, &run.periods);
    Ok(run)
}

/// What repeats a run: with the policy as the record has it, into a directory beside it.
fn again(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or_default().display();
    let next = dir.with_file_name(format!("{name}-again"));
    format!(
        "nicety police run {} --out {}",
        dir.join(nicety_store::file::POLICY).display(),
        next.display()
    )
}

/// Writes until the loop ends or the disk fails.
fn write(mut dir: PolicedDir, from: &Receiver<PolicedPeriod>) -> (PolicedDir, Option<StoreError>) {
    for period in from {
        if let Err(error) = dir.append(&period) {
            return (dir, Some(error));
        }
    }
    (dir, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_repeated_beside_its_record() {
        for dir in ["runs/friday", "runs/friday/"] {
            assert_eq!(
                again(Path::new(dir)),
                "nicety police run runs/friday/policy.toml --out runs/friday-again"
            );
        }
    }
}
