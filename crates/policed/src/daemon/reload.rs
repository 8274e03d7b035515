//! Another policy while the loop runs: limits stay as they are until the new one says otherwise.

use std::path::Path;
use std::sync::Arc;

use nicety_model::problem::error_line;
use nicety_police::event::Event;
use nicety_police::liveness::{STUCK, answer_timeout};
use nicety_police::packets::Packets;
use nicety_police::port_watch::PortWatch;
use nicety_police::reload::Reload;
use nicety_police::{Controller, Policy, Tuning};

use super::received::Received;
use super::{Daemon, enter, entry_name};
use crate::admission::check;
use crate::bills::Bills;
use crate::cluster;
use crate::drops::Counter;
use crate::names::{Bound, Start};
use crate::ports::Ports;
use crate::soft_limits::SoftLimits;
use crate::{Error, PolicyFile, guests};

impl Daemon {
    /// Takes the policy as its file is now; when it is refused the old one goes on.
    pub(super) fn reload(&mut self) {
        // Whoever waits for the answer reads it from the state.
        self.written = None;
        let event = match self.take() {
            Ok(()) => {
                self.reloads.taken += 1;
                self.reloads.why = None;
                Event::PolicyTaken {
                    file: self.file.clone(),
                    capacity: self.policy.capacity,
                    tenants: self.policy.tenants.len(),
                    ports: self.names.len(),
                }
            }
            Err(error) => {
                self.reloads.refused += 1;
                let why = error_line(&error);
                self.reloads.why = Some(why.clone());
                Event::PolicyRefused(why)
            }
        };
        self.log.report(&event);
    }

    fn take(&mut self) -> Result<(), Error> {
        if self.record.is_some() {
            return Err(Error::Recording);
        }
        let PolicyFile { policy, .. } = PolicyFile::read(Path::new(&self.file))?;
        let mut ports = Ports::open(Some(&policy), &self.log)?;
        // The loop waits meanwhile.
        ports.wait(STUCK);
        let start = Start {
            file: &self.file,
            strict: self.options.strict,
            wait: STUCK,
        };
        let bound = Bound::start(&policy, &mut ports, start, Some(&self.bound))?;
        let absent_ok = self.options.absent_ok;
        check(&policy, &self.file, &mut ports, absent_ok, &self.log)?;
        ports.wait(answer_timeout(policy.period));
        ports.follow(&self.ports);
        // Refused before anything is changed.
        cluster::Options::of(&policy, entry_name(&self.options.naming), ports.namespace())?;
        let reload = Reload::between(&self.policy, &policy);
        self.reload_bills(&policy)?;
        ports.count_interfaces(self.bills.is_some());
        self.open_channels(&policy, reload.other_tenants)?;
        self.originals
            .release_others(&mut self.ports, ports.names(), &policy);
        ports.resume(self.originals.replaced());
        let watches = reload.ports.iter();
        let watches = watches.map(|at| match at {
            Some(at) => std::mem::take(&mut self.watches[*at]),
            None => PortWatch::default(),
        });
        self.watches = watches.collect();
        self.received = Received::after(&policy, self.received.take(), &reload);
        let before = std::mem::replace(
            &mut self.controller,
            Controller::new(policy.clone(), &[], Tuning::default()),
        );
        self.controller.inherit_credit(&before, &reload.ports);
        self.names = policy.ports().map(|(_, port)| port.clone()).collect();
        self.packets = Packets::of(&policy);
        let place = (ports.namespace(), self.state.path());
        let before = self.cluster.take();
        self.cluster = enter(&policy, &self.options, place, before, &self.log)?;
        if policy.drops {
            self.drops = self.drops.take().or_else(|| Some(Counter::start()));
        } else {
            self.drops = None;
        }
        self.policy = Arc::new(policy);
        self.ports = ports;
        self.bound = bound;
        self.last = None;
        self.reconcile.demand();
        Ok(())
    }

    /// What tenants use is kept as another policy says.
    fn reload_bills(&mut self, policy: &Policy) -> Result<(), Error> {
        if self.policy.bills == policy.bills {
            if let Some(bills) = &mut self.bills {
                bills.reload(policy);
            }
            return Ok(());
        }
        if let Some(before) = self.bills.take() {
            before.stop(false);
        }
        let naming = self.options.naming.called();
        let place = (self.state.path(), naming, self.ports.namespace());
        self.bills = Bills::start(policy, place, &self.log)?;
        Ok(())
    }

    /// Ends the guests' channels and opens those of another policy; where these cannot be had, the
    /// old ones again.
    fn open_channels(&mut self, policy: &Policy, other_tenants: bool) -> Result<(), Error> {
        self.channels = None;
        // No guest may be told of another one that had its place.
        if other_tenants {
            self.board.forget();
        }
        let before = (Arc::clone(&self.policy), Arc::clone(&self.softs));
        let mut open = |policy: &Policy| {
            let kept = SoftLimits::open(self.state.path(), &self.log);
            let before = Some((&*before.0, &*before.1));
            let (channels, softs) = guests::start(policy, &self.board, kept, before, &self.log)?;
            (self.channels, self.softs) = (Some(channels), softs);
            Ok(())
        };
        open(policy).inspect_err(|_| {
            let again: Result<(), Error> = open(&before.0);
            if let Err(error) = again {
                self.log.report(&Event::GuestsUnserved(error_line(&error)));
            }
        })
    }
}
