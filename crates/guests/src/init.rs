//! The first and only process of a guest that forwards: joins two NICs with a kernel bridge,
//! says so, and answers questions about its counters.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use nicety_model::Note;
use nicety_model::note::GuestNote;
use nicety_netdev::ethtool::{Ethtool, QueueCounts, Rings};
use nicety_netdev::link::{Link, LinkChange, Links, Mac};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::qdisc;
use nicety_netdev::sysctl;
use rustix::mount::MountFlags;
use rustix::system::RebootCommand;
use serde_json::Value;

use crate::error::QemuError;
use crate::files::mount;
use crate::modules;
use crate::virtio;
use crate::virtio_ports;
use crate::wire::{
    CONFIG, FromGuest, GuestConfig, Hello, NicFacts, PORT_NAME, Report, Request, Serve,
};

/// Drivers look for their devices in their own time, and the e1000 for its link every 2 s.
const DEVICE_LIMIT: Duration = Duration::from_secs(20);

/// Why the guest cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// Files, mounts, modules.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// Interfaces.
    #[error(transparent)]
    Net(#[from] NetError),
}

/// Starts a server of socket workloads at an address; it goes on in threads of its own. What is
/// in its way comes back in words.
pub type Start<'a> = &'a dyn Fn(&Serve, IpAddr) -> Result<(), String>;

/// Does what the host asks for.
pub type Work<'a> = &'a dyn Fn(Value) -> Value;

/// Runs as the first process. `start` is asked where sockets end in the guest, `work` when the host
/// has something for it to do. Returns only when it cannot go on.
///
/// # Errors
/// The step that failed.
pub fn run(start: Start<'_>, work: Work<'_>) -> Result<Infallible, InitError> {
    for (kind, path) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount(kind, path, kind, MountFlags::empty(), "")?;
    }
    let text = fs::read_to_string(CONFIG).map_err(|e| QemuError::io("read", CONFIG, e))?;
    let config: GuestConfig =
        serde_json::from_str(&text).map_err(|_| QemuError::answer(CONFIG, text))?;
    modules::load_first()?;
    let ns = NetNs::current()?;
    let (links, ethtool) = (Links::open(&ns)?, Ethtool::open(&ns)?);
    let mut notes = Vec::new();
    if config.serve.is_none()
        && let Err(error) = sysctl::disable_ipv6(&ns)
    {
        let error = error.to_string();
        notes.push(GuestNote::GuestIpv6Stays { error }.into());
    }
    let master = match config.serve {
        Some(_) => None,
        None => {
            links.add_bridge("br0")?;
            Some(links.get("br0")?.index)
        }
    };
    let up = LinkChange {
        up: Some(true),
        ..LinkChange::default()
    };
    let mut nics = Vec::new();
    for mac in config.macs {
        let nic = find(&links, Mac(mac))?;
        settle(&links, &ethtool, &nic.name, &config, &mut notes)?;
        let join = LinkChange { master, ..up };
        links.change(&nic.name, &join)?;
        nics.push(nic.name);
    }
    let bridge = master.map(|_| "br0");
    if let Some(bridge) = bridge {
        links.change(bridge, &up)?;
        // Sockets that end here ask for nobody else's frames.
        for (name, station) in nics.iter().zip(config.stations.into_iter().flatten()) {
            links.add_station(name, Mac(station))?;
        }
        if config.shared {
            let [first, second] = config.macs;
            for (name, station) in nics.iter().zip([second, first]) {
                links.forward_to(name, Mac(station), None)?;
                links.no_groups(name)?;
            }
        }
    }
    for name in nics.iter().map(String::as_str).chain(bridge) {
        links.wait_carrier(name, DEVICE_LIMIT)?;
    }
    if let Some(serve) = &config.serve {
        links.change("lo", &up)?;
        for (address, prefix) in &serve.addresses {
            let added = links.add_address(&nics[0], *address, *prefix);
            let started = added
                .map_err(|error| error.to_string())
                .and_then(|()| start(serve, *address));
            if let Err(why) = started {
                let address = address.to_string();
                notes.push(GuestNote::GuestNotServing { address, why }.into());
            }
        }
    }
    let hello = Hello {
        release: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
        cpus: cpu_lines().lines().skip(1).count() as u32,
        nics: nics.iter().map(|name| facts(&ethtool, name)).collect(),
        notes,
    };
    answer(port()?, &ns, hello, work)
}

/// Switches the machine off; the host sees QEMU end.
pub fn power_off() {
    rustix::fs::sync();
    // Fails only for a process that is not root, which the first one always is.
    let _ = rustix::system::reboot(RebootCommand::PowerOff);
}

