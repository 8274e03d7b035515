//! Settings kept for the next boot: from changes to what outlives the boot, and from that to the
//! files that systemd, udev, the module loader and libvirt read.

mod files;
pub(crate) mod link;
mod portable;
mod resolve;
mod rivals;
mod tuned;
mod vm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nicety_model::HostFacts;
use nicety_model::finding::{Advice, Effect};
use nicety_model::kept::TUNED_PROFILES;

pub use files::files;
pub use portable::portable;
pub use resolve::resolve;
pub use rivals::rivals;
pub use tuned::tuned;

/// Where everything that is kept stands once more, for the boot unit and for the next `persist`.
pub const KEPT: &str = "etc/nicety/tune.json";

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    /// Path below the root: `etc/sysctl.d/99-nicety.conf`.
    pub path: String,
    /// Text.
    pub text: String,
}

/// What settings are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Files of systemd, udev, the module loader and libvirt.
    Files,
    /// A profile of tuned.
    Tuned,
}

/// Files of nicety's that no longer belong: of `there`, all when nothing is to be kept.
pub fn stale(mut there: Vec<PathBuf>, remove: bool, layout: Layout) -> Vec<PathBuf> {
    // A profile of tuned stands beside the files, not instead of them.
    let tuned = |path: &PathBuf| {
        TUNED_PROFILES
            .iter()
            .any(|of| path.ends_with(format!("{of}/nicety/tuned.conf")))
    };
    there.retain(|path| remove || layout == Layout::Files && !tuned(path));
    there
}

/// The text that every file of nicety's should have, empty for those that should not be there.
pub fn wanted(root: &Path, files: &[HostFile], stale: Vec<PathBuf>) -> BTreeMap<PathBuf, String> {
    let mut wanted: BTreeMap<PathBuf, String> = stale
        .into_iter()
        .map(|path| (path, String::new()))
        .collect();
    wanted.extend(files.iter().map(|f| (root.join(&f.path), f.text.clone())));
    wanted
}

/// What a person has to do once files are written.
pub fn after_files(files: &[HostFile]) -> Vec<String> {
    let line = |file: &HostFile| {
        if file.path.ends_with(".xml") {
            Some(format!("add /{} to the domain with virsh edit", file.path))
        } else if file.path.starts_with("etc/tuned/") {
            Some("tuned-adm profile nicety".to_owned())
        } else {
            None
        }
    };
    files.iter().filter_map(line).collect()
}

/// First lines of every file.
const HEAD: &str = "# Written by nicety tune persist; nicety tune persist --remove deletes it.\n";

/// What findings ask of a person that no file of nicety's can do: boot parameters, domains' XML.
pub fn by_hand(advice: &Advice) -> Vec<String> {
    let later = advice.findings.iter().filter(|finding| {
        let kept = matches!(
            finding.effect,
            Effect::Reboot | Effect::VmRestart | Effect::ModuleReload
        );
        kept || finding.rule == "irqbalance"
    });
    let lines = later.flat_map(|finding| {
        let lines = finding.advice.iter();
        lines.map(|line| format!("{} {}: {line}", finding.id, finding.subject))
    });
    lines.collect()
}

/// Modules that findings want loaded.
pub fn modules(advice: &Advice) -> Vec<String> {
    let vhost = advice.findings.iter().any(|f| f.rule == "vhost-net");
    let names = vhost.then(|| "vhost_net".to_owned());
    names.into_iter().collect()
}

/// How udev and systemd recognize an interface before anybody has named it: by its place on the
/// bus; software interfaces by name.
enum Match {
    Path(String),
    Name(String),
}

impl Match {
    fn of(facts: &HostFacts, interface: &str) -> Self {
        let bus = facts
            .interface(interface)
            .and_then(|net| net.link.bus.as_deref());
        match bus.filter(|bus| is_pci(bus)) {
            Some(bus) => Self::Path(format!("pci-{bus}")),
            None => Self::Name(interface.to_owned()),
        }
    }
}

