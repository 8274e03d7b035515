//! One run: everything is made, the demand is played, what passes is counted, and everything goes again.

use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use nicety_benchmarks::load::{Begin, Load};
use nicety_benchmarks::process::family;
use nicety_benchmarks::start::go_on;
use nicety_police::Policy;
use nicety_testkit::etcd::{Etcd, Options};

use crate::cost::{Process, Store};
use crate::hosts::Host;
use crate::series::{Readings, STEP, Series};
use crate::simulated::Simulated;
use crate::trace::Trace;
use crate::{HOSTS, MEMBERS, PERIOD_S, REAL, TENANTS, Wants, policy};

/// Limit of a start.
const PATIENCE: Duration = Duration::from_secs(90);

/// What a daemon and its guard have cost, as a share of a core, and their memory at the end.
#[derive(Debug, Clone, Copy)]
pub struct DaemonCost {
    pub core: f64,
    pub memory: Process,
    pub guard_core: f64,
    pub guard: Process,
    pub leads: bool,
}

/// What a run has shown.
pub struct Run {
    pub series: Series,
    pub daemons: Vec<DaemonCost>,
    /// Writes and events.
    pub store: Store,
    /// Periods in which they were counted.
    pub periods: f64,
    pub load: Load,
    /// How late readings were, in seconds: the 99th percentile.
    pub late_s: f64,
    /// Times that a host lost its grant.
    pub fallbacks: u64,
    pub etcd: String,
}

struct Stage {
    simulated: Simulated,
    hosts: Vec<Host>,
    etcd: Etcd,
    wants: Wants,
}

/// Plays a demand.
///
/// # Errors
/// What is missing here, what has failed, and an interrupt.
pub fn run(trace: &Trace, stop: &AtomicBool) -> Result<Run> {
    let dir = tempfile::tempdir()?;
    let mut stage = build(dir.path(), stop)?;
    let (begin, machine) = (Instant::now(), Begin::now()?);
    let before = (costs(&stage.hosts)?, Store::read(&stage.etcd, MEMBERS)?);
    let (readings, late_s) = play(trace, &mut stage, stop)?;
    let seconds = begin.elapsed().as_secs_f64();
    let after = (costs(&stage.hosts)?, Store::read(&stage.etcd, MEMBERS)?);
    let load = machine.load()?;
    let daemons = before.0.iter().zip(&after.0).zip(&stage.hosts);
    let daemons = daemons.map(|((before, after), host)| DaemonCost {
        core: (after.0.cpu_s - before.0.cpu_s) / seconds,
        memory: after.0,
        guard_core: (after.1.cpu_s - before.1.cpu_s) / seconds,
        guard: after.1,
        leads: host.is("leads", true),
    });
    let run = Run {
        series: Series::of(&readings, trace.end),
        daemons: daemons.collect(),
        store: after.1.since(&before.1),
        periods: seconds / PERIOD_S,
        load,
        late_s,
        fallbacks: stage.hosts.iter().map(Host::fallbacks).sum::<u64>()
            + stage.simulated.fallbacks(),
        etcd: version(&stage.etcd),
    };
    for host in &mut stage.hosts {
        host.stop()?;
    }
    Ok(run)
}

