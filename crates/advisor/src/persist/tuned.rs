//! The same as a profile of tuned.

use std::collections::BTreeMap;

use nicety_model::HostFacts;
use nicety_model::facts::InterfaceClass;
use nicety_model::kept::{Kept, Target};
use nicety_model::knob::{Knob, Side};

use super::files::module_parameter;
use super::{HEAD, HostFile};

/// The profile, and what it cannot hold.
pub fn tuned(facts: &HostFacts, kept: &Kept, profiles: &str) -> (HostFile, Vec<String>) {
    let mut sysctl = String::new();
    let mut sysfs = String::new();
    let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut nets: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
    let mut left = Vec::new();
    for (knob, value) in kept.knobs() {
        match knob {
            Knob::Sysctl { name } => sysctl += &format!("{name}={value}\n"),
            Knob::SysFile { path } => match module_parameter(knob) {
                Some((module, parameter)) => {
                    modules
                        .entry(module)
                        .or_default()
                        .push(format!("{parameter}={value}"));
                }
                None => sysfs += &format!("/sys/{path}={value}\n"),
            },
            _ => match net(facts, knob, value) {
                Some((interface, key, words)) => {
                    let all = nets.entry(interface).or_default().entry(key).or_default();
                    if !all.is_empty() {
                        all.push(' ');
                    }
                    all.push_str(&words);
                }
                None => left.push(format!("{knob}: tuned's net plug-in cannot set it")),
            },
        }
    }
    for setting in &kept.settings {
        match &setting.target {
            Target::Setting { .. } => {}
            Target::Interrupt { name, .. } => {
                left.push(format!(
                    "interrupt {name}: a tuned profile cannot name interrupts"
                ));
            }
            Target::VirtualCpu { vm, index } => {
                left.push(format!("vCPU {index} of {vm}: set it in the domain's XML"));
            }
            Target::VhostThread { vm, index } => {
                left.push(format!(
                    "vhost thread {index} of {vm}: set it in the domain's XML"
                ));
            }
        }
    }
    for name in &kept.modules {
        modules.entry(name).or_default();
    }
    let mut text = format!("{HEAD}[main]\nsummary=Network settings found by nicety\n");
    let mut section = |head: &str, body: &str| {
        if !body.is_empty() {
            text += &format!("\n[{head}]\n{body}");
        }
    };
    section("sysctl", &sysctl);
    section("sysfs", &sysfs);
    let lines = modules
        .iter()
        .map(|(module, words)| format!("{module}={}\n", words.join(" ")));
    section("modules", &lines.collect::<String>());
    for (interface, keys) in &nets {
        let lines = keys.iter().map(|(key, words)| format!("{key}={words}\n"));
        let body = format!(
            "type=net\ndevices={interface}\n{}",
            lines.collect::<String>()
        );
        section(&format!("net_{interface}"), &body);
    }
    let file = HostFile {
        path: format!("{profiles}/nicety/tuned.conf"),
        text,
    };
    (file, left)
}

/// Interface, option and words of tuned's net plug-in, which passes over software interfaces.
fn net<'a>(
    facts: &HostFacts,
    knob: &'a Knob,
    value: &str,
) -> Option<(&'a str, &'static str, String)> {
    let (interface, key, words) = match knob {
        Knob::Mtu { interface } => (interface, "mtu", value.to_owned()),
        Knob::Ring { interface, side } if *side != Side::Combined => {
            (interface, "ring", format!("{side} {value}"))
        }
        Knob::Channels { interface, side } => (interface, "channels", format!("{side} {value}")),
        Knob::Coalesce {
            interface,
            parameter,
        } => (interface, "coalesce", format!("{parameter} {value}")),
        Knob::Feature { interface, feature } => {
            // The names under which ethtool prints them, so that tuned can verify.
            let name = match feature.as_str() {
                "rx-lro" => "lro",
                "rx-gro" => "gro",
                "rx-checksum" => "rx",
                "tx-generic-segmentation" => "gso",
                name => name,
            };
            (interface, "features", format!("{name} {value}"))
        }
        _ => return None,
    };
    let hardware = facts
        .interface(interface)
        .is_some_and(|net| net.class == InterfaceClass::Hardware);
    hardware.then_some((interface.as_str(), key, words))
}
