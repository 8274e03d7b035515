//! The book: what was last read of every port, and what has come together since it was last kept.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::bill::{Traffic, Usage};
use serde::{Deserialize, Serialize};

use super::clocks::stepped;
use super::growth::{Growth, INTERFACE, between, most, since_birth};
use super::slots::{Moment, lay, parts, parts_between};
use crate::totals::{Counts, Total};

/// After so long nobody is said to have watched: longer than any period.
const UNWATCHED: Duration = Duration::from_secs(90);

/// What is seen of a port.
#[derive(Debug, Clone, PartialEq)]
pub enum Sighting {
    /// Nothing has its name.
    Gone,
    /// It is there.
    There(Mark),
}

/// Counters of a port and whose they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// The boot of the machine, the network namespace and the number of the interface: another one has counters of its
    /// own.
    pub whose: String,
    /// The counters.
    pub counters: Counts,
    /// More than this the port cannot pass in either direction, in bits per second.
    pub most_bps: f64,
}

/// What is known of a port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When somebody looked.
    pub at: Moment,
    /// What was there; none: nothing.
    pub mark: Option<Mark>,
    /// More than this has not passed of whatever had its name, in bits per second; 0 where nothing ever had.
    pub most_bps: f64,
}

/// What a tenant has used in a slot since the book was last kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The tenant.
    pub tenant: String,
    /// When the slot begins, in seconds since 1970.
    pub start: i64,
    /// What was used.
    pub usage: Usage,
}

/// A tenant in a period that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed<'t> {
    /// The tenant.
    pub tenant: &'t str,
    /// A limit held it back.
    pub limited: bool,
}

/// The book of a host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Book {
    lines: BTreeMap<String, Line>,
    used: BTreeMap<(String, i64), Usage>,
    /// When the last period ended, since this book was opened.
    passed: Option<Moment>,
}

impl Book {
    /// A book that goes on where an earlier one has ended.
    pub fn open(
        lines: impl IntoIterator<Item = (String, Line)>,
        used: impl IntoIterator<Item = Part>,
    ) -> Self {
        let used = used.into_iter();
        Self {
            lines: lines.into_iter().collect(),
            used: used
                .map(|part| ((part.tenant, part.start), part.usage))
                .collect(),
            passed: None,
        }
    }

    /// Takes what is seen of a tenant's port.
    pub fn look(&mut self, tenant: &str, port: &str, at: Moment, seen: Sighting) {
        let mark = match seen {
            Sighting::Gone => None,
            Sighting::There(mark) => Some(mark),
        };
        let was = self.lines.get(port);
        let known = mark.as_ref().map(|mark| mark.most_bps);
        let now = Line {
            at,
            most_bps: known.or(was.map(|was| was.most_bps)).unwrap_or(0.0),
            mark,
        };
        let Some(was) = was else {
            // What it has counted before anybody looked is nobody's.
            self.lines.insert(port.to_owned(), now);
            return;
        };
        let time = match self.passed {
            Some(_) => at.boot.saturating_sub(was.at.boot),
            None => away(was, &now),
        };
        let unwatched = self.passed.is_none() || time > UNWATCHED;
        let grown = grown(was, &now, (time, unwatched));
        let parts = parts_between(was.at, at, time);
        self.lines.insert(port.to_owned(), now);
        if grown != [Growth::default(); 2] {
            self.lay(tenant, grown, &parts);
        }
    }

    /// A tenant's port is as it was when it was last looked at, but for what its interface has counted, where it is one.
    pub fn still(&mut self, tenant: &str, port: &str, at: Moment, interface: Option<Total>) {
        let Some(line) = self.lines.get_mut(port) else {
            return;
        };
        let counted = |mark: &&Mark| mark.counters.interface != interface;
        match (line.mark.as_ref().filter(counted), interface) {
            (Some(mark), Some(interface)) => {
                let mut mark = mark.clone();
                mark.counters.count(interface);
                self.look(tenant, port, at, Sighting::There(mark));
            }
            _ => line.at = at,
        }
    }

    /// A tenant's port that is limited will not be, and has just been looked at: what it offers passes from here on. What
    /// waits in its limiter may pass or be dropped.
    pub fn open_up(&mut self, tenant: &str, port: &str) {
        let Some(line) = self.lines.get_mut(port) else {
            return;
        };
        let at = line.at;
        let Some(counters) = line.mark.as_mut().map(|mark| &mut mark.counters) else {
            return;
        };
        let Some(interface) = counters.interface else {
            return;
        };
        counters.source = INTERFACE.into();
        let waiting = counters.held.take().map_or(0, |held| held.waiting);
        counters.count(interface);
        let unseen = Growth {
            unseen: waiting,
            ..Growth::default()
        };
        self.lay(
            tenant,
            [unseen, Growth::default()],
            &parts(at, Duration::ZERO),
        );
    }

