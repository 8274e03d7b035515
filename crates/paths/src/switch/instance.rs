//! An Open vSwitch of our own: a database server and a switch daemon that share nothing with the
//! machine's.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nicety_model::path::Datapath;
use nicety_netdev::link::Mac;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use serde::Deserialize;
use serde_json::{Value, json};

use super::dpdk;
use super::ovs_counters::{self, DatapathCounters};
use super::ovs_pmd;
use super::pinned;
use super::program::{Packaged, Program, Start, run, unanswered};
use super::restartable::Restartable;
use crate::counters::Polling;
use crate::error::PathError;
use crate::neighbours::Joining;
use crate::path::PathThread;
use crate::resettable::Resettable;
use crate::run_dir::RunDir;
use crate::tun::taps_there;
use crate::vlan::VLAN;

const PACKAGE: &str = "openvswitch-switch";
pub(super) const SERVER: Packaged = Packaged::on_path("ovsdb-server", PACKAGE);
pub(super) const TOOL: Packaged = Packaged::on_path("ovsdb-tool", PACKAGE);
const SETTER: Packaged = Packaged::on_path("ovs-vsctl", PACKAGE);
const SCHEMA: Packaged = Packaged {
    name: "vswitch.ovsschema",
    places: &[
        "/usr/share/openvswitch/vswitch.ovsschema",
        "/usr/local/share/openvswitch/vswitch.ovsschema",
    ],
    package: PACKAGE,
};
/// All that a switch of this kind needs beside its daemon.
const PROGRAMS: &[Packaged] = &[SERVER, TOOL, SETTER, SCHEMA];

/// Whether a daemon and all that a switch needs beside it are installed.
pub(super) fn all_there(daemon: &Packaged) -> Result<(), PathError> {
    let mut all = std::iter::once(daemon).chain(PROGRAMS);
    all.try_for_each(|program| program.find().map(drop))
}

/// The daemon answers between two rounds of its main loop, which may wait for a busy CPU.
const LIMIT: Duration = Duration::from_secs(10);

/// What shall be switched, and how.
pub(super) struct Setup<'a> {
    /// Namespace of the interfaces.
    pub(super) ns: &'a NetNs,
    /// The switch daemon.
    pub(super) daemon: &'a Packaged,
    /// CPUs of its threads, but for those that poll.
    pub(super) cpus: &'a [u32],
    /// `other_config` of the whole switch, as in `dpdk-init=true`.
    pub(super) config: Vec<String>,
    /// Who carries frames.
    pub(super) datapath: Datapath,
    /// What is switched.
    pub(super) ports: Vec<SwitchPort>,
    /// Whether the daemon runs DPDK.
    pub(super) dpdk: bool,
}

/// How the datapath is called in the database: `system` is the kernel's, `netdev` that in the daemon.
pub(super) fn datapath_type(datapath: Datapath) -> &'static str {
    match datapath {
        Datapath::Kernel => "system",
        Datapath::Userspace => "netdev",
    }
}

/// A port of a bridge.
pub(super) struct SwitchPort {
    /// The bridge.
    pub(super) bridge: &'static str,
    /// `d0`, `p0`.
    pub(super) name: String,
    /// Columns of its interface: `type=dpdk`.
    pub(super) columns: Vec<String>,
    /// Whether nothing passes between it and other such ports.
    pub(super) protected: bool,
    /// What it has to do with the path's VLAN.
    pub(super) member: Member,
}

/// What a port has to do with the path's VLAN (ovs-vswitchd.conf.db(5), column `vlan_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    /// Nothing: it takes frames as they are.
    Plain,
    /// Its frames carry the VLAN's tag, and no others pass.
    Trunk,
    /// Its frames are untagged and in the VLAN.
    Access,
}

impl Member {
    /// Columns of the port.
    fn columns(self) -> Vec<String> {
        match self {
            Self::Plain => Vec::new(),
            Self::Trunk => vec!["vlan_mode=trunk".to_owned(), format!("trunks={VLAN}")],
            Self::Access => vec!["vlan_mode=access".to_owned(), format!("tag={VLAN}")],
        }
    }

    /// Number of the VLAN in the tables of a switch with such ports; untagged frames are in VLAN 0.
    fn table(self) -> u16 {
        match self {
            Self::Plain => 0,
            Self::Trunk | Self::Access => VLAN,
        }
    }
}

impl SwitchPort {
    /// A port of the first bridge.
    pub(super) fn plain(name: &str, columns: Vec<String>) -> Self {
        Self {
            bridge: "br0",
            name: name.to_owned(),
            columns,
            protected: false,
            member: Member::Plain,
        }
    }
}

