//! Places of virtual machines' threads, for their libvirt domain.

use std::collections::BTreeMap;

use nicety_model::kept::{Kept, Target};

use super::HostFile;

/// One piece of XML per virtual machine, to be put into its domain with `virsh edit`.
pub(super) fn snippets(kept: &Kept) -> Vec<HostFile> {
    let mut pins: BTreeMap<&str, String> = BTreeMap::new();
    for setting in &kept.settings {
        let value = &setting.value;
        match &setting.target {
            Target::VirtualCpu { vm, index } => {
                *pins.entry(vm).or_default() +=
                    &format!("  <vcpupin vcpu='{index}' cpuset='{value}'/>\n");
            }
            // Under libvirt the vhost threads live in the emulator's group.
            Target::VhostThread { vm, index: 0 } => {
                *pins.entry(vm).or_default() += &format!("  <emulatorpin cpuset='{value}'/>\n");
            }
            _ => {}
        }
    }
    let files = pins.into_iter().map(|(vm, pins)| HostFile {
        path: format!("etc/nicety/libvirt/{}.xml", file_name(vm)),
        text: format!(
            "<!-- Written by nicety tune persist: for virsh edit {}, inside <domain>. -->\n\
             <cputune>\n{pins}</cputune>\n",
            file_name(vm)
        ),
    });
    files.collect()
}

/// A domain's name as a file name; other characters become `_`.
fn file_name(vm: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.+".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = vm.chars().map(safe).collect();
    name.trim_start_matches('.').replace("--", "-_")
}
