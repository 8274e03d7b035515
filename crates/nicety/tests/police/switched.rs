//! `nicety vf limit` on a vhost-user port, which only Open vSwitch can limit.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Ended, alone, nicety, root};
use crate::lab::Lab;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const DAEMON: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
const SENDER: &str = "/usr/bin/dpdk-testpmd";
/// A switch of our own with memory of its own, and a port that somebody may send into.
const SETUP: &str = "
set -e
export PATH=$PATH:/usr/sbin OVS_RUNDIR=@ RUNTIME_DIRECTORY=@
ovsdb-tool create @/conf.db SCHEMA
ovsdb-server @/conf.db --remote=punix:@/db.sock --pidfile=@/server.pid --unixctl=@/server.ctl --log-file=@/server.log --detach --no-chdir
ovs-vsctl --timeout=60 --no-wait init -- set Open_vSwitch . other_config:dpdk-init=true other_config:pmd-cpu-mask=0x2 other_config:dpdk-extra='--no-pci --no-huge --legacy-mem --iova-mode=va -m 512 --no-telemetry' other_config:stats-update-interval=1000
DAEMON unix:@/db.sock --pidfile=@/switch.pid --unixctl=@/switch.ctl --log-file=@/switch.log --detach --no-chdir
ovs-vsctl --timeout=60 add-br br0 -- set bridge br0 datapath_type=netdev -- add-port br0 vhu0 -- set Interface vhu0 type=dpdkvhostuserclient options:vhost-server-path=@/vhu0.sock
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

struct Switch {
    lab: Lab,
    dir: tempfile::TempDir,
    sender: Option<Child>,
}

impl Switch {
    fn new(test: &str) -> Option<Self> {
        let there = [SCHEMA, DAEMON, SENDER]
            .iter()
            .all(|path| Path::new(path).exists());
        if !root() || !there {
            println!("SKIP {test}: needs root; apt install openvswitch-switch-dpdk dpdk-dev");
            return None;
        }
        let switch = Self {
            lab: Lab::with(test, "ip link set lo up")?,
            dir: tempfile::tempdir().unwrap(),
            sender: None,
        };
        let setup = switch.words(SETUP);
        switch.lab.sh(&setup);
        Some(switch)
    }

    fn words(&self, text: &str) -> String {
        text.replace('@', self.dir.path().to_str().unwrap())
            .replace("SCHEMA", SCHEMA)
            .replace("DAEMON", DAEMON)
            .replace("SENDER", SENDER)
    }

    fn send(&mut self) {
        let said = File::create(self.dir.path().join("said")).unwrap();
        let child = Command::new("sh")
            .args(["-c", &self.words(SEND)])
            .stdin(Stdio::piped())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .spawn();
        self.sender = Some(child.unwrap());
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

impl Drop for Switch {
    fn drop(&mut self) {
        if let Some(mut sender) = self.sender.take() {
            // Fails only when it has ended.
            let _ = sender.kill();
            let _ = sender.wait();
        }
        for name in ["switch.pid", "server.pid"] {
            let file = self.dir.path().join(name);
            let Ok(id) = std::fs::read_to_string(&file) else {
                continue;
            };
            let _ = Command::new("kill").arg(id.trim()).status();
            // It removes the file when it ends.
            let begin = Instant::now();
            while file.exists() && begin.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

#[test]
fn a_vhost_user_port_is_limited_by_open_vswitch() {
    let _alone = alone();
    let Some(mut switch) = Switch::new("a_vhost_user_port_is_limited_by_open_vswitch") else {
        return;
    };
    switch.send();
    assert_eq!(switch.column("statistics:ovs_rx_qos_drops"), "0");

    let ended = switch.nicety(&["vf", "limit", "vhu0", "--max", "50mbit"]);
    ended.assert_code(0);
    assert_eq!(ended.stdout, "vhu0: none → 50mbit\n");
    let unknown = "whether it holds is not known";
    assert!(ended.stderr.contains(unknown), "{ended:?}");
    assert_eq!(switch.column("ingress_policing_rate"), "50000");
    // What is too much does not get through.
    assert!(switch.moves("ovs_rx_qos_drops"));

    switch.nicety(&["tune", "rollback"]).assert_code(0);
    assert_eq!(switch.column("ingress_policing_rate"), "0");
    let ended = switch.nicety(&["vf", "limit", "vhu1", "--max", "50mbit"]);
    ended.assert_code(2);
    assert!(
        ended.stderr.contains("there is no interface vhu1"),
        "{ended:?}"
    );
}
