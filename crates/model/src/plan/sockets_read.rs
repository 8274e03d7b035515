//! Reads `[[sockets]]` of a plan file, and refuses keys that do not go together.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::path::{Cpus, PathSpec};
use crate::plan::file::{Confidence, SockFile};
use crate::plan::parse::numbers;
use crate::plan::{HowOften, Plan, SockClient, SockPlan};
use crate::sock::{Family, SockSpecError};
use crate::source::{Diagnostic, List};

/// Length of a test when the plan does not say.
const TIME: Duration = Duration::from_secs(5);
/// Repeats that `confidence` may have at most.
const CONFIDENT: std::ops::RangeInclusive<u32> = 3..=30;
/// Most repeats with `confidence` when `repeats` does not say.
const CONFIDENCE_REPEATS: u32 = 10;
/// Most pairs with `saturate` when `parallel` does not say.
const SATURATE_PAIRS: u32 = 512;

impl SockFile {
    /// What does not go together in the table that begins here.
    pub(super) fn problems(&self, at: usize) -> Vec<Diagnostic> {
        if self.test.is_none() {
            let remedy = "add test = \"tcp_rr\" or another test";
            return vec![Diagnostic::new(at, "a [[sockets]] without test", remedy)];
        }
        let mut diagnostics = Vec::new();
        if let Some(saturate) = self
            .saturate
            .as_ref()
            .filter(|saturate| *saturate.get_ref())
        {
            let beside = [
                ("repeats", self.repeats.is_some()),
                ("confidence", self.confidence.is_some()),
                ("rate", self.rate.is_some()),
            ];
            let beside = beside.into_iter().filter(|(_, there)| *there);
            diagnostics.extend(beside.map(|(key, _)| {
                let what = format!("saturate and {key} in one [[sockets]]");
                Diagnostic::new(saturate.span().start, what, "write two tables")
            }));
        } else if let (Some(repeats), Some(_)) = (&self.repeats, &self.confidence)
            && !CONFIDENT.contains(&repeats.get_ref().0)
        {
            let what = format!("repeats = {} with confidence", repeats.get_ref().0);
            let remedy = "write the most repeats, 3 to 30";
            diagnostics.push(Diagnostic::new(repeats.span().start, what, remedy));
        }
        let plan = self.plan();
        let mut specs = plan.specs();
        if let Some(error) = specs.find_map(|spec| spec.check().err()) {
            let place = match error {
                SockSpecError::MessageBytes { .. } => self.message_bytes.as_ref().map(List::at),
                SockSpecError::Flows { .. } => self.parallel.as_ref().map(List::at),
                SockSpecError::Duration { .. } => self.time.as_ref().map(|time| time.span().start),
                SockSpecError::Rate { .. } | SockSpecError::NoRate { .. } => {
                    self.rate.as_ref().map(List::at)
                }
            };
            diagnostics.push(Diagnostic {
                at: place.unwrap_or(at),
                problem: error.problem(),
            });
        }
        diagnostics
    }

    /// What the table means; it has no problems.
    pub(super) fn plan(&self) -> SockPlan {
        let pins = |pins: &List<Cpus>| pins.iter().map(|Cpus(cpus)| cpus.clone()).collect();
        let or = |list: Option<Vec<u32>>, usual| list.unwrap_or_else(|| vec![usual]);
        let how_often = self.how_often();
        SockPlan {
            tests: self.test.iter().flat_map(List::iter).copied().collect(),
            message_bytes: numbers(&self.message_bytes).unwrap_or_default(),
            parallel: match how_often {
                HowOften::Saturate(most) => vec![most],
                _ => or(numbers(&self.parallel), 1),
            },
            rates: numbers(&self.rate).unwrap_or_default(),
            families: match &self.family {
                Some(families) => families.iter().copied().collect(),
                None => vec![Family::Ipv4],
            },
            neighbours: or(numbers(&self.neighbours), 0),
            clients: match &self.client {
                Some(clients) => clients.iter().copied().collect(),
                None => vec![SockClient::Host],
            },
            pins: pins(&self.pin),
            server_pins: pins(&self.server_pin),
            time: self.time.as_ref().map_or(TIME, |time| time.get_ref().0),
            how_often,
        }
    }

    /// `repeats`, `confidence` and `saturate`.
    fn how_often(&self) -> HowOften {
        let repeats = self.repeats.as_ref().map(|times| times.get_ref().0);
        if self
            .saturate
            .as_ref()
            .is_some_and(|saturate| *saturate.get_ref())
        {
            let most = numbers(&self.parallel).and_then(|most| most.into_iter().max());
            let most = most.filter(|most| *most > 1);
            return HowOften::Saturate(most.unwrap_or(SATURATE_PAIRS));
        }
        match self.confidence {
            None => HowOften::Times(repeats.unwrap_or(1)),
            Some(Confidence(level_percent, width_percent)) => HowOften::Until {
                level_percent,
                width_percent,
                most: repeats.unwrap_or(CONFIDENCE_REPEATS),
            },
        }
    }
}

impl Plan {
    /// The first socket test that another one before it is the same as: number of its table and
    /// its name without a path. Walks all tests of one path, so their number must have been checked.
    pub(super) fn first_double_test(&self) -> Option<(usize, String)> {
        // Whatever the path: what is twice over one is twice over all.
        let path = PathSpec::Bridge;
        let mut seen = BTreeSet::new();
        let tables = self.sockets.iter().enumerate();
        let mut tests = tables.flat_map(|(index, table)| {
            let cells = table.cells_over(&path);
            cells.map(move |cell| (index, cell.name().replacen("bridge/", "", 1)))
        });
        tests.find(|(_, name)| !seen.insert(name.clone()))
    }
}
