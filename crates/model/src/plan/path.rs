//! `[[path]]`: the kinds, their parameters, and what this version can build of them.

use std::hash::Hash;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::path::{Datapath, GuestKind, HostSwitch, Tagging, UnknownWord, Vdev, VmAccel, VmNic};
use crate::plan::file::OneOrMany;
use crate::plan::read::{Entry, Section, Source, Table};
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
/// How Open vSwitch deals with VLANs, whose ports know theirs.
const OVS_TAGGINGS: &[&str] = &["filtering"];
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
    pub guest: Vec<GuestKind>,
    /// How the guest is connected: `e1000`, `virtio-net`, `vhost-net`, `vhost-user` (on a switch
    /// built on DPDK), `macvtap`, `sriov`, `sriov-macvtap`; a namespace: `macvlan`, `sriov`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub nic: Vec<VmNic>,
    /// The host's port whose virtual functions `sriov` and `sriov-macvtap` use; it must have
    /// none yet and carry nothing else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub pf: Vec<String>,
    /// What joins the interfaces on the host: `bridge`, `vlan-bridge`, `ovs`, `ovs-bridge` (Open
    /// vSwitch with a kernel bridge before each interface of a guest), `ovs-dpdk`, `testpmd`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub switch: Vec<HostSwitch>,
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
    pub tagging: Vec<Tagging>,
    /// Datapath of `ovs`: `kernel` or `userspace`; when absent the kernel's where it has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub datapath: Vec<Datapath>,
    /// How DPDK gets at the interfaces: `af_packet` (when absent) or `af_xdp`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub vdev: Vec<Vdev>,
    /// Polling threads of a DPDK switch, each on a CPU of its own; one when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<u32>")]
    pub cores: Vec<u32>,
    /// How a guest's instructions run: `auto`, `kvm`, `tcg`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub accel: Vec<VmAccel>,
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
            _ => Tagging::WORDS,
        };
        let mut params = params(&section, taggings)?;
        at_nics(&section, offset, &mut params)?;
        return Ok(PathPlan::Switch { kind, params });
    }
    match kind {
        "ports" => {
            let [a, b] = interfaces(&section, offset, "kind = \"ports\"")?;
            Ok(PathPlan::Ports { a, b })
        }
        "vm" => Ok(PathPlan::Vm {
            params: params(&section, Tagging::WORDS)?,
        }),
        // The only other one of `KINDS`.
        _ => Ok(PathPlan::Bridge),
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
    let numbers = |key, high: u32, wanted: &str| match section.get(key) {
        Some(entry) => entry.list(|item| item.whole(1..=high, wanted)),
        None => Ok(Vec::new()),
    };
    Ok(PathParams {
        a: None,
        b: None,
        pci: super::pci::pairs(section)?,
        guest: words(section, "guest", GuestKind::WORDS)?,
        nic: words(section, "nic", VmNic::WORDS)?,
        pf: pf(section)?,
        switch: words(section, "switch", HostSwitch::WORDS)?,
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
        tagging: words(section, "tagging", taggings)?,
        datapath: words(section, "datapath", Datapath::WORDS)?,
        vdev: words(section, "vdev", Vdev::WORDS)?,
        cores: numbers("cores", 1024, "polling threads, as in cores = [1, 2]")?,
        accel: words(section, "accel", VmAccel::WORDS)?,
    })
}

/// Words under a key, which are those `known` ones of their kind.
fn words<T>(
    section: &Section<'_, '_>,
    key: &'static str,
    known: &[&'static str],
) -> Result<Vec<T>, PlanError>
where
    T: FromStr<Err = UnknownWord> + Clone + Hash + Eq,
{
    let Some(entry) = section.get(key) else {
        return Ok(Vec::new());
    };
    entry.list(|item| {
        let word = item.word(known)?;
        word.parse()
            .map_err(|error: UnknownWord| item.error(error.to_string(), "write another one"))
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
