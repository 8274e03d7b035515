//! The phases: opens connections and counts them on both sides and in the kernel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nicety_model::Fps;
use nicety_model::stateful::{FillPoint, Setback, TableCounts, TableStage};
use nicety_netdev::conntrack::Conntrack;
use nicety_port::Stop;
use nicety_port::af_packet::connections::{Connections, Phase, PhaseOrder, PhaseReport, Way};
use nicety_search::stateful::{Opened, Trial, rise};

use super::stalls::Watch;
use super::{Say, StatefulEvent, filling};
use crate::error::RunError;
use crate::setup_error::SetupError;

/// Share of the highest rate of setup at which tables are filled (RFC 9693 §4.9 has it below one as well).
pub(super) const SAFE: f64 = 0.6;
/// Rate that fills begin with where setup was not measured.
const CAREFUL: f64 = 50_000.0;
/// Seconds of such a look.
const GLANCE_S: f64 = 0.1;
/// Answers come at this share of the rate at which connections were opened.
const ANSWERS: f64 = 0.7;
/// A sender is late below this share of the rate it was to send.
pub(super) const ON_TIME: f64 = 0.95;
/// Longest wait for late frames.
pub(super) const DRAIN_MAX: Duration = Duration::from_secs(1);
/// Nothing arrives for so long: nothing comes any more.
pub(super) const DRAIN_QUIET: Duration = Duration::from_millis(100);

/// Longest wait for a flowtable to let go of entries that were removed: the kernel goes through it once a second
/// (`nf_flow_offload_work_gc` in net/netfilter/nf_flow_table_core.c).
const HELD_MAX: Duration = Duration::from_secs(5);
/// From one look to the next.
const HELD_LOOK: Duration = Duration::from_millis(20);

/// A tester on a path with a table.
pub(super) struct Bench {
    pub(super) engine: Connections,
    pub(super) table: Arc<Conntrack>,
    /// Entries that there may be; 0 is no limit.
    pub(super) max: u64,
    pub(super) stop: Stop,
    pub(super) watch: Watch,
    pub(super) trial: Duration,
    pub(super) repeats: u32,
    pub(super) max_rate: Fps,
    pub(super) loss: f64,
    /// Bytes of a frame behind its headers.
    pub(super) payload: u64,
    /// Connections that setup, removal and goodput may open.
    pub(super) room: u64,
    /// Rate at which tables are filled.
    pub(super) safe: Option<f64>,
}

/// A fill.
#[derive(Debug, Clone)]
pub(super) struct Filled {
    pub(super) opened: Opened,
    /// What it says of its rate.
    pub(super) trial: Trial,
    /// Entries over time, of a fill that looks for the capacity.
    pub(super) points: Vec<FillPoint>,
}

impl Bench {
    pub(super) fn safe(&self) -> f64 {
        self.safe.unwrap_or(CAREFUL)
    }

    /// Empties the table and opens so many connections; with `answer`, all of them are answered too.
    pub(super) fn open(
        &mut self,
        stage: TableStage,
        connections: u64,
        rate: f64,
        answer: bool,
        say: Say<'_>,
    ) -> Result<Filled, RunError> {
        say(StatefulEvent::Open {
            stage,
            connections,
            rate: Fps(rate),
        });
        let connections = connections.min(u64::from(self.engine.most()));
        self.empty()?;
        let before = self.table.stats().map_err(SetupError::from)?;
        // How fast a table is filled is nothing to what comes afterwards.
        let measured = stage == TableStage::Setup;
        self.watch.begin();
        let (report, points) = match stage {
            TableStage::Capacity => {
                let table = Arc::clone(&self.table);
                filling::noted(&table, || {
                    self.phase(Phase::Open, connections, 0, rate, true)
                })
            }
            _ => (
                self.phase(Phase::Open, connections, 0, rate, !measured),
                Vec::new(),
            ),
        };
        let report = report?;
        let mut stalled = self.watch.seen();
        let forth = report.forth.unwrap_or_default();
        let mut opened = Opened {
            intended: connections,
            counts: TableCounts {
                sent: forth.sent,
                responder: self.engine.known(),
                kernel: self.entries()?,
                ..TableCounts::default()
            },
            most: self.max,
            strange: forth.strange,
            tester_drops: report.tester_drops,
            late: measured && late(&forth, rate),
            ..Opened::default()
        };
        let stats = |opened: &mut Opened| -> Result<(), RunError> {
            let since = self.table.stats().map_err(SetupError::from)?.since(before);
            opened.early_drop = since.early_drop.into();
            opened.drop = since.drop.into();
            opened.insert_failed = since.insert_failed.into();
            opened.chain_too_long = since.chain_too_long.into();
            Ok(())
        };
        stats(&mut opened)?;
        // A phase that failed needs no closer look.
        if opened.setback().is_none() {
            opened.counts.listed = Some(self.table.dumped().map_err(SetupError::from)?);
            if answer {
                self.watch.begin();
                let report = self.phase(Phase::Answer, connections, 0, rate * ANSWERS, true)?;
                stalled = stalled.and(self.watch.seen());
                let back = report.back.unwrap_or_default();
                opened.counts.answered = Some(back.arrived);
                // Answers open nothing.
                opened.counts.kernel = self.entries()?;
                opened.strange += back.strange;
                opened.tester_drops += report.tester_drops;
            }
        }
        let missing = opened.shortfall(rate);
        let missing = missing.behind(forth.sent, rate, forth.offered_fps);
        let trial = Trial::of(opened.setback(), stalled, missing, forth.offered_fps);
        say(StatefulEvent::Tried {
            setback: told(opened.setback(), trial),
        });
        Ok(Filled {
            opened,
            trial,
            points: rise(&points),
        })
    }