/// Everything that takes part, all of it with a grant.
fn build(dir: &Path, stop: &AtomicBool) -> Result<Stage> {
    let etcd = Etcd::start(Options {
        members: MEMBERS,
        ..Options::default()
    });
    let etcd = etcd.map_err(|skip| anyhow!("{}", skip.0))?;
    // The prefix is known, so that no grant waits for the end of what an older etcd may have granted.
    etcd.told(&["put", "/bench/schema", "nicety cluster 1"])
        .map_err(|error| anyhow!("{error}"))?;
    let text = policy(&etcd.endpoints());
    let file = dir.join("policy.toml");
    std::fs::write(&file, &text)?;
    let wants = Wants::new();
    let mut hosts = Vec::new();
    for number in 0..REAL {
        hosts.push(Host::new(&etcd, number, dir, &wants)?);
    }
    eprintln!("{REAL} hosts with real packets");
    let begin = Instant::now();
    for host in &mut hosts {
        host.start(&file)?;
    }
    // One of them leads: the leader is a daemon as it is installed.
    until(&mut hosts, stop, begin, |hosts| {
        hosts.iter().any(|host| host.is("leads", true))
    })?;
    let policy = Policy::parse("policy.toml", &text)?;
    let simulated = Simulated::start(&policy, etcd.hub(), &wants)?;
    until(&mut hosts, stop, begin, |_| {
        simulated.granted() == HOSTS - REAL
    })?;
    for host in &mut hosts {
        while !host.is_granted()? {
            waits(stop, begin, &host.said())?;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    eprintln!("all {HOSTS} hosts have a grant, {seconds:.1} s after the first began");
    Ok(Stage {
        simulated,
        hosts,
        etcd,
        wants,
    })
}

fn until(
    hosts: &mut [Host],
    stop: &AtomicBool,
    begin: Instant,
    wanted: impl Fn(&[Host]) -> bool,
) -> Result<()> {
    while !wanted(hosts) {
        for host in &mut *hosts {
            // A daemon that has ended is told.
            host.is_granted()?;
        }
        let said: Vec<String> = hosts.iter().map(Host::said).collect();
        waits(stop, begin, &said.join("\n"))?;
    }
    Ok(())
}

fn waits(stop: &AtomicBool, begin: Instant, said: &str) -> Result<()> {
    go_on(stop)?;
    if begin.elapsed() > PATIENCE {
        bail!("not all hosts have a grant after {PATIENCE:?}; the daemons say:\n{said}");
    }
    std::thread::sleep(Duration::from_millis(100));
    Ok(())
}

/// Changes demands in their time, and reads all counters ten times a second; also how late that was.
fn play(trace: &Trace, stage: &mut Stage, stop: &AtomicBool) -> Result<(Readings, f64)> {
    let begin = Instant::now();
    let mut readings: Readings = vec![Vec::new(); HOSTS];
    let mut late = Vec::new();
    let mut changes = trace.changes.iter().peekable();
    let mut scene = None;
    for number in 0..=(trace.end / STEP) as usize + 1 {
        let due = number as f64 * STEP;
        while let Some(change) = changes.next_if(|change| change.at <= due) {
            sleep_to(begin, change.at);
            stage.wants.set(change.tenant, &change.demand);
            if scene != Some(change.scene) && change.tenant == 0 {
                scene = Some(change.scene);
                eprintln!("{:.0} s: {}", change.at, change.scene.word());
            }
        }
        sleep_to(begin, due);
        late.push(begin.elapsed().as_secs_f64() - due);
        go_on(stop)?;
        read(stage, begin, &mut readings)?;
        if number % 100 == 0 {
            for host in &mut stage.hosts {
                host.is_granted()?;
            }
        }
    }
    late.sort_by(f64::total_cmp);
    let late = late[(0.99 * (late.len() - 1) as f64) as usize];
    Ok((readings, late))
}

fn read(stage: &Stage, begin: Instant, readings: &mut Readings) -> Result<()> {
    for (host, of) in stage.hosts.iter().zip(&mut *readings) {
        let arrived = host.arrived()?.map(|bytes| bytes as f64);
        of.push((begin.elapsed().as_secs_f64(), arrived));
    }
    let passed = stage.simulated.passed.lock();
    let (at, passed) = passed.unwrap_or_else(PoisonError::into_inner).clone();
    let at = at.saturating_duration_since(begin).as_secs_f64();
    for (of, passed) in readings.iter_mut().skip(REAL).zip(passed) {
        // Nothing new while its thread is late.
        if of.last().is_none_or(|(last, _)| *last < at) {
            of.push((at, passed));
        }
    }
    Ok(())
}

fn sleep_to(begin: Instant, seconds: f64) {
    let due = begin + Duration::from_secs_f64(seconds);
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
}

/// What each daemon and its guard have used so far.
fn costs(hosts: &[Host]) -> Result<Vec<(Process, Process)>> {
    let of = |host: &Host| {
        let id = host
            .id()
            .ok_or_else(|| anyhow!("{} has no daemon", host.name))?;
        let guard = family(id).get(1).map(|guard| Process::read(*guard));
        Ok((Process::read(id)?, guard.transpose()?.unwrap_or_default()))
    };
    hosts.iter().map(of).collect()
}

fn version(etcd: &Etcd) -> String {
    let said = etcd.told(&["version"]).unwrap_or_default();
    said.lines().next().unwrap_or_default().to_owned()
}

const _: () = assert!(TENANTS.len() == 2);
