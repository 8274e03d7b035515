//! Paths: those of the kernel are built, programs are looked for.

use nicety_model::path::{Encapsulation, Nat, OnOff, RoutedParams, TcFilter, TunnelParams};
use nicety_model::probe::{Ability, Answer, Area};
use nicety_model::{CellKey, PathSpec};
use nicety_netdev::netns::NetNs;
use nicety_netdev::openvswitch;
use nicety_netdev::privilege::{Privilege, PrivilegeError};
use nicety_paths::{PathError, RigSpec, Tagging, VlanBridgePath, module};
use nicety_paths::{switch, tun};

use super::engines;
use crate::event::{Event, Observer, Stage};
use crate::setup_error::SetupError;
use crate::{builder, setup};

fn ability(name: &str, answer: Answer, finding: impl Into<String>) -> Ability {
    Ability::new(Area::Path, name, answer, finding)
}

/// Builds the paths that are made of the kernel alone.
pub(super) fn built(before: Privilege, observer: &dyn Observer) -> Vec<Ability> {
    let trying = |name| observer.on(Event::Stage(Stage::Trying(Area::Path, name)));
    let Some(key) = engines::key() else {
        return Vec::new();
    };
    let placement = setup::placement(&[]).unwrap_or_default();
    trying("bridge");
    let mut all = vec![match builder::path(&key, &placement) {
        Ok(_) => bridge(before, placement.shared),
        Err(error) => with_remedy(
            ability("bridge", Answer::No, error.to_string()).costs("no path can be built here"),
            None,
        ),
    }];
    for (name, tagging) in [
        ("vlan-bridge, filtering", Tagging::Filtering),
        ("vlan-bridge, sub-interfaces", Tagging::SubInterface),
    ] {
        trying(name);
        let rig = RigSpec {
            path_cpus: builder::path_cpus(&placement),
            largest_frame: key.frame_size_bytes,
            queues: 1,
        };
        all.push(match VlanBridgePath::build(&rig, tagging) {
            Ok(_) => ability(name, Answer::Yes, "built and removed"),
            Err(error) => missing(name, &error),
        });
    }
    for (name, path) in kernel_paths() {
        trying(name);
        if name == GRE && module::is_unloaded("ip_gre") {
            all.push(gre_untried());
            continue;
        }
        let key = CellKey {
            path,
            ..key.clone()
        };
        all.push(match builder::path(&key, &placement) {
            Ok(_) => ability(name, Answer::Yes, "built and removed"),
            Err(SetupError::Path(error)) => missing(name, &error),
            Err(error) => ability(name, Answer::No, error.to_string()),
        });
    }
    all.push(ports(before));
    all
}

/// The tunnel whose module adds interfaces to the host when it is loaded.
const GRE: &str = "tunnel, gre";

/// A probe leaves a host as it was, and these interfaces stay (`ip_tunnel_init_net` in net/ipv4/ip_tunnel.c).
fn gre_untried() -> Ability {
    ability(
        GRE,
        Answer::Partly,
        "not tried: the module ip_gre is not loaded, and adds gre0, gretap0 and erspan0 to this host when it is",
    )
    .costs("the first cell over such a tunnel loads it")
    .remedy("modprobe ip_gre as root, then probe again")
}

/// One of each kind that a kernel may have or not.
fn kernel_paths() -> Vec<(&'static str, PathSpec)> {
    let tunnel = |encapsulation| {
        PathSpec::Tunnel(TunnelParams {
            encapsulation: Some(encapsulation),
            gro: None,
        })
    };
    let redirect = |filter| PathSpec::TcRedirect {
        filter: Some(filter),
    };
    vec![
        ("routed", PathSpec::Routed(RoutedParams::default())),
        (
            "routed, nat",
            PathSpec::Routed(RoutedParams {
                nat: Some(Nat::Snat),
                ..RoutedParams::default()
            }),
        ),
        (
            "routed, flowtable",
            PathSpec::Routed(RoutedParams {
                flowtable: Some(OnOff::On),
                ..RoutedParams::default()
            }),
        ),
        ("tunnel, vxlan", tunnel(Encapsulation::Vxlan)),
        ("tunnel, geneve", tunnel(Encapsulation::Geneve)),
        (GRE, tunnel(Encapsulation::Gre)),
        ("tunnel, wireguard", tunnel(Encapsulation::Wireguard)),
        ("macvlan", PathSpec::Macvlan { mode: None }),
        ("ipvlan", PathSpec::Ipvlan { mode: None }),
        ("tc-redirect, matchall", redirect(TcFilter::Matchall)),
        ("tc-redirect, flower", redirect(TcFilter::Flower)),
        ("tc-redirect, u32", redirect(TcFilter::U32)),
        ("xdp-redirect", PathSpec::XdpRedirect),
        ("bond", PathSpec::Bond { aggregation: None }),
        ("team", PathSpec::Team { aggregation: None }),
        ("netkit", PathSpec::Netkit { mode: None }),
    ]
}

