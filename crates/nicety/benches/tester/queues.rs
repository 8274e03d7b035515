//! One queue, then two: as many senders as queues, each on its own CPU, and every queue received on
//! the CPU of another sender. With two CPUs both then send and receive, so two queues show what two
//! CPUs do, not twice what one does beside a free one.
//!
//! A veth chooses the far end's queue by the sender's CPU (`veth_select_rxq` in drivers/net/veth.c).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, anyhow};
use nicety_netdev::napi;
use nicety_paths::{DirectPath, Path};
use nicety_port::{EngineReport, Stop};

use super::sink::Sink;
use super::stage::{self, BoxedEngine, Counters, Cpus, Kind};
use super::window::{FLAT_OUT, order};

/// Queues of either end of the pair.
pub const QUEUES: [u32; 2] = [1, 2];

/// A pair with some queues, and pairs whose far ends hear nothing of it.
pub struct Stand {
    pair: DirectPath,
    idle: Vec<DirectPath>,
    cpus: Vec<Cpus>,
}

/// Frames per second, all senders together.
pub struct Figures {
    /// Offered, the far end dropping them at once.
    pub offered_fps: f64,
    /// Offered, the first sender's receive program accounting all of them.
    pub offered_accounted_fps: f64,
    /// Accounted by it: first copies and further ones, which cost the same.
    pub accounted_fps: f64,
}

impl Stand {
    pub fn build(queues: u32, cpus: Cpus) -> Result<Self> {
        let pair = stage::direct_with(cpus, queues)?;
        let turned = Cpus {
            sender: cpus.path,
            path: cpus.sender,
        };
        let cpus: Vec<_> = [cpus, turned].into_iter().take(queues as usize).collect();
        let of_b = pair.facts().threads.iter().filter(|t| t.interface == "b");
        for (thread, cpus) in of_b.zip(&cpus) {
            napi::pin(&thread.thread, cpus.path)?;
        }
        let idle = cpus.iter().map(|cpus| stage::direct(*cpus));
        Ok(Self {
            idle: idle.collect::<Result<_>>()?,
            pair,
            cpus,
        })
    }

    pub fn measure(
        &self,
        window: Duration,
        trial: u8,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Figures> {
        let [from, to] = self.pair.ports();
        let sending = |n: usize| {
            let nowhere = &self.idle[n].ports()[1];
            Kind::Xdp.open(from, nowhere, self.cpus[n], 1)
        };
        let all = 0..self.cpus.len();
        let sink = Sink::open(to)?;
        let engines = all.clone().map(sending).collect::<Result<_>>()?;
        let (offered_fps, _) = self.run(engines, window, trial, interrupted)?;
        drop(sink);
        let mut engines = vec![Kind::Xdp.open(from, to, self.cpus[0], 1)?];
        for n in all.skip(1) {
            engines.push(sending(n)?);
        }
        let (offered_accounted_fps, reports) = self.run(engines, window, trial, interrupted)?;
        let accounted = reports.first().map_or(0.0, |report| {
            let frames = report.streams.iter().map(|stream| &stream.frames);
            let accounted: u64 = frames
                .map(|frames| frames.received + frames.duplicate)
                .sum();
            accounted as f64 / super::sending_s(report)
        });
        Ok(Figures {
            offered_fps,
            offered_accounted_fps,
            accounted_fps: accounted,
        })
    }

    /// Lets all engines send at once: frames per second offered to the pair, and what they say.
    fn run(
        &self,
        mut engines: Vec<BoxedEngine>,
        window: Duration,
        trial: u8,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<(f64, Vec<EngineReport>)> {
        let counters = Counters::of(&self.pair)?;
        let before = counters.read()?;
        // The receiver of the first waits a little longer: the others end while it still counts.
        let order = order(FLAT_OUT, window, trial);
        let reports = std::thread::scope(|scope| {
            let threads: Vec<_> = engines
                .iter_mut()
                .map(|engine| {
                    let stop = Stop::shared(Arc::clone(interrupted));
                    scope.spawn(move || engine.trial(&order, &stop))
                })
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        let reports = reports
            .into_iter()
            .map(|report| Ok(report.map_err(|_| anyhow!("the engine died"))??))
            .collect::<Result<Vec<EngineReport>>>()?;
        let offered = counters.read()?.offered - before.offered;
        let seconds = reports.iter().map(super::sending_s);
        Ok((
            offered as f64 / seconds.fold(f64::MIN_POSITIVE, f64::max),
            reports,
        ))
    }
}
