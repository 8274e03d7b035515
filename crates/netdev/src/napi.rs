//! Receiving in kernel threads of their own (threaded NAPI).
//!
//! A veth has NAPI when its own GRO is on (or an XDP program is attached); frames enter it when
//! the sending end has no TSO feature at all (drivers/net/veth.c, `veth_xmit` and
//! `veth_skb_is_eligible_for_gro`). Then `threaded` = 1 moves its poll function from the
//! softirq of whoever sent into a kernel thread `napi/<interface>-<id>`.

use std::io;

use netlink_packet_core::NLM_F_DUMP;
use netlink_sys::protocols::NETLINK_GENERIC;
use rustix::process::Pid;

use crate::cpu_set;
use crate::genetlink::Family;
use crate::link::Link;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::ns_sysfs::NsSysfs;
use crate::pid_namespace;
use crate::raw::RawMessage;
use crate::schedule;

// include/uapi/linux/netdev.h
const NETDEV_CMD_NAPI_GET: u8 = 11;
const NETDEV_A_NAPI_IFINDEX: u16 = 1;
const NETDEV_A_NAPI_ID: u16 = 2;
const NETDEV_A_NAPI_PID: u16 = 4;

/// Features of the receiving end of a veth pair: GRO on, which gives it NAPI.
pub const RECEIVER_FEATURES: [(&str, bool); 1] = [("rx-gro", true)];

/// Features of the sending end of a veth pair: every one of the kernel's NETIF_F_ALL_TSO off.
pub const SENDER_FEATURES: [(&str, bool); 4] = [
    ("tx-tcp-segmentation", false),
    ("tx-tcp-ecn-segmentation", false),
    ("tx-tcp-mangleid-segmentation", false),
    ("tx-tcp6-segmentation", false),
];

/// A kernel thread that polls a receive queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NapiThread {
    /// Name: `napi/d0-8193`.
    pub name: String,
    /// Process number, as this process sees it.
    pub pid: u32,
}

/// Lets every receive queue of an interface be polled by a kernel thread of its own, and finds
/// these threads, in the order of the queues. The interface must be up.
///
/// # Errors
/// [`NetError::Unsupported`] when the kernel (before 5.12) or the driver has no threaded NAPI,
/// an error of the threads that says what to do where a PID namespace hides them.
pub fn make_threaded(
    ns: &NetNs,
    sysfs: &NsSysfs,
    link: &Link,
) -> Result<Vec<NapiThread>, NetError> {
    let before = threads_of(&link.name)?;
    // The attribute exists since Linux 5.12.
    let written = sysfs.write(&link.name, "threaded", "1");
    written.map_err(NetError::unsupported_where_missing)?;
    let actual = sysfs.read(&link.name, "threaded")?;
    if actual != "1" {
        return Err(NetError::NotApplied {
            operation: "make NAPI threaded of",
            object: link.name.clone(),
            wanted: "1".to_owned(),
            actual,
        });
    }
    let after = threads_of(&link.name)?;
    let mut threads: Vec<_> = match pids(ns, link.index) {
        Ok(pids) => after
            .into_iter()
            .filter(|thread| pids.contains(&thread.pid))
            .collect(),
        // Kernels before 6.8 do not tell the pid: a thread that was not there before is ours.
        Err(_) => after
            .into_iter()
            .filter(|thread| !before.contains(thread))
            .collect(),
    };
    if threads.is_empty() {
        let why = if pid_namespace::is_first() {
            io::Error::from_raw_os_error(libc::ENOENT)
        } else {
            io::Error::other("this container hides the kernel's threads; start it with --pid=host")
        };
        return Err(NetError::new("find the NAPI threads of", &link.name, why));
    }
    // Queues get their numbers one after the other; their threads are made in any order.
    threads.sort_by_key(|thread| number(&thread.name));
    Ok(threads)
}

/// Pins a kernel thread to one CPU and reads back where it may run.
///
/// # Errors
/// [`NetError::NotPermitted`] without CAP_SYS_NICE in the initial user namespace,
/// [`NetError::NotApplied`] when the kernel keeps another CPU set.
pub fn pin(thread: &NapiThread, cpu: u32) -> Result<(), NetError> {
    const OPERATION: &str = "pin kernel thread";
    cpu_set::pin(pid(thread), &[cpu]).map_err(|e| NetError::new(OPERATION, &thread.name, e))?;
    let actual = cpus(thread)?;
    if actual != [cpu] {
        return Err(NetError::NotApplied {
            operation: OPERATION,
            object: thread.name.clone(),
            wanted: format!("CPU {cpu}"),
            actual: format!("CPUs {actual:?}"),
        });
    }
    Ok(())
}

