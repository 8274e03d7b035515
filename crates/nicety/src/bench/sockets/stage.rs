//! The endpoints of socket tests: namespaces at both ends of a path.

use std::net::IpAddr;

use nicety_host::ethtool::Ethtool;
use nicety_host::link::{LinkChange, Links};
use nicety_host::netns::NetNs;
use nicety_host::placement::Placement;
use nicety_host::{napi, sysctl};
use nicety_model::plan::{PathPlan, SockCell, SwitchKind};
use nicety_model::sock::Family;
use nicety_model::{CellKey, Direction, FrameSize, Plan};
use nicety_socket::Token;
use nicety_testbed::{EndpointSite, Endpoints, Path};

use super::Missing;
use crate::bench::setup;
use crate::bench::switches;
use crate::sock::args::threads;
use crate::sock::inside::Inside;

/// Both ends and what lies between them; gone when dropped.
pub(super) struct Stage {
    /// Where clients run.
    pub(super) client: EndpointSite,
    /// More pairs on the same switch.
    pub(super) neighbours: Vec<[EndpointSite; 2]>,
    /// Whether both ends' CPU time is one.
    pub(super) shared_host: bool,
    /// What a reader should know.
    pub(super) notes: Vec<String>,
    far: EndpointSite,
    kind: String,
    /// Keeps what lies between.
    _path: Between,
}

/// What lies between the ends; never read, only kept.
enum Between {
    Bridge(#[expect(dead_code, reason = "gone when dropped")] Option<NetNs>),
    Path(#[expect(dead_code, reason = "gone when dropped")] Box<dyn Path>),
}

/// A server under way.
pub(super) struct Far(Inside);

impl Far {
    pub(super) fn address(&self) -> &str {
        &self.0.address
    }

    pub(super) fn token(&self) -> &Token {
        &self.0.token
    }
}

impl Stage {
    /// Builds the path of `cell` with at most `neighbours` pairs beside it.
    pub(super) fn build(
        plan: &Plan,
        cell: &SockCell,
        neighbours: u32,
        placement: &Placement,
    ) -> Result<Self, Missing> {
        let path = plan.paths.iter().find(|path| path.kind() == cell.kind());
        match path {
            Some(PathPlan::Bridge) => {
                let ends =
                    Endpoints::with_neighbours(neighbours).map_err(|error| missing(&error))?;
                Ok(Self {
                    client: ends.a,
                    far: ends.b,
                    neighbours: ends.neighbours,
                    shared_host: true,
                    notes: Vec::new(),
                    kind: cell.kind().to_owned(),
                    _path: Between::Bridge(ends.dut),
                })
            }
            Some(PathPlan::Switch { kind, .. }) => {
                let ipv6 = |cell: SockCell| cell.family == Family::Ipv6;
                switch(*kind, cell, placement, plan.sock_cells().any(ipv6))
            }
            Some(PathPlan::Ports { .. }) => Err(Missing {
                reason:
                    "both ports are this host's: its kernel would hand the data over without them"
                        .to_owned(),
                remedy: "run nicety sock serve on the far host and nicety sock TEST --to here"
                    .to_owned(),
            }),
            _ => Err(Missing {
                reason: format!("socket tests do not run over {} yet", cell.kind()),
                remedy: "measure frames over it, or sockets over another path".to_owned(),
            }),
        }
    }

    /// Starts a server at the far end.
    pub(super) fn server(&self, family: Family) -> Result<Far, Missing> {
        let ip: IpAddr = match family {
            Family::Ipv4 => self.far.ipv4,
            Family::Ipv6 => self.far.ipv6.ok_or_else(no_ipv6)?,
        };
        let server = Inside::start(&self.far.ns, ip, threads(None));
        server
            .map(Far)
            .map_err(|error| Missing::of(&error.to_string()))
    }

    /// What to say when the far end has gone.
    pub(super) fn why_lost(&self) -> String {
        "the far end went away during the test; look at its kernel's log".to_owned()
    }

    /// What to say when neighbours are asked for that there are none of.
    pub(super) fn no_neighbours(&self) -> Missing {
        Missing {
            reason: format!("neighbours join a kernel bridge, not {}", self.kind),
            remedy: "write neighbours for kind = \"bridge\"".to_owned(),
        }
    }
}

/// Both ends of a path through another switch than the bridge.
fn switch(
    kind: SwitchKind,
    cell: &SockCell,
    placement: &Placement,
    ipv6: bool,
) -> Result<Stage, Missing> {
    let key = CellKey {
        path: cell.path.clone(),
        frame_size_bytes: FrameSize::new(1518).map_err(|error| missing(&error))?,
        direction: Direction::Bi,
        flows: 1,
    };
    let path = switches::path(kind, &key, placement).map_err(|error| {
        let remedy = setup::SetupError::from(error);
        Missing {
            reason: remedy.to_string(),
            remedy: remedy.remedy(),
        }
    })?;
    let mut notes = path.notes().to_vec();
    let userspace = path.middle().is_some_and(|middle| middle.userspace);
    if let Some(middle) = path.middle().filter(|middle| middle.userspace) {
        features(middle.ns, &["d0", "d1"], &[("rx-gro", false)])?;
        notes.push(format!(
            "{}: a program carries whole frames, so the endpoints compute checksums and cut segments themselves",
            cell.kind()
        ));
    }
    let site = |side: usize, number| -> Result<EndpointSite, Missing> {
        let port = &path.ports()[side];
        if userspace {
            features(
                &port.ns,
                &[&port.name],
                &[("tx-checksum-ip-generic", false)],
            )?;
        } else {
            // Off for test frames; applications have it.
            let on = napi::SENDER_FEATURES.map(|(name, _)| (name, true));
            features(&port.ns, &[&port.name], &on)?;
        }
        let links = Links::open(&port.ns).map_err(|error| missing(&error))?;
        let name = match path.vlan() {
            None => port.name.clone(),
            Some(id) => {
                let name = format!("{}.{id}", port.name);
                links
                    .add_vlan(&name, port.index, id)
                    .map_err(|error| Missing {
                        reason: format!("the endpoints cannot tag their frames: {error}"),
                        remedy: "modprobe 8021q, then go on with --resume".to_owned(),
                    })?;
                let up = LinkChange {
                    up: Some(true),
                    ..LinkChange::default()
                };
                links.change(&name, &up).map_err(|error| missing(&error))?;
                name
            }
        };
        // Off for test frames, whose stations have no use for it.
        if ipv6 {
            sysctl::enable_ipv6(&port.ns).map_err(|error| missing(&error))?;
        }
        EndpointSite::address(port.ns.clone(), &name, number).map_err(|error| missing(&error))
    };
    Ok(Stage {
        client: site(0, 1)?,
        far: site(1, 2)?,
        neighbours: Vec::new(),
        shared_host: true,
        notes,
        kind: cell.kind().to_owned(),
        _path: Between::Path(path),
    })
}

fn features(ns: &NetNs, names: &[&str], wanted: &[(&str, bool)]) -> Result<(), Missing> {
    let ethtool = Ethtool::open(ns).map_err(|error| missing(&error))?;
    for name in names {
        ethtool
            .set_features(name, wanted)
            .map_err(|error| missing(&error))?;
    }
    Ok(())
}

fn missing(error: &dyn std::fmt::Display) -> Missing {
    Missing::of(&error.to_string())
}

/// The kernel has no IPv6, or keeps it from these interfaces.
pub(super) fn no_ipv6() -> Missing {
    Missing::of("this kernel gives interfaces no IPv6 addresses; write family = \"ipv4\"")
}