/// `0000:3b:00.1`.
fn is_pci(bus: &str) -> bool {
    let shape = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b':',
        10 => byte == b'.',
        _ => byte.is_ascii_hexdigit(),
    };
    bus.len() == 12 && bus.bytes().enumerate().all(shape)
}

#[cfg(test)]
mod tests {
    #[test]
    fn files_that_are_not_kept_any_more_go_unless_tuned_has_them() {
        let there: Vec<PathBuf> = [
            "/etc/sysctl.d/99-nicety.conf",
            "/etc/tuned/nicety/tuned.conf",
            "/etc/tuned/profiles/nicety/tuned.conf",
        ]
        .map(PathBuf::from)
        .into();
        for (remove, layout, gone) in [
            (true, Layout::Files, &there[..]),
            (true, Layout::Tuned, &there[..]),
            (false, Layout::Files, &there[..1]),
            (false, Layout::Tuned, &[]),
        ] {
            let removed = stale(there.clone(), remove, layout);
            assert_eq!(removed, gone, "{remove} {layout:?}");
        }
        let file = |path: &str| HostFile {
            path: path.to_owned(),
            text: "x".to_owned(),
        };
        let files = [
            file("etc/sysctl.d/99-nicety.conf"),
            file("etc/nicety/a.xml"),
        ];
        let wanted = wanted(Path::new("/"), &files, there);
        let texts: Vec<&str> = wanted.values().map(String::as_str).collect();
        assert_eq!(texts, ["x", "x", "", ""]);
        assert_eq!(
            after_files(&files),
            ["add /etc/nicety/a.xml to the domain with virsh edit"]
        );
    }

    use nicety_model::facts::{IrqFacts, Owner, OwnerKind};
    use nicety_model::kept::{Kept, Target};
    use nicety_model::knob::{Change, CoalesceParameter, Knob, Side};

    use super::*;
    use crate::fixture::Host;

    fn host() -> HostFacts {
        let mut facts = Host::new(2, 4)
            .nic("eth0", 10_000, 1)
            .nic_with(|net| net.link.bus = Some("0000:3b:00.1".to_owned()))
            .vm("web", &[&[0, 1], &[0, 1]])
            .facts;
        facts.irqs.push(IrqFacts {
            irq: 77,
            name: "eth0-TxRx-0".to_owned(),
            interface: "eth0".to_owned(),
            ..IrqFacts::default()
        });
        facts
    }

    fn change(knob: Knob, to: &str) -> Change {
        crate::draft::change(knob, "x", to)
    }

    fn changes() -> Vec<Change> {
        let eth0 = || "eth0".to_owned();
        let path = |path: &str| Knob::sys_file(path);
        let facts = host();
        let vcpu = &facts.vms[0].vcpus[1];
        vec![
            change(Knob::sysctl("net.core.rmem_max"), "134217728"),
            change(Knob::sysctl("net.bridge.bridge-nf-call-iptables"), "0"),
            change(Knob::sysctl("net.netfilter.nf_conntrack_max"), "524288"),
            change(
                Knob::Mtu {
                    interface: "br0".to_owned(),
                },
                "9000",
            ),
            change(
                Knob::Ring {
                    interface: eth0(),
                    side: Side::Rx,
                },
                "1024",
            ),
            change(
                Knob::Channels {
                    interface: eth0(),
                    side: Side::Combined,
                },
                "4",
            ),
            change(
                Knob::Coalesce {
                    interface: eth0(),
                    parameter: CoalesceParameter::RxUsecs,
                },
                "8",
            ),
            change(
                Knob::Feature {
                    interface: eth0(),
                    feature: "rx-lro".to_owned(),
                },
                "off",
            ),
            change(
                Knob::Feature {
                    interface: eth0(),
                    feature: "rx-all".to_owned(),
                },
                "on",
            ),
            change(Knob::IrqAffinity { irq: 77 }, "5"),
            change(Knob::IrqAffinity { irq: 78 }, "5"),
            change(path("class/net/eth0/queues/rx-0/rps_cpus"), "f"),
            change(path("module/kvm/parameters/halt_poll_ns"), "400000"),
            change(path("kernel/mm/transparent_hugepage/enabled"), "madvise"),
            change(
                Knob::ThreadCpus {
                    tid: vcpu.tid,
                    name: vcpu.name.clone(),
                },
                "6",
            ),
            change(
                Knob::PortRate {
                    interface: "tap0".to_owned(),
                },
                "1mbit",
            ),
            change(Knob::sysctl("net.ipv4.evil"), "1\nkernel.core_pattern = x"),
        ]
    }

