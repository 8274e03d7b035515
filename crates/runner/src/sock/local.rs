//! Both ends on this machine: two namespaces, the server in one, the client in the other.

use nicety_model::sock::Family;
use nicety_netdev::net_error::NetError;
use nicety_netdev::privilege::{self, Privilege, PrivilegeError};
use nicety_paths::{Between, Endpoints, PathError};
use nicety_port::Stop;

use super::inside::{Inside, ServeError};
use super::series::{self, Done};
use super::{Event, Request};

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
    /// The server cannot be started.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The kernel has no IPv6, or keeps it from these interfaces.
    #[error("this kernel gives interfaces no IPv6 addresses; leave --ipv6 out")]
    NoIpv6,
}

/// Builds the path, runs the tests, removes everything.
///
/// # Errors
/// [`LocalError`].
pub fn run(
    request: &Request,
    between: Between,
    stop: &Stop,
    observer: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Done, LocalError> {
    // No thread runs yet: a user namespace is entered with one only.
    if privilege::privilege()? == Privilege::Ordinary {
        privilege::enter_user_namespace()?;
    }
    let name = match between {
        Between::Veth => "veth",
        Between::Bridge => "bridge",
    };
    let ends = Endpoints::build(between)?;
    let address = match request.family {
        Some(Family::Ipv6) => ends.b.ipv6.ok_or(LocalError::NoIpv6)?,
        _ => ends.b.ipv4,
    };
    let server = Inside::pinned(
        &ends.b.ns,
        address,
        request.server_threads,
        &request.server_cpus,
    )?;
    let to = (server.address.as_str(), &server.token);
    Ok(ends
        .a
        .ns
        .run(|| series::run(request, name, to, stop, observer))?)
}
