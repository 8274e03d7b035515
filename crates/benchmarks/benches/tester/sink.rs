//! A far end that drops every frame in XDP, so that whoever sends faces the same: a program of
//! two instructions, attached by a link that ends with this process.
#![allow(unsafe_code)] // edge: bpf(2)

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use anyhow::{Context as _, Result};
use nicety_paths::PathPort;

/// Commands and types of linux/bpf.h.
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
/// `XDP_FLAGS_DRV_MODE` of linux/if_link.h.
const IN_DRIVER: u32 = 1 << 2;
/// `r0 = XDP_DROP; exit`, see Documentation/bpf/standardization/instruction-set.rst.
const DROP: [u64; 2] = [0x0000_0001_0000_00b7, 0x95];

/// Start of `union bpf_attr` for `BPF_PROG_LOAD`; what is left out is zero.
#[repr(C)]
struct Load {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    rest: [u32; 6],
    name: [u8; 16],
    interface: u32,
    attach: u32,
}

/// The same for `BPF_LINK_CREATE`.
#[repr(C)]
struct Link {
    program: u32,
    interface: u32,
    attach: u32,
    flags: u32,
}

/// A port that drops everything; as before when dropped.
#[derive(Debug)]
pub struct Sink {
    _link: OwnedFd,
}

impl Sink {
    pub fn open(port: &PathPort) -> Result<Self> {
        let load = Load {
            kind: BPF_PROG_TYPE_XDP,
            instructions: DROP.len() as u32,
            code: DROP.as_ptr() as u64,
            license: c"Dual MIT/GPL".as_ptr() as u64,
            rest: [0; 6],
            name: *b"drop_all\0\0\0\0\0\0\0\0",
            interface: 0,
            attach: BPF_XDP,
        };
        let program = bpf(BPF_PROG_LOAD, &load).context("cannot load a program that drops")?;
        let link = Link {
            program: program.as_raw_fd() as u32,
            interface: port.index,
            attach: BPF_XDP,
            flags: IN_DRIVER,
        };
        let link = port.ns.run(|| bpf(BPF_LINK_CREATE, &link))?;
        Ok(Self {
            _link: link.context("cannot attach a program that drops")?,
        })
    }
}

fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the attributes, and what they point to, live through the call, which is told their
    // size and writes nothing for these commands.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    let fd = i32::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
