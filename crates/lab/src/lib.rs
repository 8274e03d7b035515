//! A KVM host in a box: a virtual machine that looks like a real host with an Intel 82576, on
//! the root file system of the host it runs on.
//!
//! The guest reads the host's files over 9p and writes into memory only. Commands reach it
//! through virtio-serial ports, one session per port at a time, in the messages of [`wire`].

pub mod agent;
pub mod attach;
mod beat;
pub mod boot;
pub mod command;
pub mod init;
mod limiter;
pub mod runs;
mod serve;
pub mod session;
pub mod setup;
pub mod signals;
pub mod spec;
pub mod state;
pub mod terminal;
pub mod up;
pub mod wire;

pub use boot::{Lab, boot};
pub use session::{Ended, Session, SessionError, SessionEvent};
pub use spec::{LabSpec, Share};
pub use state::{Home, LabState, Running};