/// A running Open vSwitch with its bridges; gone when dropped.
#[derive(Debug)]
pub(super) struct Instance {
    // Dropped in this order.
    daemon: Restartable,
    server: Program,
    setter: PathBuf,
    /// The database's socket.
    database: PathBuf,
    control: PathBuf,
    /// The daemon's first thread carries the frames.
    main_carries: bool,
    version: String,
    dir: Arc<RunDir>,
}

impl Instance {
    /// Starts it and waits until both ports are switched.
    pub(super) fn start(setup: &Setup<'_>) -> Result<Self, PathError> {
        if setup.datapath == Datapath::Userspace {
            taps_there()?;
        }
        // All looked for before anything is made.
        let (daemon, server) = (setup.daemon.find()?, SERVER.find()?);
        let (tool, setter, schema) = (TOOL.find()?, SETTER.find()?, SCHEMA.find()?);
        let dir = Arc::new(RunDir::create()?);
        let (database, socket) = (dir.file("conf.db"), dir.file("db.sock"));
        run(&tool, [Path::new("create"), &database, &schema])?;
        let mut server = Program::start(
            &start(
                (setup.ns, setup.cpus),
                &dir,
                "ovsdb-server",
                &server,
                vec![
                    database.display().to_string(),
                    format!("--remote=punix:{}", socket.display()),
                    format!("--unixctl={}", dir.file("server.ctl").display()),
                ],
            ),
            &dir,
        )?;
        server.wait_for("its socket", || Ok(UnixStream::connect(&socket).ok()))?;
        let set = |words: &[String]| set(&setter, &socket, words);
        set(&configuration(setup))?;
        let control = dir.file("switch.ctl");
        let mut started = start(
            (setup.ns, setup.cpus),
            &dir,
            "ovs-vswitchd",
            &daemon,
            vec![
                format!("unix:{}", socket.display()),
                format!("--unixctl={}", control.display()),
            ],
        );
        if setup.dpdk {
            dpdk::keep_private(&mut started, &dir);
        }
        let mut daemon = Restartable::start(&started, &dir)?;
        for port in &setup.ports {
            switched(daemon.program(), &set, &port.name)?;
        }
        let mut instance = Self {
            daemon,
            server,
            setter,
            database: socket,
            control,
            main_carries: setup.datapath == Datapath::Userspace && !setup.dpdk,
            version: String::new(),
            dir,
        };
        let version = instance
            .request("version", &[])
            .map_err(|e| PathError::io("ask", "ovs-vswitchd", e))?;
        let number = version.split_ascii_whitespace().last().unwrap_or_default();
        instance.version = format!("Open vSwitch {number}");
        Ok(instance)
    }

    /// Takes in one more interface and waits until it is switched; returns the name of its peer's
    /// interface.
    pub(super) fn join(
        &mut self,
        bridge: &str,
        joining: &Joining<'_>,
        datapath: Datapath,
        member: Member,
    ) -> Result<String, PathError> {
        if datapath == Datapath::Userspace {
            joining.whole_frames()?;
        }
        self.add(bridge, joining.inner, &[], member)?;
        Ok(joining.plain())
    }

    /// The same for a switch that runs DPDK, whose threads poll the interface too: `columns` are
    /// those of its port.
    pub(super) fn join_polled(
        &mut self,
        bridge: &str,
        joining: &Joining<'_>,
        columns: &[String],
    ) -> Result<String, PathError> {
        joining.whole_frames()?;
        let name = format!("p{}", joining.number);
        self.add(bridge, &name, columns, Member::Plain)?;
        Ok(joining.plain())
    }

    fn add(
        &mut self,
        bridge: &str,
        name: &str,
        columns: &[String],
        member: Member,
    ) -> Result<(), PathError> {
        // Columns of the port follow its name.
        let mut words = ["add-port", bridge, name].map(str::to_owned).to_vec();
        words.extend(member.columns());
        if !columns.is_empty() {
            words.extend(["--", "set", "interface", name].map(str::to_owned));
            words.extend(columns.iter().cloned());
        }
        let set = |words: &[String]| set(&self.setter, &self.database, words);
        set(&words)?;
        switched(self.daemon.program(), &set, name)
    }

