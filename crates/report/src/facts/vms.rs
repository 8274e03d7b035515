//! Virtual machines and their threads.

use nicety_model::HostFacts;
use nicety_model::counted::plural;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::facts::{VmFacts, VmNic, VmThread};

use crate::document::columns;
use crate::page::Page;

pub fn render(page: &mut Page, facts: &HostFacts) {
    page.rows(
        "virtual machines",
        &facts.vms,
        columns![|vm|
            "VM" Name: &vm.name;
            "vCPUs" Number: vm.vcpus.len();
            "may run on" Text: cpus(&vm.vcpus);
            "vhost" Number: Some(vm.vhost.len()).filter(|threads| *threads > 0);
            "may run on" Text: cpus(&vm.vhost);
            "memory MiB" Text: memory(vm);
            "NICs" Text: vm.nics.iter().map(nic).collect::<Vec<_>>().join("; ");
        ],
    );
}

fn memory(vm: &VmFacts) -> String {
    let nodes = vm.memory_mib.iter();
    let nodes = nodes.map(|(node, mib)| format!("node {node}: {mib}"));
    nodes.collect::<Vec<_>>().join(", ")
}

fn nic(nic: &VmNic) -> String {
    let mut words = vec![nic.backend.clone()];
    words.extend(nic.interface.clone());
    if nic.other_namespace {
        words.push("in another network namespace".to_owned());
    }
    words.extend(nic.model.clone());
    if nic.vhost == Some(true) {
        words.push("vhost".to_owned());
    }
    words.extend(nic.queues.map(|queues| plural(queues, "queue")));
    words.join(" ")
}

/// One list when all threads share it, else one each.
fn cpus(threads: &[VmThread]) -> String {
    let mut lists: Vec<String> = threads.iter().map(|t| format_cpu_list(&t.cpus)).collect();
    lists.dedup();
    lists.join(" | ")
}
