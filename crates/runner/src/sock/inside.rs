//! A server in a namespace of this machine.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_socket::{Server, ServerConfig, SocketError, Token};

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No token can be made up.
    #[error("the kernel gives no random numbers: {0}")]
    Random(#[source] io::Error),
    /// The namespace cannot be entered.
    #[error(transparent)]
    Net(#[from] NetError),
    /// It cannot listen, or not on these CPUs.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// Its address cannot be read, or its thread not be started.
    #[error(transparent)]
    System(#[from] io::Error),
}

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
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn start(ns: &NetNs, ip: IpAddr, threads: usize) -> Result<Self, ServeError> {
        Self::pinned(ns, ip, threads, &[])
    }

    /// As [`Inside::start`], with the workers on these CPUs in turn.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn pinned(
        ns: &NetNs,
        ip: IpAddr,
        threads: usize,
        cpus: &[u32],
    ) -> Result<Self, ServeError> {
        let token = Token::random().map_err(ServeError::Random)?;
        let config = ServerConfig {
            listen: SocketAddr::new(ip, 0),
            token: token.clone(),
            threads,
        };
        let server = ns.run(|| Server::bind(config))??.pinned(cpus)?;
        let address = server.address()?.to_string();
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
            thread: Some(thread?),
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
