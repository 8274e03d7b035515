//! `[[path]]`: the kinds, their parameters, and what this version can build of them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::plan::file::OneOrMany;
use crate::plan::read::{Entry, Section, Source, Table};
use crate::plan::vm::{ACCELS, GUESTS, NICS};
use crate::plan::{PathPlan, PlanError, SwitchKind};

/// Every kind a plan may name.
pub(super) const KINDS: [&str; 7] = [
    "bridge",
    "ports",
    "vlan-bridge",
    "ovs",
    "ovs-dpdk",
    "testpmd",
    "vm",
];
/// What joins the guests' interfaces on the host.
const SWITCHES: [&str; 6] = [
    "bridge",
    "vlan-bridge",
    "ovs",
    "ovs-bridge",
    "ovs-dpdk",
    "testpmd",
];
/// How a bridge deals with VLANs, and how Open vSwitch does, whose ports know theirs.
const TAGGINGS: [&str; 2] = ["sub-interface", "filtering"];
const OVS_TAGGINGS: &[&str] = &["filtering"];
/// Which of Open vSwitch's datapaths carries the frames.
const DATAPATHS: [&str; 2] = ["kernel", "userspace"];
/// How DPDK gets at an interface that the kernel drives.
const VDEVS: [&str; 2] = ["af_packet", "af_xdp"];
/// Keys of `kind = "vm"`.
const VM_KEYS: [&str; 15] = [
    "kind",
    "guest",
    "nic",
    "pf",
    "switch",
    "tagging",
    "vdev",
    "cores",
    "host_queues",
    "vcpus",
    "pin",
    "queues",
    "ring",
    "vms",
    "accel",
];

/// Parameters of a path; an empty list was not given. Each list multiplies the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct PathParams {
    /// The tester's interface A: of `kind = "ports"`, and beside `pci`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// The tester's interface B: of `kind = "ports"`, and beside `pci`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
    /// PCI addresses of the NICs that `testpmd` drives itself, those of its ports 0 and 1 in one
    /// list; they are connected with `a` and `b` from outside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pci: Vec<[String; 2]>,
    /// What the guest is: `vm`, a virtual machine (when absent), or `netns`, a network namespace
    /// as of a container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub guest: Vec<String>,
    /// How the guest is connected: `e1000`, `virtio-net`, `vhost-net`, `vhost-user` (on a switch
    /// built on DPDK), `macvtap`, `sriov`, `sriov-macvtap`; a namespace: `macvlan`, `sriov`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub nic: Vec<String>,
    /// The host's port whose virtual functions `sriov` and `sriov-macvtap` use; it must have
    /// none yet and carry nothing else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub pf: Vec<String>,
    /// What joins the interfaces on the host: `bridge`, `vlan-bridge`, `ovs`, `ovs-bridge` (Open
    /// vSwitch with a kernel bridge before each interface of a guest), `ovs-dpdk`, `testpmd`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub switch: Vec<String>,
    /// Receive queues of the host's interfaces between which the guest is; frames are spread over
    /// them by flow, as receive side scaling does. One when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<u32>")]
    pub host_queues: Vec<u32>,
    /// Virtual CPUs of a guest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<u32>")]
    pub vcpus: Vec<u32>,
    /// Host CPUs the virtual CPUs run on; each entry is one placement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<Vec<u32>>,
    /// Queues of an interface.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<u32>")]
    pub queues: Vec<u32>,
    /// Descriptors in a ring.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<u32>")]
    pub ring: Vec<u32>,
    /// Guests at the same time; they share the switch or the port, and the frames take turns
    /// through them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<u32>")]
    pub vms: Vec<u32>,
    /// How a switch deals with tags: `sub-interface` (of `vlan-bridge` only, when absent), a bridge
    /// between VLAN sub-interfaces, or `filtering`, a bridge that tells VLANs apart itself. `ovs`
    /// carries untagged frames when it is absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub tagging: Vec<String>,
    /// Datapath of `ovs`: `kernel` or `userspace`; when absent the kernel's where it has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub datapath: Vec<String>,
    /// How DPDK gets at the interfaces: `af_packet` (when absent) or `af_xdp`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub vdev: Vec<String>,
    /// Polling threads of a DPDK switch, each on a CPU of its own; one when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<u32>")]
    pub cores: Vec<u32>,
    /// How a guest's instructions run: `auto`, `kvm`, `tcg`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub accel: Vec<String>,
}

