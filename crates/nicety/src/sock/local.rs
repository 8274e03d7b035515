//! Both ends on this machine: two namespaces, the server in one, the client in the other.

use anyhow::anyhow;
use nicety_host::privilege::{self, Privilege};
use nicety_model::sock::Family;
use nicety_paths::{Between, Endpoints};

use crate::bench::signals::Signals;
use crate::exit::Failure;

use super::args::PathKind;
use super::inside::Inside;
use super::request::Request;
use super::series::{self, Done};

/// Builds the path, runs the tests, removes everything.
pub fn run(request: &Request, kind: PathKind, signals: &Signals) -> Result<Done, Failure> {
    // No thread runs yet: a user namespace is entered with one only.
    if privilege::privilege().map_err(Failure::environment)? == Privilege::Ordinary {
        privilege::enter_user_namespace().map_err(Failure::environment)?;
    }
    let (between, name) = match kind {
        PathKind::Veth => (Between::Veth, "veth"),
        PathKind::Bridge => (Between::Bridge, "bridge"),
    };
    let ends = Endpoints::build(between).map_err(Failure::environment)?;
    let address = match request.family {
        Some(Family::Ipv6) => ends.b.ipv6.ok_or_else(no_ipv6)?,
        _ => ends.b.ipv4,
    };
    let server = Inside::pinned(
        &ends.b.ns,
        address,
        request.server_threads,
        &request.server_cpus,
    )?;
    ends.a
        .ns
        .run(|| series::run(request, name, &server.address, &server.token, signals))
        .map_err(Failure::environment)
}

/// The kernel has no IPv6, or keeps it from these interfaces.
fn no_ipv6() -> Failure {
    Failure::environment(anyhow!(
        "this kernel gives interfaces no IPv6 addresses; leave --ipv6 out"
    ))
}
