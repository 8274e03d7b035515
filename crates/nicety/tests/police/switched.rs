//! `nicety port limit` on a vhost-user port, which only Open vSwitch can limit.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nicety_host::child;

use crate::harness::{Ended, Ends, nicety, ready, root, skip};
use crate::lab::Lab;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const DAEMON: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
const SENDER: &str = "/usr/bin/dpdk-testpmd";
/// A switch of our own with memory of its own, and a port that somebody may send into. Its programs end
/// with the shell, and that with its standard input.
const SETUP: &str = "
set -e
export PATH=$PATH:/usr/sbin OVS_RUNDIR=@ RUNTIME_DIRECTORY=@
ovsdb-tool create @/conf.db SCHEMA
setpriv --pdeathsig KILL ovsdb-server @/conf.db --remote=punix:@/db.sock --unixctl=@/server.ctl --log-file=@/server.log --no-chdir 2>/dev/null &
ovs-vsctl --retry --timeout=60 --no-wait init -- set Open_vSwitch . other_config:dpdk-init=true other_config:pmd-cpu-mask=0x2 other_config:dpdk-extra='--no-pci --no-huge --legacy-mem --iova-mode=va -m 512 --no-telemetry' other_config:stats-update-interval=1000
setpriv --pdeathsig KILL DAEMON unix:@/db.sock --unixctl=@/switch.ctl --log-file=@/switch.log --no-chdir 2>/dev/null &
ovs-vsctl --timeout=60 add-br br0 -- set bridge br0 datapath_type=netdev -- add-port br0 vhu0 -- set Interface vhu0 type=dpdkvhostuserclient options:vhost-server-path=@/vhu0.sock
echo ready
read end
";
/// Sends full frames into the port as fast as it can until its standard input ends. It polls on CPU 0 and
/// the switch on CPU 1: on one they take turns of milliseconds, and a ring of 256 frames in each turn is
/// less than the limit lets through.
const SEND: &str = "mkdir -p @/sender; export RUNTIME_DIRECTORY=@/sender; exec SENDER --no-pci --no-huge \
--legacy-mem --iova-mode=va -m 256 --no-telemetry -l 0,1 --main-lcore 1 \
--vdev=net_virtio_user0,path=@/vhu0.sock,server=1 -- --forward-mode=txonly --auto-start --tx-first \
--total-num-mbufs=8192 --no-flush-rx --txpkts=1400";

/// Longest wait for the first frame, and for the first that is dropped.
const PATIENCE: Duration = Duration::from_secs(60);

/// What ends first comes first.
struct Switch {
    _sender: Option<Ends>,
    _daemons: Ends,
    lab: Lab,
    dir: tempfile::TempDir,
}

fn words(text: &str, dir: &Path) -> String {
    text.replace('@', dir.to_str().unwrap())
        .replace("SCHEMA", SCHEMA)
        .replace("DAEMON", DAEMON)
        .replace("SENDER", SENDER)
}

impl Switch {
    fn new() -> Option<Self> {
        let there = [SCHEMA, DAEMON, SENDER]
            .iter()
            .all(|path| Path::new(path).exists());
        if !root() || !there {
            skip("needs root; apt install openvswitch-switch-dpdk dpdk-dev");
            return None;
        }
        let lab = Lab::with("ip link set lo up")?;
        let dir = tempfile::tempdir().unwrap();
        let enter = lab.enter();
        let mut setup = Command::new(&enter[0]);
        setup
            .args(&enter[1..])
            .args(["sh", "-c", &words(SETUP, dir.path())])
            .stdin(Stdio::piped());
        Some(Self {
            _sender: None,
            _daemons: ready(setup),
            lab,
            dir,
        })
    }

    fn words(&self, text: &str) -> String {
        words(text, self.dir.path())
    }

    fn send(&mut self) {
        let said = File::create(self.dir.path().join("said")).unwrap();
        let mut sender = Command::new("sh");
        sender
            .args(["-c", &self.words(SEND)])
            .stdin(Stdio::piped())
            .stdout(said.try_clone().unwrap())
            .stderr(said);
        self._sender = Some(Ends(child::spawn(sender).unwrap()));
        if !self.moves("rx_packets") {
            let said = std::fs::read_to_string(self.dir.path().join("said"));
            panic!("no frame came: {said:?}");
        }
    }

    fn nicety(&self, words: &[&str]) -> Ended {
        let state = self.dir.path().join("state");
        let words = words.iter().map(Path::new);
        let call = nicety(words.chain([Path::new("--state"), state.as_path()]));
        self.lab
            .inside(call.env("OVS_RUNDIR", self.dir.path().to_str().unwrap()))
            .run()
    }

    fn column(&self, column: &str) -> String {
        let words =
            format!("OVS_RUNDIR=@ ovs-vsctl --timeout=60 --if-exists get Interface vhu0 {column}");
        self.lab.sh(&self.words(&words)).trim().to_owned()
    }

    /// Waits until a counter of the port moves; it has none at first.
    fn moves(&self, counter: &str) -> bool {
        let begin = Instant::now();
        let column = format!("statistics:{counter}");
        while matches!(self.column(&column).as_str(), "" | "0") {
            if begin.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        true
    }
}

#[test]
fn a_vhost_user_port_is_limited_by_open_vswitch() {
    let Some(mut switch) = Switch::new() else {
        return;
    };
    switch.send();
    assert_eq!(switch.column("statistics:ovs_rx_qos_drops"), "0");

    let ended = switch.nicety(&["port", "limit", "vhu0", "50mbit"]);
    ended.assert_code(0);
    assert_eq!(ended.stdout, "vhu0: none → 50.0 Mbit/s\n");
    let unknown = "limit not checked: ";
    assert!(ended.stderr.contains(unknown), "{ended:?}");
    assert_eq!(switch.column("ingress_policing_rate"), "50000");
    // What is too much does not get through.
    assert!(switch.moves("ovs_rx_qos_drops"));

    switch.nicety(&["tune", "undo"]).assert_code(0);
    assert_eq!(switch.column("ingress_policing_rate"), "0");
    let ended = switch.nicety(&["port", "limit", "vhu1", "50mbit"]);
    ended.assert_code(2);
    assert!(
        ended.stderr.contains("there is no interface vhu1"),
        "{ended:?}"
    );
}
