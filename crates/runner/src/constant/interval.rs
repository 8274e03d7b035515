//! One interval of load: a trial, and what becomes of its frames by their numbers.

use std::time::Duration;

use nicety_account::lost::{Numbers, SPANS, spans};
use nicety_model::interval::{Interval, LossSpan};
use nicety_model::{FateOf, Fps, Note, Purpose, SCHEMA, TrialRecord, Validity};
use nicety_port::{Arrivals, Stop};
use nicety_trial::TrialSpec;

use super::Intervals;
use crate::error::RunError;

/// An interval, and which of its frames arrived.
#[derive(Debug)]
pub struct Measured {
    /// What became of its frames. Of one that broke, these are none.
    pub interval: Interval,
    /// Which numbers arrived, by stream; empty where that is not known.
    pub arrivals: Vec<Arrivals>,
    /// What to know about it.
    pub notes: Vec<Note>,
}

impl Measured {
    /// The numbers of its frames, by stream.
    pub fn numbers(&self) -> impl Iterator<Item = Numbers<'_>> {
        numbers(
            &self.arrivals,
            self.interval.started_unix_s,
            self.interval.sending_s,
        )
    }
}

fn numbers(
    arrivals: &[Arrivals],
    begun_unix_s: f64,
    sending_s: f64,
) -> impl Iterator<Item = Numbers<'_>> {
    let one = move |(of, stream)| {
        let of: &Arrivals = of;
        Numbers {
            stream,
            made: of.made,
            arrived: &of.words,
            begun_unix_s,
            // Not the load: a sender that falls behind sends its numbers later.
            rate_fps: of.made as f64 / sending_s.max(f64::MIN_POSITIVE),
        }
    };
    arrivals.iter().zip(0_u8..).map(one)
}

impl Intervals<'_> {
    /// Goes on numbering intervals after `number`.
    pub fn number_from(&mut self, number: u64) {
        self.number = number;
    }

    /// Sends `load` for so long, or until `stop`, and waits for late frames. `None` when it was stopped before the
    /// first frame.
    ///
    /// # Errors
    /// When the host's counters cannot be read.
    pub fn next(
        &mut self,
        load: Fps,
        duration: Duration,
        stop: &Stop,
    ) -> Result<Option<Measured>, RunError> {
        let purpose = if self.fates {
            Purpose::Fate {
                of: FateOf::Confirm,
            }
        } else {
            Purpose::Confirm
        };
        let ask = TrialSpec {
            cell: String::new(),
            repeat: 1,
            control: None,
            index: 1,
            purpose,
            load,
            duration,
            then: None,
            window: None,
        };
        let record = self.trials.run(&ask, stop)?;
        let broken = matches!(record.validity, Validity::Broken { .. });
        if record.frames.sent == 0 && !broken {
            return Ok(None);
        }
        self.number += 1;
        // Numbers that were given to frames never sent would pass for lost ones.
        let known = |all: &Vec<Arrivals>| all.iter().all(|of| of.given_up == 0);
        let arrivals = self.trials.arrivals().filter(known).unwrap_or_default();
        let mut interval = of(self.number, &record);
        interval.histogram = self.trials.histogram().clone();
        if broken {
            return Ok(Some(Measured {
                interval,
                arrivals: Vec::new(),
                notes: record.notes,
            }));
        }
        let all = numbers(&arrivals, interval.started_unix_s, interval.sending_s);
        let mut losses: Vec<LossSpan> = all.flat_map(|numbers| spans(&numbers)).collect();
        losses.sort_by(|a, b| a.at_unix_s.total_cmp(&b.at_unix_s));
        losses.truncate(SPANS);
        interval.losses = losses;
        Ok(Some(Measured {
            interval,
            arrivals,
            notes: record.notes,
        }))
    }
}

/// What the record of a trial says of an interval.
fn of(number: u64, record: &TrialRecord) -> Interval {
    let frames = record.frames;
    let stalled = record.stalls.map_or(0, |stalls| stalls.lost);
    let dropped = match record.validity {
        Validity::TesterDropped { frames } => frames,
        _ => 0,
    };
    let directions = record.streams.len().max(1) as f64;
    Interval {
        schema: SCHEMA,
        number,
        started_unix_s: record.started_unix_s,
        wall_s: record.wall_s,
        sending_s: record.pacing.sending_s,
        load_fps: record.load_fps,
        offered_fps: record.pacing.offered_fps,
        received_fps: record.forwarding_fps * directions,
        frames,
        set_apart: (stalled + dropped).min(frames.lost),
        validity: record.validity.clone(),
        losses: Vec::new(),
        loss_ledger: match frames.lost {
            0 => Vec::new(),
            _ => record.loss_ledger.clone(),
        },
        latency_us: record.latency_us,
        histogram: nicety_model::interval::LatencyHistogram::default(),
        several: None,
        flows: Vec::new(),
    }
}
