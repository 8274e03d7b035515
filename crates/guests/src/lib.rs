//! Virtual machines: QEMU and a kernel from Debian packages, an initramfs made of this very program,
//! and a process that ends with the one that started it.
//!
//! A guest needs no disk image: the kernel starts the running program again, from an archive
//! that holds it, the libraries it is linked with and the kernel modules it needs. Its first process
//! is [`init`], which the host talks to over a [`channel`].

pub mod accel;
pub mod bundle;
pub mod channel;
pub mod console;
pub mod devices;
pub mod emulator;
pub mod error;
pub mod files;
pub mod init;
pub mod initramfs;
pub mod machine;
pub mod modules;
mod options;
pub mod qmp;
mod root;
mod tsc;
pub mod virtio;
pub mod virtio_ports;
pub mod wire;

pub use accel::{Accelerator, ProofWait, Watch};
pub use bundle::{Bundle, BundleSpec, Kernel};
pub use emulator::{Emulator, Purpose};
pub use error::QemuError;
pub use machine::{Machine, MachineSpec};
pub use options::QemuOption;