impl PathParams {
    /// The lists that were given, as words: `("pin", ["0", "4+6"])`.
    pub fn lists(&self) -> Vec<(&'static str, Vec<String>)> {
        let numbers = |list: &[u32]| list.iter().map(u32::to_string).collect();
        let all = [
            ("a", self.a.iter().cloned().collect()),
            ("b", self.b.iter().cloned().collect()),
            ("pci", self.pci.iter().map(|pair| pair.join("+")).collect()),
            ("guest", self.guest.clone()),
            ("nic", self.nic.clone()),
            ("pf", self.pf.clone()),
            ("switch", self.switch.clone()),
            ("host_queues", numbers(&self.host_queues)),
            ("vcpus", numbers(&self.vcpus)),
            ("pin", self.pin.iter().map(|cpus| join(cpus)).collect()),
            ("queues", numbers(&self.queues)),
            ("ring", numbers(&self.ring)),
            ("vms", numbers(&self.vms)),
            ("tagging", self.tagging.clone()),
            ("datapath", self.datapath.clone()),
            ("vdev", self.vdev.clone()),
            ("cores", numbers(&self.cores)),
            ("accel", self.accel.clone()),
        ];
        all.into_iter()
            .filter(|(_, values): &(_, Vec<String>)| !values.is_empty())
            .collect()
    }
}

/// CPU numbers as they stand in a cell's name: `4+6`.
fn join(cpus: &[u32]) -> String {
    let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
    words.join("+")
}

/// Reads one `[[path]]`.
pub(super) fn read(
    source: Source<'_>,
    table: &Table<'_>,
    offset: usize,
) -> Result<PathPlan, PlanError> {
    let kind = kind(source, table, offset)?;
    let known: &[&'static str] = match kind {
        "ports" => &["kind", "a", "b"],
        "vm" => &VM_KEYS,
        _ => SwitchKind::of(kind).map_or(&["kind"], SwitchKind::keys),
    };
    let section = Section::open(source, "[[path]]", table, known)?;
    if let Some(kind) = SwitchKind::of(kind) {
        let taggings = match kind {
            SwitchKind::Ovs => OVS_TAGGINGS,
            _ => &TAGGINGS,
        };
        let mut params = params(&section, taggings)?;
        at_nics(&section, offset, &mut params)?;
        return Ok(PathPlan::Switch { kind, params });
    }
    match kind {
        "bridge" => Ok(PathPlan::Bridge),
        "ports" => {
            let [a, b] = interfaces(&section, offset, "kind = \"ports\"")?;
            Ok(PathPlan::Ports { a, b })
        }
        "vm" => Ok(PathPlan::Vm {
            params: params(&section, &TAGGINGS)?,
        }),
        _ => Ok(PathPlan::Unavailable {
            kind: kind.to_owned(),
            params: params(&section, &TAGGINGS)?,
            reason: format!("paths of kind {kind} cannot be built by this version"),
            remedy: "build the path yourself and measure it with kind = \"ports\"".to_owned(),
        }),
    }
}

/// The kind, before anything else: it decides which keys are known.
fn kind(source: Source<'_>, table: &Table<'_>, offset: usize) -> Result<&'static str, PlanError> {
    let Some(value) = table.get("kind") else {
        return Err(source.error(
            offset,
            "a [[path]] without kind",
            "add kind = \"bridge\" or another kind",
        ));
    };
    Entry {
        source,
        key: "kind",
        value,
    }
    .word(&KINDS)
}

/// Parameters of a path through NICs that the switch drives itself.
fn at_nics(
    section: &Section<'_, '_>,
    offset: usize,
    params: &mut PathParams,
) -> Result<(), PlanError> {
    if params.pci.is_empty() {
        let stray = ["a", "b"].into_iter().find_map(|key| section.get(key));
        return stray.map_or(Ok(()), |entry| {
            Err(entry.error(
                format!(
                    "{} without pci: this path has interfaces of its own",
                    entry.key
                ),
                "leave it out, or name the switch's NICs with pci",
            ))
        });
    }
    if let Some(entry) = section.get("vdev") {
        return Err(entry.error(
            "vdev beside pci: through it DPDK gets at interfaces that the kernel drives",
            "leave one of them out, or write a [[path]] for each",
        ));
    }
    let [a, b] = interfaces(section, offset, "pci")?;
    (params.a, params.b) = (Some(a), Some(b));
    Ok(())
}