/// That a bridge was built, and what an ordinary user or a small machine gives up.
fn bridge(before: Privilege, shared: bool) -> Ability {
    let built = "built and removed";
    match (before, shared) {
        (Privilege::Privileged, false) => ability("bridge", Answer::Yes, built),
        (Privilege::Privileged, true) => ability("bridge", Answer::Partly, built)
            .costs("tester and path share the CPUs: a number counts as sender and path together")
            .remedy("give the machine two CPUs or more"),
        _ => ability(
            "bridge",
            Answer::Partly,
            "built and removed, in a user namespace",
        )
        .costs("the path's kernel threads cannot be pinned apart from the tester")
        .remedy("run as root"),
    }
}

fn ports(before: Privilege) -> Ability {
    match before {
        Privilege::Privileged => ability(
            "ports",
            Answer::Yes,
            "any two interfaces that are up: nicety bench A B",
        ),
        _ => ability(
            "ports",
            Answer::No,
            "packet sockets on the host's interfaces need CAP_NET_RAW",
        )
        .costs("interfaces that exist cannot be measured")
        .remedy("run as root"),
    }
}

/// Where no namespaces can be made nothing can be tried.
pub(super) fn no_namespaces(why: &PrivilegeError) -> Ability {
    let ability = ability("bridge", Answer::No, why.what()).costs("no path can be built here");
    with_remedy(ability, why.remedy())
}

/// Looks for the programs that switch.
pub(super) fn switches() -> Vec<Ability> {
    let mut all = Vec::new();
    for (kind, found) in switch::installed() {
        all.push(match found {
            Err(error) => missing(kind, &error),
            Ok(()) if kind == "ovs" => match (kernel_datapath(), tun::taps_there()) {
                (false, Err(error)) => missing(kind, &error),
                (kernel, _) => ovs(kernel),
            },
            Ok(()) => ability(kind, Answer::Yes, "installed"),
        });
    }
    all
}

fn kernel_datapath() -> bool {
    NetNs::current()
        .and_then(|ns| openvswitch::has_kernel_datapath(&ns))
        .unwrap_or(false)
}

fn ovs(kernel: bool) -> Ability {
    if kernel {
        return ability("ovs", Answer::Yes, "installed; the kernel has its datapath");
    }
    ability(
        "ovs",
        Answer::Partly,
        "installed; the kernel has no openvswitch datapath",
    )
    .costs("only datapath = \"userspace\" can be measured")
    .remedy("modprobe openvswitch, where the kernel has modules")
}

fn missing(name: &str, error: &PathError) -> Ability {
    let ability = ability(name, Answer::No, error.to_string()).costs(format!(
        "cells of {} are skipped",
        name.replace(", ", " with ")
    ));
    with_remedy(ability, error.remedy().map(|remedy| remedy.to_string()))
}

fn with_remedy(ability: Ability, remedy: Option<String>) -> Ability {
    match remedy {
        Some(remedy) => ability.remedy(remedy),
        None => ability,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_package_is_named() {
        let error = PathError::NotInstalled {
            program: "ovs-vswitchd",
            package: "openvswitch-switch",
        };
        let reported = missing("ovs", &error);
        assert_eq!(reported.finding, "ovs-vswitchd is not installed");
        assert_eq!(
            reported.remedy.as_deref(),
            Some("apt install openvswitch-switch")
        );
        assert_eq!(reported.costs.as_deref(), Some("cells of ovs are skipped"));
    }

    #[test]
    fn restrictions_are_reported() {
        assert_eq!(bridge(Privilege::Privileged, false).answer, Answer::Yes);
        for reported in [
            bridge(Privilege::Privileged, true),
            bridge(Privilege::Ordinary, false),
            ovs(false),
        ] {
            assert_eq!(reported.answer, Answer::Partly);
            assert!(reported.costs.is_some() && reported.remedy.is_some());
        }
        let reported = no_namespaces(&PrivilegeError::Forbidden {
            cause: "a setting".to_owned(),
            remedy: "change it".to_owned(),
        });
        assert_eq!(
            (reported.finding.as_str(), reported.remedy.as_deref()),
            (
                "enter user namespace: forbidden on this host (a setting)",
                Some("run as root, or change it")
            )
        );
    }
}