    /// Waits until the port of a guest carries frames both ways: its socket knows when the guest's
    /// driver is there, the switch only after its next round.
    pub(super) fn wait_for_guest(&mut self, port: &str) -> Result<(), PathError> {
        let state = ["get", "interface", port, "link_state"].map(str::to_owned);
        let (setter, database, control) = (&self.setter, &self.database, &self.control);
        self.daemon.program().wait_for("its guests' drivers", || {
            if set(setter, database, &state)?.trim() != "up" {
                return Ok(None);
            }
            let queues = request(control, "dpif-netdev/pmd-rxq-show", &[]).unwrap_or_default();
            Ok(ovs_pmd::polled(&queues, port).then_some(()))
        })
    }

    /// Its daemon, which finds its bridges in the database when it is started again.
    pub(super) fn daemon(&self) -> &dyn Resettable {
        &self.daemon
    }

    /// Where its sockets are.
    pub(super) fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// Socket of its database.
    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    /// Changes its configuration (ovs-vsctl(8)).
    pub(super) fn configure(&self, words: &[String]) -> Result<(), PathError> {
        set(&self.setter, &self.database, words).map(drop)
    }

    /// Name and version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Counters of its datapath.
    pub(super) fn counters(&self) -> Result<DatapathCounters, NetError> {
        let error = |e| NetError::new("read the counters of", "ovs-vswitchd", unanswered(e));
        if self.server.has_ended() {
            // Without it the switch answers, and may forward nothing.
            let why = format!("{} has ended; dmesg may say why", SERVER.name);
            return Err(error(io::Error::other(why)));
        }
        let text = self.request("dpctl/show", &["-s"]).map_err(error)?;
        ovs_counters::parse(&text)
            .ok_or_else(|| error(io::Error::other(format!("it says {text:?}"))))
    }

    /// Its threads that poll; none when it does not answer, which the counters then say.
    pub(super) fn polling(&self) -> Vec<Polling> {
        let text = self.request("dpif-netdev/pmd-stats-show", &[]);
        ovs_pmd::parse(&text.unwrap_or_default())
    }

    /// Frames that it has read, of a datapath of its own.
    pub(super) fn received(&self) -> Result<u64, NetError> {
        let error = |e| NetError::new("read the counters of", "ovs-vswitchd", unanswered(e));
        let text = self
            .request("dpif-netdev/pmd-stats-show", &[])
            .map_err(error)?;
        ovs_pmd::received(&text).ok_or_else(|| error(io::Error::other(format!("it says {text:?}"))))
    }

    /// Queues of a port that threads poll; none when it does not say.
    pub(super) fn queues(&self, port: &str) -> Option<u64> {
        let text = self.request("dpif-netdev/pmd-rxq-show", &[]).ok()?;
        ovs_pmd::queues(&text, port)
    }

    /// Lets a bridge send what goes to `station` to `port`, which it need not learn then.
    pub(super) fn forward_to(
        &self,
        bridge: &str,
        port: &str,
        station: Mac,
        member: Member,
    ) -> Result<(), PathError> {
        let (station, vlan) = (station.to_string(), member.table().to_string());
        self.request("fdb/add", &[bridge, port, &vlan, &station])
            .map_err(|e| PathError::io("set up the table of", "ovs-vswitchd", e))?;
        Ok(())
    }

    /// Its threads that work for the path: the first one where frames are carried there.
    pub(super) fn threads(&self) -> Result<Vec<PathThread>, NetError> {
        pinned::threads(self.daemon.id(), |name, first| {
            if first {
                self.main_carries.then(|| "ovs-vswitchd".to_owned())
            } else {
                label(name)
            }
        })
    }

    fn request(&self, method: &str, arguments: &[&str]) -> io::Result<String> {
        request(&self.control, method, arguments)
    }
}

/// A command of ovs-appctl(8), given over the daemon's control socket (JSON-RPC 1.0).
fn request(control: &Path, method: &str, arguments: &[&str]) -> io::Result<String> {
    let mut stream = UnixStream::connect(control)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let call = json!({"id": 0, "method": method, "params": arguments});
    stream.write_all(call.to_string().as_bytes())?;
    // The connection stays open behind the answer.
    let mut answers = serde_json::Deserializer::from_reader(stream);
    let answer = Value::deserialize(&mut answers)?;
    match &answer["result"] {
        Value::String(text) => Ok(text.clone()),
        _ => Err(io::Error::other(format!("{method}: {}", answer["error"]))),
    }
}

/// Changes the configuration, or asks for a part of it (ovs-vsctl(8)).
fn set(setter: &Path, database: &Path, words: &[String]) -> Result<String, PathError> {
    let first = [
        format!("--db=unix:{}", database.display()),
        "--no-wait".to_owned(),
    ];
    run(setter, first.iter().chain(words))
}

