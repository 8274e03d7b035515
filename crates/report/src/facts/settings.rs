//! Settings that carry network traffic, and who else sets them.

use nicety_model::HostFacts;

use crate::document::columns;
use crate::page::Page;

pub fn render(page: &mut Page, facts: &HostFacts) {
    let mut rows: Vec<(&str, String, String)> = Vec::new();
    let settings = facts.sysctl.iter().chain(&facts.module_parameters);
    for (name, value) in settings.filter(|(name, _)| !name.starts_with("kernel.")) {
        let owners: Vec<String> = facts
            .owners
            .iter()
            .filter(|owner| owner.key == *name)
            .map(|owner| format!("{} = {}", owner.file, owner.value))
            .collect();
        rows.push((name, value.clone(), owners.join("; ")));
    }
    for (name, values) in [
        ("CPU governor", distinct(facts.cpu.governor.values())),
        (
            "idle driver",
            facts.cpu.idle_driver.clone().unwrap_or_default(),
        ),
        (
            "transparent huge pages",
            facts.memory.transparent.clone().unwrap_or_default(),
        ),
        ("IOMMU groups", distinct(facts.iommu_groups.keys())),
        ("functions in user space", user_functions(facts)),
    ] {
        if !values.is_empty() {
            rows.push((name, values, String::new()));
        }
    }
    page.rows(
        "settings",
        &rows,
        columns![|(name, value, owners)|
            "setting" Name: *name;
            "value" Wide: value;
            "set at boot by" Wide: owners;
        ],
    );
    let services = &facts.services;
    let running: Vec<&str> = [
        ("irqbalance", services.irqbalance),
        ("tuned", services.tuned),
        ("NetworkManager", services.network_manager),
        ("systemd-networkd", services.networkd),
        ("docker", services.docker),
        ("kubelet", services.kubelet),
        ("libvirt", services.libvirt),
        ("Open vSwitch", services.open_vswitch),
    ]
    .into_iter()
    .filter_map(|(name, runs)| runs.then_some(name))
    .collect();
    if !running.is_empty() {
        page.line("");
        page.line(&format!(
            "running and able to change these: {}",
            running.join(", ")
        ));
    }
}

fn user_functions(facts: &HostFacts) -> String {
    let told = facts.user_functions.iter();
    let told = told.map(|function| format!("{} {}", function.address, function.driver));
    told.collect::<Vec<_>>().join(", ")
}

fn distinct<'a>(values: impl Iterator<Item = &'a String>) -> String {
    let mut words: Vec<&str> = values.map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}
