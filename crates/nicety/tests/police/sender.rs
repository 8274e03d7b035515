//! A sender whose rate a test can change.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nicety_netdev::netns::NetNs;

/// Bytes of a datagram.
const SIZE: usize = 1200;

/// Sends datagrams from a namespace until it is dropped.
pub struct Sender {
    mbit: Arc<AtomicU64>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    /// One that sends nothing yet.
    pub fn start(ns: &NetNs, from: &str, to: &str) -> Self {
        let socket = ns.run(|| UdpSocket::bind(from)).unwrap().unwrap();
        socket.connect(to).unwrap();
        let (mbit, end) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (rate, ending) = (Arc::clone(&mbit), Arc::clone(&end));
        let thread = std::thread::spawn(move || {
            let packet = [0; SIZE];
            let mut owed = 0.0;
            let mut last = Instant::now();
            while !ending.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
                let elapsed = last.elapsed().as_secs_f64();
                last = Instant::now();
                // What a busy machine has kept it from is not sent at once.
                owed = (owed + elapsed * rate.load(Ordering::Relaxed) as f64 * 1e6 / 8.0)
                    .min(50_000.0);
                while owed >= SIZE as f64 {
                    owed -= SIZE as f64;
                    let _ = socket.send(&packet);
                }
            }
        });
        Self {
            mbit,
            end,
            thread: Some(thread),
        }
    }

    /// Sends so many Mbit/s from now on.
    pub fn send(&self, mbit: u64) {
        self.mbit.store(mbit, Ordering::Relaxed);
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}