/// Waits until the daemon has a port.
fn switched(
    daemon: &mut Program,
    set: &dyn Fn(&[String]) -> Result<String, PathError>,
    port: &str,
) -> Result<(), PathError> {
    let get = ["--if-exists", "get", "interface", port, "ofport", "error"];
    let get = get.map(str::to_owned);
    let answer = daemon.wait_for("its ports", || {
        let answer = set(&get)?;
        // Empty until the daemon has seen the port.
        let (number, error) = answer
            .trim()
            .split_once('\n')
            .unwrap_or((answer.trim(), ""));
        Ok((number != "[]").then(|| (number == "-1").then(|| error.to_owned())))
    })?;
    match answer {
        Some(error) => Err(daemon.trouble(format!("cannot take {port}: {error}"))),
        None => Ok(()),
    }
}

/// Programs of Open vSwitch and OVN: nothing of theirs is outside `dir`.
pub(super) fn start<'a>(
    (ns, cpus): (&'a NetNs, &'a [u32]),
    dir: &RunDir,
    name: &'static str,
    program: &'a Path,
    mut arguments: Vec<String>,
) -> Start<'a> {
    arguments.extend(["--no-chdir", "-vsyslog:off", "-vconsole:info"].map(str::to_owned));
    let place = dir.path().display().to_string();
    let variables = [
        "OVS_RUNDIR",
        "OVS_LOGDIR",
        "OVS_DBDIR",
        "OVS_SYSCONFDIR",
        "OVN_RUNDIR",
        "OVN_LOGDIR",
        "OVN_DBDIR",
        "OVN_SYSCONFDIR",
    ];
    Start {
        name,
        program,
        arguments,
        environment: variables.map(|name| (name, place.clone())).to_vec(),
        ns,
        cpus,
    }
}

/// What ovs-vsctl(8) is told before the daemon starts.
fn configuration(setup: &Setup<'_>) -> Vec<String> {
    let mut words = vec!["init".to_owned()];
    let mut command = |parts: &[&str]| {
        words.push("--".to_owned());
        words.extend(parts.iter().map(|part| (*part).to_owned()));
    };
    for pair in &setup.config {
        command(&["set", "Open_vSwitch", ".", &format!("other_config:{pair}")]);
    }
    let datapath = format!("datapath_type={}", datapath_type(setup.datapath));
    // Stations are learned once per cell; the longest time there is, so that none is forgotten
    // while it only receives.
    let ageing = "other_config:mac-aging-time=3600";
    let mut made = Vec::new();
    for port in &setup.ports {
        if !made.contains(&port.bridge) {
            made.push(port.bridge);
            command(&["add-br", port.bridge]);
            command(&["set", "bridge", port.bridge, &datapath, ageing]);
        }
        let member = port.member.columns();
        let mut parts = vec!["add-port", port.bridge, port.name.as_str()];
        parts.extend(member.iter().map(String::as_str));
        command(&parts);
        if port.protected {
            command(&["set", "port", &port.name, "protected=true"]);
        }
        if !port.columns.is_empty() {
            let mut parts = vec!["set", "interface", port.name.as_str()];
            parts.extend(port.columns.iter().map(String::as_str));
            command(&parts);
        }
    }
    words
}

/// Names for CPU accounting: `pmd-c01/id:8` polls on CPU 1, `handler6` decides about frames
/// without a flow, `revalidator7` keeps the flows.
fn label(name: &str) -> Option<String> {
    if let Some((pmd, _)) = name.split_once("/id:")
        && pmd.starts_with("pmd-")
    {
        return Some(format!("ovs {pmd}"));
    }
    ["handler", "revalidator"]
        .into_iter()
        .find(|kind| {
            let number = name.strip_prefix(kind);
            number.is_some_and(|n| n.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .map(|kind| format!("ovs {kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_a_vlan_carry_tags_or_take_them_off() {
        assert_eq!(Member::Plain.columns(), Vec::<String>::new());
        assert_eq!(Member::Trunk.columns(), ["vlan_mode=trunk", "trunks=100"]);
        assert_eq!(Member::Access.columns(), ["vlan_mode=access", "tag=100"]);
        assert_eq!((Member::Plain.table(), Member::Access.table()), (0, 100));
    }

    #[test]
    fn threads_are_named_after_their_work() {
        for (name, expected) in [
            ("pmd-c01/id:8", Some("ovs pmd-c01")),
            ("handler6", Some("ovs handler")),
            ("revalidator7", Some("ovs revalidator")),
            ("urcu2", None),
            ("ct_clean4", None),
        ] {
            assert_eq!(label(name).as_deref(), expected, "{name}");
        }
    }
}
