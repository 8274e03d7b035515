//! Virtual machines and their threads.

use nicety_model::HostFacts;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::facts::{VmFacts, VmThread};

use crate::page::Page;

pub fn render(page: &mut Page, facts: &HostFacts) {
    let rows: Vec<Vec<String>> = facts.vms.iter().map(row).collect();
    let columns = [
        "VM",
        "vCPUs",
        "may run on",
        "vhost",
        "may run on",
        "memory MiB",
        "NICs",
    ];
    page.table("virtual machines", &columns, &rows);
}

fn row(vm: &VmFacts) -> Vec<String> {
    let memory: Vec<String> = vm
        .memory_mib
        .iter()
        .map(|(node, mib)| format!("node {node}: {mib}"))
        .collect();
    let nics: Vec<String> = vm
        .nics
        .iter()
        .map(|nic| {
            let mut words = vec![nic.backend.clone()];
            words.extend(nic.interface.clone());
            words.extend(nic.model.clone());
            if nic.vhost == Some(true) {
                words.push("vhost".to_owned());
            }
            words.extend(nic.queues.map(|queues| format!("{queues} queues")));
            words.join(" ")
        })
        .collect();
    vec![
        vm.name.clone(),
        vm.vcpus.len().to_string(),
        cpus(&vm.vcpus),
        if vm.vhost.is_empty() {
            String::new()
        } else {
            vm.vhost.len().to_string()
        },
        cpus(&vm.vhost),
        memory.join(", "),
        nics.join("; "),
    ]
}

/// One list when all threads share it, else one each.
fn cpus(threads: &[VmThread]) -> String {
    let mut lists: Vec<String> = threads.iter().map(|t| format_cpu_list(&t.cpus)).collect();
    lists.dedup();
    lists.join(" | ")
}
