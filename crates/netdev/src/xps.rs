//! Which queue of an interface a frame is sent on (transmit packet steering).
//!
//! Left alone, a packet socket that bypasses the queueing discipline sends on the queue with its
//! CPU's number (`packet_pick_tx_queue` in net/packet/af_packet.c). Where steering gives the CPU
//! several queues the kernel takes one of them by the hash over the frame's addresses and ports
//! (`__get_xps_queue_idx` in net/core/dev.c), for every way to send but XDP's.

use std::io;

use nicety_model::cpu_list::{format_cpu_mask, parse_cpu_list, parse_cpu_mask};

use crate::net_error::NetError;
use crate::netns::NetNs;
use crate::ns_sysfs::NsSysfs;

/// Lets every CPU send on each of the interface's first `queues` queues, so that a frame's flow
/// decides, and reads it back.
///
/// # Errors
/// [`NetError::NotPermitted`] without CAP_NET_ADMIN in the initial user namespace, [`NetError::NotFound`] for
/// an interface without that many queues, [`NetError::Unsupported`] on a kernel without transmit
/// packet steering (CONFIG_XPS), [`NetError::NotApplied`] when it keeps other CPUs.
pub fn by_flow(ns: &NetNs, interface: &str, queues: u32) -> Result<(), NetError> {
    let sysfs = NsSysfs::mount(ns)?;
    let online = sysfs.path().join("devices/system/cpu/online");
    let text = std::fs::read_to_string(&online)
        .map_err(|e| NetError::new("read", online.display().to_string(), e))?;
    let all = parse_cpu_list(text.trim()).ok_or_else(|| {
        let error = io::Error::other(format!("it says {text:?}"));
        NetError::new("read", online.display().to_string(), error)
    })?;
    let mask = format_cpu_mask(&all);
    for queue in 0..queues {
        let file = format!("queues/tx-{queue}/xps_cpus");
        let written = sysfs.write(interface, &file, &mask);
        written.map_err(NetError::unsupported_where_missing)?;
        let actual = sysfs.read(interface, &file)?;
        if parse_cpu_mask(&actual).as_ref() != Some(&all) {
            return Err(NetError::NotApplied {
                operation: "set the CPUs of a transmit queue of",
                object: interface.to_owned(),
                wanted: mask,
                actual,
            });
        }
    }
    Ok(())
}
