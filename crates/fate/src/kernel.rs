//! What the running kernel says of its types.

use std::io;
use std::sync::OnceLock;

use aya::{Btf, Endianness};

use crate::btf;
use crate::refusal::Refusal;

/// What the kernel says of its types, which takes a while to read and stays the same.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) types: Btf,
    /// Names of its reasons; empty before Linux 5.17.
    pub(crate) reasons: Vec<(u32, String)>,
}

impl Kernel {
    pub(crate) fn get() -> Result<&'static Self, Refusal> {
        static KERNEL: OnceLock<Result<Kernel, Refusal>> = OnceLock::new();
        KERNEL
            .get_or_init(Self::read)
            .as_ref()
            .map_err(Clone::clone)
    }

    fn read() -> Result<Self, Refusal> {
        let raw = std::fs::read(btf::KERNEL).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::NotPermitted,
            _ => Refusal::NoTypes,
        })?;
        let types = Btf::parse(&raw, Endianness::default());
        Ok(Self {
            types: types.map_err(|error| Refusal::Kernel(error.to_string()))?,
            reasons: btf::enum_values(&raw, "skb_drop_reason").unwrap_or_default(),
        })
    }
}