    fn kept() -> (Kept, Vec<String>) {
        let changes = changes();
        let (settings, left) = portable(&host(), changes.iter());
        let mut kept = Kept::default();
        kept.merge(Kept {
            schema: 1,
            settings,
            modules: vec!["vhost_net".to_owned()],
        });
        (kept, left)
    }

    fn text<'a>(files: &'a [HostFile], path: &str) -> &'a str {
        let file = files.iter().find(|file| file.path == path);
        file.map_or_else(|| panic!("no {path} in {files:#?}"), |file| &file.text)
    }

    #[test]
    fn changes_are_named_so_that_they_outlive_the_boot() {
        let (kept, left) = kept();
        let targets: Vec<_> = kept.settings.iter().map(|s| &s.target).collect();
        assert!(targets.contains(&&Target::Interrupt {
            interface: "eth0".to_owned(),
            name: "eth0-TxRx-0".to_owned(),
        }));
        assert!(targets.contains(&&Target::VirtualCpu {
            vm: "web".to_owned(),
            index: 1,
        }));
        assert_eq!(left.len(), 3, "{left:?}");
        assert!(left[0].contains("IRQ 78"), "{left:?}");
        assert!(left[1].contains("tap0"), "{left:?}");
        assert!(left[2].contains("line break"), "{left:?}");
    }

    #[test]
    fn every_setting_finds_its_file() {
        let (kept, _) = kept();
        let files = files(&host(), &kept, "/usr/bin/nicety");
        let sysctl = text(&files, "etc/sysctl.d/99-nicety.conf");
        assert!(
            sysctl.contains("\nnet.core.rmem_max = 134217728\n"),
            "{sysctl}"
        );
        let link = text(&files, "etc/systemd/network/10-nicety-eth0.link");
        for line in [
            "[Match]\nPath=pci-0000:3b:00.1\n",
            "\nRxBufferSize=1024\n",
            "\nCombinedChannels=4\n",
            "\nRxCoalesceSec=8us\n",
            "\nLargeReceiveOffload=no\n",
            "\nNamePolicy=",
        ] {
            assert!(link.contains(line), "no {line:?} in {link}");
        }
        let bridge = text(&files, "etc/systemd/network/10-nicety-br0.link");
        assert!(bridge.contains("OriginalName=br0\n") && bridge.contains("MTUBytes=9000\n"));
        let rules = text(&files, "etc/udev/rules.d/90-nicety.rules");
        for line in [
            "SUBSYSTEM==\"module\", KERNEL==\"br_netfilter\", RUN+=",
            "KERNEL==\"nf_conntrack\", RUN+=\"/lib/systemd/systemd-sysctl --prefix=/net/netfilter\"\n",
            "ENV{ID_PATH}==\"pci-0000:3b:00.1\", ATTR{queues/rx-0/rps_cpus}=\"f\"\n",
        ] {
            assert!(rules.contains(line), "no {line:?} in {rules}");
        }
        let modprobe = text(&files, "etc/modprobe.d/nicety.conf");
        assert!(modprobe.ends_with("options kvm halt_poll_ns=400000\n"));
        let load = text(&files, "etc/modules-load.d/nicety.conf");
        assert!(load.ends_with("vhost_net\n"));
        let unit = text(&files, "etc/systemd/system/nicety-tune.service");
        assert!(unit.contains("ExecStart=/usr/bin/nicety tune boot\n"));
        let wants = text(&files, "etc/systemd/system/multi-user.target.d/nicety.conf");
        assert!(wants.contains("Wants=nicety-tune.service\n"));
        let xml = text(&files, "etc/nicety/libvirt/web.xml");
        assert!(xml.contains("<vcpupin vcpu='1' cpuset='6'/>"), "{xml}");
        let json = text(&files, KEPT);
        assert!(json.contains("transparent_hugepage"));
        assert_eq!(files.len(), 10);
    }

    #[test]
    fn a_profile_of_tuned_says_what_it_cannot_hold() {
        let (kept, _) = kept();
        let (file, left) = tuned(&host(), &kept, TUNED_PROFILES[0]);
        assert_eq!(file.path, "etc/tuned/profiles/nicety/tuned.conf");
        for line in [
            "[main]\n",
            "[sysctl]\n",
            "net.core.rmem_max=134217728\n",
            "[net_eth0]\ntype=net\ndevices=eth0\n",
            "ring=rx 1024\n",
            "channels=combined 4\n",
            "coalesce=rx-usecs 8\n",
            "features=rx-all on lro off\n",
            "[sysfs]\n",
            "/sys/kernel/mm/transparent_hugepage/enabled=madvise\n",
            "/sys/class/net/eth0/queues/rx-0/rps_cpus=f\n",
            "[modules]\nkvm=halt_poll_ns=400000\nvhost_net=\n",
        ] {
            assert!(file.text.contains(line), "no {line:?} in {}", file.text);
        }
        assert_eq!(left.len(), 3, "{left:?}");
    }

    #[test]
    fn owners_of_a_key_are_named_and_who_wins() {
        let mut facts = host();
        let owner = |kind, file: &str, key: &str, value: &str| Owner {
            kind,
            file: file.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        facts.owners = vec![
            owner(
                OwnerKind::Sysctl,
                "/etc/sysctl.d/10-a.conf",
                "net.core.rmem_max",
                "1",
            ),
            owner(
                OwnerKind::Sysctl,
                "/etc/sysctl.conf",
                "net.core.rmem_max",
                "2",
            ),
            owner(
                OwnerKind::Sysctl,
                "/etc/sysctl.d/99-nicety.conf",
                "net.core.rmem_max",
                "3",
            ),
            owner(
                OwnerKind::Tuned,
                "/etc/tuned/x/tuned.conf",
                "net.core.rmem_max",
                "4",
            ),
            owner(
                OwnerKind::Modprobe,
                "/etc/modprobe.d/k.conf",
                "kvm.halt_poll_ns",
                "5",
            ),
            owner(
                OwnerKind::Link,
                "/etc/systemd/network/50-x.link",
                "Link.RxBufferSize",
                "512",
            ),
            owner(
                OwnerKind::Sysctl,
                "/etc/sysctl.d/10-a.conf",
                "net.core.wmem_max",
                "1",
            ),
            owner(
                OwnerKind::Sysctl,
                "/etc/sysctl.d/11-a.conf",
                "net.core.rmem_max",
                "134217728",
            ),
        ];
        let (kept, _) = kept();
        let conflicts = rivals(&facts, &kept);
        assert_eq!(conflicts.len(), 5, "{conflicts:#?}");
        assert!(
            conflicts[0].contains("10-a.conf")
                && conflicts[0].contains("99-nicety.conf is read later")
        );
        assert!(
            conflicts[1].contains("/etc/sysctl.conf") && conflicts[1].contains("may be read after")
        );
        assert!(conflicts[2].contains("tuned"));
        assert!(conflicts[3].contains("/etc/modprobe.d/k.conf"));
        assert!(conflicts[4].contains("50-x.link"));
    }
}