/// The tester's interfaces `a` and `b` that are there already, on a path with `what`.
fn interfaces(
    section: &Section<'_, '_>,
    offset: usize,
    what: &str,
) -> Result<[String; 2], PlanError> {
    let name = |key| {
        let entry = section.get(key).ok_or_else(|| {
            section.source.error(
                offset,
                format!("{what} without {key}"),
                "name both interfaces, as in a = \"eth1\" and b = \"eth2\"",
            )
        })?;
        let name = entry.string("an interface name in quotes, as in \"eth1\"")?;
        super::build::check_interface(name)
            .map_err(|why| entry.error(why.to_string(), "write the name `ip link` shows"))?;
        Ok::<_, PlanError>((entry, name.to_owned()))
    };
    let (_, a) = name("a")?;
    let (entry, b) = name("b")?;
    if a == b {
        return Err(entry.error(
            format!("a and b are both {}", entry.quote()),
            "name two different interfaces",
        ));
    }
    Ok([a, b])
}

/// Parameters of a kind, those among its keys; checked also where the kind cannot be built yet,
/// so that a plan written today runs tomorrow.
fn params(section: &Section<'_, '_>, taggings: &[&'static str]) -> Result<PathParams, PlanError> {
    let words = |key, known: &[&'static str]| match section.get(key) {
        Some(entry) => entry.list(|item| item.word(known).map(str::to_owned)),
        None => Ok(Vec::new()),
    };
    let numbers = |key, high: u32, wanted: &str| match section.get(key) {
        Some(entry) => entry.list(|item| item.whole(1..=high, wanted)),
        None => Ok(Vec::new()),
    };
    Ok(PathParams {
        a: None,
        b: None,
        pci: super::pci::pairs(section)?,
        guest: words("guest", &GUESTS)?,
        nic: words("nic", &NICS)?,
        pf: pf(section)?,
        switch: words("switch", &SWITCHES)?,
        host_queues: numbers(
            "host_queues",
            1024,
            "receive queues of the host's interfaces, as in host_queues = [1, 4]",
        )?,
        vcpus: numbers(
            "vcpus",
            1024,
            "virtual CPUs of a guest, as in vcpus = [1, 2]",
        )?,
        pin: placements(section, "pin")?,
        queues: numbers(
            "queues",
            1024,
            "queues of an interface, as in queues = [1, 4]",
        )?,
        ring: numbers("ring", 65_536, "descriptors in a ring, as in ring = [256]")?,
        vms: numbers("vms", 1024, "guests at the same time, as in vms = [1]")?,
        tagging: words("tagging", taggings)?,
        datapath: words("datapath", &DATAPATHS)?,
        vdev: words("vdev", &VDEVS)?,
        cores: numbers("cores", 1024, "polling threads, as in cores = [1, 2]")?,
        accel: words("accel", &ACCELS)?,
    })
}

/// `pf = "eth0"`.
fn pf(section: &Section<'_, '_>) -> Result<Vec<String>, PlanError> {
    let Some(entry) = section.get("pf") else {
        return Ok(Vec::new());
    };
    entry.list(|item| {
        let name = item.string("an interface name in quotes, as in \"eth0\"")?;
        super::build::check_interface(name)
            .map_err(|why| item.error(why.to_string(), "write the name `ip link` shows"))?;
        Ok(name.to_owned())
    })
}

/// `pin = [[0], [4, 6]]` under this key: a list of placements, each a list of CPU numbers. A flat
/// list could mean either, so it is refused.
pub(super) fn placements(
    section: &Section<'_, '_>,
    key: &'static str,
) -> Result<Vec<Vec<u32>>, PlanError> {
    let Some(entry) = section.get(key) else {
        return Ok(Vec::new());
    };
    let wanted = format!("as in {key} = [[0], [4, 6]]");
    entry.list(|placement| {
        if placement.value.get_ref().as_array().is_none() {
            let what = format!("{key} holds {}, not a list of CPUs", placement.quote());
            return Err(placement.error(what, format!("write a list per placement, {wanted}")));
        }
        placement.list(|cpu| cpu.whole(0..=8191, &format!("CPU numbers, {wanted}")))
    })
}
