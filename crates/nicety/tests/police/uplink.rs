//! Three tenants behind a bridge, and an uplink of 40 Mbit/s that they share.
//!
//! ```text
//!   a0 --- a1 ─┐
//!   b0 --- b1 ─┼─ sw ─ u1 --- u0      u1 sends at 40 Mbit/s
//!   c0 --- c1 ─┘
//! ```
//!
//! a0, b0, c0 and u0 are in namespaces of their own; nicety runs where the bridge is.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nicety_host::child;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Call, Ended, Ends, Running, nicety, root, skip};
use crate::lab::Lab;

const SETUP: &str = "
set -e
quiet() { for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done; }
quiet
ip link add sw type bridge
ip link set sw up
for name in a b c u; do
    setpriv --pdeathsig KILL unshare -n sh -c '
        for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done
        echo > DIR/'$name'.ready
        exec sleep 7200' >/dev/null &
    echo $! > DIR/$name.pid
    until [ -e DIR/$name.ready ]; do sleep 0.01; done
    ip link add ${name}1 type veth peer name ${name}0 netns $!
    ip link set ${name}1 master sw up
    nsenter -t $! -n ip link set ${name}0 up
done
nsenter -t $(cat DIR/u.pid) -n ip link set u0 address 02:00:00:00:00:99
bridge fdb add 02:00:00:00:00:99 dev u1 master static
number=1
for name in a b c; do
    in=\"nsenter -t $(cat DIR/$name.pid) -n\"
    $in ip address add 192.0.2.$number/24 dev ${name}0
    $in ip neighbour add 192.0.2.99 lladdr 02:00:00:00:00:99 dev ${name}0
    number=$((number + 1))
done
tc qdisc add dev u1 root tbf rate 40mbit burst 16kb limit 64kb
ip link add nt type ifb
ip link del nt
";

/// The policy: `b` has twice the weight of `a`; `c` has little to send.
pub const POLICY: &str = "
[link]
capacity = \"40mbit\"
headroom = 0.05
period = \"200ms\"

[[tenant]]
name = \"a\"
ports = \"a1\"

[[tenant]]
name = \"b\"
weight = 2
ports = \"b1\"

[[tenant]]
name = \"c\"
guarantee = \"4mbit\"
ports = \"c1\"
";

/// Sends datagrams; what waits in the limiter is more than a socket may have by itself.
const PERL: &str = r#"exec nice -n -15 perl -MSocket -e '
    socket(S, AF_INET, SOCK_DGRAM, 0);
    setsockopt(S, SOL_SOCKET, SO_SNDBUF, 1 << 20);
    connect(S, pack_sockaddr_in(9, inet_aton("TO")));
    while (1) { send(S, "x" x BYTES, 0) for 1 .. COUNT; select(undef, undef, undef, 0.005) }'"#;

/// A limit of what a sends, as somebody sets it who does not police: to an interface with a bucket.
pub const THEIRS: &str = "
ip link add theirs index 5000 type ifb
ip link set theirs up
tc qdisc add dev theirs root handle 1: tbf rate 6mbit burst 16kb limit 64kb
tc qdisc add dev a1 ingress
tc filter add dev a1 parent ffff: protocol all prio 50 u32 match u32 0 0 action mirred egress redirect dev theirs
";
pub struct Uplink {
    pub lab: Lab,
    pub dir: TempDir,
}

/// A process that sends; ended when dropped.
pub struct Sender(Ends);

impl Sender {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0.0), signal).unwrap();
    }
}

/// Whether a program that a test needs is missing; said then.
fn lacks(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| {
        let search = format!("PATH=$PATH:/usr/sbin:/sbin; command -v {program}");
        let found = Command::new("sh")
            .args(["-c", &search])
            .stdout(Stdio::null())
            .status();
        !found.is_ok_and(|status| status.success())
    });
    if let Some(program) = missing {
        skip(format_args!("the program {program} is not installed"));
    }
    missing.is_some()
}

