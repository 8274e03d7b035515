//! The server: takes control connections and keeps them apart.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::SocketError;
use crate::pin::check_cpus;
use crate::service::{ServerConfig, Service};
use crate::session;

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    service: Service,
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
            service: Service::new(config),
        })
    }

    /// Lets the workers run on these CPUs in turn.
    ///
    /// # Errors
    /// [`SocketError::Cpu`] for one that this process may not use.
    pub fn pinned(mut self, cpus: &[u32]) -> Result<Self, SocketError> {
        check_cpus(cpus)?;
        self.service.cpus = cpus.into();
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
        let service = &self.service;
        std::thread::scope(|scope| {
            let mut next_id = 0;
            while !stop.load(Ordering::Relaxed) {
                let mut polled = [PollFd::new(&self.listener, PollFlags::IN)];
                let timeout = Timespec {
                    tv_sec: 0,
                    tv_nsec: 100_000_000,
                };
                let _ = poll(&mut polled, Some(&timeout));
                while let Ok((stream, from)) = self.listener.accept() {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let id = next_id;
                    next_id += 1;
                    if !service.admit(id, from.ip(), &stream) {
                        continue;
                    }
                    let serve = move || {
                        session::serve(service, id, &stream, from, stop, log);
                        service.forget(id);
                    };
                    let thread = std::thread::Builder::new().name("sock-client".to_owned());
                    if thread.spawn_scoped(scope, serve).is_err() {
                        service.forget(id);
                    }
                }
            }
            service.dismiss();
        });
    }
}
