//! A server in a namespace of this machine.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::anyhow;
use nicety_host::netns::NetNs;
use nicety_socket::{Server, ServerConfig, Token};

use super::failure;
use crate::exit::Failure;

/// Serves until dropped.
#[derive(Debug)]
pub struct Inside {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Where clients find it: `address:port`.
    pub address: String,
    /// What they have to show.
    pub token: Token,
}

impl Inside {
    /// Starts it at `ip` on a port that the kernel chooses.
    pub fn start(ns: &NetNs, ip: IpAddr, threads: usize) -> Result<Self, Failure> {
        Self::pinned(ns, ip, threads, &[])
    }

    /// As [`Inside::start`], with the workers on these CPUs in turn.
    pub fn pinned(ns: &NetNs, ip: IpAddr, threads: usize, cpus: &[u32]) -> Result<Self, Failure> {
        let token = Token::random().map_err(|error| {
            Failure::environment(anyhow!("the kernel gives no random numbers: {error}"))
        })?;
        let config = ServerConfig {
            listen: SocketAddr::new(ip, 0),
            token: token.clone(),
            threads,
        };
        let bound = ns.run(|| Server::bind(config));
        let server = bound.map_err(Failure::environment)?.map_err(failure)?;
        let server = server.pinned(cpus).map_err(failure)?;
        let address = server.address().map_err(Failure::environment)?.to_string();
        let over = Arc::new(AtomicBool::new(false));
        let (inner, ns) = (Arc::clone(&over), ns.clone());
        let thread = std::thread::Builder::new().name("sock-serve".to_owned());
        let thread = thread.spawn(move || {
            // Its workers are started from here and live in the same namespace.
            if ns.enter_thread().is_ok() {
                server.run(&inner, &|_| ());
            }
        });
        Ok(Self {
            over,
            thread: Some(thread.map_err(Failure::environment)?),
            address,
            token,
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A defect in it has been told by the panic itself.
            let _ = thread.join();
        }
    }
}
