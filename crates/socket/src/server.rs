//! The server: takes control connections and keeps them apart.
//!
//! Whoever has not shown the token yet may hold one of a few places for a few seconds. When all
//! are taken, the address that holds most loses its oldest, so that a flood from one host shuts
//! out that host only.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::SocketError;
use crate::pin::check_cpus;
use crate::session;
use crate::sys::readable;
use crate::wire::Token;

/// Connections that have not shown the token.
const MOST_STRANGERS: usize = 32;
/// Connections that have.
const MOST_CLIENTS: usize = 16;
/// Tests at once.
pub(crate) const MOST_TESTS: usize = 4;

/// How a server is set up.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address and port of the control connection; data ports are chosen by the kernel on the
    /// same address.
    pub listen: SocketAddr,
    /// What clients must show.
    pub token: Token,
    /// Workers of a test at most.
    pub threads: usize,
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    pub(crate) config: ServerConfig,
    pub(crate) cpus: Arc<[u32]>,
    pub(crate) running: AtomicUsize,
    clients: AtomicUsize,
    strangers: Mutex<Vec<Stranger>>,
}

#[derive(Debug)]
struct Stranger {
    id: u64,
    from: IpAddr,
    stream: TcpStream,
}

impl Server {
    /// Listens, in the caller's network namespace.
    ///
    /// # Errors
    /// When the address is not there or the port is taken.
    pub fn bind(config: ServerConfig) -> Result<Self, SocketError> {
        let failed = |source| SocketError::Listen {
            at: config.listen.to_string(),
            source,
        };
        let listener = TcpListener::bind(config.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            listener,
            config,
            cpus: Arc::default(),
            running: AtomicUsize::new(0),
            clients: AtomicUsize::new(0),
            strangers: Mutex::new(Vec::new()),
        })
    }

    /// Lets the workers run on these CPUs in turn.
    ///
    /// # Errors
    /// [`SocketError::Cpu`] for one that this process may not use.
    pub fn pinned(mut self, cpus: &[u32]) -> Result<Self, SocketError> {
        check_cpus(cpus)?;
        self.cpus = cpus.into();
        Ok(self)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`; `log` gets a line for everything worth telling. Data sockets and
    /// worker threads are made in the caller's network namespace.
    pub fn run(&self, stop: &AtomicBool, log: &(dyn Fn(&str) + Sync)) {
        std::thread::scope(|scope| {
            let mut next_id = 0;
            while !stop.load(Ordering::Relaxed) {
                readable(&self.listener, Duration::from_millis(100));
                while let Ok((stream, from)) = self.listener.accept() {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let id = next_id;
                    next_id += 1;
                    if !self.admit(id, from.ip(), &stream) {
                        continue;
                    }
                    let serve = move || {
                        session::serve(self, id, &stream, from, stop, log);
                        self.forget(id);
                    };
                    let thread = std::thread::Builder::new().name("sock-client".to_owned());
                    if thread.spawn_scoped(scope, serve).is_err() {
                        self.forget(id);
                    }
                }
            }
            // Those who have not spoken would hold the end up.
            for stranger in self.lock().drain(..) {
                let _ = stranger.stream.shutdown(std::net::Shutdown::Both);
            }
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Stranger>> {
        self.strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a new connection a place, at the cost of another one if need be.
    fn admit(&self, id: u64, from: IpAddr, stream: &TcpStream) -> bool {
        let Ok(stream) = stream.try_clone() else {
            return false;
        };
        let mut strangers = self.lock();
        if strangers.len() >= MOST_STRANGERS {
            let holders: Vec<IpAddr> = strangers.iter().map(|s| s.from).collect();
            if let Some(place) = to_go(&holders) {
                let gone = strangers.remove(place);
                let _ = gone.stream.shutdown(std::net::Shutdown::Both);
            }
        }
        strangers.push(Stranger { id, from, stream });
        true
    }

    fn forget(&self, id: u64) {
        self.lock().retain(|stranger| stranger.id != id);
    }

    /// A stranger has shown the token; `None` when there are too many clients.
    pub(crate) fn known(&self, id: u64) -> Option<Client<'_>> {
        self.forget(id);
        let before = self.clients.fetch_add(1, Ordering::Relaxed);
        let client = Client(&self.clients);
        (before < MOST_CLIENTS).then_some(client)
    }
}

/// A client's place, given back on drop.
pub(crate) struct Client<'a>(&'a AtomicUsize);

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Which of the waiting connections, oldest first, loses its place: the oldest of the address
/// that holds most. None when nobody waits.
pub fn to_go(holders: &[IpAddr]) -> Option<usize> {
    let count = |address: &IpAddr| holders.iter().filter(|h| *h == address).count();
    let most = holders.iter().map(count).max()?;
    holders.iter().position(|holder| count(holder) == most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greediest_address_loses_its_oldest() {
        let [a, b, c] = [1, 2, 3].map(|n| IpAddr::from([10, 0, 0, n]));
        assert_eq!(to_go(&[a, b, b, c]), Some(1));
        assert_eq!(to_go(&[a, b, c]), Some(0));
        assert_eq!(to_go(&[a, b, c, c, b, c]), Some(2));
        assert_eq!(to_go(&[]), None);
    }
}
