//! A KVM host in a box: a virtual machine that looks like a real host with an Intel 82576, on
//! the root file system of the host it runs on.
//!
//! The guest reads the host's files over 9p and writes into memory only. Commands reach it
//! through virtio-serial ports, one session per port at a time, in the messages of [`wire`].

pub mod agent;
mod beat;
pub mod boot;
pub(crate) mod files;
pub mod init;
mod limiter;
mod serve;
pub mod session;
pub mod spec;
pub mod state;
pub mod wire;

pub use boot::{Lab, boot};
pub use session::{Ended, Session, SessionError, SessionEvent};
pub use spec::{LabSpec, Share};
pub use state::{Home, LabState, Running};
