//! The tester beside other generators: transmit only, end to end, pacing, latency.
//!
//! `cargo bench -p nicety --bench tester` prints a table and writes `bench/tester.json` under
//! the target directory. Everything is counted by the kernel at both ends of the path, never by
//! the tools' own words. `NICETY_BENCH_ROUNDS` and `NICETY_BENCH_WINDOW_MS` make it shorter;
//! `NICETY_BENCH_PARTS` takes some parts only, and then a file named after these is written.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod arrivals;
mod figures;
mod pacing;
mod peer;
mod queues;
mod sink;
mod stage;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nicety_host::roots::ProcRoot;
use nicety_host::stat::StatSample;
use nicety_model::Fps;
use nicety_netdev::privilege::{self, Privilege};
use nicety_paths::Path;
use nicety_port::{EngineReport, Stop};
use serde_json::{Map, json};

use figures::Figures;
use peer::{Files, Peer, Running};
use sink::Sink;
use stage::{BoxedEngine, Counters, Cpus, Kind};
use window::{FLAT_OUT, Source};

/// Rates of the pacing part, frames per second.
const RATES: [u32; 4] = [1_000, 10_000, 100_000, 500_000];
/// Rates at which latency is worth a figure of its own.
const LATENCY_RATES: [u32; 2] = [1_000, 10_000];
/// Loads that are tried over the bridge beside all the tester can send: a path that is offered ten
/// times what it carries forwards less than at its best.
const BRIDGE_LOADS: [f64; 3] = [0.7e6, 1e6, 1.4e6];
/// Flows whose cost is compared with that of one.
const FLOWS: u32 = 1_024;
/// Parts of a round, any of which `NICETY_BENCH_PARTS` may name, with commas between.
const PARTS: [&str; 6] = ["transmit", "queues", "bridge", "plain", "pacing", "latency"];
/// nicety as its peers do it: without receiving and accounting, which cost the path too.
const SENDING_ONLY: &str = "sending only";
const BEST_PEER: &str = "best peer";

/// Whoever sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Own(Kind),
    Other(Peer),
}

impl Sender {
    fn name(self) -> &'static str {
        match self {
            Self::Own(kind) => kind.name(),
            Self::Other(peer) => peer.name(),
        }
    }
}

/// A path with its counters.
struct Stand<'a> {
    name: &'static str,
    path: &'a dyn Path,
    counters: Counters,
}

