//! Tenants behind a bridge and the uplink they share, in namespaces that end with this process.

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nicety_benchmarks::inside::sh;
use nicety_benchmarks::nicety;
use nicety_benchmarks::program::Held;
use nicety_netdev::link::{LinkChange, Links, VethEnd};
use nicety_netdev::netns::NetNs;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::flows::{Flow, Meters, SINK, Series};

pub struct Rig {
    pub hub: NetNs,
    pub sink: NetNs,
    tenants: Vec<(String, NetNs)>,
    links: Links,
    dir: TempDir,
    sent: RefCell<Vec<f64>>,
}

/// Ends the flows, also when something fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Rig {
    /// `uplink` in Mbit/s.
    pub fn new(tenants: &[&str], uplink: u64) -> Result<Self> {
        let (hub, sink) = (NetNs::create("hub")?, NetNs::create("sink")?);
        let links = Links::open(&hub)?;
        links.add_bridge("sw")?;
        let mut rig = Self {
            tenants: Vec::new(),
            links,
            dir: tempfile::tempdir()?,
            sent: RefCell::default(),
            hub,
            sink,
        };
        rig.links.set_up("sw")?;
        rig.join("u", &rig.sink, SINK)?;
        for (index, name) in tenants.iter().enumerate() {
            let ns = NetNs::create(name)?;
            rig.join(name, &ns, Ipv4Addr::new(192, 0, 2, index as u8 + 1))?;
            rig.tenants.push(((*name).to_owned(), ns));
        }
        // 10 ms of the link may wait, first come first served.
        let bucket = format!("rate {uplink}mbit burst 64kb limit {}", uplink * 1250);
        sh(&rig.hub, &format!("tc qdisc add dev u1 root tbf {bucket}"))?;
        Ok(rig)
    }

    /// `NAME1` at the bridge, `NAME0` with an address at the other end.
    pub fn join(&self, name: &str, ns: &NetNs, address: Ipv4Addr) -> Result<()> {
        let (near, far) = (format!("{name}1"), format!("{name}0"));
        let near_end = VethEnd::plain(&self.hub, &near);
        self.links.add_veth(near_end, VethEnd::plain(ns, &far))?;
        let bridge = self.links.get("sw")?.index;
        let change = LinkChange {
            up: Some(true),
            master: Some(bridge),
            ..LinkChange::default()
        };
        self.links.change(&near, &change)?;
        let links = Links::open(ns)?;
        links.set_up(&far)?;
        links.add_address(&far, address.into(), 24)?;
        Ok(())
    }

    /// The daemon, where there is a policy.
    pub fn controlled(&self, policy: Option<&str>) -> Result<Option<Held>> {
        policy.map(|policy| self.daemon(policy)).transpose()
    }

    /// The daemon with a policy, after its first period.
    pub fn daemon(&self, policy: &str) -> Result<Held> {
        let file = self.dir.path().join("policy.toml");
        let state = self.dir.path().join("state");
        std::fs::write(&file, policy)?;
        let start = || {
            Command::new(nicety())
                .args(["police", "run"])
                .arg(&file)
                .arg("--state")
                .arg(&state)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::inherit())
                .spawn()
        };
        let daemon = self.hub.run(start)?.context("start nicety")?;
        let mut held = Held::new(daemon, Signal::TERM);
        let begin = Instant::now();
        while !state.join("state.json").exists() {
            let ended = held.child.try_wait().is_ok_and(|end| end.is_some());
            if ended || begin.elapsed() > Duration::from_secs(60) {
                bail!("nicety police did not begin");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(held)
    }

    /// Runs flows for `steps`; what each brought, in their order.
    pub fn run(&self, flows: &[Flow], step: Duration, steps: usize) -> Result<Vec<Series>> {
        let meters = Meters::new(flows.len());
        let over = AtomicBool::new(false);
        self.sent.borrow_mut().clear();
        let mut ends = Vec::new();
        for flow in flows {
            let tenant = self.tenants.iter().find(|(name, _)| *name == flow.tenant);
            let (_, ns) = tenant.context("no such tenant")?;
            ends.push(flow.connect(ns, &self.sink)?);
        }
        std::thread::scope(|scope| {
            let _over = Over(&over);
            let begin = Instant::now();
            for ((flow, ends), meter) in flows.iter().zip(&ends).zip(&meters.0) {
                flow.start(scope, ends, meter, (&over, begin, step));
            }
            let mut series = vec![Series::default(); flows.len()];
            let mut before = (meters.read(), self.uplink_bytes()?);
            let mut at = Instant::now();
            for number in 1..=steps {
                let due = begin + step * number as u32;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let now = (meters.read(), self.uplink_bytes()?);
                let seconds = at.elapsed().as_secs_f64();
                at = Instant::now();
                let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
                for (of, (new, old)) in series.iter_mut().zip(now.0.iter().zip(&before.0)) {
                    of.rates.push(mbps(new - old));
                }
                self.sent.borrow_mut().push(mbps(now.1 - before.1));
                before = now;
            }
            Ok(series)
        })
    }

    /// What the uplink carried in some steps of the last run, in Mbit/s of frames without FCS.
    pub fn uplink_mean(&self, steps: Range<usize>) -> f64 {
        let sent = self.sent.borrow();
        let of = sent.get(steps).unwrap_or_default();
        of.iter().sum::<f64>() / of.len().max(1) as f64
    }

    fn uplink_bytes(&self) -> Result<u64> {
        Ok(self.links.get("u1")?.counters.tx_bytes)
    }
}
