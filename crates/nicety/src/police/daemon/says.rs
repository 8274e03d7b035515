//! What the loop tells: events, the state on disk, the board.

use std::sync::Arc;
use std::time::Instant;

use nicety_host::journal::since_boot;
use nicety_model::SCHEMA;
use nicety_police::Decision;
use nicety_police::controller::Enforcement;
use nicety_police::explain::readable;

use super::{Daemon, WRITE, WRITE_ANYWAY};
use crate::output;
use crate::police::board::Shown;
use crate::police::functions::Nic;
use crate::police::journal::{self, Event, Priority};
use crate::police::state::{self, State};

impl Daemon<'_> {
    /// Tells a trouble when it is new, and its end.
    pub(super) fn trouble(&mut self, index: usize, now: Option<String>) {
        let Some(known) = self.known.get(index) else {
            return;
        };
        if known.trouble == now {
            return;
        }
        match &now {
            Some(line) => self.note(Priority::Warning, "trouble", index, line),
            None => {
                let line = format!("port {}: all right again", self.names[index]);
                self.note(Priority::Info, "trouble-over", index, &line);
            }
        }
        self.known[index].trouble = now;
    }

    /// Tells what keeps periods from their end, when it is new, and its end.
    pub(super) fn unwell(&mut self, now: Option<String>) {
        if self.trouble == now {
            return;
        }
        let (priority, name, line) = match &now {
            Some(line) => (Priority::Warning, "trouble", line.as_str()),
            None => (Priority::Info, "trouble-over", "the kernel answers again"),
        };
        let event = Event {
            name,
            ..Event::default()
        };
        journal::tell(priority, event, line);
        self.trouble = now;
    }

    /// Tells of an event at a port.
    pub(super) fn note(&self, priority: Priority, name: &str, index: usize, line: &str) {
        let port = self.names.get(index).map(ToString::to_string);
        let tenant = self.policy.ports().nth(index);
        let tenant = tenant.and_then(|(tenant, _)| self.policy.tenants.get(tenant));
        let event = Event {
            name,
            port: port.as_deref(),
            tenant: tenant.map(|tenant| tenant.name.as_str()),
            ..Event::default()
        };
        journal::tell(priority, event, line);
    }

    /// Tells of NICs that go, with all their functions, and come again.
    pub(super) fn tell_nics<'n>(&mut self, nics: impl Iterator<Item = &'n Nic>) {
        for nic in nics {
            let was_gone = self.nics_gone.contains(&nic.name);
            let (name, line) = match (was_gone, nic.is_there()) {
                (false, false) => {
                    self.nics_gone.insert(nic.name.clone());
                    ("nic-gone", format!("NIC {} is gone", nic.name))
                }
                (true, true) => {
                    self.nics_gone.remove(&nic.name);
                    ("nic-back", format!("NIC {} is back", nic.name))
                }
                _ => continue,
            };
            let event = Event {
                name,
                ..Event::default()
            };
            journal::tell(Priority::Notice, event, &line);
        }
    }

    /// Tells when the kernel does not answer any more, and when it does again.
    pub(super) fn tell_turns(&mut self) {
        for (nic, silence) in self.ports.turns() {
            self.errors += u64::from(silence.is_some());
            let (of, its) = match &nic {
                Some(nic) => (format!("NIC {nic}"), "its"),
                None => ("interfaces".to_owned(), "their"),
            };
            let (priority, name, line) = match (&nic, silence) {
                (_, Some(silence)) => (
                    Priority::Warning,
                    ["interfaces-stuck", "nic-stuck"],
                    format!("{of}: {silence}; {its} ports keep their limits"),
                ),
                (_, None) => (
                    Priority::Notice,
                    ["interfaces-back", "nic-back"],
                    format!("{of}: the kernel answers again"),
                ),
            };
            let event = Event {
                name: name[usize::from(nic.is_some())],
                ..Event::default()
            };
            journal::tell(priority, event, &line);
        }
    }

    /// Tells what changed in how limits hold.
    pub(super) fn tell(&mut self, decision: &Decision) {
        for (port, known) in decision.ports.iter().zip(&mut self.known) {
            let was = std::mem::replace(&mut known.enforcement, port.enforcement);
            let leaked = was == Enforcement::NotEnforced;
            let leaks = port.enforcement == Enforcement::NotEnforced;
            let (priority, event, what) = match (leaked, leaks) {
                (false, true) => (Priority::Warning, "not-enforced", "limit not enforced"),
                (true, false) if port.present => (
                    Priority::Notice,
                    "enforced-again",
                    "its limit is kept again",
                ),
                _ => continue,
            };
            let name = port.port.to_string();
            let tenant = self.policy.tenants.get(port.tenant);
            let event = Event {
                name: event,
                port: Some(&name),
                tenant: tenant.map(|tenant| tenant.name.as_str()),
                rate_bps: port.rate_bps,
                limit_bps: Some(port.limit.bps()),
            };
            journal::tell(priority, event, &format!("port {name}: {what}"));
        }
        if decision.guarantees_scaled < 1.0 && self.periods == 0 {
            output::say("the guarantees asked for do not fit and are scaled down");
        }
    }

    pub(super) fn publish(&mut self, decision: Decision, begin: Instant) {
        if let Some(record) = &mut self.record {
            record.take(&decision);
        }
        let state = State {
            schema: SCHEMA,
            pid: std::process::id(),
            born_ticks: self.born_ticks,
            netns: self.ports.namespace(),
            policy: self.file.to_owned(),
            period_s: self.policy.period.as_secs_f64(),
            capacity_bps: self.policy.capacity.bps(),
            periods: self.periods + 1,
            written_s: since_boot().as_secs_f64(),
            writes: self.writes,
            errors: self.errors,
            reloads: self.reloads.clone(),
            tenants: Vec::new(),
            decision,
        };
        self.told.period(&format!(
            "{} of {} sent, {} limits written",
            readable(state.decision.total_bps),
            self.policy.capacity,
            self.writes
        ));
        let shown = Arc::new(Shown {
            state,
            policy: Arc::clone(&self.policy),
            totals: self.known.iter().map(|known| known.adder.total).collect(),
            silences: self.ports.all_silences(),
            busy: begin.elapsed(),
            at: Instant::now(),
        });
        let is_old = |written: &Arc<Shown>| {
            let age = shown.at - written.at;
            age >= WRITE_ANYWAY || age >= WRITE && !shown.tells_as(written)
        };
        if self.written.as_ref().is_none_or(is_old) {
            self.written = Some(Arc::clone(&shown));
            // A full disk makes status old, which it says; sharing goes on.
            let _ = state::write(self.state.path(), &shown.whole());
        }
        self.board.show(shown);
    }
}