struct Bench<'a> {
    direct: Stand<'a>,
    bridge: Stand<'a>,
    /// The bridge as peers find it.
    plain: Stand<'a>,
    /// A port at which nothing ever arrives, so that nicety only sends.
    nowhere: &'a nicety_paths::PathPort,
    senders: Vec<Sender>,
    parts: Vec<String>,
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
    let mut senders = Vec::new();
    for kind in Kind::ALL {
        match kind.missing() {
            None => senders.push(Sender::Own(kind)),
            Some(why) => figures.skip(kind.name(), why),
        }
    }
    for peer in Peer::ALL {
        match peer.version() {
            Ok(version) => {
                versions.insert(peer.name().to_owned(), json!(version));
                senders.push(Sender::Other(peer));
            }
            Err(why) => figures.skip(peer.name(), why),
        }
    }
    let cpus = Cpus::choose()?;
    let (direct, idle, bridge, plain) = (
        stage::direct(cpus)?,
        stage::direct(cpus)?,
        stage::bridge(cpus)?,
        stage::plain(cpus)?,
    );
    for note in &bridge.facts().notes {
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
        plain: stand("plain", &plain)?,
        nowhere: &idle.ports()[1],
        senders,
        parts: parts()?,
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
        bench
            .figures
            .write(&file_name(&bench.parts), versions)?
            .display()
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

fn parts() -> Result<Vec<String>> {
    let Ok(asked) = std::env::var("NICETY_BENCH_PARTS") else {
        return Ok(PARTS.map(str::to_owned).to_vec());
    };
    let asked: Vec<String> = asked.split(',').map(str::to_owned).collect();
    if let Some(other) = asked.iter().find(|part| !PARTS.contains(&part.as_str())) {
        bail!(
            "NICETY_BENCH_PARTS: {other:?} is none of {}",
            PARTS.join(", ")
        );
    }
    Ok(asked)
}

/// A run of some parts is not to replace a whole one.
fn file_name(parts: &[String]) -> String {
    let whole = PARTS.iter().all(|part| parts.iter().any(|p| p == part));
    match whole {
        true => "tester".to_owned(),
        false => format!("tester-{}", parts.join("-")),
    }
}

impl Bench<'_> {
    /// Everything once. Whoever went first in one round goes later in the next.
    fn round(&mut self, round: usize) -> Result<()> {
        let mut senders = self.senders.clone();
        let turn = round % senders.len();
        senders.rotate_left(turn);
        if round % 2 == 1 {
            senders.reverse();
        }
        if self.part("transmit") {
            let sink = self.sink()?;
            for sender in &senders {
                self.sending_only(*sender, true)?;
            }
            drop(sink);
            for sender in &senders {
                if let Sender::Own(kind) = *sender {
                    self.end_to_end(kind, true, 1, FLAT_OUT)?;
                    self.end_to_end(kind, true, FLOWS, FLAT_OUT)?;
                }
            }
        }
        if self.part("queues") && self.senders.contains(&Sender::Own(Kind::Xdp)) {
            for queues in queues::QUEUES {
                self.queues(queues)?;
            }
        }
        if self.part("bridge") {
            for sender in &senders {
                self.sending_only(*sender, false)?;
                if let Sender::Own(kind) = *sender {
                    self.end_to_end(kind, false, 1, FLAT_OUT)?;
                    for load in BRIDGE_LOADS {
                        self.end_to_end(kind, false, 1, Fps(load))?;
                    }
                }
            }
        }
        if self.part("plain") {
            for sender in &senders {
                if let Sender::Other(peer) = *sender {
                    let seen = self.with_peer(&self.plain, peer, None);
                    self.put_seen("plain", peer.name(), seen)?;
                }
            }
        }
        if self.part("pacing") {
            for rate in RATES {
                for sender in &senders {
                    self.pacing(*sender, rate)?;
                    if let Sender::Own(kind) = *sender {
                        self.whole_trial(kind, rate)?;
                    }
                }
            }
        }
        if self.part("latency") {
            for sender in &senders {
                if let Sender::Own(kind) = *sender {
                    self.latencies(kind)?;
                }
            }
        }
        Ok(())
    }

    fn part(&self, name: &str) -> bool {
        let wanted = self.parts.iter().any(|part| part == name);
        if wanted {
            eprintln!("  {name}");
        }
        wanted
    }

    fn stand(&self, direct: bool) -> &Stand<'_> {
        if direct { &self.direct } else { &self.bridge }
    }

    /// The far end of the pair drops all in XDP, where this user may have that.
    fn sink(&mut self) -> Result<Option<Sink>> {
        match Sink::open(&self.direct.path.ports()[1]) {
            Ok(sink) => Ok(Some(sink)),
            Err(error) => {
                self.figures
                    .skip("far end that drops in XDP", format!("{error:#}"));
                Ok(None)
            }
        }
    }

    /// Flat out; nobody listens at the far end.
    fn sending_only(&mut self, sender: Sender, direct: bool) -> Result<()> {
        let part = if direct { "transmit" } else { "bridge" };
        match sender {
            Sender::Other(peer) => {
                let seen = self.with_peer(self.stand(direct), peer, None);
                self.put_seen(part, peer.name(), seen)
            }
            Sender::Own(kind) => {
                let seen = self
                    .with_own(kind, direct, FLAT_OUT, false)
                    .map(|(seen, _)| seen);
                let name = match direct {
                    true => kind.name().to_owned(),
                    false => format!("{} {SENDING_ONLY}", kind.name()),
                };
                self.put_seen(part, &name, seen)
            }
        }
    }

    /// Lets an engine of nicety send, and receive nothing.
    fn with_own(
        &mut self,
        kind: Kind,
        direct: bool,
        load: Fps,
        watched: bool,
    ) -> Result<(window::Seen, EngineReport)> {
        self.trial = self.trial.wrapping_add(1);
        let stand = self.stand(direct);
        let engine = kind.open(&stand.path.ports()[0], self.nowhere, self.cpus, 1)?;
        let mut source = Source::nicety(engine, load, self.trial);
        let seen = window::measure(
            &mut source,
            &stand.counters,
            self.window,
            watched.then(|| &stand.path.ports()[1]),
            &self.interrupted,
        );
        let Some((_, report)) = source.end()? else {
            bail!("it has no account");
        };
        Ok((seen?, report))
    }

    fn with_peer(&self, stand: &Stand<'_>, peer: Peer, rate: Option<u32>) -> Result<window::Seen> {
        let port = &stand.path.ports()[0];
        let running = Running::start(peer, port, rate, &self.files, self.cpus)?;
        let mut source = Source::Peer(running);
        let seen = window::measure(
            &mut source,
            &stand.counters,
            self.window,
            rate.map(|_| &stand.path.ports()[1]),
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

    fn engine(&self, kind: Kind, direct: bool, flows: u32) -> Result<BoxedEngine> {
        let [a, b] = self.stand(direct).path.ports();
        let mut engine = kind.open(a, b, self.cpus, flows)?;
        engine.learn()?;
        Ok(engine)
    }

    fn trial(
        &mut self,
        engine: &mut BoxedEngine,
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

    /// nicety with full accounting, over the pair or the bridge.
    fn end_to_end(&mut self, kind: Kind, direct: bool, flows: u32, load: Fps) -> Result<()> {
        let mut who = format!("{}/{} {flows} flows", self.stand(direct).name, kind.name());
        if load != FLAT_OUT {
            who += &format!(" at {}", load.0);
        }
        let mut engine = self.engine(kind, direct, flows)?;
        let before = self.stand(direct).counters.read()?;
        let report = self.trial(&mut engine, load, self.window)?;
        let after = self.stand(direct).counters.read()?;
        let (sent, received) = totals(&report);
        let sending_s = sending_s(&report);
        let arrived = received as f64 / sending_s;
        let counted = received + report.tester_drops;
        for (what, value) in [
            ("offered_fps", sent as f64 / sending_s),
            ("accounted_fps", arrived),
            ("accounted_ns_per_frame", 1e9 / arrived.max(1.0)),
            (
                "sent, differs from kernel by frames",
                sent.abs_diff(after.offered - before.offered) as f64,
            ),
            (
                "received, differs from kernel by frames",
                counted.abs_diff(after.arrived - before.arrived) as f64,
            ),
        ] {
            self.figures.put(format!("{who} {what}"), value);
        }
        Ok(())
    }

    /// As many senders as queues, flat out.
    fn queues(&mut self, queues: u32) -> Result<()> {
        self.trial = self.trial.wrapping_add(1);
        let measured = queues::Stand::build(queues, self.cpus)
            .and_then(|stand| stand.measure(self.window, self.trial, &self.interrupted));
        let prefix = format!("queues/{queues} {}", Kind::Xdp.name());
        match measured {
            Err(error) if self.interrupted.load(Ordering::Relaxed) => return Err(error),
            Err(error) => self.figures.skip(prefix, format!("{error:#}")),
            Ok(figures) => {
                for (what, value) in [
                    ("offered_fps", figures.offered_fps),
                    ("offered while accounted_fps", figures.offered_accounted_fps),
                    ("accounted_fps", figures.accounted_fps),
                ] {
                    self.figures.put(format!("{prefix} {what}"), value);
                }
            }
        }
        Ok(())
    }

    /// One-way latency at low load, over the pair and over the bridge.
    fn latencies(&mut self, kind: Kind) -> Result<()> {
        for direct in [true, false] {
            let mut engine = self.engine(kind, direct, 1)?;
            for rate in LATENCY_RATES {
                let report = self.trial(&mut engine, Fps(f64::from(rate)), self.window)?;
                let who = format!("{} {rate}/{}", self.stand(direct).name, kind.name());
                self.latency(&who, &report);
            }
        }
        Ok(())
    }

    fn latency(&mut self, who: &str, report: &EngineReport) {
        let prefix = format!("latency {who}");
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

    /// The best of those that are compared as one: whatever way trafgen is used, whoever gets most
    /// frames over the bridge, and the load at which nicety does.
    fn best_of_round(&mut self) {
        let who = format!("bridge/{} 1 flows", Kind::Xdp.name());
        let paced = BRIDGE_LOADS.map(|load| format!("{who} at {load} accounted_fps"));
        let flat_out = format!("{who} accounted_fps");
        let values = paced.iter().chain([&flat_out]);
        let best = values.filter_map(|name| self.figures.latest(name));
        if let Some(best) = best.max_by(f64::total_cmp) {
            self.figures.put(format!("{who} best accounted_fps"), best);
        }
        let trafgen = [Peer::TrafgenRing, Peer::TrafgenSendto];
        for (part, name, what, peers) in [
            ("transmit", "trafgen", "offered_fps", &trafgen[..]),
            ("bridge", BEST_PEER, "arrived_fps", &Peer::ALL[..]),
            ("plain", BEST_PEER, "arrived_fps", &Peer::ALL[..]),
        ] {
            let values = peers.iter().filter_map(|peer| {
                self.figures
                    .latest(&format!("{part}/{} {what}", peer.name()))
            });
            if let Some(best) = values.max_by(f64::total_cmp) {
                self.figures.put(format!("{part}/{name} {what}"), best);
            }
        }
    }

    /// The engine that `nicety bench` takes by itself, over its peers within each round.
    fn ratios(&mut self) {
        for (name, peer) in [
            ("tx_64b_vs_xdp_trafficgen", Peer::XdpTrafficgen.name()),
            ("tx_64b_vs_trafgen", "trafgen"),
            ("tx_64b_vs_tcpreplay", Peer::Tcpreplay.name()),
            ("tx_64b_vs_testpmd_af_packet", Peer::Testpmd.name()),
            ("tx_64b_vs_testpmd_af_xdp", Peer::TestpmdXdp.name()),
        ] {
            let of = |who: &str| format!("transmit/{who} offered_fps");
            self.figures
                .ratio(Some(name), &of(Kind::Xdp.name()), &of(peer));
        }
        for (name, part) in [
            ("tx_rx_account_64b_vs_best_peer", "bridge"),
            ("tx_rx_account_64b_vs_best_peer_on_a_plain_bridge", "plain"),
        ] {
            self.figures.ratio(
                Some(name),
                &format!("bridge/{} 1 flows best accounted_fps", Kind::Xdp.name()),
                &format!("{part}/{BEST_PEER} arrived_fps"),
            );
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
