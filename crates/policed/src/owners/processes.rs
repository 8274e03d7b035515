//! Processes that have a tap open or a network namespace of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use nicety_host::roots::ProcRoot;
use nicety_host::{OpenTap, open_taps};
use nicety_model::drops::{DropOwner, DropOwnerKind};
use nicety_netdev::link::Link;

/// Programs that run virtual machines, by the beginning of their name, which the kernel cuts at 15 bytes.
const MONITORS: [&str; 7] = [
    "qemu",
    "kvm",
    "firecracker",
    "cloud-hyperviso",
    "crosvm",
    "stratovirt",
    "vmx",
];

/// What is known of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// Inode of its network namespace.
    pub(super) netns: u64,
    /// Name of the program, or of the virtual machine that it runs.
    name: String,
    monitor: bool,
    /// The container that it runs in.
    container: Option<String>,
    /// Taps that it has open.
    taps: BTreeSet<OpenTap>,
}

impl Process {
    /// It, as an owner of packets.
    pub(super) fn owner(&self, interface: Option<String>) -> DropOwner {
        let tap = interface.is_some();
        let by_pid = || format!("{} (pid {})", self.name, self.pid);
        let (kind, name) = match (self.monitor && tap, &self.container) {
            (true, _) => (DropOwnerKind::Guest, self.name.clone()),
            (false, Some(container)) => (DropOwnerKind::Container, container.clone()),
            (false, None) if tap => (DropOwnerKind::Port, by_pid()),
            (false, None) => (DropOwnerKind::Container, by_pid()),
        };
        DropOwner {
            kind,
            name,
            interface,
        }
    }

    /// Interfaces whose frames it reads and writes; `links` are those of the host.
    pub(super) fn taps(&self, links: &[Link]) -> Vec<String> {
        let numbered = |number: u32| {
            let mut taps = links.iter().filter(|link| is_numbered(&link.kind));
            Some(taps.find(|link| link.index == number)?.name.clone())
        };
        let taps = self.taps.iter().filter_map(|tap| match tap {
            OpenTap::Named(name) => Some(name.clone()),
            OpenTap::Numbered(number) => numbered(*number),
        });
        taps.collect()
    }
}

/// Kinds whose device file bears the number of the interface (drivers/net/tap.c).
fn is_numbered(kind: &str) -> bool {
    ["macvtap", "ipvtap"].contains(&kind)
}

/// All that matter here.
#[derive(Debug, Clone, Default)]
pub(super) struct Processes {
    with_taps: Vec<Process>,
    /// The first of every other namespace; one in a container before one that is in none.
    of_namespaces: BTreeMap<u64, Process>,
    hidden: bool,
}

impl Processes {
    /// Reads a procfs; `here` is the inode of the host's network namespace.
    pub(super) fn below(proc: &ProcRoot, here: u64) -> Self {
        let mut processes = Self::default();
        let pids = fs::read_dir(proc.path("")).into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut pids: Vec<u32> = pids.collect();
        pids.sort_unstable();
        for pid in pids {
            processes.look(proc, pid, here);
        }
        processes
    }

    fn look(&mut self, proc: &ProcRoot, pid: u32, here: u64) {
        let dir = proc.path(pid.to_string());
        let netns = match fs::read_link(dir.join("ns/net")) {
            Ok(target) => target.to_str().and_then(inode),
            Err(error) => {
                self.hidden |= error.kind() == ErrorKind::PermissionDenied;
                None
            }
        };
        let Some(netns) = netns else {
            return;
        };
        let taps: BTreeSet<OpenTap> = open_taps(proc, pid).into_values().collect();
        let known = self.of_namespaces.get(&netns);
        let elsewhere = netns != here && known.is_none_or(|of| of.container.is_none());
        if taps.is_empty() && !elsewhere {
            return;
        }
        let text = |file: &str| fs::read_to_string(dir.join(file)).unwrap_or_default();
        let comm = text("comm").trim().to_owned();
        let process = Process {
            pid,
            netns,
            monitor: MONITORS.iter().any(|name| comm.starts_with(name)),
            name: machine(&dir).unwrap_or(comm),
            container: nicety_police::names::container(&text("cgroup")),
            taps,
        };
        if elsewhere && (known.is_none() || process.container.is_some()) {
            self.of_namespaces.insert(netns, process.clone());
        }
        if !process.taps.is_empty() {
            self.with_taps.push(process);
        }
    }

    /// Those with taps; of two with the same one the machine comes last.
    pub(super) fn all(&self) -> impl Iterator<Item = &Process> {
        let rest = self.with_taps.iter().filter(|process| !process.monitor);
        rest.chain(self.with_taps.iter().filter(|process| process.monitor))
    }