/// Puts a kernel thread before ordinary threads. Without threaded NAPI a driver's receive work runs in a softirq,
/// which no program can interrupt; as a thread it shares its CPU with what wakes there.
///
/// # Errors
/// [`NetError::NotPermitted`] without CAP_SYS_NICE in the initial user namespace.
pub fn prefer(thread: &NapiThread) -> Result<(), NetError> {
    const OPERATION: &str = "raise the priority of kernel thread";
    schedule::prefer(pid(thread)).map_err(|e| NetError::new(OPERATION, &thread.name, e))
}

/// CPUs a kernel thread may run on.
///
/// # Errors
/// [`NetError::NotFound`] when the thread is gone.
pub fn cpus(thread: &NapiThread) -> Result<Vec<u32>, NetError> {
    cpu_set::allowed(pid(thread))
        .map_err(|e| NetError::new("read CPUs of kernel thread", &thread.name, e))
}

fn pid(thread: &NapiThread) -> Option<Pid> {
    Pid::from_raw(thread.pid as i32)
}

/// Every kernel thread called `napi/<interface>-<id>`, in whatever namespace its interface is.
fn threads_of(interface: &str) -> Result<Vec<NapiThread>, NetError> {
    let prefix = format!("napi/{interface}-");
    let entries = std::fs::read_dir("/proc").map_err(|e| NetError::new("list", "/proc", e))?;
    let mut threads = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        // Processes end while we look; one that cannot be read is not ours.
        let Ok(name) = std::fs::read_to_string(entry.path().join("comm")) else {
            continue;
        };
        if is_thread_name(name.trim_end(), &prefix) {
            threads.push(NapiThread {
                name: name.trim_end().to_owned(),
                pid,
            });
        }
    }
    Ok(threads)
}

/// The number of the NAPI instance at the end of a thread's name.
fn number(name: &str) -> Option<u32> {
    name.rsplit_once('-')?.1.parse().ok()
}

/// Kernels before 5.17 cut thread names to 15 bytes, within the id or even before it.
fn is_thread_name(name: &str, prefix: &str) -> bool {
    match name.strip_prefix(prefix) {
        Some(id) => id.bytes().all(|b| b.is_ascii_digit()),
        None => name.len() == 15 && prefix.starts_with(name),
    }
}

/// Pids of the NAPI threads of an interface, from the kernel's netdev family.
fn pids(ns: &NetNs, index: u32) -> Result<Vec<u32>, NetError> {
    const OPERATION: &str = "list NAPI instances of namespace";
    let channel = Channel::open(ns, NETLINK_GENERIC)?;
    let error = |e| NetError::new(OPERATION, ns, e);
    let family = Family::find(&channel, "netdev").map_err(error)?;
    let mut request = RawMessage::genl(family, NETDEV_CMD_NAPI_GET);
    request.put_u32(NETDEV_A_NAPI_IFINDEX, index);
    let answers = channel.query(request, NLM_F_DUMP).map_err(error)?;
    Ok(answers
        .iter()
        .filter(|answer| answer.u32(NETDEV_A_NAPI_ID).is_some())
        .filter_map(|answer| answer.u32(NETDEV_A_NAPI_PID))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_follow_their_numbers() {
        assert!(number("napi/d0-8193") < number("napi/d0-10001"));
        assert!(number("napi/eth-x-7") > number("napi/enp0s31f6n"));
    }

    #[test]
    fn thread_names_are_told_from_their_neighbours() {
        for (name, interface, ours) in [
            ("napi/d0-8193", "d0", true),
            ("napi/d0-8193", "d", false),
            ("napi/d0-x-8193", "d0", false),
            ("napi/enp0s31f6-", "enp0s31f6", true),
            ("napi/enp0s31f6n", "enp0s31f6np1", true),
            ("ksoftirqd/0", "d0", false),
        ] {
            let prefix = format!("napi/{interface}-");
            assert_eq!(is_thread_name(name, &prefix), ours, "{name} {interface}");
        }
    }
}