    /// Opens connections for what comes behind it: again and more slowly where the path lost some.
    pub(super) fn fill(
        &mut self,
        stage: TableStage,
        connections: u64,
        answer: bool,
        say: Say<'_>,
    ) -> Result<Filled, RunError> {
        let mut rate = self.safe();
        let mut filled = self.open(stage, connections, rate, answer, say)?;
        for _ in 0..3 {
            if filled.opened.setback().is_none() {
                break;
            }
            rate /= 2.0;
            filled = self.open(stage, connections, rate, answer, say)?;
        }
        Ok(filled)
    }

    /// A rate at which tables can be filled: a part of the highest of a few, each twice the one before, at which all
    /// connections are opened.
    pub(super) fn guess_safe(&mut self, say: Say<'_>) -> Result<f64, RunError> {
        let (mut rate, mut passed) = (CAREFUL.min(self.max_rate.0), None);
        while rate <= self.max_rate.0 {
            let connections = ((rate * GLANCE_S) as u64).min(self.room).max(1);
            let filled = self.open(TableStage::Capacity, connections, rate, false, say)?;
            match (filled.opened.setback(), passed) {
                (None, _) => passed = Some(rate),
                (Some(_), Some(_)) => break,
                (Some(_), None) if rate < CAREFUL / 16.0 => break,
                // Not even the first: down until one passes.
                (Some(_), None) => {
                    rate /= 2.0;
                    continue;
                }
            }
            if rate < CAREFUL {
                break;
            }
            rate *= 2.0;
        }
        Ok(passed.map_or(rate, |passed| passed * SAFE))
    }

    pub(super) fn phase(
        &mut self,
        phase: Phase,
        connections: u64,
        frames: u64,
        rate: f64,
        catch_up: bool,
    ) -> Result<PhaseReport, RunError> {
        let order = PhaseOrder {
            phase,
            connections: u32::try_from(connections).unwrap_or(u32::MAX),
            frames,
            rate: Fps(rate),
            catch_up,
            drain_max: DRAIN_MAX,
            drain_quiet: DRAIN_QUIET,
        };
        let report = self.engine.run(&order, &self.stop);
        let report = report.map_err(SetupError::from)?;
        if report.interrupted || self.stop.is_set() {
            Err(RunError::Interrupted)
        } else {
            Ok(report)
        }
    }

    /// Removes every entry, and waits until none counts any more: a flowtable holds those that are in it a while longer.
    pub(super) fn empty(&self) -> Result<(), RunError> {
        self.flush()?;
        let end = Instant::now() + HELD_MAX;
        while self.entries()? > 0 && Instant::now() < end && !self.stop.is_set() {
            std::thread::sleep(HELD_LOOK);
        }
        Ok(())
    }

    /// Removes every entry; how long it took.
    pub(super) fn flush(&self) -> Result<Duration, RunError> {
        let begun = Instant::now();
        self.table.flush().map_err(SetupError::from)?;
        Ok(begun.elapsed())
    }

    pub(super) fn entries(&self) -> Result<u64, RunError> {
        let (entries, _) = self.table.entries().map_err(SetupError::from)?;
        Ok(entries)
    }
}

/// What a trial is told to have ended with.
pub(super) fn told(setback: Option<Setback>, trial: Trial) -> Option<Setback> {
    match trial {
        Trial::Spoiled => Some(Setback::Stalled),
        _ => setback,
    }
}

/// Whether a side sent more slowly than it should.
pub(super) fn late(way: &Way, rate: f64) -> bool {
    way.offered_fps < rate * ON_TIME
}