    /// One of each other namespace.
    pub(super) fn of_namespaces(&self) -> impl Iterator<Item = &Process> {
        self.of_namespaces.values()
    }

    /// Whether a container runs in this namespace.
    pub(super) fn contains(&self, netns: u64) -> bool {
        let known = self.of_namespaces.get(&netns);
        known.is_some_and(|process| process.container.is_some())
    }

    /// Whether this user may look into all of them.
    pub(super) fn whole(&self) -> bool {
        !self.hidden
    }
}

/// `net:[4026531840]`.
fn inode(target: &str) -> Option<u64> {
    let number = target.strip_prefix("net:[")?.strip_suffix(']')?;
    number.parse().ok()
}

/// `-name guest=blue,…` of QEMU, which libvirt sets, or `-name blue`; `--id` of Firecracker.
fn machine(dir: &Path) -> Option<String> {
    let words = fs::read(dir.join("cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0);
    words.find(|word| [&b"-name"[..], b"--id"].contains(word))?;
    let value = String::from_utf8_lossy(words.next()?).into_owned();
    let first = value.split(',').next()?;
    let name = first.strip_prefix("guest=").unwrap_or(first);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A process: its number and its network namespace, its name, command line and control group, and of each open
    /// file where it leads and what the kernel tells of it.
    fn make(
        proc: &Path,
        (pid, netns): (u32, u64),
        [comm, cmdline, cgroup]: [&str; 3],
        files: &[(&str, &str)],
    ) {
        let dir = proc.join(pid.to_string());
        for part in ["ns", "fd", "fdinfo"] {
            fs::create_dir_all(dir.join(part)).unwrap();
        }
        symlink(format!("net:[{netns}]"), dir.join("ns/net")).unwrap();
        for (file, text) in [("comm", comm), ("cmdline", cmdline), ("cgroup", cgroup)] {
            fs::write(dir.join(file), text).unwrap();
        }
        for (n, (target, info)) in files.iter().enumerate() {
            symlink(target, dir.join(format!("fd/{n}"))).unwrap();
            fs::write(dir.join(format!("fdinfo/{n}")), info).unwrap();
        }
    }

    #[test]
    fn machines_have_taps_and_containers_have_namespaces() {
        let dir = tempfile::tempdir().unwrap();
        let id = "ab".repeat(32);
        let docker = format!("0::/system.slice/docker-{id}.scope\n");
        let tap = ("/dev/net/tun", "pos:\t0\niff:\ttap0\n");
        let qemu = "qemu\0-name\0guest=web01,debug-threads=on\0";
        let vpn = ("/dev/net/tun", "iff:\ttun5\n");
        let files = [tap, ("/dev/tap9", ""), ("/dev/null", "")];
        let (at, none) = (dir.path(), "0::/\n");
        make(at, (7, 1), ["qemu-system-x86\n", qemu, none], &files);
        make(at, (8, 1), ["vhost-helper\n", "x\0", none], &[tap]);
        make(at, (9, 1), ["openvpn\n", "openvpn\0", none], &[vpn]);
        make(at, (11, 2), ["pause\n", "pause\0", none], &[]);
        make(at, (12, 2), ["nginx\n", "nginx\0", &docker], &[]);
        make(at, (13, 3), ["unshared\n", "x\0", none], &[]);
        make(at, (14, 1), ["sh\n", "sh\0", none], &[]);
        let found = Processes::below(&ProcRoot::new(dir.path()), 1);
        let links = [Link {
            index: 9,
            name: "macvtap3".to_owned(),
            kind: "macvtap".to_owned(),
            ..Link::default()
        }];
        let owners: Vec<String> = found
            .all()
            .flat_map(|of| {
                of.taps(&links)
                    .into_iter()
                    .map(move |tap| of.owner(Some(tap)))
            })
            .map(|owner| {
                let interface = owner.interface.unwrap_or_default();
                format!("{interface}: {} {}", owner.kind, owner.name)
            })
            .collect();
        assert_eq!(
            owners,
            [
                "tap0: port vhost-helper (pid 8)",
                "tun5: port openvpn (pid 9)",
                // It comes last, so that it stays.
                "tap0: guest web01",
                "macvtap3: guest web01",
            ]
        );
        let namespaces: Vec<String> = found
            .of_namespaces()
            .map(|of| format!("{} {}", of.netns, of.owner(None).name))
            .collect();
        assert_eq!(namespaces, ["2 docker abababababab", "3 unshared (pid 13)"]);
        assert!(found.contains(2) && !found.contains(3) && found.whole());
    }
}
