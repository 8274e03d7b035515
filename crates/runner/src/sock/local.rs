//! Both ends on this machine: two namespaces, the server in one, the client in the other.

use nicety_model::sock::Family;
use nicety_model::{Coded, Note, PathSpec, Problem, ProblemCode};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::privilege::{self, Privilege, PrivilegeError};
use nicety_paths::{Between, EndpointSite, Endpoints, Path, PathError};
use nicety_port::Stop;

use super::inside::{Inside, ServeError};
use super::series::{self, Done};
use super::{Event, Request};
use crate::{setup, sockets};

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Namespaces may not be made here.
    #[error(transparent)]
    Privilege(#[from] PrivilegeError),
    /// The path cannot be had.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A namespace cannot be entered.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The path cannot be had, or its ends not be set up.
    #[error(transparent)]
    Ends(#[from] Problem),
    /// The server cannot be started.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The kernel has no IPv6, or keeps it from these interfaces.
    #[error("this kernel gives interfaces no IPv6 addresses; leave --ipv6 out")]
    NoIpv6,
}

impl Coded for LocalError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Privilege(error) => error.code(),
            Self::Path(error) => error.code(),
            Self::Net(error) => error.code(),
            Self::Ends(problem) => problem.code,
            Self::Serve(error) => error.code(),
            Self::NoIpv6 => ProblemCode::KernelLacks,
        }
    }
}

/// What lies between the two ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// One veth pair.
    Veth,
    /// A path that is made here, without guests or interfaces that exist already.
    Path(PathSpec),
}

/// Whether both ends of a path are namespaces that can be made for it alone.
pub fn ends_here(path: &PathSpec) -> bool {
    match path {
        PathSpec::Ports { .. }
        | PathSpec::Testpmd { nics: Some(_), .. }
        | PathSpec::Vm(_)
        | PathSpec::Foreign(_) => false,
        PathSpec::Bridge
        | PathSpec::VlanBridge { .. }
        | PathSpec::Ovs { .. }
        | PathSpec::Ovn { .. }
        | PathSpec::OvsDpdk(_)
        | PathSpec::Testpmd { nics: None, .. }
        | PathSpec::Routed(_)
        | PathSpec::Tunnel(_)
        | PathSpec::Macvlan { .. }
        | PathSpec::Ipvlan { .. }
        | PathSpec::TcRedirect { .. }
        | PathSpec::XdpRedirect
        | PathSpec::Bond { .. }
        | PathSpec::Team { .. }
        | PathSpec::Netkit { .. } => true,
    }
}

/// Both ends and what lies between them, which goes with them.
struct Here {
    name: String,
    ends: [EndpointSite; 2],
    notes: Vec<Note>,
    _between: (Option<NetNs>, Option<Box<dyn Path>>),
}

impl Here {
    fn build(way: &Way, family: Family) -> Result<Self, LocalError> {
        let plain = |name: &str, between| -> Result<Self, LocalError> {
            let Endpoints { a, b, dut, .. } = Endpoints::build(between)?;
            Ok(Self {
                name: name.to_owned(),
                ends: [a, b],
                notes: Vec::new(),
                _between: (dut, None),
            })
        };
        match way {
            Way::Veth => plain("veth", Between::Veth),
            Way::Path(PathSpec::Bridge) => plain("bridge", Between::Bridge),
            Way::Path(path) => {
                let placement = setup::placement(&[]).map_err(sockets::failed)?;
                let mut built = sockets::ends::path(path, family, &placement)?;
                Ok(Self {
                    name: path.to_string(),
                    ends: built.ends(family == Family::Ipv6)?,
                    notes: built.notes,
                    _between: (None, Some(built.path)),
                })
            }
        }
    }
}

/// Builds the path, runs the tests, removes everything.
///
/// # Errors
/// [`LocalError`].
pub fn run(
    request: &Request,
    way: &Way,
    stop: &Stop,
    observer: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Done, LocalError> {
    // No thread runs yet: a user namespace is entered with one only.
    if privilege::privilege()? == Privilege::Ordinary {
        privilege::enter_user_namespace()?;
    }
    let family = request.family.unwrap_or(Family::Ipv4);
    let here = Here::build(way, family)?;
    let [client, server] = &here.ends;
    let address = match family {
        Family::Ipv6 => server.ipv6.ok_or(LocalError::NoIpv6)?,
        Family::Ipv4 => server.ipv4,
    };
    let inside = Inside::pinned(
        &server.ns,
        address,
        request.server_threads,
        &request.server_cpus,
    )?;
    let to = (inside.address.as_str(), &inside.token);
    let run = || series::run(request, &here.name, to, stop, observer);
    let mut done = client.ns.run(run)?;
    done.notes.extend(here.notes);
    Ok(done)
}
