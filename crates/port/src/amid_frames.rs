//! What tests do to a port while a trial runs.

use std::thread::JoinHandle;
use std::time::Duration;

use nicety_netdev::link::Links;
use nicety_paths::{DirectPath, Path};

/// Does something when frames of a trial have arrived.
pub fn amid_frames(path: &DirectPath, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let port = path.ports()[1].clone();
    std::thread::spawn(move || {
        let links = Links::open(&port.ns).unwrap();
        while links.get(&port.name).unwrap().counters.rx_packets < 100 {
            std::thread::sleep(Duration::from_millis(1));
        }
        work();
    })
}
