//! Which interfaces the NICs of a QEMU have: by name on its command line, else by the files it has
//! open.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::facts::VmNic;

use super::vm_args::Nic;
use crate::open_taps::{OpenTap, open_taps};
use crate::roots::{ProcRoot, Roots, SysRoot};

/// The NICs of a command line with the interfaces that are known.
pub(super) fn named(roots: &Roots, pid: u32, mut nics: Vec<Nic>) -> Vec<VmNic> {
    if in_other_namespace(&roots.proc, pid) {
        for nic in nics.iter_mut().filter(|nic| on_tap(&nic.facts)) {
            nic.facts.interface = None;
            nic.facts.bridge = None;
            nic.facts.other_namespace = true;
        }
        return nics.into_iter().map(|nic| nic.facts).collect();
    }
    let taps = by_name(&roots.sys, open_taps(&roots.proc, pid));
    for nic in nics.iter_mut().filter(|nic| nic.facts.interface.is_none()) {
        nic.facts.interface = behind(&nic.files, &taps);
    }
    let mut nics: Vec<VmNic> = nics.into_iter().map(|nic| nic.facts).collect();
    left_over(&mut nics, &taps);
    nics
}

fn on_tap(nic: &VmNic) -> bool {
    ["tap", "bridge"].contains(&nic.backend.as_str())
}

/// Whether a process is known to be in another network namespace than the host, whose names mean
/// nothing there: KubeVirt's guests are in their pods'. A namespace that cannot be compared counts.
fn in_other_namespace(proc: &ProcRoot, pid: u32) -> bool {
    let of = |process: &str| proc.link_name(format!("{process}/ns/net"));
    let Some(own) = of(&pid.to_string()) else {
        return false;
    };
    let host = ["thread-self", "self", "1"].into_iter().find_map(of);
    host != Some(own)
}

/// Taps by open file, macvtaps by their interface's name too.
fn by_name(sys: &SysRoot, taps: BTreeMap<u32, OpenTap>) -> BTreeMap<u32, String> {
    let numbered = taps.values().any(|tap| matches!(tap, OpenTap::Numbered(_)));
    let numbers = if numbered {
        numbers(sys)
    } else {
        BTreeMap::new()
    };
    let name = |tap| match tap {
        OpenTap::Named(name) => Some(name),
        OpenTap::Numbered(number) => numbers.get(&number).cloned(),
    };
    let named = taps.into_iter();
    named
        .filter_map(|(file, tap)| Some((file, name(tap)?)))
        .collect()
}

/// Interfaces by number.
fn numbers(sys: &SysRoot) -> BTreeMap<u32, String> {
    let names = sys.entries("class/net").into_iter();
    let number = |name: &String| {
        let text = sys.text(format!("class/net/{name}/ifindex"))?;
        text.parse().ok()
    };
    names
        .filter_map(|name| Some((number(&name)?, name)))
        .collect()
}

/// The one tap behind these files.
fn behind(files: &[u32], taps: &BTreeMap<u32, String>) -> Option<String> {
    let names: BTreeSet<&String> = files.iter().filter_map(|file| taps.get(file)).collect();
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none()).cloned()
}

