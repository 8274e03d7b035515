//! Two namespaces joined by a relay of this process: a thread that keeps every frame for a time
//! and drops every n-th of those it was told to, and counts both.

pub mod truth;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nicety_netdev::link::{LinkChange, Links};
use nicety_netdev::netns::NetNs;
use nicety_netdev::tap;
use nicety_paths::EndpointSite;
use nicety_testkit::runner::Skip;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Before every frame of a tap (include/uapi/linux/virtio_net.h).
const VIRTIO_NET_HEADER: usize = 10;
/// Ethernet, IPv4 and UDP headers.
const UDP_HEADERS: usize = 14 + 20 + 8;
/// Longest wait of the thread.
const LOOK: Duration = Duration::from_millis(2);

/// What the relay does to frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spec {
    /// Both ways.
    pub delay: Duration,
    /// From A to B: of UDP datagrams with this payload every n-th is lost, the n-th first.
    pub drop: Option<(usize, u64)>,
}

/// The relay; everything goes with it.
pub struct Relay {
    pub a: EndpointSite,
    pub b: EndpointSite,
    /// Frames lost on purpose, and datagrams of that payload that came by.
    pub counts: Arc<[AtomicU64; 2]>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Skips where taps cannot be had.
    pub fn start(spec: Spec) -> Result<Self, Skip> {
        let mut ends = Vec::new();
        for (name, number) in [("a", 1), ("b", 2)] {
            let ns = NetNs::create(name).unwrap();
            let file = match tap::create(&ns, name, 1) {
                Ok(mut queues) => File::from(queues.remove(0)),
                Err(error) => return Err(Skip(error.to_string())),
            };
            rustix::io::ioctl_fionbio(&file, true).unwrap();
            let links = Links::open(&ns).unwrap();
            let up = LinkChange {
                up: Some(true),
                ..LinkChange::default()
            };
            links.change(name, &up).unwrap();
            links.wait_carrier(name, Duration::from_secs(3)).unwrap();
            ends.push((EndpointSite::address(ns, name, number).unwrap(), file));
        }
        let (b, tap_b) = ends.pop().unwrap();
        let (a, tap_a) = ends.pop().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let counts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let (ending, counting) = (Arc::clone(&over), Arc::clone(&counts));
        let thread = std::thread::spawn(move || carry([tap_a, tap_b], spec, &ending, &counting));
        Ok(Self {
            a,
            b,
            counts,
            over,
            thread: Some(thread),
        })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn carry(taps: [File; 2], spec: Spec, over: &AtomicBool, counts: &[AtomicU64; 2]) {
    let mut waiting: [VecDeque<(Instant, Vec<u8>)>; 2] = Default::default();
    let mut buffer = vec![0; 1 << 17];
    while !over.load(Ordering::Relaxed) {
        let now = Instant::now();
        for (from, queue) in waiting.iter_mut().enumerate() {
            while let Ok(length) = (&taps[from]).read(&mut buffer) {
                let ours = spec.drop.filter(|(payload, _)| {
                    from == 0 && length == VIRTIO_NET_HEADER + UDP_HEADERS + payload
                });
                if let Some((_, every)) = ours {
                    let seen = counts[1].fetch_add(1, Ordering::Relaxed) + 1;
                    if seen.is_multiple_of(every) {
                        counts[0].fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                }
                queue.push_back((Instant::now() + spec.delay, buffer[..length].to_vec()));
            }
            while queue.front().is_some_and(|(due, _)| *due <= now) {
                let (_, frame) = queue.pop_front().unwrap();
                // A tap takes a frame whole; one that is going takes none.
                let _ = (&taps[1 - from]).write(&frame);
            }
        }
        let due = waiting.iter().filter_map(|queue| queue.front());
        let next = due.map(|(due, _)| due.saturating_duration_since(now)).min();
        let limit = next.unwrap_or(LOOK).min(LOOK);
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: limit.as_nanos() as _,
        };
        let mut polled = taps.each_ref().map(|tap| PollFd::new(tap, PollFlags::IN));
        let _ = poll(&mut polled, Some(&limit));
    }
}
