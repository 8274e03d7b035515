//! Who is served at the same time. The number is limited, and nobody can take all places.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nicety_socket::to_go;
use tokio::task::AbortHandle;

/// Connections at the same time.
const CONNECTIONS: usize = 64;

/// The connections that are served, the oldest first.
#[derive(Debug, Clone, Default)]
pub struct Places(Arc<Mutex<Vec<Place>>>);

#[derive(Debug)]
struct Place {
    number: u64,
    peer: IpAddr,
    task: AbortHandle,
}

/// Gives a place back, also when its task is aborted.
struct Leave {
    places: Places,
    number: u64,
}

impl Places {
    /// Serves a connection. Where no place is left, one is taken away: who sends half a request and
    /// waits must not keep everybody else out.
    pub fn spawn(&self, peer: IpAddr, connection: impl Future<Output = ()> + Send + 'static) {
        let mut places = self.lock();
        if places.len() >= CONNECTIONS {
            let peers: Vec<IpAddr> = places.iter().map(|place| place.peer).collect();
            if let Some(at) = to_go(&peers) {
                places.remove(at).task.abort();
            }
        }
        let number = places.last().map_or(0, |last| last.number + 1);
        let leave = Leave {
            places: self.clone(),
            number,
        };
        let task = tokio::spawn(async move {
            let _leave = leave;
            connection.await;
        });
        places.push(Place {
            number,
            peer,
            task: task.abort_handle(),
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.places
            .lock()
            .retain(|place| place.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greediest_loses_its_oldest() {
        let peers = |ends: &[u8]| -> Option<usize> {
            let peers: Vec<IpAddr> = ends.iter().map(|end| [10, 0, 0, *end].into()).collect();
            to_go(&peers)
        };
        assert_eq!(peers(&[]), None);
        assert_eq!(peers(&[1, 2, 3]), Some(0));
        assert_eq!(peers(&[1, 2, 3, 2]), Some(1));
        assert_eq!(peers(&[1, 2, 2, 1, 1]), Some(0));
    }

    #[test]
    fn a_place_is_given_back_and_the_number_is_limited() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let places = Places::default();
            let peer = IpAddr::from([10, 0, 0, 1]);
            places.spawn(peer, async {});
            for _ in 0..2 * CONNECTIONS {
                places.spawn(peer, std::future::pending());
            }
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            assert_eq!(places.lock().len(), CONNECTIONS);
        });
    }
}
