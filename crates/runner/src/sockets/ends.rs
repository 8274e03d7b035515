//! Both ends of a path that is made for test frames, set up as applications have them.

use nicety_host::placement::Placement;
use nicety_model::note::SockNote;
use nicety_model::sock::Family;
use nicety_model::{
    CellKey, Direction, FrameSize, Note, PathSpec, Problem, ProblemCode, Remedy, Shape,
};
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;
use nicety_netdev::{napi, sysctl};
use nicety_paths::{EndpointSite, Path, PathPort};

use super::{failed, lacks, missing};
use crate::builder;

/// Largest frame of socket tests.
pub(super) const LARGEST: u16 = 1518;

/// A path whose ends have no addresses yet.
pub(crate) struct Built {
    /// The path, gone when dropped.
    pub(crate) path: Box<dyn Path>,
    /// What a reader should know.
    pub(crate) notes: Vec<Note>,
    spec: PathSpec,
    family: Family,
}

/// Builds a path; where a router is in it, for one IP version.
pub(crate) fn path(
    spec: &PathSpec,
    family: Family,
    placement: &Placement,
) -> Result<Built, Problem> {
    let key = CellKey {
        path: spec.clone(),
        frame_size_bytes: FrameSize::new(LARGEST).map_err(failed)?,
        direction: Direction::Bi,
        flows: 1,
        shape: Shape {
            family: (family == Family::Ipv6).then_some(Family::Ipv6),
            ..Shape::default()
        },
    };
    let path = builder::path_of_sockets(&key, placement).map_err(|error| error.problem())?;
    Ok(Built {
        notes: path.facts().notes.clone(),
        path,
        spec: spec.clone(),
        family,
    })
}

impl Built {
    /// Gives both ends addresses and the offloads that go with the path; `ipv6` where any test is over it.
    pub(crate) fn ends(&mut self, ipv6: bool) -> Result<[EndpointSite; 2], Problem> {
        let middle = self.path.facts().middle.as_ref();
        let program = middle.filter(|middle| middle.userspace);
        if let Some(middle) = program {
            features(&middle.ns, &["d0", "d1"], &[("rx-gro", false)])?;
            self.notes.push(carried_whole(self.spec.kind().to_owned()));
        }
        let whole = program.is_some();
        Ok([self.end(0, whole, ipv6)?, self.end(1, whole, ipv6)?])
    }

    fn end(&self, side: usize, whole: bool, ipv6: bool) -> Result<EndpointSite, Problem> {
        let port = &self.path.ports()[side];
        if whole {
            whole_frames(port)?;
        } else {
            segmentation(&port.ns, &port.name)?;
        }
        let name = tagged(self.path.as_ref(), port)?;
        let ns = port.ns.clone();
        if self.spec.is_routed() {
            let ipv6 = self.family == Family::Ipv6;
            return EndpointSite::behind_router(ns, &name, side, ipv6).map_err(missing);
        }
        // Off for test frames, whose stations have no use for it.
        if ipv6 {
            sysctl::enable_ipv6(&port.ns).map_err(missing)?;
        }
        EndpointSite::address(ns, &name, side as u8 + 1).map_err(missing)
    }
}

/// The interface of a port that gets addresses: one that tags its frames, where the path wants
/// tags.
pub(super) fn tagged(path: &dyn Path, port: &PathPort) -> Result<String, Problem> {
    let Some(id) = path.facts().vlan else {
        return Ok(port.name.clone());
    };
    let links = Links::open(&port.ns).map_err(missing)?;
    let name = format!("{}.{id}", port.name);
    let made = links.add_vlan(&name, port.index, id);
    made.map_err(|error| {
        lacks(
            ProblemCode::KernelLacks,
            format!("the endpoints cannot tag their frames: {error}"),
            &Remedy::here("modprobe 8021q"),
        )
    })?;
    links.set_up(&name).map_err(missing)?;
    Ok(name)
}

/// Segmentation offload: off for test frames, applications have it.
pub(super) fn segmentation(ns: &NetNs, name: &str) -> Result<(), Problem> {
    let on = napi::SENDER_FEATURES.map(|(feature, _)| (feature, true));
    features(ns, &[name], &on)
}

/// What [`whole_frames`] means for a reader.
pub(super) fn carried_whole(by: String) -> Note {
    SockNote::WholeFrames { by }.into()
}

/// A program carries the frames: checksums are computed before it, which keeps segments small.
pub(super) fn whole_frames(port: &PathPort) -> Result<(), Problem> {
    features(
        &port.ns,
        &[&port.name],
        &[("tx-checksum-ip-generic", false)],
    )
}

pub(super) fn features(ns: &NetNs, names: &[&str], wanted: &[(&str, bool)]) -> Result<(), Problem> {
    let ethtool = Ethtool::open(ns).map_err(missing)?;
    for name in names {
        ethtool.set_features(name, wanted).map_err(missing)?;
    }
    Ok(())
}
