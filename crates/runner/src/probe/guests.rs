//! Guests: what they hang on, and how their instructions run.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;

use nicety_guests::{Accelerator, Bundle, QemuError, bundle};
use nicety_model::path::VmAccel;
use nicety_model::probe::{Ability, Answer, Area};
use nicety_netdev::link::{Links, Share, VethEnd};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::tap;

use nicety_paths::tun;

use super::Request;
use crate::event::{Event, Observer, Stage};

const VHOST: &str = "/dev/vhost-net";
const KVM: &str = "/dev/kvm";
const ELSEWHERE: &str = "or measure in the lab: nicety lab run";

fn ability(name: &str, answer: Answer, finding: impl Into<String>) -> Ability {
    Ability::new(Area::Guest, name, answer, finding)
}

/// What guests hang on, tried inside `ns`, a new namespace.
pub(super) fn nics(ns: &NetNs) -> Vec<Ability> {
    let tap = tun::taps_there().and_then(|()| Ok(tap::create(ns, "t0", 1).map(drop)?));
    let vhost = File::options().read(true).write(true).open(VHOST).map(drop);
    vec![
        nic(
            "e1000, virtio-net",
            "a tap was made",
            tap,
            "modprobe tun as root",
        ),
        nic(
            "vhost-net",
            "/dev/vhost-net opens",
            vhost.map_err(|error| describe(VHOST, &error)),
            "modprobe vhost_net as root",
        ),
        nic(
            "macvtap",
            "a macvtap was made",
            macvtap(ns),
            "run as root on a kernel with macvtap",
        ),
    ]
}

fn nic(
    name: &str,
    works: &str,
    tried: Result<(), impl std::fmt::Display>,
    remedy: &str,
) -> Ability {
    match tried {
        Ok(()) => ability(name, Answer::Yes, works),
        Err(error) => ability(name, Answer::No, error.to_string())
            .costs(format!(
                "cells with nic = \"{}\" are skipped",
                name.replace(", ", "\" or \"")
            ))
            .remedy(format!("{remedy}, {ELSEWHERE}")),
    }
}

fn macvtap(ns: &NetNs) -> Result<(), NetError> {
    let links = Links::open(ns)?;
    links.add_veth(VethEnd::plain(ns, "v0"), VethEnd::plain(ns, "v1"))?;
    let below = links.get("v0")?.index;
    tap::create_macvtap(ns, "m0", below, Share::Passthru).map(drop)
}

fn describe(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{path} does not exist"),
        _ => format!("open {path}: {error}"),
    }
}

/// How guests run: KVM counts only when a kernel has booted on it.
pub(super) fn accelerator(request: &Request<'_>, observer: &dyn Observer) -> Vec<Ability> {
    let found = bundle::place::cache().and_then(|cache| Bundle::cached(&cache));
    let device = File::options().read(true).write(true).open(KVM).map(drop);
    let tried = match (&device, &found) {
        (Ok(()), Ok(Some(bundle))) => proof(bundle, request, observer),
        _ => Tried::NoKernel,
    };
    vec![kvm(device, tried), qemu(found)]
}

/// What came of booting a kernel on KVM.
#[derive(Debug, PartialEq)]
enum Tried {
    /// How guests run.
    Chosen(Accelerator),
    /// Nobody wanted to wait.
    Skipped,
    /// There is no QEMU or no kernel.
    NoKernel,
}

/// Boots a kernel on KVM unless the answer is known.
fn proof(bundle: &Bundle, request: &Request<'_>, observer: &dyn Observer) -> Tried {
    let mut watch = |wait| {
        if request.quick || (request.skip)() {
            return ControlFlow::Break(());
        }
        observer.on(Event::Stage(Stage::Accelerator(wait)));
        ControlFlow::Continue(())
    };
    match Accelerator::choose(VmAccel::Auto, bundle, &mut watch) {
        Ok(chosen) => Tried::Chosen(chosen),
        Err(QemuError::ProofSkipped) => Tried::Skipped,
        Err(_) => Tried::NoKernel,
    }
}

