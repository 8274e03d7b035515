//! A host of its own for names: mounts and a network namespace, in which libvirt, Proxmox and CNI have their
//! directories, and nothing of this machine's is touched.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use nicety_host::child;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Call, Ends, Running, as_root, nicety, own_mounts, ready, skip, words};
use crate::lab::said;

/// Everything that libvirtd keeps is in DIR or in memory. It wants a user, whom Debian's package of its services
/// would make.
const MOUNTS: &str = "
set -e
mount --make-rprivate /
cp -a /etc DIR/etc
mount --bind DIR/etc /etc
for place in /run /var/lib /var/cache /var/log; do mount -t tmpfs none $place; done
mkdir -p /run/libvirt /etc/libvirt /etc/pve /var/lib/cni/results
grep -q ^libvirt-qemu: /etc/passwd || echo libvirt-qemu:x:64055:64055::/:/bin/false >>/etc/passwd
grep -q ^libvirt-qemu: /etc/group || echo libvirt-qemu:x:64055: >>/etc/group
cat >/etc/libvirt/qemu.conf <<END
security_driver = \"none\"
user = \"root\"
group = \"root\"
dynamic_ownership = 0
remember_owner = 0
namespaces = []
cgroup_controllers = []
stdio_handler = \"file\"
END
printf 'auth_unix_ro = \"none\"\\nauth_unix_rw = \"none\"\\n' >/etc/libvirt/libvirtd.conf
ip link set lo up
ip link add nt type ifb
ip link del nt
echo ready
exec sleep 3600
";
/// Runs what it is told, line by line, as the first process: the machines end with it. bash, because it buries those
/// whose parents have ended, for which libvirtd waits.
const INIT: &str =
    "while read -r line; do eval \"$line\" </dev/null >/dev/null 2>&1; echo \"$?\"; done";
const LIBVIRTD: &str = "/usr/sbin/libvirtd";
const START: &str =
    "/usr/sbin/libvirtd --config /etc/libvirt/libvirtd.conf --pid-file /run/libvirtd.pid &";

pub struct Host {
    holder: Ends,
    pub dir: TempDir,
}

/// libvirtd and its machines, in a process namespace; all end when it is dropped.
pub struct Libvirt<'a> {
    host: &'a Host,
    /// Its child, the first process of the machines, is killed with it.
    _init: Ends,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Host {
    pub fn new() -> Option<Self> {
        if !as_root("needs root") || !own_mounts() {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let setup = MOUNTS.replace("DIR", dir.path().to_str().unwrap());
        let mut holder = Command::new("unshare");
        holder
            .args(words("-n -m setpriv --pdeathsig KILL sh -c"))
            .arg(&setup)
            .stdin(Stdio::null());
        let holder = ready(holder);
        Some(Self { holder, dir })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The process whose namespaces it is.
    pub fn id(&self) -> u32 {
        self.holder.0.id()
    }

    pub fn enter(&self) -> Vec<String> {
        let line = format!("nsenter -t {} -n -m setpriv --pdeathsig KILL", self.id());
        words(&line).into_iter().map(str::to_owned).collect()
    }

    pub fn inside(&self, call: Call) -> Call {
        call.below(self.enter())
    }

    /// Runs a command and returns what it says.
    #[track_caller]
    pub fn sh(&self, command: &str) -> String {
        said(&self.enter(), command)
    }

    /// `nicety police …` with the state directory of this test.
    pub fn police(&self, words: &[&str]) -> Call {
        let state = self.path("state");
        let words = ["police"].iter().chain(words).copied();
        let words = words.chain(["--state", state.to_str().unwrap()]);
        self.inside(nicety(words))
    }

    /// The daemon with this policy, past its first period.
    pub fn daemon(&self, policy: &str, change: impl FnOnce(Call) -> Call) -> Running {
        let file = self.path("policy.toml");
        fs::write(&file, policy).unwrap();
        let call = self.police(&["run", file.to_str().unwrap()]);
        let mut running = change(call.limit(Duration::from_secs(600))).start();
        let state = self.path("state/state.json");
        running.until("the first period", |_| state.exists());
        running
    }

    /// What the daemon tells, as `police status --json` shows it.
    pub fn status(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("state/state.json")).unwrap()).unwrap()
    }

    /// What a port of the policy is, and its limit; empty and 0 for none.
    pub fn port(&self, number: usize) -> (String, u64) {
        let port = &self.status()["decision"]["ports"][number];
        let interface = port["interface"].as_str().unwrap_or_default();
        (
            interface.to_owned(),
            port["limit_bps"].as_u64().unwrap_or(0),
        )
    }

    /// Whether the kernel has a limit of nicety's at an interface.
    pub fn is_limited(&self, interface: &str) -> bool {
        let filters = format!("tc filter show dev {interface} ingress 2>&1; true");
        self.sh(&filters).contains("mirred")
    }
}

impl<'a> Libvirt<'a> {
    pub fn new(host: &'a Host) -> Option<Self> {
        for file in [
            LIBVIRTD,
            "/usr/bin/virsh",
            "/usr/bin/qemu-system-x86_64",
            "/usr/bin/bash",
            "/dev/net/tun",
        ] {
            if !Path::new(file).exists() {
                skip(format_args!(
                    "there is no {file}; apt install libvirt-daemon libvirt-daemon-driver-qemu \
                     libvirt-clients qemu-system-x86"
                ));
                return None;
            }
        }
        let enter = host.enter();
        let mut init = Command::new(&enter[0]);
        init.args(&enter[1..])
            .args(words("unshare -m -p --fork --mount-proc --kill-child=KILL"))
            .args(["bash", "-c", INIT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut init = Ends(child::spawn(init).unwrap());
        let (to, from) = (init.0.stdin.take().unwrap(), init.0.stdout.take().unwrap());
        let from = BufReader::new(from);
        let mut libvirt = Self {
            host,
            _init: init,
            to,
            from,
        };
        libvirt.start();
        Some(libvirt)
    }

    /// Has its first process run a command.
    pub fn run(&mut self, command: &str) {
        writeln!(self.to, "{command}").unwrap();
        let mut said = String::new();
        self.from.read_line(&mut said).unwrap();
        assert_eq!(said, "0\n", "{command}");
    }

    /// Starts libvirtd, and waits until it answers.
    pub fn start(&mut self) {
        self.run(START);
        let answers = "for i in $(seq 200); do virsh -r list >/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1";
        self.host.sh(answers);
    }

    /// Sends it a signal.
    pub fn signal(&mut self, signal: &str) {
        self.run(&format!("kill -{signal} $(cat /run/libvirtd.pid)"));
    }

    #[track_caller]
    pub fn virsh(&self, words: &str) -> String {
        self.host.sh(&format!("virsh --quiet {words}"))
    }

    /// Defines a machine that boots nothing, with these interfaces.
    pub fn define(&self, name: &str, interfaces: &str) {
        let file = self.host.path("domain.xml");
        let xml = format!(
            "<domain type='qemu'><name>{name}</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
             <os><type arch='x86_64' machine='pc-q35-6.0'>hvm</type></os>
             <devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
             <controller type='usb' model='none'/>
             <controller type='pci' model='pcie-root'/>
             <controller type='pci' model='pcie-root-port'/>
             <controller type='pci' model='pcie-root-port'/>
             <controller type='pci' model='pcie-root-port'/>
             {interfaces}<memballoon model='none'/></devices></domain>"
        );
        fs::write(&file, xml).unwrap();
        self.virsh(&format!("define {}", file.display()));
    }
}
