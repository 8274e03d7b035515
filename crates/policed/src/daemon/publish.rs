//! What the loop says: events, the state on disk, the board.

use std::sync::Arc;
use std::time::Instant;

use nicety_host::journal::since_boot;
use nicety_model::SCHEMA;
use nicety_model::counted::plural;
use nicety_police::Decision;
use nicety_police::adopt::Way;
use nicety_police::event::Event;
use nicety_police::explain::readable;
use nicety_police::packets::Packets;
use nicety_police::port_watch::PortWatch;
use nicety_police::record::Beside;
use nicety_police::report::State;
use nicety_police::schedule::writes_state;

use super::Daemon;
use crate::board::Shown;
use crate::cluster::Cluster;
use crate::drops::Counter;
use crate::functions::Nic;
use crate::state;

impl Daemon {
    /// Reports what keeps periods from their end, when it is new, and its end.
    pub(super) fn report_trouble(&mut self, now: Option<String>) {
        if self.trouble != now {
            self.trouble.clone_from(&now);
            self.log
                .report(&now.map_or(Event::TroubleOver, Event::Trouble));
        }
    }

    /// Reports NICs that go, with all their functions, and come again.
    pub(super) fn report_nics<'n>(&mut self, nics: impl Iterator<Item = &'n Nic>) {
        for nic in nics {
            let name = || nic.name.clone();
            if nic.is_there() {
                if self.nics_gone.remove(&nic.name) {
                    self.log.report(&Event::NicBack(name()));
                }
            } else if self.nics_gone.insert(name()) {
                self.log.report(&Event::NicGone(name()));
            }
        }
    }

    /// Reports when the kernel does not answer any more, and when it does again.
    pub(super) fn report_silences(&mut self) {
        for (nic, silence) in self.ports.turns() {
            self.errors += u64::from(silence.is_some());
            self.log.report(&match silence {
                Some(silence) => Event::KernelSilent { nic, silence },
                None => Event::KernelAnswers { nic },
            });
        }
    }

    /// Reports what changed in how limits hold.
    pub(super) fn report_decision(&mut self, way: Way, decision: &Decision) {
        for (index, port) in decision.ports.iter().enumerate() {
            if let Some(event) = self.watch(way, index).enforcement(port) {
                self.tell(way, index, event);
            }
        }
        self.report_bursts(way);
        if decision.guarantees_scaled < 1.0 && self.periods == 0 {
            self.log.report(&Event::GuaranteesScaled);
        }
    }

    /// Reports tenants whose burst credit is spent.
    pub(super) fn report_bursts(&mut self, way: Way) {
        for tenant in self.controller(way).spent() {
            let Some(of) = self.policy.tenants.get(tenant) else {
                continue;
            };
            let max = match way {
                Way::Sends => of.cap,
                Way::Receives => of.received.cap,
            };
            self.log.report(&Event::BurstSpent {
                tenant: of.name.clone(),
                max: max.unwrap_or(self.policy.capacity),
                received: way == Way::Receives,
            });
        }
    }

    /// Reports once that dropped packets are not counted.
    pub(super) fn report_drops(&mut self) {
        let why = self.drops.as_mut().and_then(Counter::trouble);
        if let Some(why) = why {
            self.log.report(&Event::DropsUncounted(why));
        }
    }

    pub(super) fn publish(&mut self, decision: Decision, begin: Instant) {
        let cluster = self.cluster.as_ref().map(Cluster::state);
        let received = self.received_state();
        let packets = self.packets.as_ref().and_then(Packets::state);
        if let Some(record) = &mut self.record {
            let tenants = self.policy.tenants.iter();
            let names: Vec<&str> = tenants.map(|tenant| tenant.name.as_str()).collect();
            let beside = Beside {
                cluster: cluster.as_ref(),
                received: received.as_ref(),
                packets: packets.as_ref(),
            };
            record.take(&decision, &names, beside);
        }
        let state = State {
            schema: SCHEMA,
            host: self.options.naming.called(),
            pid: std::process::id(),
            born_ticks: self.born_ticks,
            netns: self.ports.namespace(),
            policy: self.file.clone(),
            period_s: self.policy.period.as_secs_f64(),
            capacity_bps: self.policy.capacity.bps(),
            periods: self.periods + 1,
            written_s: since_boot().as_secs_f64(),
            writes: self.writes,
            errors: self.errors,
            reloads: self.reloads.clone(),
            names: self.bound.sources(),
            cluster,
            tenants: Vec::new(),
            decision,
            received,
            packets,
        };
        self.notifier.period(&format!(
            "{} of {} sent, {} written",
            readable(state.decision.total_bps),
            readable(self.policy.capacity.0 as f64),
            plural(self.writes, "limit")
        ));
        let shown = Arc::new(Shown {
            state,
            policy: Arc::clone(&self.policy),
            totals: self.watches.iter().map(|watch| watch.total()).collect(),
            drops: self.drops.as_ref().and_then(Counter::totals),
            limits: self.watches.iter().map(PortWatch::limit_state).collect(),
            silences: self.ports.all_silences(),
            busy: begin.elapsed(),
            at: Instant::now(),
        });
        let is_old =
            |written: &Arc<Shown>| writes_state(shown.at - written.at, shown.same_as(written));
        if self.written.as_ref().is_none_or(is_old) {
            self.written = Some(Arc::clone(&shown));
            // A full disk makes status old, which it says; sharing goes on.
            let _ = state::replace(&state::file(self.state.path()), &shown.whole());
        }
        self.board.show(shown);
    }
}