    /// Forgets ports that are in no policy any more.
    pub fn keep_only(&mut self, is_known: impl Fn(&str) -> bool) {
        self.lines.retain(|port, _| is_known(port));
    }

    /// A period has ended in which all ports were looked at.
    pub fn pass<'t>(&mut self, at: Moment, tenants: impl IntoIterator<Item = Passed<'t>>) {
        let since = self.passed.replace(at);
        let time = since.and_then(|since| at.boot.checked_sub(since.boot));
        let parts = parts(at, time.unwrap_or(Duration::ZERO));
        for Passed { tenant, limited } in tenants {
            for (start, ms) in &parts {
                let usage = self.slot(tenant, *start);
                usage.watched_ms += ms;
                usage.limited_ms += if limited { *ms } else { 0 };
            }
        }
    }

    /// What was read last of every port, by its name.
    pub fn lines(&self) -> &BTreeMap<String, Line> {
        &self.lines
    }

    /// What has come together, to be kept together with the lines.
    pub fn used(&self) -> impl Iterator<Item = Part> {
        let used = self.used.iter();
        used.map(|((tenant, start), usage)| Part {
            tenant: tenant.clone(),
            start: *start,
            usage: *usage,
        })
    }

    /// It is kept: what comes is added to it.
    pub fn kept(&mut self) {
        self.used.clear();
    }

    fn slot(&mut self, tenant: &str, start: i64) -> &mut Usage {
        self.used.entry((tenant.to_owned(), start)).or_default()
    }

    fn lay(&mut self, tenant: &str, [sent, received]: [Growth; 2], parts: &[(i64, u64)]) {
        let mut add = |growth, of: fn(&mut Usage) -> &mut Traffic| {
            for (start, traffic) in lay(growth, parts) {
                of(self.slot(tenant, start)).add(&traffic);
            }
        };
        add(sent, |usage| &mut usage.sent);
        add(received, |usage| &mut usage.received);
    }
}

/// How long nobody looked between a line of an earlier daemon and now. In the same boot the clock that nobody sets says
/// so. Over a boot only the clock on the wall does, and no less than the machine is up. Where it is not known which of
/// the two it was, the longer time: what may have passed in it is uncertain anyway.
fn away(was: &Line, now: &Line) -> Duration {
    let boot = |line: &Line| Some(line.mark.as_ref()?.whose.split('/').next()?.to_owned());
    let same = boot(was).zip(boot(now)).map(|(was, now)| was == now);
    let up = now.at.boot.checked_sub(was.at.boot);
    let wall = now.at.wall.saturating_sub(was.at.wall);
    match (same, up) {
        (Some(true), Some(up)) => up,
        (None, Some(up)) if stepped(was.at, now.at).is_none() => up,
        (None, Some(up)) => up.max(wall),
        (_, None) | (Some(false), _) => wall.max(now.at.boot),
    }
}

/// What has passed between two looks at a port. In a time that nobody watched, interfaces may have come and gone.
fn grown(was: &Line, now: &Line, (time, unwatched): (Duration, bool)) -> [Growth; 2] {
    // As much as can have passed at a port of which nothing else is known.
    let anything = [Growth {
        unseen: most(time, was.most_bps.max(now.most_bps)),
        ..Growth::default()
    }; 2];
    let after = |now: &Mark, before: [Growth; 2]| {
        let mut both = since_birth(&now.counters);
        for (new, old) in both.iter_mut().zip(before) {
            new.unseen = new.unseen.max(old.unseen.saturating_sub(new.bytes));
        }
        both
    };
    match (&was.mark, &now.mark) {
        (None, None) if unwatched => anything,
        (None, None) => [Growth::default(); 2],
        (None, Some(now)) if unwatched => after(now, anything),
        (None, Some(now)) => since_birth(&now.counters),
        (Some(_), None) => anything,
        (Some(was), Some(now)) if was.whose == now.whose => {
            let bps = was.most_bps.max(now.most_bps);
            between(&was.counters, &now.counters, (time, unwatched), bps)
        }
        (Some(_), Some(now)) => after(now, anything),
    }
}
