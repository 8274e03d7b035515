//! Packet sockets and thread times for the tests: as little as they need.
#![allow(unsafe_code)] // AF_PACKET has no safe wrapper among the dependencies.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nicety_paths::PathPort;

pub struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// A raw packet socket bound to `port`, without queueing discipline on the way out.
    pub fn open(port: &PathPort) -> Self {
        port.ns.run(|| Self::bound(port.index)).unwrap().unwrap()
    }

    fn bound(index: u32) -> io::Result<Self> {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: plain system calls; the descriptor is owned from here on, the address and the
        // option values live through the calls and their sizes are theirs.
        unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let socket = Self(OwnedFd::from_raw_fd(fd));
            socket.option(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32)?;
            socket.option(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
            let limit = libc::timeval {
                tv_sec: 10,
                tv_usec: 0,
            };
            socket.option(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &limit)?;
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = protocol;
            address.sll_ifindex = index as i32;
            let size = size_of_val(&address) as u32;
            if libc::bind(fd, (&raw const address).cast(), size) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(socket)
        }
    }

    fn option<T>(&self, level: i32, name: i32, value: &T) -> io::Result<()> {
        // SAFETY: the descriptor is open; `value` lives through the call and has the size given.
        let result = unsafe {
            let size = size_of::<T>() as u32;
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                name,
                (&raw const *value).cast(),
                size,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Sends one frame; the error is the number the kernel gave.
    pub fn send(&self, frame: &[u8]) -> Result<(), i32> {
        // SAFETY: the descriptor is open and the buffer is as long as said.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap());
        }
        assert_eq!(sent as usize, frame.len());
        Ok(())
    }

    /// The next frame, or nothing within ten seconds.
    pub fn receive(&self) -> Option<Vec<u8>> {
        self.take(0)
    }

    /// The next frame, if it is there.
    pub fn waiting(&self) -> Option<Vec<u8>> {
        self.take(libc::MSG_DONTWAIT)
    }

    fn take(&self, flags: i32) -> Option<Vec<u8>> {
        let mut frame = vec![0; 16_384];
        // SAFETY: the descriptor is open and the buffer is as long as said.
        let got = unsafe {
            libc::recv(
                self.0.as_raw_fd(),
                frame.as_mut_ptr().cast(),
                frame.len(),
                flags,
            )
        };
        frame.truncate(usize::try_from(got).ok()?);
        Some(frame)
    }
}

/// A UDP/IPv4 frame of `bytes` bytes without FCS, header checksum right, no UDP checksum.
pub fn udp_frame(source: [u8; 6], destination: [u8; 6], bytes: usize) -> Vec<u8> {
    let ip_length = (bytes - 14) as u16;
    let mut header = Vec::from([0x45, 0]);
    header.extend(ip_length.to_be_bytes());
    header.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    let sum: u32 = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    let mut frame = [&destination[..], &source, &[8, 0], &header].concat();
    frame.extend([0x10, 0, 0x10, 1]);
    frame.extend((ip_length - 20).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(bytes, 0xa5);
    frame
}

/// A UDP/IPv6 frame of `bytes` bytes without FCS, at least 62, with the checksum that IPv6 wants.
pub fn udp6_frame(source: [u8; 6], destination: [u8; 6], bytes: usize) -> Vec<u8> {
    const HEADERS: usize = 14 + 40;
    let length = (bytes - HEADERS) as u16;
    let address = |host: u8| [0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
    let mut segment = Vec::from([0x10, 0, 0x10, 1]);
    segment.extend(length.to_be_bytes());
    segment.extend([0, 0]);
    segment.resize(usize::from(length), 0xa5);
    let pseudo = [
        &address(1)[..],
        &address(2),
        &length.to_be_bytes(),
        &[0, 17],
    ]
    .concat();
    let sum: u32 = [&pseudo[..], &segment]
        .concat()
        .chunks(2)
        .map(|pair| {
            u32::from(u16::from_be_bytes([
                pair[0],
                pair.get(1).copied().unwrap_or(0),
            ]))
        })
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    segment[6..8].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    let ip = [&[0x60, 0, 0, 0][..], &length.to_be_bytes(), &[17, 64]].concat();
    let link = [&destination[..], &source, &[0x86, 0xdd]].concat();
    [link, ip, address(1).to_vec(), address(2).to_vec(), segment].concat()
}

/// Frames of IPv4 and IPv6 by turns: number `number` of some, of `bytes` bytes or the least that IPv6 takes.
pub fn by_turns(number: usize, source: [u8; 6], destination: [u8; 6], bytes: usize) -> Vec<u8> {
    match number % 2 {
        0 => udp_frame(source, destination, bytes),
        _ => udp6_frame(source, destination, bytes.max(62)),
    }
}

/// CPU time of a thread in ns (Documentation/scheduler/sched-stats.rst).
pub fn cpu_ns(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// How often a thread was taken off its CPU, by itself or by others.
pub fn context_switches(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    text.lines()
        .filter_map(|line| line.split_once("ctxt_switches:"))
        .map(|(_, count)| count.trim().parse::<u64>().unwrap())
        .sum()
}

/// Whether `pid` still is a kernel thread that polls a receive queue.
pub fn is_napi_thread(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("napi/"))
}

/// Every place of the path that counts frames has a station on the picture of a path with these
/// parameters.
pub fn on_the_picture(path: &dyn nicety_paths::Path, words: &[(&str, &str)]) {
    let words: nicety_model::path::Words = words
        .iter()
        .map(|(key, word)| ((*key).to_owned(), (*word).to_owned()))
        .collect();
    let spec = nicety_model::PathSpec::try_from(&words).unwrap();
    let route = nicety_model::route::Route::of(&spec);
    for place in path.places().unwrap() {
        let drawn = route
            .stations()
            .any(|station| station.names.contains(&place.name));
        assert!(drawn, "{spec}: {} is not on its picture", place.name);
    }
}
