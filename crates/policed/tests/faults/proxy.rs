//! Makes etcd slow where the kernel has no netem: a proxy that keeps every byte for a while.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nicety_netdev::netns::NetNs;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// Stands between hosts and members until it is dropped.
pub struct Proxy {
    /// Milliseconds on each way.
    delay: Arc<AtomicU64>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    endpoints: Vec<String>,
}

impl Proxy {
    /// In the namespace `hub` at `at`, one port for each member.
    pub fn start(hub: &NetNs, at: &str, members: &[String]) -> Self {
        let delay = Arc::new(AtomicU64::new(0));
        let to: Vec<SocketAddr> = members
            .iter()
            .map(|url| url.trim_start_matches("http://").parse().unwrap())
            .collect();
        let ports = 4001..4001 + to.len() as u16;
        let endpoints = ports
            .clone()
            .map(|port| format!("http://{at}:{port}"))
            .collect();
        let bound = hub.run(|| {
            let bind = |port| std::net::TcpListener::bind((at, port)).unwrap();
            ports.map(bind).collect::<Vec<_>>()
        });
        let bound = bound.unwrap();
        // Connections to members are made in the thread that has entered the namespace.
        let inside = NetNs::at(std::path::Path::new(&format!(
            "/proc/self/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(hub))
        )));
        let inside = inside.unwrap();
        let (end, ended) = oneshot::channel();
        let of_thread = Arc::clone(&delay);
        let thread = std::thread::spawn(move || {
            inside.enter_thread().unwrap();
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_all().build().unwrap().block_on(async {
                for (listener, to) in bound.into_iter().zip(to) {
                    listener.set_nonblocking(true).unwrap();
                    let listener = TcpListener::from_std(listener).unwrap();
                    tokio::spawn(serve(listener, to, Arc::clone(&of_thread)));
                }
                let _ = ended.await;
            });
        });
        Self {
            delay,
            end: Some(end),
            thread: Some(thread),
            endpoints,
        }
    }

    pub fn endpoints(&self) -> &[String] {
        &self.endpoints
    }

    /// Delays each answer by `delay` in all.
    pub fn slow(&self, delay: Duration) {
        self.delay
            .store(delay.as_millis() as u64 / 2, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, to: SocketAddr, delay: Arc<AtomicU64>) {
    while let Ok((near, _)) = listener.accept().await {
        let Ok(far) = TcpStream::connect(to).await else {
            continue;
        };
        let ((near_from, near_to), (far_from, far_to)) = (near.into_split(), far.into_split());
        tokio::spawn(carry(near_from, far_to, Arc::clone(&delay)));
        tokio::spawn(carry(far_from, near_to, Arc::clone(&delay)));
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Arc<AtomicU64>) {
    let (put, mut waiting) = unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((due, bytes)) = waiting.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    });
    let mut buffer = vec![0; 65_536];
    while let Ok(count) = from.read(&mut buffer).await {
        let due = Instant::now() + Duration::from_millis(delay.load(Ordering::Relaxed));
        if count == 0 || put.send((due, buffer[..count].to_vec())).is_err() {
            return;
        }
    }
}
