//! A logical switch of OVN between `d0` and `d1`, on Open vSwitch.
//!
//! ```text
//!  northbound database - ovn-northd - southbound database - ovn-controller - ovs-vswitchd: d0, d1
//! ```
//!
//! All of it runs beside the switch in its private directory. ovn-controller turns the logical switch into flows of
//! `br-int`; frames meet these only.

use std::os::unix::net::UnixStream;
use std::path::{Path as File, PathBuf};

use nicety_model::note::{OvsSwitch, PathNote};
use nicety_model::path::{Acl, Datapath};
use nicety_netdev::link::Mac;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::openvswitch;

use super::instance::{self, Instance, SERVER, Setup, SwitchPort, TOOL};
use super::ovs::{self, choose, lookup_counters};
use super::program::{Packaged, Program, READY, run};
use crate::counters::PathCounters;
use crate::error::PathError;
use crate::path::{Path, PathFacts};
use crate::rig::{Rig, RigSpec};
use crate::tun::taps_there;

const CENTRAL: &str = "ovn-central";
const NORTHD: Packaged = Packaged::on_path("ovn-northd", CENTRAL);
const CONTROLLER: Packaged = Packaged::on_path("ovn-controller", "ovn-host");
const SETTER: Packaged = Packaged::on_path("ovn-nbctl", "ovn-common");
const SCHEMAS: [Packaged; 2] = [
    Packaged {
        name: "ovn-nb.ovsschema",
        places: &[
            "/usr/share/ovn/ovn-nb.ovsschema",
            "/usr/local/share/ovn/ovn-nb.ovsschema",
        ],
        package: CENTRAL,
    },
    Packaged {
        name: "ovn-sb.ovsschema",
        places: &[
            "/usr/share/ovn/ovn-sb.ovsschema",
            "/usr/local/share/ovn/ovn-sb.ovsschema",
        ],
        package: CENTRAL,
    },
];

/// The logical switch.
const SWITCH: &str = "ls0";
/// The bridge that ovn-controller fills with flows.
const BRIDGE: &str = "br-int";
/// The switch's interfaces and what they are on the logical switch.
const PORTS: [(&str, &str); 2] = [("d0", "p0"), ("d1", "p1")];

/// Whether all programs are installed.
pub(super) fn all_there() -> Result<(), PathError> {
    instance::all_there(&ovs::DAEMON)?;
    let mut all = [NORTHD, CONTROLLER, SETTER].into_iter().chain(SCHEMAS);
    all.try_for_each(|program| program.find().map(drop))
}

/// What the path shall be like.
#[derive(Debug, Clone)]
pub struct OvnSpec {
    /// The two ways to it.
    pub rig: RigSpec,
    /// The datapath; when absent the kernel's where the kernel has it.
    pub datapath: Option<Datapath>,
    /// Rules of the logical switch.
    pub acl: Acl,
    /// The tester's stations at ports A and B: the addresses that the logical switch knows.
    pub stations: [Mac; 2],
    /// CPUs of the programs; any when empty.
    pub cpus: Vec<u32>,
}

/// Two namespaces joined by a logical switch; gone when dropped.
#[derive(Debug)]
pub struct OvnPath {
    // Dropped in this order: programs before what they use.
    _control: Control,
    instance: Instance,
    rig: Rig,
    datapath: Datapath,
    acl: Acl,
}

impl OvnPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// As [`OvnPath::build`], as far as it can be known beforehand.
    pub fn check(spec: &OvnSpec) -> Result<(), PathError> {
        all_there()?;
        let kernel = openvswitch::has_kernel_datapath(&NetNs::current()?)?;
        match choose(spec.datapath, kernel)? {
            (Datapath::Userspace, _) => taps_there(),
            (Datapath::Kernel, _) => Ok(()),
        }
    }

    /// Builds the path and waits until the logical switch is in the flows of the real one.
    ///
    /// # Errors
    /// Those of [`OvsPath::build`](crate::OvsPath::build), of OVN's programs too.
    pub fn build(spec: &OvnSpec) -> Result<Self, PathError> {
        all_there()?;
        let mut rig = Rig::build("ovn", &spec.rig)?;
        let kernel = openvswitch::has_kernel_datapath(&rig.dut.ns)?;
        let (datapath, by_itself) = choose(spec.datapath, kernel)?;
        let ports = PORTS.map(|(name, logical)| SwitchPort {
            bridge: BRIDGE,
            ..SwitchPort::plain(name, vec![format!("external_ids:iface-id={logical}")])
        });
        let instance = Instance::start(&Setup {
            ns: &rig.dut.ns,
            daemon: &ovs::DAEMON,
            cpus: &spec.cpus,
            config: Vec::new(),
            datapath,
            ports: ports.into(),
            dpdk: false,
        })?;
        let control = Control::start(&instance, &rig.dut.ns, spec)?;
        rig.facts.threads.extend(instance.threads()?);
        rig.joined(datapath == Datapath::Userspace);
        let switch = OvsSwitch {
            version: format!("{} with OVN {}", instance.version(), control.version),
            userspace: datapath == Datapath::Userspace,
        };
        let note = PathNote::Ovs { switch, by_itself };
        rig.facts.notes.push(note.into());
        Ok(Self {
            _control: control,
            instance,
            rig,
            datapath,
            acl: spec.acl,
        })
    }
}

/// OVN's own programs.
#[derive(Debug)]
struct Control {
    // Dropped in this order.
    _controller: Program,
    _northd: Program,
    _server: Program,
    version: String,
}

