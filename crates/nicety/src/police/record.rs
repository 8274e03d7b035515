//! The record of a run: a directory that `nicety report` draws.
//!
//! The loop hands each period over and goes on: a slow disk makes gaps in the record, never in the
//! sharing.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime};

use nicety_host::fingerprint::{self, Measurer};
use nicety_host::topology::Roots;
use nicety_model::policed::PolicedPeriod;
use nicety_police::{Decision, Policy, record};
use nicety_store::{PolicedDir, StoreError};

use crate::exit::Failure;
use crate::{output, report};

/// Periods that may wait for the disk.
const WAITING: usize = 64;

/// A record under way.
pub struct Recorder {
    begin: Instant,
    /// None when the record has ended early.
    to: Option<SyncSender<PolicedPeriod>>,
    writer: JoinHandle<(PolicedDir, Option<StoreError>)>,
    left_out: u64,
}

impl Recorder {
    /// Makes the directory; nothing of the host has been changed yet.
    pub fn start(dir: &Path, policy: &Policy, file: &str, text: &str) -> Result<Self, Failure> {
        let started = nicety_store::rfc3339(SystemTime::now());
        let command = again(dir);
        let head = record::head(policy, file, started, command);
        let privileged = rustix::process::geteuid().is_root();
        let measurer = Measurer {
            version: env!("CARGO_PKG_VERSION"),
            privileged,
        };
        let host = fingerprint::read(&Roots::live(), measurer);
        let dir = PolicedDir::create(dir, text, &head, &host).map_err(Failure::store)?;
        let (to, from) = sync_channel(WAITING);
        let writer = std::thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || write(dir, &from))
            .map_err(Failure::environment)?;
        Ok(Self {
            begin: Instant::now(),
            to: Some(to),
            writer,
            left_out: 0,
        })
    }

    /// Hands a period over, or counts it where the disk is behind.
    pub fn take(&mut self, decision: &Decision) {
        let Some(to) = &self.to else {
            return;
        };
        let at = self.begin.elapsed().as_secs_f64();
        match to.try_send(record::period(decision, at)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.left_out += 1,
            // The writer says why when the run ends.
            Err(TrySendError::Disconnected(_)) => {
                output::say("the record ends here: it cannot be written; sharing goes on");
                self.to = None;
            }
        }
    }

    /// Writes what waits and the page.
    pub fn finish(self) -> Result<(), Failure> {
        drop(self.to);
        let Ok((dir, failed)) = self.writer.join() else {
            return Err(Failure::environment(anyhow::anyhow!(
                "the record's writer failed; what it wrote before is whole"
            )));
        };
        if self.left_out > 0 {
            output::say(&format!(
                "{} periods are not in the record: the disk was behind",
                self.left_out
            ));
        }
        if let Some(error) = failed {
            return Err(Failure::store(error));
        }
        let page = report::policed::page(dir.path())?;
        let page = dir.write_report(&page).map_err(Failure::store)?;
        output::say(&format!("report: {}", page.display()));
        Ok(())
    }
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