impl Uplink {
    pub fn new() -> Option<Self> {
        if lacks(&["bash", "bridge", "perl", "setpriv"]) {
            return None;
        }
        let unshare = if root() { "-n" } else { "-Urn" };
        let ifb = Command::new("unshare")
            .args([unshare, "sh", "-c", "ip link add nt type ifb"])
            .stderr(Stdio::null())
            .status();
        if !ifb.is_ok_and(|status| status.success()) {
            skip("this kernel has no ifb, or this user may not make a namespace");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("policy.toml"), POLICY).unwrap();
        let lab = Lab::with(&SETUP.replace("DIR", dir.path().to_str().unwrap()))?;
        Some(Self { lab, dir })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `nicety police …` with the state directory of this test.
    pub fn police(&self, words: &[&str]) -> Call {
        let state = self.path("state");
        let words = ["police"].iter().chain(words).copied();
        let words = words.chain(["--state", state.to_str().unwrap()]);
        self.lab.inside(nicety(words))
    }

    /// The daemon with the policy, past its first period.
    pub fn daemon(&self, words: &[&str]) -> Running {
        self.daemon_with(words, |call| call)
    }

    /// The same, started as `change` wants it.
    pub fn daemon_with(&self, words: &[&str], change: impl FnOnce(Call) -> Call) -> Running {
        let policy = self.path("policy.toml");
        let mut all = vec!["run", policy.to_str().unwrap()];
        all.extend(words);
        let _ = fs::remove_file(self.state_file());
        let call = self.police(&all).limit(std::time::Duration::from_secs(600));
        let mut running = change(call).start();
        let state = self.state_file();
        running.until("the first period", |_| state.exists());
        running
    }

    /// Runs a shell command in a tenant's namespace.
    pub fn start(&self, tenant: &str, script: &str) -> Sender {
        let enter = self.enter(tenant);
        let mut command = Command::new(&enter[0]);
        command.args(&enter[1..]);
        command.args(["setpriv", "--pdeathsig", "KILL"]);
        command.args(["bash", "-c", script]).stderr(Stdio::null());
        Sender(Ends(child::spawn(command).unwrap()))
    }

    /// The process whose namespace a tenant's is.
    pub fn pid(&self, tenant: &str) -> String {
        let pid = fs::read_to_string(self.path(&format!("{tenant}.pid"))).unwrap();
        pid.trim().to_owned()
    }

    /// Words that enter a tenant's namespace.
    pub fn enter(&self, tenant: &str) -> Vec<String> {
        let mut words = ["nsenter", "-t", &self.pid(tenant), "-n"]
            .map(str::to_owned)
            .to_vec();
        if !root() {
            words.extend(["-U", "--preserve-credentials"].map(str::to_owned));
        }
        words
    }

    /// What a command of the police says when it ends well.
    #[track_caller]
    pub fn says(&self, words: &[&str]) -> String {
        self.police(words).run().assert_code(0).stdout.clone()
    }

    /// How a daemon with this policy ends that does not begin.
    pub fn run_with(&self, policy: &str) -> Ended {
        let file = self.path("policy.toml");
        fs::write(&file, policy).unwrap();
        self.police(&["run", file.to_str().unwrap()]).run()
    }

    /// A daemon takes this policy in the place of its own.
    #[track_caller]
    pub fn reload_with(&self, policy: &str) {
        fs::write(self.path("policy.toml"), policy).unwrap();
        self.police(&["reload"]).run().assert_code(0);
    }

    /// Limits that are set.
    pub fn limits(&self) -> usize {
        self.lab.sh("tc qdisc show").matches("tbf 6e63:").count()
    }

    /// Waits until the daemon has done so many more periods.
    pub fn periods(&self, daemon: &mut Running, more: u64) {
        let done = || self.status()["periods"].as_u64().unwrap();
        let begin = done();
        daemon.until("some periods", |_| done() >= begin + more);
    }

    /// So many datagrams every 5 ms, before whoever else wants the processor where root may say so: a rate that no busy
    /// machine takes away, and for which no processor is busy all the time.
    pub fn send(&self, from: &str, to: &str, bytes: usize, count: usize) -> Sender {
        let script = PERL
            .replace("TO", to)
            .replace("BYTES", &bytes.to_string())
            .replace("COUNT", &count.to_string());
        self.start(from, &script)
    }

    /// About 67 Mbit/s, more than the link carries.
    pub fn flood(&self, tenant: &str) -> Sender {
        self.send(tenant, "192.0.2.99", 1400, 30)
    }

    /// About 20 Mbit/s.
    pub fn paced(&self, tenant: &str) -> Sender {
        self.send(tenant, "192.0.2.99", 1400, 9)
    }

    /// So many datagrams every 50 ms, also after its port was away.
    pub fn steady(&self, tenant: &str, datagrams: u32) -> Sender {
        let script = format!(
            "while :; do dd if=/dev/zero bs=1400 count={datagrams} >/dev/udp/192.0.2.99/9; sleep 0.05; done"
        );
        self.start(tenant, &script)
    }

    /// The machine behind a tenant's port goes and comes again, with a new port.
    pub fn replug(&self, tenant: &str) {
        let number = tenant.bytes().next().unwrap() - b'a' + 1;
        let pid = self.pid(tenant);
        self.lab.sh(&format!(
            "set -e; ip link del {tenant}1
            ip link add {tenant}1 type veth peer name {tenant}0 netns {pid}
            ip link set {tenant}1 master sw up
            nsenter -t {pid} -n sh -c '
                ip link set {tenant}0 up
                ip address add 192.0.2.{number}/24 dev {tenant}0
                ip neighbour replace 192.0.2.99 lladdr 02:00:00:00:00:99 dev {tenant}0'"
        ));
    }

    /// About 2 Mbit/s.
    pub fn trickle(&self, tenant: &str) -> Sender {
        self.send(tenant, "192.0.2.99", 1400, 1)
    }

    /// The file of the state that the daemon writes once a period.
    pub fn state_file(&self) -> PathBuf {
        self.path("state/state.json")
    }

    /// What the daemon tells, as `police status --json` shows it.
    pub fn status(&self) -> Value {
        serde_json::from_slice(&fs::read(self.state_file()).unwrap()).unwrap()
    }

    /// Waits until the rates of three periods in a row are as wanted.
    pub fn until(&self, daemon: &mut Running, what: &str, wanted: impl Fn([f64; 3]) -> bool) {
        let mut row = 0;
        let mut last = 0;
        let mut rates = Vec::new();
        daemon.until(what, |_| {
            let status = self.status();
            let period = status["periods"].as_u64().unwrap();
            if period == last {
                return false;
            }
            last = period;
            let now = [0, 1, 2].map(|i| status["tenants"][i]["rate_bps"].as_f64().unwrap() / 1e6);
            rates.push(now);
            row = if wanted(now) { row + 1 } else { 0 };
            assert!(rates.len() < 400, "never {what}: {rates:?}");
            row == 3
        });
    }
}
