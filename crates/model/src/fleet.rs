//! Many recorded hosts side by side: which findings they share, and who differs from whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::finding::{Certainty, Effect, Gain, Goal, Risk};

crate::keywords::keywords! {
    /// What makes hosts siblings.
    GroupBy {
        /// CPU model and number of sockets.
        Cpu = "cpu",
        /// Drivers of the physical ports and how many ports each has.
        Nic = "nic",
        /// What the host is for.
        Role = "role",
        /// What stands before the number in the name: `kvm` of `kvm01.example.com`.
        Name = "name",
    }
}

crate::keywords::keywords! {
    /// What a host is for, as far as its facts tell.
    Role {
        /// Xen's first domain.
        Xen = "xen-host",
        /// Runs guests of QEMU, or libvirt.
        Kvm = "kvm-host",
        /// Runs dockerd or a kubelet.
        Containers = "container-host",
        /// Is itself a virtual machine.
        Guest = "guest",
        /// None of these.
        Plain = "plain",
    }
}

/// A fleet as `nicety tune plan` reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetReport {
    /// Schema version.
    pub schema: u32,
    /// What the hosts are to be good at.
    pub goal: Goal,
    /// What makes hosts siblings; nothing where all are.
    pub grouped_by: Vec<GroupBy>,
    /// Number of rules that each host was asked.
    pub checked: usize,
    /// Findings left out because they are riskier than asked for, of all hosts.
    pub riskier: usize,
    /// Hosts, by name.
    pub hosts: Vec<FleetHost>,
    /// Groups of siblings, the largest first.
    pub groups: Vec<FleetGroup>,
    /// Findings, those that bring most and that most hosts have first.
    pub findings: Vec<FleetFinding>,
    /// What is not the same on all siblings.
    pub differences: Vec<FleetDifference>,
    /// Rules that could not decide, by id.
    pub waiting: Vec<FleetWaiting>,
    /// Captures left out because there is a newer one of the same host.
    pub older: Vec<OlderCapture>,
    /// What could not be read as a host.
    pub unread: Vec<UnreadCapture>,
}

/// A host of the fleet.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetHost {
    /// Its name: the recorded one, else that of the file.
    pub name: String,
    /// The capture.
    pub file: String,
    /// When it was recorded, as in RFC 3339; of captures without a time, when the file was written.
    pub captured: Option<String>,
    /// Number of its group, from 1.
    pub group: usize,
    /// Findings.
    pub findings: usize,
    /// Settings in which it is not as most of its siblings are.
    pub differs: usize,
}

/// Hosts that should be the same.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FleetGroup {
    /// Number, from 1.
    pub group: usize,
    /// CPU model and number of sockets, where hosts are grouped by it.
    pub cpu: Option<String>,
    /// Drivers of the physical ports, where hosts are grouped by them.
    pub nics: Option<String>,
    /// What the hosts are for, where they are grouped by it.
    pub role: Option<Role>,
    /// What stands before the number in their names, where they are grouped by it.
    pub named: Option<String>,
    /// Hosts, by name.
    pub hosts: Vec<String>,
    /// Settings that were compared.
    pub compared: usize,
}

/// A kind of finding and the hosts that have it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetFinding {
    /// Id of the rule: `T04`.
    pub id: String,
    /// Name of the rule: `irq-affinity`.
    pub rule: String,
    /// What is so on a host that needs no change.
    pub expects: String,
    /// Why.
    pub why: String,
    /// Where that is written.
    pub source: String,
    /// What the change costs, on the first host.
    pub cost: String,
    /// How much can go wrong: the most of all hosts.
    pub risk: Risk,
    /// How sure.
    pub certainty: Certainty,
    /// What the change usually brings.
    pub gain: Option<Gain>,
    /// When it takes effect: the soonest of all hosts.
    pub effect: Effect,
    /// Hosts on which nicety can change all or a part of it.
    pub changes: usize,
    /// What should be, where it is the same on all hosts.
    pub should: Option<String>,
    /// Interfaces, virtual machines or other things it is about, of all hosts together.
    pub subjects: usize,
    /// Hosts that have it, by name.
    pub hosts: Vec<String>,
    /// What was found on the first of them.
    pub example: FleetExample,
}

/// A finding of one host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FleetExample {
    /// Host.
    pub host: String,
    /// Interface, virtual machine or other thing it is about.
    pub subject: String,
    /// What is.
    pub is: String,
    /// What should be.
    pub should: String,
    /// What a person has to do there.
    pub advice: Vec<String>,
}

/// A setting that is not the same on all siblings.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetDifference {
    /// Number of the group.
    pub group: usize,
    /// Setting: `eth0 receive ring`.
    pub setting: String,
    /// What more than half of the siblings have; absent when there is no such value.
    pub usual: Option<String>,
    /// How many have it.
    pub usual_hosts: usize,
    /// The other values, the most frequent first; without a usual one, all values.
    pub others: Vec<FleetValue>,
    /// Hosts with values beyond those listed.
    pub more_hosts: usize,
    /// Siblings whose capture does not tell.
    pub unknown: usize,
}

/// A value and who has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetValue {
    /// Value.
    pub value: String,
    /// Hosts, by name.
    pub hosts: Vec<String>,
}

/// A rule that could not decide, and where.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetWaiting {
    /// Id of the rule.
    pub id: String,
    /// Name of the rule.
    pub rule: String,
    /// The option that lets it decide.
    pub option: Option<String>,
    /// On how many hosts.
    pub hosts: usize,
}

/// A capture of a host of which there is a newer one.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OlderCapture {
    /// Host.
    pub name: String,
    /// The capture that is left out.
    pub file: String,
    /// When it was recorded.
    pub captured: Option<String>,
    /// The one that is used.
    pub newer: String,
}

/// Something that is no captured host, or cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadCapture {
    /// File or folder.
    pub file: String,
    /// What is wrong.
    pub why: String,
}

impl FleetReport {
    /// Hosts that have a finding.
    pub fn with_findings(&self) -> usize {
        self.hosts.iter().filter(|host| host.findings > 0).count()
    }

    /// Hosts that are not as most of their siblings in something.
    pub fn odd_ones(&self) -> usize {
        self.hosts.iter().filter(|host| host.differs > 0).count()
    }

    /// Hosts that are alone in their group.
    pub fn alone(&self) -> Vec<String> {
        let alone = self.groups.iter().filter(|group| group.hosts.len() == 1);
        let mut names: Vec<String> = alone.flat_map(|group| group.hosts.clone()).collect();
        names.sort_by(|a, b| crate::host_list::natural(a, b));
        names
    }
}
