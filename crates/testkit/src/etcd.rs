//! A real etcd: members in namespaces of their own, joined by a bridge, with TLS of the test's own making. Members
//! can be killed, frozen, cut off, slowed down and set up again empty.
//!
//! ```text
//!   member 1   member 2   member 3     198.51.100.1, .2, .3
//!      └── m1 ──── m2 ──── m3 ── etcd (bridge, in the hub) 198.51.100.254
//! ```
//!
//! Members are Debian's `etcd-server`. They end with the test, however that ends; their data are in memory where
//! the machine has room there, so that no disk's sync makes them slow.

mod member;
mod pki;

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use nicety_netdev::link::{LinkChange, Links, VethEnd};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use tempfile::TempDir;

use crate::runner::Skip;
use member::Member;
pub use pki::Pki;

type Failure = Box<dyn std::error::Error>;

/// Limit of a start.
const LIMIT: Duration = Duration::from_secs(60);
const BRIDGE: &str = "etcd";
/// Drops what comes from or goes to the ports of a set; the same again changes nothing.
const SILENT: &str = "add table bridge silent
add set bridge silent ports { type ifname; }
add chain bridge silent forward { type filter hook forward priority 0; }
flush chain bridge silent forward
add rule bridge silent forward iifname @ports drop
add rule bridge silent forward oifname @ports drop
";

/// What kind of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Members, 1 to 9.
    pub members: usize,
    /// Certificates on both sides, else plain HTTP.
    pub tls: bool,
    /// Size of the data at which etcd takes no more; etcd's own when none.
    pub quota_bytes: Option<u64>,
    /// More of etcd's options.
    pub more: &'static [&'static str],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            members: 3,
            tls: false,
            quota_bytes: None,
            more: &[],
        }
    }
}

/// A running etcd; gone when dropped.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    options: Options,
    hub: NetNs,
    links: Links,
    pki: Pki,
    dir: TempDir,
}

impl Etcd {
    /// Starts it, and waits until it is in service.
    ///
    /// # Errors
    /// What is missing here.
    ///
    /// # Panics
    /// When it cannot be started although everything is there.
    #[allow(clippy::panic, reason = "a test fails by panicking")]
    pub fn start(options: Options) -> Result<Self, Skip> {
        for (program, package) in [
            ("etcd", "etcd-server"),
            ("etcdctl", "etcd-client"),
            ("tc", "iproute2"),
        ] {
            if which(program).is_none() {
                return Err(Skip(format!(
                    "no {program} here; on Debian: apt-get install {package}"
                )));
            }
        }
        match Self::build(options) {
            Ok(etcd) => Ok(etcd),
            // As root of a container who may make no namespaces.
            Err(error)
                if error
                    .downcast_ref::<NetError>()
                    .is_some_and(NetError::is_not_permitted) =>
            {
                Err(Skip(error.to_string()))
            }
            Err(error) => panic!("cannot start etcd: {error}"),
        }
    }

    fn build(options: Options) -> Result<Self, Failure> {
        let dir = directory()?;
        let hub = NetNs::create("hub")?;
        let links = Links::open(&hub)?;
        links.set_up("lo")?;
        links.add_bridge(BRIDGE)?;
        links.set_up(BRIDGE)?;
        let mut etcd = Self {
            members: Vec::new(),
            options,
            hub,
            links,
            pki: Pki::make(dir.path())?,
            dir,
        };
        etcd.links.add_address(BRIDGE, address(254), 24)?;
        for number in 1..=options.members {
            let ns = NetNs::create("member")?;
            etcd.join(&ns, number as u8)?;
            etcd.members.push(Member::new(ns, number, etcd.dir.path())?);
        }
        (0..options.members).try_for_each(|member| etcd.run(member))?;
        etcd.wait()?;
        Ok(etcd)
    }

