//! What the table holds (RFC 9693 §4.9), and how fast it is emptied (§4.8).

use nicety_model::stateful::{
    Capacity, Filling, Setback, TableCounts, TableStage, TableVerdict, Teardown,
};
use nicety_search::stateful::{CapacitySearch, Held, figure, removed_per_s};
use nicety_search::stats;

use super::Say;
use super::bench::Bench;
use crate::error::RunError;

/// Connections of the first fill, where the kernel says no limit, or one that is not reached.
const FIRST_FILL: u64 = 16_384;
/// Ends of what ports and chains hold are as near as this.
const NEAR: f64 = 0.9;
/// Times that an empty table is emptied, for what that takes.
const EMPTY: u32 = 5;

impl Bench {
    /// Searches for the capacity, up to `most`; with the largest fill that stayed and the smallest that did not.
    pub(super) fn capacity(
        &mut self,
        most: u64,
        say: Say<'_>,
    ) -> Result<(Capacity, Vec<Filling>), RunError> {
        let mut search = match self.max {
            said if (1..most).contains(&said) => CapacitySearch::expecting(said, most),
            _ => CapacitySearch::new(FIRST_FILL, most),
        };
        let (mut counts, mut overflow) = (TableCounts::default(), None);
        let mut filling: [Option<Filling>; 2] = [None, None];
        while let Some(fill) = search.next() {
            let rate = self.safe() * fill.pace;
            // Answers cost time: those of the last fills are enough.
            let answer =
                [self.max, most].contains(&fill.connections) || search.overflowed().is_some();
            let stage = TableStage::Capacity;
            let filled = self.open(stage, fill.connections, rate, answer, say)?;
            let (opened, held) = (filled.opened, filled.opened.held());
            let filled = |held| Filling {
                connections: fill.connections,
                held,
                points: filled.points,
            };
            match held {
                Held::All => {
                    counts = opened.counts;
                    filling[0] = Some(filled(true));
                }
                Held::Part { .. } => {
                    overflow = Some(opened);
                    filling[1] = Some(filled(false));
                }
                Held::Unknown(_) => {}
            }
            match opened.setback() {
                // Ports are looked for at random, and chains grow at random: near their end there is no exact number.
                Some(Setback::NoPort | Setback::LongChain) => {
                    search.observe(Held::Part { kept: 0 });
                    let over = fill.connections as f64;
                    if search.held().is_some_and(|held| held as f64 >= over * NEAR) {
                        break;
                    }
                }
                _ => search.observe(held),
            }
        }
        let cause = overflow.and_then(|of| of.setback()).or(search.gave_up());
        let verdict = match search.held() {
            _ if search.gave_up() == Some(Setback::Miscounted) => TableVerdict::NotValid,
            None => TableVerdict::Failed,
            Some(_) if !counts.equal() => TableVerdict::NotValid,
            Some(_) if search.is_exact() => TableVerdict::Ok,
            Some(_) => TableVerdict::AtLeast,
        };
        let capacity = Capacity {
            entries: search.held(),
            overflowed: search.overflowed(),
            verdict,
            stopped_by: cause,
            thrown_out: overflow.map(|of| of.early_drop),
            counts,
            fills: search.fills(),
        };
        Ok((capacity, filling.into_iter().flatten().collect()))
    }

    /// Times the removal of so many entries.
    pub(super) fn teardown(&mut self, entries: u64, say: Say<'_>) -> Result<Teardown, RunError> {
        let mut empty = Vec::new();
        self.empty()?;
        for _ in 0..EMPTY {
            empty.push(self.flush()?.as_secs_f64());
        }
        let empty = stats::median(&empty).unwrap_or(0.0);
        let (mut rates, mut seconds, mut left) = (Vec::new(), Vec::new(), 0);
        let mut stopped_by = None;
        for _ in 0..self.repeats {
            let filled = self.fill(TableStage::Teardown, entries, false, say)?;
            if let Some(setback) = filled.opened.setback() {
                stopped_by = Some(setback);
                continue;
            }
            let took = self.flush()?.as_secs_f64();
            left = left.max(self.entries()?);
            seconds.push(took);
            rates.extend(removed_per_s(entries, took, empty));
        }
        let per_s = figure(&rates);
        let verdict = match (per_s, left, stopped_by) {
            (_, _, Some(Setback::Miscounted)) => TableVerdict::NotValid,
            (None, ..) => TableVerdict::Failed,
            (Some(_), 0, _) => TableVerdict::Ok,
            (Some(_), ..) => TableVerdict::NotValid,
        };
        Ok(Teardown {
            entries,
            per_s,
            seconds: figure(&seconds),
            left,
            verdict,
            stopped_by,
        })
    }
}
