//! The tester beside other generators: transmit only, end to end, pacing, latency.
//!
//! `cargo bench -p nicety --bench tester` prints a table and writes `bench/tester.json` under
//! the target directory. Everything is counted by the kernel at both ends of the path, never by
//! the tools' own words. `NICETY_BENCH_ROUNDS` and `NICETY_BENCH_WINDOW_MS` make it shorter.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod arrivals;
mod figures;
mod peer;
mod stage;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nicety_host::cpu_load::StatSample;
use nicety_host::privilege::{self, Privilege};
use nicety_host::topology::ProcRoot;
use nicety_model::Fps;
use nicety_port::af_packet::AfPacket;
use nicety_port::{Engine as _, EngineReport, Stop};
use nicety_testbed::Path;
use serde_json::{Map, json};

use arrivals::Arrivals;
use figures::Figures;
use peer::{Files, Peer, Running};
use stage::{Counters, Cpus};
use window::{FLAT_OUT, Source};

/// Rates of the pacing part, frames per second.
const RATES: [u32; 3] = [1_000, 10_000, 100_000];
/// Rates at which latency is worth a figure of its own.
const LATENCY_RATES: [u32; 2] = [1_000, 10_000];
/// Trials of the loss-free search, each a step below the last.
const LOSS_FREE_TRIALS: u32 = 6;
const LOSS_FREE_TRIAL: Duration = Duration::from_millis(250);
const LOSS_FREE_STEP: f64 = 0.9;
/// Largest loss ratio that passes for loss-free, as `nicety bench` judges it.
const LOSS_FREE: f64 = 0.0001;

/// What nicety and its peers are compared by.
const COMPARED: [(&str, &str); 2] = [("transmit", "offered_fps"), ("bridge", "arrived_fps")];
const BEST_PEER: &str = "best peer";
/// nicety as its peers do it: without receiving and accounting, which cost the path too.
const SENDING_ONLY: &str = "nicety sending only";

/// A path with its counters.
struct Stand<'a> {
    name: &'static str,
    path: &'a dyn Path,
    counters: Counters,
}

struct Bench<'a> {
    direct: Stand<'a>,
    bridge: Stand<'a>,
    /// A port at which nothing ever arrives, so that nicety only sends.
    nowhere: &'a nicety_testbed::Port,
    peers: Vec<Peer>,
    files: Files,
    cpus: Cpus,
    window: Duration,
    interrupted: Arc<AtomicBool>,
    figures: Figures,
    trial: u8,
}

fn main() -> Result<()> {
    // `cargo test --benches` passes no --bench: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: cargo bench -p nicety --bench tester");
        return Ok(());
    }
    if privilege::privilege()? == Privilege::Ordinary {
        privilege::enter_user_namespace()?;
        eprintln!("ordinary user: measured in a user namespace, nothing can be raised or pinned");
    }
    let rounds = setting("NICETY_BENCH_ROUNDS", 5)?;
    let window = Duration::from_millis(setting("NICETY_BENCH_WINDOW_MS", 1000)?);
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let mut figures = Figures::default();
    figures.next_round();
    let mut versions = Map::new();
    let mut peers = Vec::new();
    for peer in Peer::ALL {
        match peer.version() {
            Ok(version) => {
                versions.insert(peer.name().to_owned(), json!(version));
                peers.push(peer);
            }
            Err(why) => figures.skip(peer.name(), why),
        }
    }
    let cpus = Cpus::choose()?;
    let (direct, idle, bridge) = (
        stage::direct(cpus)?,
        stage::direct(cpus)?,
        stage::bridge(cpus)?,
    );
    for note in bridge.notes() {
        println!("note: {note}");
    }
    let stand = |name, path| -> Result<Stand<'_>> {
        Ok(Stand {
            name,
            path,
            counters: Counters::of(path)?,
        })
    };
    let mut bench = Bench {
        direct: stand("direct", &direct)?,
        bridge: stand("bridge", &bridge)?,
        nowhere: &idle.ports()[1],
        peers,
        files: Files::write()?,
        cpus,
        window,
        interrupted,
        figures,
        trial: 0,
    };
    let begun = Instant::now();
    for round in 0..rounds {
        if round > 0 {
            bench.figures.next_round();
        }
        let stolen = StatSample::read(&ProcRoot::live())?;
        bench.round(round as usize)?;
        bench.best_of_round();
        let shares = StatSample::read(&ProcRoot::live())?.shares_since(&stolen);
        let steal = shares.iter().map(|core| core.steal).sum::<f64>() / shares.len().max(1) as f64;
        bench.figures.put("machine/steal_ratio", steal);
        let seconds = begun.elapsed().as_secs();
        eprintln!("round {} of {rounds} done after {seconds} s", round + 1);
    }
    bench.ratios();
    println!(
        "64-byte frames, {rounds} rounds of {} ms windows; sender on CPU {}, path on CPU {}; {} s",
        bench.window.as_millis(),
        cpus.sender,
        cpus.path,
        begun.elapsed().as_secs()
    );
    for (name, version) in &versions {
        println!("peer: {name} {}", version.as_str().unwrap_or_default());
    }
    bench.figures.print();
    println!(
        "written: {}",
        bench.figures.write("tester", versions)?.display()
    );
    Ok(())
}

