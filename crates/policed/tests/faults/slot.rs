//! One small cluster of three hosts below a prefix of its own.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nicety_host::child;
use nicety_netdev::netns::NetNs;
use rustix::process::{Pid, Signal, kill_process};

use crate::host::Config;
use crate::port::Field;
use crate::watch::Seen;

/// Hosts of a cluster.
pub const HOSTS: usize = 3;
/// What they may send together, in bits per second, and what is guaranteed of it.
pub const TOTAL: u64 = 12_000_000;
pub const GUARANTEE: u64 = 4_500_000;
/// Part of `TOTAL / HOSTS` that a host keeps when it hears nobody.
pub const SAFE_SHARE: f64 = 0.5;
/// What a host has in any case when all want more than there is.
pub const FLOOR: u64 = GUARANTEE / HOSTS as u64;
/// Limit of what is waited for; never reached where things work.
const PATIENCE: Duration = Duration::from_secs(180);
/// All that there is.
const EVERYTHING: u64 = 100 * TOTAL;

pub struct Host {
    /// Its number on etcd's bridge.
    pub number: u8,
    pub ns: NetNs,
    pub config: Config,
    child: Option<Child>,
    /// How far its log was read.
    read: u64,
}

impl Host {
    pub fn new(number: u8, ns: NetNs, config: Config) -> Self {
        Self {
            number,
            ns,
            config,
            child: None,
            read: 0,
        }
    }

    pub fn start(&mut self) {
        let ns = format!(
            "--net=/proc/{}/fd/{}",
            std::process::id(),
            self.ns.as_fd().as_raw_fd()
        );
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.config.file("log"));
        let mut command = Command::new("nsenter");
        command
            .arg(ns)
            .arg(std::env::current_exe().unwrap())
            .arg(crate::HOST)
            .arg(serde_json::to_string(&self.config).unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.unwrap());
        self.child = Some(child::spawn(command).unwrap());
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn stop(&self, stopped: bool) {
        let signal = if stopped { Signal::STOP } else { Signal::CONT };
        if let Some(child) = &self.child {
            kill_process(Pid::from_child(child), signal).unwrap();
        }
    }

    /// Lines since the last look: name of the event, and words.
    pub fn said(&mut self) -> Vec<(String, String)> {
        let mut file = File::open(self.config.file("log")).unwrap();
        file.seek(SeekFrom::Start(self.read)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        self.read += text.len() as u64;
        let lines = text.lines().map(|line| {
            let (name, words) = line.split_once('\t').unwrap_or(("panic", line));
            (name.to_owned(), words.to_owned())
        });
        lines.collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
    }
}

pub struct Slot {
    pub hosts: Vec<Host>,
    pub seen: Arc<Seen>,
    pub period: Duration,
    pub ttl: Duration,
    pub random: fastrand::Rng,
}

impl Slot {
    /// Who leads, by its own words; none while nobody or more than one says so.
    pub fn leader(&self) -> Option<usize> {
        let says = |host: &usize| self.seen.ports[*host].get(Field::Leads) == 1;
        let all: Vec<usize> = (0..HOSTS).filter(says).collect();
        (all.len() == 1).then(|| all[0])
    }

    pub fn wants(&self, host: usize, on: bool) {
        self.seen.ports[host].set(Field::Demand, if on { EVERYTHING } else { 0 });
    }

    pub fn all_want(&self) {
        (0..HOSTS).for_each(|host| self.wants(host, true));
    }

    /// All hold grants, one leads, and `big` has nearly everything; nobody else wants anything.
    pub fn settle(&mut self, big: usize) -> bool {
        (0..HOSTS).for_each(|host| self.wants(host, host == big));
        let settled = self.until(PATIENCE, |slot| {
            let granted = |host: usize| slot.seen.ports[host].get(Field::Number) > 0;
            (0..HOSTS).all(granted)
                && slot.leader().is_some()
                && slot.seen.limits()[big] * 100 > 85 * TOTAL
        });
        if settled.is_none() {
            let limits = self.seen.limits();
            self.seen.wrong(&format!(
                "never in order: {limits:?}, leader {:?}",
                self.leader()
            ));
        }
        self.hosts.iter_mut().for_each(|host| drop(host.said()));
        settled.is_some()
    }

    /// Waits until all have their fair part; how long that took, in periods since `since`.
    pub fn back(&self, since: Instant) -> Option<f64> {
        let fair = |limit: &u64| *limit * HOSTS as u64 * 10 > 9 * TOTAL;
        self.until(PATIENCE, |slot| slot.seen.limits().iter().all(fair))?;
        Some(since.elapsed().as_secs_f64() / self.period.as_secs_f64())
    }

    fn until(&self, limit: Duration, wanted: impl Fn(&Self) -> bool) -> Option<()> {
        let end = Instant::now() + limit;
        while !wanted(self) {
            if Instant::now() > end {
                return None;
            }
            sleep(self.period / 10);
        }
        Some(())
    }

    /// From when which hosts must have their floor.
    pub fn floors(&self, from: Instant, hosts: impl Fn(usize) -> bool) {
        let floors = (0..HOSTS).map(|host| hosts(host).then_some(from));
        *self.seen.floors.lock().unwrap() = floors.collect();
    }

    /// While the accident lasts, these hosts come to their floor, however slow the machine is; below it they may not
    /// fall again.
    pub fn reach_floors(&self, hosts: impl Fn(usize) -> bool) {
        let has = |limit: u64| limit * 100 >= FLOOR * 99;
        let reached = self.until(PATIENCE, |slot| {
            let limits = slot.seen.limits();
            (0..HOSTS).all(|host| !hosts(host) || has(limits[host]))
        });
        match reached {
            Some(()) => self.floors(Instant::now(), hosts),
            None => self.seen.wrong(&format!(
                "hosts that can talk to etcd never have their guarantee of {FLOOR}: {:?}",
                self.seen.limits()
            )),
        }
    }

    /// A part of a lease, between the two.
    pub fn part_of_lease(&mut self, from: f64, to: f64) -> Duration {
        let part = from + (to - from) * self.random.f64();
        self.ttl.mul_f64(part)
    }

    /// The longest time after which a lease has surely ended and been followed by another step of the leader.
    pub fn grace(&self) -> Duration {
        self.ttl + Duration::from_millis(1_500) + 5 * self.period
    }
}
