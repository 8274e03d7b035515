//! The tester beside other generators: transmit only, end to end, pacing.
//!
//! `cargo bench -p nicety-benchmarks --bench tester` prints a table and writes `bench/tester.json` under
//! the target directory. Everything is counted by the kernel at both ends of the path, never by
//! the tools' own words. `NICETY_BENCH_ROUNDS` and `NICETY_BENCH_WINDOW_MS` make it shorter;
//! `NICETY_BENCH_PARTS` takes some parts only, and then a file named after these is written.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod arrivals;
mod pacing;
mod peer;
mod sink;
mod stage;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::load::Begin;
use nicety_benchmarks::start::{go_on, interruption, is_asked_for, own_namespaces, setting};
use nicety_model::Fps;
use nicety_paths::Path;
use nicety_port::{EngineReport, Stop};
use serde_json::{Map, json};

use peer::{Files, Peer, Running};
use sink::Sink;
use stage::{BoxedEngine, Counters, Cpus, Kind};
use window::{FLAT_OUT, Source};

/// Rates of the pacing part, frames per second.
const RATES: [u32; 4] = [1_000, 10_000, 100_000, 500_000];
/// Loads that are tried over the bridge beside all the tester can send: a path that is offered ten
/// times what it carries forwards less than at its best.
const BRIDGE_LOADS: [f64; 3] = [0.7e6, 1e6, 1.4e6];
/// Flows whose cost is compared with that of one.
const FLOWS: u32 = 1_024;
/// Parts of a round, any of which `NICETY_BENCH_PARTS` may name, with commas between.
const PARTS: [&str; 4] = ["transmit", "bridge", "plain", "pacing"];
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

impl<'a> Stand<'a> {
    fn new(name: &'static str, path: &'a dyn Path) -> Result<Self> {
        let counters = Counters::of(path)?;
        Ok(Self {
            name,
            path,
            counters,
        })
    }
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
    if !is_asked_for("tester") {
        return Ok(());
    }
    if own_namespaces()? {
        eprintln!("ordinary user: measured in a user namespace, nothing can be raised or pinned");
    }
    let rounds = setting("NICETY_BENCH_ROUNDS", 5_usize)?;
    let window = Duration::from_millis(setting("NICETY_BENCH_WINDOW_MS", 1000)?);
    let mut figures = Figures::default();
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
            Err(why) => figures.skip(peer.name(), format!("{why:#}")),
        }
    }
    let cpus = Cpus::choose()?;
    println!("64-byte frames; {cpus:?}");
    let (direct, idle) = (stage::direct(cpus)?, stage::direct(cpus)?);
    let (bridge, plain) = (stage::bridge(cpus)?, stage::plain(cpus)?);
    for note in &bridge.facts().notes {
        println!("note: {note}");
    }
    let mut bench = Bench {
        direct: Stand::new("direct", &direct)?,
        bridge: Stand::new("bridge", &bridge)?,
        plain: Stand::new("plain", &plain)?,
        nowhere: &idle.ports()[1],
        senders,
        parts: parts()?,
        files: Files::write()?,
        cpus,
        window,
        interrupted: interruption()?,
        figures,
        trial: 0,
    };
    for round in 0..rounds {
        bench.figures.next_round();
        let begin = Begin::now()?;
        bench.round(round)?;
        bench.best_of_round();
        let load = begin.load()?;
        bench
            .figures
            .put("machine/steal_ratio", load.steal / load.cpus);
        eprintln!("round {} of {rounds} done", round + 1);
    }
    bench.ratios();
    bench.figures.finish(&file_name(&bench.parts), &versions)
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
    if PARTS.iter().all(|part| parts.iter().any(|p| p == part)) {
        "tester".to_owned()
    } else {
        format!("tester-{}", parts.join("-"))
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
                let name = if direct {
                    kind.name().to_owned()
                } else {
                    format!("{} {SENDING_ONLY}", kind.name())
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
                let (offered, arrived) = (seen.offered_fps, seen.arrived_fps);
                let put = [("offered_fps", offered), ("arrived_fps", arrived)];
                self.figures.put_all(&format!("{part}/{who}"), put);
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
        go_on(&self.interrupted)?;
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
        let sent_off = sent.abs_diff(after.offered - before.offered);
        let received_off = counted.abs_diff(after.arrived - before.arrived);
        self.figures.put_all(
            &who,
            [
                ("offered_fps", sent as f64 / sending_s),
                ("accounted_fps", arrived),
                ("accounted_ns_per_frame", 1e9 / arrived.max(1.0)),
                ("sent, differs from kernel by frames", sent_off as f64),
                (
                    "received, differs from kernel by frames",
                    received_off as f64,
                ),
            ],
        );
        Ok(())
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