/// The NIC with this address, as soon as its driver has found it.
fn find(links: &Links, mac: Mac) -> Result<Link, NetError> {
    let end = Instant::now() + DEVICE_LIMIT;
    loop {
        let found = links.list()?.into_iter().find(|link| link.mac == Some(mac));
        match found {
            Some(link) => return Ok(link),
            None if Instant::now() > end => {
                return Err(NetError::TimedOut {
                    operation: "wait for the NIC with address",
                    object: mac.to_string(),
                    after: DEVICE_LIMIT,
                });
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// MTU, queues and rings. What a driver refuses is noted: the facts say what there is.
fn settle(
    links: &Links,
    ethtool: &Ethtool,
    nic: &str,
    config: &GuestConfig,
    notes: &mut Vec<Note>,
) -> Result<(), NetError> {
    if links.get(nic)?.mtu != config.mtu {
        let change = LinkChange {
            mtu: Some(config.mtu),
            ..LinkChange::default()
        };
        links.change(nic, &change)?;
    }
    if config.whole_frames
        && let Err(error) = ethtool.set_features(nic, &[("tx-checksum-ip-generic", false)])
    {
        let (nic, error) = (nic.to_owned(), error.to_string());
        notes.push(GuestNote::GuestChecksums { nic, error }.into());
    }
    if config.queues > 1 {
        // More than there are CPUs are refused by no driver, but not used by itself either.
        let set = |counts: &mut QueueCounts| counts.combined = config.queues;
        if let Err(error) = ethtool.set_channels(nic, set) {
            let (nic, error) = (nic.to_owned(), error.to_string());
            notes.push(GuestNote::GuestNicRefused { nic, error }.into());
        }
    }
    if let Some(ring) = config.ring {
        let there = ethtool.rings(nic).ok();
        let wanted = |rings: &mut Rings| {
            rings.rx = ring.min(rings.rx_max);
            rings.tx = ring.min(rings.tx_max);
        };
        // The device of a virtio-net has been made with them.
        let differs = there.is_none_or(|mut rings| {
            let before = rings;
            wanted(&mut rings);
            rings != before
        });
        if differs && let Err(error) = ethtool.set_rings(nic, wanted) {
            let (nic, error) = (nic.to_owned(), error.to_string());
            notes.push(GuestNote::GuestNicRefused { nic, error }.into());
        }
    }
    Ok(())
}

fn facts(ethtool: &Ethtool, nic: &str) -> NicFacts {
    NicFacts {
        name: nic.to_owned(),
        driver: ethtool
            .driver(nic)
            .map(|driver| driver.driver)
            .unwrap_or_default(),
        queues: ethtool
            .channels(nic)
            .map_or(1, |channels| channels.current.combined.max(1)),
        rings: ethtool.rings(nic).ok().map(|rings| (rings.rx, rings.tx)),
        features: virtio::features(nic),
        iommu: virtio::iommu(nic),
    }
}

/// Says hello and answers until the machine ends.
fn answer(file: File, ns: &NetNs, hello: Hello, work: Work<'_>) -> Result<Infallible, InitError> {
    let links = Links::open(ns)?;
    let error = |e: std::io::Error| QemuError::io("use", "the channel to the host", e);
    let mut out = file.try_clone().map_err(error)?;
    let mut say = |what: &FromGuest| -> Result<(), QemuError> {
        let mut line = serde_json::to_string(what).map_err(|e| error(e.into()))?;
        line.push('\n');
        out.write_all(line.as_bytes()).map_err(error)
    };
    let names: Vec<String> = hello.nics.iter().map(|nic| nic.name.clone()).collect();
    say(&FromGuest::Hello(hello))?;
    let mut lines = BufReader::new(file);
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).map_err(error)? == 0 {
            // Nobody is at the other end; QEMU is about to end too.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        }
        let Ok(request) = serde_json::from_str::<Request>(&line) else {
            continue;
        };
        let mut report = Report {
            number: request.number,
            done: request.work.map(work),
            stat: cpu_lines(),
            ..Report::default()
        };
        let qdiscs = qdisc::list(ns)?;
        for name in &names {
            let link = links.get(name)?;
            let named = link.counters.named();
            let named = named.map(|(key, value)| (key.to_owned(), value));
            report.nics.insert(name.clone(), named.collect());
            report
                .qdiscs
                .insert(name.clone(), qdisc::at(&link, &qdiscs));
        }
        say(&FromGuest::Report(report))?;
    }
}

fn cpu_lines() -> String {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let lines = stat.lines().filter(|line| line.starts_with("cpu"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The port to the host.
fn port() -> Result<File, QemuError> {
    let end = Instant::now() + DEVICE_LIMIT;
    loop {
        let ports = virtio_ports::devices(|name| name == PORT_NAME);
        if let Some(port) = ports.unwrap_or_default().into_iter().next() {
            let opened = File::options().read(true).write(true).open(&port);
            return opened.map_err(|e| QemuError::io("open", port, e));
        }
        if Instant::now() > end {
            let (operation, none) = ("find the host's port in", std::io::ErrorKind::NotFound);
            return Err(QemuError::io(operation, virtio_ports::DIR, none));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