/// A tap that no NIC has is that of the one NIC without a tap. Where every NIC has one, it came
/// while the guest ran.
fn left_over(nics: &mut Vec<VmNic>, taps: &BTreeMap<u32, String>) {
    let named: BTreeSet<&str> = nics
        .iter()
        .filter_map(|nic| nic.interface.as_deref())
        .collect();
    let mut files: BTreeMap<&String, u32> = BTreeMap::new();
    for tap in taps.values().filter(|tap| !named.contains(tap.as_str())) {
        *files.entry(tap).or_default() += 1;
    }
    let mut without = nics
        .iter_mut()
        .filter(|nic| on_tap(nic) && nic.interface.is_none());
    match (without.next(), without.next()) {
        (Some(nic), None) if files.len() == 1 => {
            nic.interface = files.into_keys().next().cloned();
        }
        (None, _) => nics.extend(files.into_iter().map(|(tap, files)| VmNic {
            backend: "tap".to_owned(),
            interface: Some(tap.clone()),
            queues: Some(files),
            ..VmNic::default()
        })),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    const QEMU: u32 = 900;

    /// Files of the process and the interface behind each.
    fn process(at: &Path, taps: &[(u32, &str)]) -> Roots {
        let folder = at.join("proc/900/fdinfo");
        let _ = fs::remove_dir_all(at.join("proc"));
        fs::create_dir_all(&folder).unwrap();
        for (file, name) in taps {
            let text = format!("pos:\t0\nflags:\t0104002\niff:\t{name}\n");
            fs::write(folder.join(file.to_string()), text).unwrap();
        }
        Roots::under(at)
    }

    fn nic(interface: Option<&str>, files: &[u32]) -> Nic {
        let facts = VmNic {
            backend: "tap".to_owned(),
            interface: interface.map(str::to_owned),
            ..VmNic::default()
        };
        let files = files.to_vec();
        Nic { facts, files }
    }

    fn interfaces(nics: &[VmNic]) -> Vec<&str> {
        let names = nics.iter().map(|nic| nic.interface.as_deref());
        names.map(|name| name.unwrap_or("?")).collect()
    }

    #[test]
    fn taps_are_matched_by_open_file_and_by_being_the_only_one_left() {
        let dir = tempfile::tempdir().unwrap();
        let found = |taps: &[(u32, &str)], nics: &[Nic]| {
            let roots = process(dir.path(), taps);
            let named = named(&roots, QEMU, nics.to_vec());
            interfaces(&named).join(" ")
        };
        let both = [(30, "vnet0"), (31, "vnet0"), (34, "vnet1")];
        let nics = [nic(None, &[30, 31]), nic(None, &[34])];
        assert_eq!(found(&both, &nics), "vnet0 vnet1");
        assert_eq!(found(&[], &nics), "? ?");
        // Two taps behind one NIC, which cannot be.
        assert_eq!(found(&both, &[nic(None, &[30, 34])]), "?");
        let one = [nic(Some("vnet1"), &[]), nic(None, &[])];
        assert_eq!(found(&both, &one), "vnet1 vnet0");
        let two = [nic(None, &[]), nic(None, &[])];
        assert_eq!(found(&both[..2], &two), "? ?");
        // Plugged while it ran.
        assert_eq!(found(&both, &nics[..1]), "vnet0 vnet1");
    }

    #[test]
    fn a_macvtap_is_known_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let roots = process(dir.path(), &[]);
        fs::create_dir_all(dir.path().join("proc/900/fd")).unwrap();
        symlink("tap12", dir.path().join("proc/900/fd/31")).unwrap();
        let net = dir.path().join("sys/class/net/macvtap0");
        fs::create_dir_all(&net).unwrap();
        fs::write(net.join("ifindex"), "12\n").unwrap();
        let nics = named(&roots, QEMU, vec![nic(None, &[31])]);
        assert_eq!(interfaces(&nics), ["macvtap0"]);
    }

    #[test]
    fn names_of_another_namespace_are_not_the_hosts() {
        let dir = tempfile::tempdir().unwrap();
        for (own, host, elsewhere) in [
            ("net:[4026531840]", Some("net:[4026531840]"), false),
            ("net:[4026532999]", Some("net:[4026531840]"), true),
            ("net:[4026532999]", None, true),
        ] {
            let roots = process(dir.path(), &[(30, "vnet0")]);
            let link = |process: &str, target: &str| {
                let folder = dir.path().join("proc").join(process).join("ns");
                fs::create_dir_all(&folder).unwrap();
                symlink(target, folder.join("net")).unwrap();
            };
            link("900", own);
            if let Some(host) = host {
                link("self", host);
            }
            let nics = named(&roots, QEMU, vec![nic(None, &[30]), nic(Some("tap0"), &[])]);
            assert_eq!(nics[0].other_namespace, elsewhere);
            let names = if elsewhere {
                ["?", "?"]
            } else {
                ["vnet0", "tap0"]
            };
            assert_eq!(interfaces(&nics), names);
        }
    }
}
