//! Both ends on this machine: two namespaces, the server in one, the client in the other.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use anyhow::anyhow;
use nicety_host::netns::NetNs;
use nicety_host::privilege::{self, Privilege};
use nicety_model::sock::Family;
use nicety_socket::{Server, ServerConfig, Token};
use nicety_testbed::{Between, Endpoints};

use crate::bench::signals::Signals;
use crate::exit::Failure;

use super::args::PathKind;
use super::failure;
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
        Some(Family::Ipv6) => ends.b.ipv6.ok_or_else(|| {
            Failure::environment(anyhow!(
                "this kernel gives interfaces no IPv6 addresses; leave --ipv6 out"
            ))
        })?,
        _ => ends.b.ipv4,
    };
    let token = Token::random().map_err(|error| {
        Failure::environment(anyhow!("the kernel gives no random numbers: {error}"))
    })?;
    let config = ServerConfig {
        listen: SocketAddr::new(address, 0),
        token,
        threads: request.threads,
    };
    both(request, name, &ends, config, signals)
}

fn both(
    request: &Request,
    name: &str,
    ends: &Endpoints,
    config: ServerConfig,
    signals: &Signals,
) -> Result<Done, Failure> {
    let over = AtomicBool::new(false);
    let (ready, at) = mpsc::channel();
    let token = config.token.clone();
    std::thread::scope(|scope| {
        let over = &over;
        let served = scope.spawn(move || serve(&ends.b.ns, config, &ready, over));
        let client = scope.spawn(move || {
            ends.a.ns.enter_thread().map_err(Failure::environment)?;
            // A server that could not begin has dropped its end.
            let Ok(address) = at.recv() else {
                return Ok(Done::default());
            };
            Ok(series::run(request, name, &address, &token, signals))
        });
        let done = client.join();
        over.store(true, Ordering::Relaxed);
        let served = served.join();
        match (served, done) {
            (Ok(Err(error)), _) => Err(error),
            (Ok(Ok(())), Ok(done)) => done,
            (Err(panic), _) | (_, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}

/// The server's thread and all it starts live in `ns`.
fn serve(
    ns: &NetNs,
    config: ServerConfig,
    ready: &mpsc::Sender<String>,
    over: &AtomicBool,
) -> Result<(), Failure> {
    ns.enter_thread().map_err(Failure::environment)?;
    let server = Server::bind(config).map_err(failure)?;
    let address = server.address().map_err(Failure::environment)?;
    let text = match address.ip() {
        IpAddr::V4(ip) => format!("{ip}:{}", address.port()),
        IpAddr::V6(ip) => format!("[{ip}]:{}", address.port()),
    };
    // The client waits for it, or is gone.
    let _ = ready.send(text);
    server.run(over, &|_| ());
    Ok(())
}
