//! Hosts with real packets: each in a namespace of its own, with a daemon, and a sender and a counter for each tenant.
//!
//! ```text
//!   sender: a0 --- a1 ── swa ── ua1 --- ua0: counted     blue
//!           b0 --- b1 ── swb ── ub1 --- ub0: counted     green
//!                          eth0 ─── etcd
//! ```

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nicety_benchmarks::background::Background;
use nicety_benchmarks::inside::sh;
use nicety_benchmarks::nicety;
use nicety_host::child;
use nicety_netdev::link::{Links, VethEnd};
use nicety_netdev::netns::NetNs;
use nicety_testkit::etcd::Etcd;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{TENANTS, Wants, sender};

/// Number of the first host on etcd's bridge.
const FIRST: u8 = 11;
/// FCS, preamble and gap of a frame, in bytes: the limits count them, the kernel's counters do not.
const BESIDE: u64 = 24;
const PEER: &str = "02:00:00:00:00:99";

/// Interfaces of a tenant: its sender, its port, the way out, the counter.
struct Names {
    sender: String,
    port: String,
    out: String,
    counter: String,
    bridge: String,
}

impl Names {
    fn of(tenant: usize) -> Self {
        let letter = char::from(b'a' + tenant as u8);
        Self {
            sender: format!("{letter}0"),
            port: port(tenant),
            out: format!("u{letter}1"),
            counter: format!("u{letter}0"),
            bridge: format!("sw{letter}"),
        }
    }
}

/// The port of a tenant.
pub fn port(tenant: usize) -> String {
    format!("{}1", char::from(b'a' + tenant as u8))
}

pub struct Host {
    pub name: String,
    daemon: Option<Child>,
    ns: NetNs,
    /// Sees what is counted.
    counters: Links,
    _sender: Background,
    state: PathBuf,
    log: PathBuf,
}

impl Host {
    pub fn new(etcd: &Etcd, number: usize, dir: &Path, wants: &Wants) -> Result<Self> {
        let [ns, guest, sink] = ["host", "guest", "sink"].map(NetNs::create);
        let (ns, guest, sink) = (ns?, guest?, sink?);
        etcd.join(&ns, FIRST + number as u8)
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        let links = Links::open(&ns)?;
        let mut sockets = Vec::new();
        sh(
            &ns,
            "for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done",
        )?;
        for tenant in 0..TENANTS.len() {
            let Names {
                sender,
                port,
                out,
                counter,
                bridge,
            } = Names::of(tenant);
            links.add_veth(VethEnd::plain(&ns, &port), VethEnd::plain(&guest, &sender))?;
            links.add_veth(VethEnd::plain(&ns, &out), VethEnd::plain(&sink, &counter))?;
            sh(
                &ns,
                &format!(
                    "ip link add {bridge} type bridge && \
                     for port in {port} {out}; do ip link set $port master {bridge}; done && \
                     for port in {bridge} {port} {out}; do ip link set $port up; done && \
                     bridge fdb add {PEER} dev {out} master static"
                ),
            )?;
            let net = format!("192.0.{}", 2 + tenant);
            sh(
                &guest,
                &format!(
                    "ip link set {sender} up && ip address add {net}.1/24 dev {sender} && \
                     ip neighbour add {net}.99 lladdr {PEER} dev {sender}"
                ),
            )?;
            sh(&sink, &format!("ip link set {counter} address {PEER} up"))?;
            let socket = guest.run(|| {
                let socket = UdpSocket::bind(format!("{net}.1:0"))?;
                socket.connect(format!("{net}.99:9"))?;
                Ok::<_, std::io::Error>(socket)
            })??;
            sockets.push(socket);
        }
        let name = format!("real-{number:02}");
        Ok(Self {
            _sender: sender::start(number, sockets, wants.clone())?,
            counters: Links::open(&sink)?,
            state: dir.join(&name),
            log: dir.join(format!("{name}.log")),
            name,
            ns,
            daemon: None,
        })
    }

    /// Starts its daemon. It ends with this process, however that ends.
    pub fn start(&mut self, policy: &Path) -> Result<()> {
        let (id, fd) = (std::process::id(), self.ns.as_fd().as_raw_fd());
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/proc/{id}/fd/{fd}"))
            .args(["setpriv", "--pdeathsig", "KILL", nicety(), "police", "run"])
            .arg(policy)
            .args(["--label", &self.name, "--state"])
            .arg(&self.state)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&self.log)?);
        self.daemon = Some(child::spawn(command).context("start nicety police")?);
        Ok(())
    }

    /// Process of the daemon.
    pub fn id(&self) -> Option<u32> {
        self.daemon.as_ref().map(Child::id)
    }

    /// The host's part in the cluster, as its daemon has written it down.
    fn cluster(&self) -> Option<Value> {
        let text = std::fs::read(self.state.join("state.json")).ok()?;
        let state: Value = serde_json::from_slice(&text).ok()?;
        state.get("cluster").cloned()
    }

    /// Times that it lost its grant.
    pub fn fallbacks(&self) -> u64 {
        let cluster = self.cluster().unwrap_or_default();
        cluster["fallbacks"].as_u64().unwrap_or(0)
    }

    pub fn is(&self, key: &str, wanted: impl Into<Value>) -> bool {
        let wanted = wanted.into();
        self.cluster().is_some_and(|cluster| cluster[key] == wanted)
    }

    /// Whether its daemon still runs, and holds a grant.
    ///
    /// # Errors
    /// When the daemon has ended.
    pub fn is_granted(&mut self) -> Result<bool> {
        let ended = self.daemon.as_mut().map(Child::try_wait).transpose()?;
        if let Some(Some(status)) = ended {
            bail!(
                "the daemon of {} ended ({status}): {}",
                self.name,
                self.said()
            );
        }
        Ok(self.is("stands", "granted"))
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Bytes on the wire that have arrived behind it, by tenant.
    pub fn arrived(&self) -> Result<[u64; TENANTS.len()]> {
        let all = self.counters.counters()?;
        let of = |tenant: usize| {
            let counted = all.get(&Names::of(tenant).counter).context("no counter")?;
            Ok::<_, anyhow::Error>(counted.rx_bytes + BESIDE * counted.rx_packets)
        };
        Ok([of(0)?, of(1)?])
    }

    /// Ends the daemon as its operator would.
    ///
    /// # Errors
    /// When it has failed.
    pub fn stop(&mut self) -> Result<()> {
        let Some(mut daemon) = self.daemon.take() else {
            return Ok(());
        };
        let _ = kill_process(Pid::from_child(&daemon), Signal::TERM);
        for _ in 0..200 {
            if let Some(status) = daemon.try_wait()? {
                if !status.success() {
                    bail!(
                        "the daemon of {} ended ({status}): {}",
                        self.name,
                        self.said()
                    );
                }
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = daemon.kill();
        let _ = daemon.wait();
        bail!("the daemon of {} did not end", self.name)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // After a failure that has been told already.
        let _ = self.stop();
    }
}
