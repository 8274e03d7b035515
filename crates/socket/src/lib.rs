//! Endpoints of socket workloads: request/response and streams over TCP and UDP.
//!
//! A [`Server`] waits for one control connection per client, checks its token and its orders, and
//! opens data sockets for one test at a time. [`Connection`] is the client. Neither trusts the
//! other: messages are bounded, every wait has a limit. A worker thread with one flow blocks in
//! the kernel, as applications with a connection do and as cheap as it gets; one with more flows
//! uses epoll.

mod client;
mod cpu;
mod error;
mod files;
mod hello;
#[doc(hidden)]
pub mod hostile;
mod io_step;
mod job;
mod join;
mod pin;
mod poller;
mod server;
mod service;
mod session;
mod sys;
mod tcp_crr;
mod tcp_info;
mod tcp_rr;
mod tcp_stream;
mod token;
mod told;
mod turns;
mod udp_rr;
mod udp_stream;
mod wire;
mod workers;

pub use client::{Connection, Ran};
pub use error::SocketError;
pub use pin::check_cpus;
pub use server::Server;
pub use service::{ServerConfig, to_go};
pub use token::{Token, TokenError};
pub use wire::PROTOCOL;