    /// Joins a namespace to the bridge: there its interface is `eth0` with the address 198.51.100.`number`; in the
    /// hub it is `m` and the number.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn join(&self, ns: &NetNs, number: u8) -> Result<(), Failure> {
        let name = format!("m{number}");
        self.links
            .add_veth(VethEnd::plain(&self.hub, &name), VethEnd::plain(ns, "eth0"))?;
        let bridge = self.links.get(BRIDGE)?.index;
        let joined = LinkChange {
            up: Some(true),
            master: Some(bridge),
            ..LinkChange::default()
        };
        self.links.change(&name, &joined)?;
        let there = Links::open(ns)?;
        there.set_up("lo")?;
        there.set_up("eth0")?;
        there.add_address("eth0", address(number), 24)?;
        Ok(())
    }

    /// Starts a member that does not run, with the data that it has.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn run(&mut self, member: usize) -> Result<(), Failure> {
        let cluster: Vec<String> = (1..=self.options.members).map(member::peer).collect();
        self.members[member].start(&self.options, &self.pki, &cluster.join(","))
    }

    /// Waits until every member that runs is in service.
    ///
    /// # Errors
    /// When one is not within a minute, with what it has logged.
    pub fn wait(&mut self) -> Result<(), Failure> {
        let end = Instant::now() + LIMIT;
        for member in &mut self.members {
            while member.runs() && !member.is_healthy(&self.hub) {
                if Instant::now() > end {
                    return Err(member.log().into());
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// Kills a member.
    pub fn kill(&mut self, member: usize) {
        self.members[member].kill();
    }

    /// Freezes a member as SIGSTOP does, or lets it go on.
    pub fn freeze(&self, member: usize, frozen: bool) {
        self.members[member].freeze(frozen);
    }

    /// Removes what a killed member knows. Of all members: the next start is an etcd that knows nothing.
    ///
    /// # Errors
    /// When files cannot be removed.
    pub fn wipe(&self, member: usize) -> std::io::Result<()> {
        self.members[member].wipe()
    }

    /// Cuts off whoever is connected by `m` and its number, or joins it again. Members are 1, 2, 3.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn cut(&self, number: u8, off: bool) -> Result<(), Failure> {
        let change = LinkChange {
            up: Some(!off),
            ..LinkChange::default()
        };
        Ok(self.links.change(&format!("m{number}"), &change)?)
    }

    /// Drops every frame of whoever is connected by `m` and its number, in both directions, or lets them pass again.
    /// Unlike [`Self::cut`] nobody's interface goes down: connections fall silent.
    ///
    /// # Errors
    /// What nft(8) says.
    pub fn silence(&self, number: u8, off: bool) -> Result<(), Failure> {
        let verb = if off { "add" } else { "delete" };
        let script = format!("{SILENT}{verb} element bridge silent ports {{ \"m{number}\" }}\n");
        let mut command = Command::new(which("nft").unwrap_or_else(|| "nft".into()));
        let ended = self.hub.run(|| command.arg(script).output())??;
        if ended.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&ended.stderr).into())
        }
    }

    /// Delays everything on the way to `m` and its number; not at all for zero.
    ///
    /// # Errors
    /// What tc(8) says.
    pub fn slow(&self, number: u8, delay: Duration) -> Result<(), Failure> {
        let device = format!("m{number}");
        let delay_ms = format!("{}ms", delay.as_millis());
        let mut words = vec![
            "qdisc", "replace", "dev", &device, "root", "netem", "delay", &delay_ms,
        ];
        if delay.is_zero() {
            words = vec!["qdisc", "del", "dev", &device, "root"];
        }
        let mut command = Command::new(which("tc").unwrap_or_default());
        let ended = self.hub.run(|| command.args(words).output())??;
        if ended.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&ended.stderr).into())
        }
    }

    /// Runs etcdctl(1).
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn ctl(&self, words: &[&str]) -> Result<Output, Failure> {
        let mut command = Command::new("etcdctl");
        command
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &self.endpoints().join(",")]);
        if self.options.tls {
            command.arg("--cacert").arg(self.pki.ca());
            command
                .arg("--cert")
                .arg(self.pki.client().0)
                .arg("--key")
                .arg(self.pki.client().1);
        }
        command.args(words);
        Ok(self.hub.run(|| command.output())??)
    }

    /// Standard output of etcdctl(1), which must succeed.
    ///
    /// # Errors
    /// What it says when it does not.
    pub fn told(&self, words: &[&str]) -> Result<String, Failure> {
        let ended = self.ctl(words)?;
        if ended.status.success() {
            Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&ended.stderr).into())
        }
    }

    /// What a member counts, as its page `/metrics` has it.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn metrics(&self, member: usize) -> Result<String, Failure> {
        self.members[member].page(&self.hub, "/metrics")
    }

    /// URLs of all members.
    pub fn endpoints(&self) -> Vec<String> {
        (1..=self.options.members)
            .map(|number| member::client(number, self.options.tls))
            .collect()
    }

    /// The namespace of the bridge, from which all members can be reached.
    pub fn hub(&self) -> &NetNs {
        &self.hub
    }

    /// Its certificates.
    pub fn pki(&self) -> &Pki {
        &self.pki
    }

    /// A directory that goes with it.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}

fn address(number: u8) -> IpAddr {
    Ipv4Addr::new(198, 51, 100, number).into()
}

/// In memory where that can be.
fn directory() -> std::io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir())
}

/// Where a program is.
fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut all = path.split(':').map(|dir| Path::new(dir).join(program));
    all.find(|file| file.is_file())
}
