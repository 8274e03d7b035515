//! The thread that keeps the book.

use std::collections::BTreeSet;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nicety_history::{History, HistoryError, KeptBook};
use nicety_model::bill::UsageRow;
use nicety_police::bill::{Book, Clocks, Line, Moment, Passed, Sighting};
use nicety_police::event::Event;

use super::forward::Forward;
use super::readings::{Readings, Written};
use super::{Look, Message, Names, Period};
use crate::log::Log;

/// A power loss takes no more than this time.
pub(super) const COMMIT: Duration = Duration::from_secs(60);
const DAY: u64 = 86_400;

/// The book and where it is kept.
pub struct Keeper {
    pub book: Book,
    /// How often the store has kept it.
    pub commit: u64,
    pub store: History,
    pub readings: Readings,
    /// Told when there is something to send.
    pub forward: Option<Forward>,
    pub host: String,
    pub keep_days: u32,
    pub names: Names,
    pub log: Log,
    /// When the store kept it last.
    pub kept_at: Option<Moment>,
    /// What may be deleted by the clock on the wall.
    pub clocks: Clocks,
    pub trouble: Option<String>,
}

impl Keeper {
    /// Goes on where the last one has ended: at its readings, where it was killed after the store had kept the book.
    pub fn resume(&mut self, kept: KeptBook) {
        self.commit = kept.commit;
        self.book = match self.readings.newest().filter(|it| it.commit == kept.commit) {
            Some(Written { lines, used, .. }) => Book::open(lines, used),
            None => {
                let lines = kept.lines.into_iter();
                // A line of another version says nothing: its port begins anew.
                let lines = lines.filter_map(|(port, text)| Some((port, line(&text)?)));
                Book::open(lines, [])
            }
        };
        self.forget_others();
    }

    /// Until the daemon ends.
    pub fn run(mut self, from: &Receiver<Message>) {
        for message in from {
            match message {
                Message::Policy(names) => {
                    self.names = names;
                    self.forget_others();
                }
                Message::Period(period) => self.period(period),
                Message::Stop { opens_up } => {
                    if opens_up {
                        for (tenant, port) in &self.names.ports {
                            let tenant = self.names.tenants.get(*tenant);
                            self.book.open_up(tenant.map_or("", String::as_str), port);
                        }
                    }
                    break;
                }
            }
        }
        self.keep();
        if let Some(forward) = self.forward {
            forward.stop();
        }
    }

    fn forget_others(&mut self) {
        let known: BTreeSet<&str> = self
            .names
            .ports
            .iter()
            .map(|(_, port)| port.as_str())
            .collect();
        self.book.keep_only(|port| known.contains(port));
    }

    fn period(&mut self, period: Period) {
        let Period { at, looks, limited } = period;
        if let Some(ms) = self.clocks.see(at) {
            self.log.report(&Event::ClockStepped { ms });
        }
        for (number, look) in looks {
            let Some((tenant, port)) = self.names.ports.get(number) else {
                continue;
            };
            let Some(tenant) = self.names.tenants.get(*tenant) else {
                continue;
            };
            match look {
                Look::Still(interface) => self.book.still(tenant, port, at, interface),
                Look::Gone => self.book.look(tenant, port, at, Sighting::Gone),
                Look::There(mark) => self.book.look(tenant, port, at, Sighting::There(mark)),
            }
        }
        if let Some(limited) = limited {
            let tenants = self.names.tenants.iter().zip(limited);
            let passed = tenants.map(|(tenant, limited)| Passed { tenant, limited });
            self.book.pass(at, passed);
        }
        let kept = self.kept_at.get_or_insert(at);
        let ends_slot = kept.slot() != at.slot();
        if ends_slot || at.boot.saturating_sub(kept.boot) >= COMMIT {
            self.kept_at = Some(at);
            self.keep();
        } else {
            self.write();
        }
        if ends_slot {
            self.prune(at);
        }
    }