fn setting(name: &str, default: u64) -> Result<u64> {
    match std::env::var(name).ok().map(|value| value.parse()) {
        None => Ok(default),
        Some(Ok(value)) if value > 0 => Ok(value),
        Some(_) => bail!("{name} must be a whole number above 0"),
    }
}

impl Bench<'_> {
    /// Everything once. Whoever went first in one round goes later in the next.
    fn round(&mut self, round: usize) -> Result<()> {
        let mut senders: Vec<Option<Peer>> = self.peers.iter().copied().map(Some).collect();
        senders.push(None);
        let turn = round % senders.len();
        senders.rotate_left(turn);
        if round % 2 == 1 {
            senders.reverse();
        }
        self.part("transmit only");
        for sender in &senders {
            self.sending_only(*sender, true)?;
        }
        self.part("end to end over the bridge");
        for sender in &senders {
            self.sending_only(*sender, false)?;
            if sender.is_none() {
                self.end_to_end()?;
            }
        }
        self.part("pacing");
        for rate in RATES {
            for sender in &senders {
                self.pacing(*sender, rate)?;
            }
        }
        self.part("latency over the bridge");
        for rate in LATENCY_RATES {
            let mut engine = self.engine(false)?;
            let report = self.trial(&mut engine, Fps(f64::from(rate)), self.window)?;
            self.latency("bridge", rate, &report);
        }
        Ok(())
    }

    fn part(&self, name: &str) {
        eprintln!("  {name}");
    }

    fn stand(&self, direct: bool) -> &Stand<'_> {
        if direct { &self.direct } else { &self.bridge }
    }

    /// Flat out; nobody listens at the far end.
    fn sending_only(&mut self, sender: Option<Peer>, direct: bool) -> Result<()> {
        if let Some(peer) = sender {
            return self.peer_flat_out(peer, direct);
        }
        self.trial = self.trial.wrapping_add(1);
        let stand = self.stand(direct);
        let engine = stage::engine(&stand.path.ports()[0], self.nowhere, self.cpus)?;
        let mut source = Source::nicety(engine, FLAT_OUT, self.trial);
        let seen = window::measure(
            &mut source,
            &stand.counters,
            self.window,
            None,
            &self.interrupted,
        );
        source.end()?;
        match direct {
            true => self.put_seen("transmit", "nicety", seen),
            false => self.put_seen("bridge", SENDING_ONLY, seen),
        }
    }

    fn peer_flat_out(&mut self, peer: Peer, direct: bool) -> Result<()> {
        let stand = self.stand(direct);
        let part = if direct { "transmit" } else { "bridge" };
        let seen = self.with_peer(stand, peer, None, None);
        self.put_seen(part, peer.name(), seen)
    }

    fn with_peer(
        &self,
        stand: &Stand<'_>,
        peer: Peer,
        rate: Option<u32>,
        arrivals: Option<&Arrivals>,
    ) -> Result<window::Seen> {
        let port = &stand.path.ports()[0];
        let running = Running::start(peer, port, rate, &self.files, self.cpus)?;
        let mut source = Source::Peer(running);
        let seen = window::measure(
            &mut source,
            &stand.counters,
            self.window,
            arrivals,
            &self.interrupted,
        );
        source.end()?;
        seen
    }

    /// What the kernel counted, or why it did not; only an interruption ends the run.
    fn put_seen(&mut self, part: &str, who: &str, seen: Result<window::Seen>) -> Result<()> {
        match seen {
            Err(error) if self.interrupted.load(Ordering::Relaxed) => return Err(error),
            Err(error) => self.figures.skip(format!("{part}/{who}"), error),
            Ok(seen) => {
                let put = [
                    ("offered_fps", seen.offered_fps),
                    ("arrived_fps", seen.arrived_fps),
                ];
                for (what, value) in put {
                    self.figures.put(format!("{part}/{who} {what}"), value);
                }
            }
        }
        Ok(())
    }

    fn engine(&self, direct: bool) -> Result<AfPacket> {
        let [a, b] = self.stand(direct).path.ports();
        let mut engine = stage::engine(a, b, self.cpus)?;
        engine.learn()?;
        Ok(engine)
    }

    fn trial(
        &mut self,
        engine: &mut AfPacket,
        load: Fps,
        duration: Duration,
    ) -> Result<EngineReport> {
        if self.interrupted.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        self.trial = self.trial.wrapping_add(1);
        let order = window::order(load, duration, self.trial);
        let stop = Stop::shared(Arc::clone(&self.interrupted));
        let report = engine.trial(&order, &stop)?;
        if report.interrupted {
            bail!("interrupted");
        }
        Ok(report)
    }

    /// nicety with full accounting, over the pair and over the bridge: flat out, then the
    /// highest load that passes without loss.
    fn end_to_end(&mut self) -> Result<()> {
        for direct in [true, false] {
            let name = self.stand(direct).name;
            let mut engine = self.engine(direct)?;
            let before = self.stand(direct).counters.read()?;
            let report = self.trial(&mut engine, FLAT_OUT, self.window)?;
            let after = self.stand(direct).counters.read()?;
            let (sent, received) = totals(&report);
            let sending_s = sending_s(&report);
            let (offered, arrived) = (sent as f64 / sending_s, received as f64 / sending_s);
            self.figures
                .put(format!("{name}/nicety offered_fps"), offered);
            self.figures
                .put(format!("{name}/nicety arrived_fps"), arrived);
            let kernel_sent = after.offered - before.offered;
            let kernel_got = after.arrived - before.arrived;
            let counted = received + report.tester_drops;
            self.figures.put(
                format!("{name}/nicety sent, differs from kernel by frames"),
                sent.abs_diff(kernel_sent) as f64,
            );
            self.figures.put(
                format!("{name}/nicety received, differs from kernel by frames"),
                counted.abs_diff(kernel_got) as f64,
            );
            self.loss_free(&mut engine, name, offered.min(arrived))?;
        }
        Ok(())
    }

    fn loss_free(&mut self, engine: &mut AfPacket, name: &str, from: f64) -> Result<()> {
        let mut load = from;
        for _ in 0..LOSS_FREE_TRIALS {
            let report = self.trial(engine, Fps(load), LOSS_FREE_TRIAL)?;
            let (sent, received) = totals(&report);
            let lost = 1.0 - received as f64 / sent.max(1) as f64;
            let offered = sent as f64 / sending_s(&report);
            if lost <= LOSS_FREE && offered >= load * (1.0 - nicety_trial::LOAD_TOLERANCE) {
                self.figures
                    .put(format!("{name}/nicety loss_free_fps"), offered);
                return Ok(());
            }
            load *= LOSS_FREE_STEP;
        }
        self.figures.skip(
            format!("{name}/nicety loss_free_fps"),
            format!("every load from {from:.0} down to {load:.0} fps lost frames"),
        );
        Ok(())
    }

    /// Offered over intended and the intervals at the receiver; for nicety its own account of
    /// the schedule and the latency too.
    fn pacing(&mut self, sender: Option<Peer>, rate: u32) -> Result<()> {
        if sender.is_some_and(|peer| !peer.has_rate()) {
            return Ok(());
        }
        let who = sender.map_or("nicety", Peer::name);
        let prefix = format!("pacing {rate}/{who}");
        let arrivals = match Arrivals::open(&self.direct.path.ports()[1]) {
            Ok(arrivals) => Some(arrivals),
            Err(error) => {
                self.figures
                    .skip(format!("{prefix} interval"), format!("{error:#}"));
                None
            }
        };
        let seen = if let Some(peer) = sender {
            self.with_peer(&self.direct, peer, Some(rate), arrivals.as_ref())
        } else {
            let engine = self.engine(true)?;
            self.trial = self.trial.wrapping_add(1);
            let mut source = Source::nicety(engine, Fps(f64::from(rate)), self.trial);
            let seen = window::measure(
                &mut source,
                &self.direct.counters,
                self.window,
                arrivals.as_ref(),
                &self.interrupted,
            );
            if let Some((_, report)) = source.end()? {
                self.schedule(&prefix, &report);
                if LATENCY_RATES.contains(&rate) {
                    self.latency("direct", rate, &report);
                }
            }
            seen
        };
        match seen {
            Err(error) if self.interrupted.load(Ordering::Relaxed) => return Err(error),
            Err(error) => self.figures.skip(prefix, error),
            Ok(seen) => {
                let ratio = seen.offered_fps / f64::from(rate);
                self.figures
                    .put(format!("{prefix} offered_to_intended"), ratio);
                if let Some(arrivals) = arrivals {
                    self.intervals(&prefix, &arrivals.take()?);
                }
            }
        }
        Ok(())
    }

    fn schedule(&mut self, prefix: &str, report: &EngineReport) {
        for sender in &report.senders {
            let pacing = sender.pacing;
            for (what, value) in [
                ("late_p99_us", pacing.late_p99_us),
                ("late_max_us", pacing.late_max_us),
                ("slips", f64::from(pacing.slips)),
                ("slipped_ms", pacing.slipped_s * 1e3),
            ] {
                self.figures.put(format!("{prefix} {what}"), value);
            }
        }
    }

    fn intervals(&mut self, prefix: &str, times: &[i64]) {
        let mut gaps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let Some(last) = gaps.len().checked_sub(1) else {
            self.figures
                .skip(format!("{prefix} interval"), "nothing arrived");
            return;
        };
        for (what, share) in [("p1", 0.01), ("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
            let gap = gaps[(last as f64 * share).round() as usize];
            self.figures
                .put(format!("{prefix} interval_{what}_us"), gap as f64 / 1e3);
        }
    }

    fn latency(&mut self, path: &str, rate: u32, report: &EngineReport) {
        let prefix = format!("latency {path} {rate}/nicety");
        let Some(latency) = report.latency else {
            self.figures
                .skip(prefix, "nothing arrived, or the wall clock was stepped");
            return;
        };
        for (what, value) in [
            ("p50_us", latency.p50),
            ("p99_us", latency.p99),
            ("p999_us", latency.p999),
        ] {
            self.figures.put(format!("{prefix} {what}"), value);
        }
    }

    fn best_of_round(&mut self) {
        for (part, what) in COMPARED {
            let of_peers = self.peers.iter().filter_map(|peer| {
                self.figures
                    .latest(&format!("{part}/{} {what}", peer.name()))
            });
            if let Some(best) = of_peers.max_by(f64::total_cmp) {
                self.figures.put(format!("{part}/{BEST_PEER} {what}"), best);
            }
        }
    }

    /// nicety over every peer, and over the best one of each round.
    fn ratios(&mut self) {
        let others: Vec<&str> = self.peers.iter().map(|peer| peer.name()).collect();
        for (part, what) in COMPARED {
            for other in others.iter().chain([&BEST_PEER]) {
                let other = format!("{part}/{other} {what}");
                for own in ["nicety", SENDING_ONLY] {
                    self.figures.ratio(&format!("{part}/{own} {what}"), &other);
                }
            }
        }
    }
}

/// Frames sent and received, further copies among them.
fn totals(report: &EngineReport) -> (u64, u64) {
    report.streams.iter().fold((0, 0), |(sent, received), s| {
        (sent + s.frames.sent, received + s.frames.received)
    })
}

fn sending_s(report: &EngineReport) -> f64 {
    let longest = report.senders.iter().map(|s| s.pacing.sending_s);
    longest.fold(f64::MIN_POSITIVE, f64::max)
}