impl Control {
    fn start(instance: &Instance, ns: &NetNs, spec: &OvnSpec) -> Result<Self, PathError> {
        let dir = instance.dir();
        // Their control sockets are where OVN_RUNDIR says: ovn-controller of OVN 23.03 has no option for it.
        let start = |name, program: &File, arguments: Vec<String>| {
            let start = instance::start((ns, &spec.cpus), dir, name, program, arguments);
            Program::start(&start, dir)
        };
        let (server, tool) = (SERVER.find()?, TOOL.find()?);
        let mut databases = Vec::new();
        for schema in SCHEMAS {
            let database = dir.file(schema.name).with_extension("db");
            run(&tool, [File::new("create"), &database, &schema.find()?])?;
            databases.push(database.display().to_string());
        }
        let socket = dir.file("ovn.sock");
        let remote = format!("unix:{}", socket.display());
        databases.push(format!("--remote=p{remote}"));
        let mut server = start("ovn-ovsdb-server", &server, databases)?;
        server.wait_for("its socket", || Ok(UnixStream::connect(&socket).ok()))?;
        let both = ["nb", "sb"].map(|side| format!("--ovn{side}-db={remote}"));
        let northd = start("ovn-northd", &NORTHD.find()?, both.into())?;
        let setter = Setter {
            program: SETTER.find()?,
            remote: remote.clone(),
        };
        setter.run(&logical(spec))?;
        let chassis = [
            "system-id=nicety".to_owned(),
            format!("ovn-remote={remote}"),
            "ovn-encap-type=geneve".to_owned(),
            "ovn-encap-ip=127.0.0.1".to_owned(),
        ];
        let mut words = ["set", "Open_vSwitch", "."].map(str::to_owned).to_vec();
        words.extend(chassis.map(|pair| format!("external_ids:{pair}")));
        instance.configure(&words)?;
        let controller = CONTROLLER.find()?;
        let of_switch = format!("unix:{}", instance.database().display());
        let running = start("ovn-controller", &controller, vec![of_switch])?;
        let ready = setter.wait();
        ready.map_err(|error| running.trouble(format!("the switch is not set up: {error}")))?;
        let version = run(&controller, ["--version"])?;
        let version = version
            .lines()
            .next()
            .and_then(|line| line.split(' ').next_back());
        Ok(Self {
            version: version.unwrap_or_default().to_owned(),
            _controller: running,
            _northd: northd,
            _server: server,
        })
    }
}

/// ovn-nbctl(8).
struct Setter {
    program: PathBuf,
    remote: String,
}

impl Setter {
    fn run(&self, words: &[String]) -> Result<String, PathError> {
        let database = format!("--db={}", self.remote);
        run(&self.program, [&database].into_iter().chain(words))
    }

    /// Waits until the controller has put all of it into the switch. `sync` waits for the controllers that have
    /// registered, and there may be none yet; the ports are up once theirs has.
    fn wait(&self) -> Result<(), PathError> {
        let limit = format!("--timeout={}", READY.as_secs());
        let wait = |words: String| {
            let words = words.split(' ').map(str::to_owned);
            let words: Vec<String> = [limit.clone()].into_iter().chain(words).collect();
            self.run(&words).map(drop)
        };
        for (_, port) in PORTS {
            wait(format!("wait-until Logical_Switch_Port {port} up=true"))?;
        }
        wait("--wait=hv sync".to_owned())
    }
}

/// The logical switch in words of ovn-nbctl(8).
fn logical(spec: &OvnSpec) -> Vec<String> {
    let mut words = vec!["ls-add".to_owned(), SWITCH.to_owned()];
    let mut command = |parts: &[&str]| {
        words.push("--".to_owned());
        words.extend(parts.iter().map(|part| (*part).to_owned()));
    };
    for ((_, port), station) in PORTS.into_iter().zip(spec.stations) {
        command(&["lsp-add", SWITCH, port]);
        command(&["lsp-set-addresses", port, &station.to_string()]);
    }
    if spec.acl != Acl::None {
        let verdict = spec.acl.word();
        command(&["acl-add", SWITCH, "from-lport", "1000", "ip", verdict]);
    }
    words
}

impl Path for OvnPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.rig.counters(&[])?;
        let arrived = ovs::arrived(&counters);
        let mut switch = lookup_counters(&self.instance, self.datapath, arrived)?;
        if self.acl == Acl::AllowRelated {
            // A frame is looked up again behind every look at its connection, so lookups say nothing of frames.
            let received = match self.datapath {
                Datapath::Kernel => arrived,
                Datapath::Userspace => self.instance.received()?,
            };
            switch.counters.rx_packets = received;
            switch.counters.rx_missed_errors = arrived.saturating_sub(received);
        }
        // After `a` and `d0`.
        counters.interfaces.insert(2, switch);
        Ok(counters)
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::FrameSize;

    use super::*;

    #[test]
    fn a_logical_switch_knows_its_stations() {
        let mut spec = OvnSpec {
            rig: RigSpec {
                path_cpus: Vec::new(),
                largest_frame: FrameSize::new(64).unwrap(),
                queues: 1,
            },
            datapath: None,
            acl: Acl::None,
            stations: [Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])],
            cpus: Vec::new(),
        };
        assert_eq!(
            logical(&spec).join(" "),
            "ls-add ls0 -- lsp-add ls0 p0 -- lsp-set-addresses p0 02:00:00:00:00:01 \
             -- lsp-add ls0 p1 -- lsp-set-addresses p1 02:00:00:00:00:02"
        );
        spec.acl = Acl::AllowRelated;
        let words = logical(&spec).join(" ");
        assert!(
            words.ends_with(" -- acl-add ls0 from-lport 1000 ip allow-related"),
            "{words}"
        );
    }
}
