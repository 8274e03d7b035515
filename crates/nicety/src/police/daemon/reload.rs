//! Another policy while the loop runs: limits stay as they are until the new one says otherwise.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use nicety_police::{Controller, Policy, Tuning};

use super::{Daemon, Known};
use crate::exit::Failure;
use crate::output;
use crate::police::check::check;
use crate::police::guests;
use crate::police::journal::{self, Event, Priority};
use crate::police::kernel::{STUCK, patience};
use crate::police::ports::Ports;
use crate::police::softly::Kept;

impl Daemon<'_> {
    /// Takes the policy as its file is now; when it is refused the old one goes on.
    pub(super) fn reload(&mut self) {
        // Whoever waits for the answer reads it from the state.
        self.written = None;
        let (priority, name, line) = match self.take() {
            Ok(()) => {
                self.reloads.taken += 1;
                self.reloads.why = None;
                let (tenants, ports) = (self.policy.tenants.len(), self.names.len());
                let line = format!(
                    "{} is taken: {} shared among {tenants} tenants with {ports} ports",
                    self.file, self.policy.capacity
                );
                (Priority::Notice, "policy-taken", line)
            }
            Err(failure) => {
                self.reloads.refused += 1;
                self.reloads.why = Some(failure.to_string());
                let line = format!("the old policy goes on: {failure}");
                (Priority::Warning, "policy-refused", line)
            }
        };
        let event = Event {
            name,
            ..Event::default()
        };
        journal::tell(priority, event, &line);
    }

    fn take(&mut self) -> Result<(), Failure> {
        if self.record.is_some() {
            return Err(Failure::usage(anyhow!(
                "a record is of one policy; stop the daemon and start it again with another --out"
            )));
        }
        let (policy, _) = crate::police::read(Path::new(self.file))?;
        let mut ports = Ports::open(Some(&policy))?;
        // The loop waits meanwhile.
        ports.wait(STUCK);
        check(&policy, self.file, &mut ports, self.absent_ok)?;
        ports.wait(patience(policy.period));
        ports.follow(&self.ports);
        self.open_channels(&policy)?;
        self.found.release_others(&mut self.ports, &policy);
        let names = policy.ports().map(|(_, port)| port.clone());
        let names: Vec<_> = names.collect();
        let known = names.iter().map(|name| {
            let at = self.names.iter().position(|was| was == name);
            at.map_or_else(Known::default, |at| std::mem::take(&mut self.known[at]))
        });
        self.known = known.collect();
        self.names = names;
        self.controller = Controller::new(policy.clone(), &[], Tuning::default());
        self.policy = Arc::new(policy);
        self.ports = ports;
        (self.last, self.looked) = (None, None);
        Ok(())
    }

    /// Ends the guests' channels and opens those of another policy; where these cannot be had, the
    /// old ones again.
    fn open_channels(&mut self, policy: &Policy) -> Result<(), Failure> {
        self.channels = None;
        // No guest may be told of another one that had its place.
        if names(policy).ne(names(&self.policy)) {
            self.board.forget();
        }
        let kept = || Kept::open(self.state.path());
        let before = Some((&*self.policy, &*self.softs));
        match guests::start(policy, &self.board, kept(), before) {
            Ok((channels, softs)) => {
                (self.channels, self.softs) = (Some(channels), softs);
                Ok(())
            }
            Err(failure) => {
                match guests::start(&self.policy, &self.board, kept(), before) {
                    Ok((channels, softs)) => {
                        (self.channels, self.softs) = (Some(channels), softs);
                    }
                    Err(error) => {
                        output::say(&format!("guests are not served any more: {error}"));
                    }
                }
                Err(failure)
            }
        }
    }
}

/// The tenants in their order.
fn names(policy: &Policy) -> impl Iterator<Item = &String> {
    policy.tenants.iter().map(|tenant| &tenant.name)
}
