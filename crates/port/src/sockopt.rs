//! Options of sockets: those that no library knows, and the size of what may be in flight.
#![allow(unsafe_code)] // edge: the C library's socket calls

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

use rustix::net::sockopt::{set_socket_send_buffer_size, set_socket_send_buffer_size_force};

/// Lets a socket have so many bytes in flight. Beyond wmem_max only with CAP_NET_ADMIN on the host;
/// without it the kernel's limit is what it gets.
pub(crate) fn enlarge_send_buffer(socket: impl AsFd, bytes: usize) -> rustix::io::Result<()> {
    set_socket_send_buffer_size_force(&socket, bytes)
        .or_else(|_| set_socket_send_buffer_size(&socket, bytes))
}

/// Sets an option.
pub(crate) fn set<T>(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: `value` is a plain C value that lives for the call, its size is given.
    checked(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Reads an option into a zeroed `T`.
pub(crate) fn get<T: Copy>(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<T> {
    // SAFETY: only used with plain C integers and structs, for which zero is valid.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: value and length live for the call; the kernel writes at most `length` bytes.
    checked(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    })?;
    Ok(value)
}

/// The error of a call of the C library that returned this.
pub(crate) fn checked(result: libc::c_int) -> io::Result<()> {
    match result {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