fn kvm(device: io::Result<()>, tried: Tried) -> Ability {
    const TCG: &str = "guests run under TCG, ten to fifty times slower: compare their numbers with \
                       each other only";
    const UNPROVED: &str = "a device that opens does not prove that guests run";
    match (device, tried) {
        (Ok(()), Tried::Chosen(Accelerator::Kvm)) => {
            ability("KVM", Answer::Yes, "a kernel boots on it")
        }
        (Ok(()), Tried::Chosen(Accelerator::Tcg(why))) => {
            let why = why.unwrap_or_else(|| "no kernel boots on it".to_owned());
            ability("KVM", Answer::No, format!("{why}, using TCG"))
                .costs(TCG)
                .remedy("measure guests on a host that runs them, or in the lab")
        }
        (Ok(()), Tried::Skipped) => ability(
            "KVM",
            Answer::Unknown,
            format!("{KVM} opens; booting a kernel on it was skipped"),
        )
        .costs(UNPROVED)
        .remedy("run nicety probe without --quick and wait up to 90 s; the answer is kept"),
        (Ok(()), Tried::NoKernel) => ability(
            "KVM",
            Answer::Unknown,
            format!("{KVM} opens; no kernel here to boot on it"),
        )
        .costs(UNPROVED)
        .remedy("nicety lab fetch (150 MB), then nicety probe"),
        (Err(error), _) => {
            let remedy = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "usermod -aG kvm USER as root, then log in again"
                }
                _ => {
                    "modprobe kvm_intel or kvm_amd as root, or switch virtualisation on in the firmware"
                }
            };
            ability("KVM", Answer::No, describe(KVM, &error))
                .costs(TCG)
                .remedy(remedy)
        }
    }
}

fn qemu(found: Result<Option<Bundle>, QemuError>) -> Ability {
    match found {
        Ok(Some(bundle)) => ability(
            "QEMU and a kernel",
            Answer::Yes,
            format!(
                "QEMU {}, Linux {}",
                bundle.emulator.version, bundle.kernel.release
            ),
        ),
        Ok(None) => ability(
            "QEMU and a kernel",
            Answer::Partly,
            "not here, fetched when first needed",
        )
        .costs("150 MB from a Debian mirror before the first guest")
        .remedy("nicety lab fetch"),
        Err(error) => ability("QEMU and a kernel", Answer::No, error.to_string())
            .costs("no guests and no lab")
            .remedy("nicety lab fetch"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_not_a_proof() {
        let opens = || Ok(());
        let tried = |accelerator| kvm(opens(), Tried::Chosen(accelerator));
        assert_eq!(tried(Accelerator::Kvm).answer, Answer::Yes);
        assert_eq!(kvm(opens(), Tried::NoKernel).answer, Answer::Unknown);
        let skipped = kvm(opens(), Tried::Skipped);
        assert_eq!(skipped.answer, Answer::Unknown);
        assert!(skipped.remedy.unwrap().contains("--quick"));
        let why = "/dev/kvm opens, but no kernel boots on it".to_owned();
        let reported = tried(Accelerator::Tcg(Some(why)));
        assert_eq!(reported.answer, Answer::No);
        assert_eq!(
            reported.finding,
            "/dev/kvm opens, but no kernel boots on it, using TCG"
        );
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(
            kvm(Err(refused), Tried::NoKernel)
                .remedy
                .unwrap()
                .contains("usermod")
        );
        let absent = io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(
            kvm(Err(absent), Tried::NoKernel).finding,
            "/dev/kvm does not exist"
        );
    }

    #[test]
    fn a_missing_device_names_the_plans_word() {
        let absent = describe(VHOST, &io::Error::from(io::ErrorKind::NotFound));
        let reported = nic(
            "vhost-net",
            "",
            Err::<(), _>(absent),
            "modprobe vhost_net as root",
        );
        assert_eq!(reported.finding, "/dev/vhost-net does not exist");
        assert_eq!(
            reported.costs.as_deref(),
            Some("cells with nic = \"vhost-net\" are skipped")
        );
    }
}
