//! The files, by who reads them at boot.

use std::collections::BTreeMap;

use nicety_model::HostFacts;
use nicety_model::kept::{Kept, Target};
use nicety_model::knob::Knob;

use super::{HEAD, HostFile, KEPT, Match, link, vm};

/// All files for what is kept. `program` is the absolute path of nicety.
pub fn files(facts: &HostFacts, kept: &Kept, program: &str) -> Vec<HostFile> {
    if kept.is_empty() {
        return Vec::new();
    }
    let mut files = Vec::new();
    let mut add = |path: &str, body: String| {
        if !body.is_empty() {
            files.push(HostFile {
                path: path.to_owned(),
                text: format!("{HEAD}{body}"),
            });
        }
    };
    add("etc/sysctl.d/99-nicety.conf", sysctls(kept));
    add("etc/udev/rules.d/90-nicety.rules", rules(facts, kept));
    add("etc/modprobe.d/nicety.conf", options(kept));
    let modules = kept.modules.iter().map(|name| format!("{name}\n"));
    add("etc/modules-load.d/nicety.conf", modules.collect());
    let running =
        |target: &Target| matches!(target, Target::Setting { .. } | Target::Interrupt { .. });
    if kept.settings.iter().any(|setting| running(&setting.target)) {
        add("etc/systemd/system/nicety-tune.service", unit(program));
        // A drop-in instead of the link that systemctl enable makes: a plain file.
        add(
            "etc/systemd/system/multi-user.target.d/nicety.conf",
            "[Unit]\nWants=nicety-tune.service\n".to_owned(),
        );
    }
    for (interface, body) in link::bodies(facts, kept) {
        add(
            &format!("etc/systemd/network/10-nicety-{interface}.link"),
            body,
        );
    }
    files.extend(vm::snippets(kept));
    // Last: whoever finds it finds the others.
    files.push(HostFile {
        path: KEPT.to_owned(),
        text: serde_json::to_string_pretty(kept).unwrap_or_default() + "\n",
    });
    files
}

fn sysctls(kept: &Kept) -> String {
    let lines = kept.knobs().filter_map(|(knob, value)| match knob {
        Knob::Sysctl { name } => Some(format!("{name} = {value}\n")),
        _ => None,
    });
    lines.collect()
}

/// Modules whose settings do not exist before they are loaded, and the folder of these.
const MODULES: [(&str, &str); 2] = [
    ("br_netfilter", "net/bridge"),
    ("nf_conntrack", "net/netfilter"),
];

/// Files of interfaces are written when these appear; settings of modules when these are loaded
/// (sysctl.d(5), examples).
fn rules(facts: &HostFacts, kept: &Kept) -> String {
    let mut text = String::new();
    for (module, folder) in MODULES {
        let prefix = format!("{}.", folder.replace('/', "."));
        let below =
            |knob: &Knob| matches!(knob, Knob::Sysctl { name } if name.starts_with(&prefix));
        if kept.knobs().any(|(knob, _)| below(knob)) {
            text += &format!(
                "ACTION==\"add\", SUBSYSTEM==\"module\", KERNEL==\"{module}\", \
                 RUN+=\"/lib/systemd/systemd-sysctl --prefix=/{folder}\"\n"
            );
        }
    }
    for (knob, value) in kept.knobs() {
        let Some((interface, file)) = interface_file(knob) else {
            continue;
        };
        let whose = match Match::of(facts, interface) {
            Match::Path(path) => format!("ENV{{ID_PATH}}==\"{path}\""),
            Match::Name(name) => format!("KERNEL==\"{name}\""),
        };
        text += &format!(
            "ACTION==\"add|change|move\", SUBSYSTEM==\"net\", {whose}, ATTR{{{file}}}=\"{value}\"\n"
        );
    }
    text
}

/// Interface and file of a setting below `/sys/class/net`.
fn interface_file(knob: &Knob) -> Option<(&str, &str)> {
    match knob {
        Knob::SysFile { path } => path.strip_prefix("class/net/")?.split_once('/'),
        _ => None,
    }
}

/// Module and parameter of a setting below `/sys/module`.
pub(super) fn module_parameter(knob: &Knob) -> Option<(&str, &str)> {
    match knob {
        Knob::SysFile { path } => path.strip_prefix("module/")?.split_once("/parameters/"),
        _ => None,
    }
}

fn options(kept: &Kept) -> String {
    let mut modules: BTreeMap<&str, String> = BTreeMap::new();
    for (knob, value) in kept.knobs() {
        if let Some((module, parameter)) = module_parameter(knob) {
            *modules.entry(module).or_default() += &format!(" {parameter}={value}");
        }
    }
    let lines = modules
        .iter()
        .map(|(module, words)| format!("options {module}{words}\n"));
    lines.collect()
}

/// It looks at everything once more when all is up: what was set too early, and what only a
/// program can set.
fn unit(program: &str) -> String {
    format!(
        "[Unit]\n\
         Description=Network settings kept by nicety\n\
         After=systemd-sysctl.service systemd-modules-load.service network.target irqbalance.service\n\
         RequiresMountsFor=/etc/nicety /var/lib/nicety\n\
         ConditionPathExists=/{KEPT}\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart={program} tune boot\n"
    )
}