    /// Has the store keep the book. What it cannot keep stays, and is tried again later.
    fn keep(&mut self) {
        let lines = self.book.lines().iter();
        let lines: Vec<(String, String)> = lines
            .filter_map(|(port, line)| Some((port.clone(), serde_json::to_string(line).ok()?)))
            .collect();
        let host = &self.host;
        let rows: Vec<UsageRow> = self
            .book
            .used()
            .map(|part| UsageRow {
                host: host.clone(),
                tenant: part.tenant,
                start: part.start,
                usage: part.usage,
            })
            .collect();
        let kept = self.store.keep_book(&lines, &rows);
        if let Ok(commit) = &kept {
            self.commit = *commit;
            self.book.kept();
        }
        self.tell(kept.err().as_ref().map(HistoryError::to_string));
        self.write();
        if let Some(forward) = &self.forward {
            forward.tell();
        }
    }

    /// Writes down what a kill would take.
    fn write(&mut self) {
        let (commit, book) = (self.commit, &self.book);
        if let Err(error) = self.readings.write(commit, book) {
            self.tell(Some(format!(
                "cannot write {}: {error}",
                self.readings.place()
            )));
        }
    }

    fn prune(&mut self, at: Moment) {
        let age = Duration::from_secs(u64::from(self.keep_days) * DAY);
        let Some(before) = self.clocks.oldest(at, age) else {
            return;
        };
        let gone = self.store.forget_usage(before);
        if let Err(error) = gone {
            self.tell(Some(error.to_string()));
        }
    }

    fn tell(&mut self, now: Option<String>) {
        if self.trouble != now {
            self.trouble.clone_from(&now);
            let event = now.map_or(Event::BillsTroubleOver, Event::BillsTrouble);
            self.log.report(&event);
        }
    }
}

fn line(text: &str) -> Option<Line> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use nicety_model::bill::Usage;

    use super::*;

    /// Samples of a keeper that has kept thirty days, after a clock has gone by these moments: seconds since the boot and
    /// how far the clock on the wall is ahead.
    fn samples_after(moments: &[(u64, i64)]) -> usize {
        const BEGIN: u64 = 1_793_491_200;
        let dir = tempfile::tempdir().unwrap();
        let mut store = nicety_history::open(&dir.path().join("bills"), true).unwrap();
        let rows: Vec<UsageRow> = (0..30)
            .map(|day| UsageRow {
                host: "kvm1".to_owned(),
                tenant: "blue".to_owned(),
                start: (BEGIN - day * DAY) as i64,
                usage: Usage::default(),
            })
            .collect();
        store.keep_usage(&rows).unwrap();
        let mut keeper = Keeper {
            book: Book::default(),
            commit: 0,
            store,
            readings: Readings::open(dir.path()).unwrap(),
            forward: None,
            host: "kvm1".to_owned(),
            keep_days: 10,
            names: Names {
                tenants: vec!["blue".to_owned()],
                ports: vec![(0, "tap0".to_owned())],
            },
            log: Log::open(|_| {}),
            kept_at: None,
            clocks: Clocks::default(),
            trouble: None,
        };
        for (boot, ahead) in moments {
            let wall = BEGIN.saturating_add_signed(*ahead) + boot;
            keeper.period(Period {
                at: Moment {
                    boot: Duration::from_secs(*boot),
                    wall: Duration::from_secs(wall),
                },
                looks: Vec::new(),
                limited: None,
            });
        }
        let kept = keeper.store.usage(0..i64::MAX, None).unwrap();
        kept.len()
    }

    #[test]
    fn a_clock_that_is_set_deletes_nothing_and_a_day_without_a_step_does() {
        let days = |days: i64| days * DAY as i64;
        for ahead in [days(60), 3_600, -3_600, days(-60)] {
            let step = [(0, 0), (400, ahead), (401, ahead), (402, 0), (800, 0)];
            assert_eq!(samples_after(&step), 30, "{ahead}");
        }
        let day = [(0, 0), (DAY - 1, 0), (DAY + 300, 0)];
        assert_eq!(samples_after(&day), 9);
    }
}
