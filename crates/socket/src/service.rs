//! What the connections of a server share: how it is set up, who has a place, how many tests run.
//!
//! Whoever has not shown the token yet may hold one of a few places for a few seconds. When all
//! are taken, the address that holds most loses its oldest, so that a flood from one host shuts
//! out that host only.

use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::token::Token;
use crate::told::Told;

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

/// What is shared.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) config: ServerConfig,
    pub(crate) cpus: Arc<[u32]>,
    pub(crate) running: AtomicUsize,
    clients: AtomicUsize,
    strangers: Mutex<Vec<Stranger>>,
    begin: Instant,
    told: Mutex<Told>,
}

#[derive(Debug)]
struct Stranger {
    id: u64,
    from: IpAddr,
    stream: TcpStream,
}

impl Service {
    pub(crate) fn new(config: ServerConfig) -> Self {
        Self {
            config,
            cpus: Arc::default(),
            running: AtomicUsize::new(0),
            clients: AtomicUsize::new(0),
            strangers: Mutex::new(Vec::new()),
            begin: Instant::now(),
            told: Mutex::default(),
        }
    }

    /// Whether an address may have a line in the log now, see [`Told::may`].
    pub(crate) fn may_tell(&self, from: IpAddr) -> Option<u64> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.may(from, self.begin.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Stranger>> {
        self.strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a new connection a place, at the cost of another one if need be.
    pub(crate) fn admit(&self, id: u64, from: IpAddr, stream: &TcpStream) -> bool {
        let Ok(stream) = stream.try_clone() else {
            return false;
        };
        let mut strangers = self.lock();
        if strangers.len() >= MOST_STRANGERS {
            let holders: Vec<IpAddr> = strangers.iter().map(|s| s.from).collect();
            if let Some(place) = to_go(&holders) {
                let gone = strangers.remove(place);
                let _ = gone.stream.shutdown(Shutdown::Both);
            }
        }
        strangers.push(Stranger { id, from, stream });
        true
    }

    pub(crate) fn forget(&self, id: u64) {
        self.lock().retain(|stranger| stranger.id != id);
    }

    /// Closes the connections of those who have not spoken: they would hold the end up.
    pub(crate) fn dismiss(&self) {
        for stranger in self.lock().drain(..) {
            let _ = stranger.stream.shutdown(Shutdown::Both);
        }
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
