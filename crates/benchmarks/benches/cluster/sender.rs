//! Sends datagrams of both tenants of a host, at rates that can be changed.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use nicety_benchmarks::background::Background;

use crate::{TENANTS, Wants};

/// Largest datagram in an Ethernet frame of 1500.
const DATAGRAM: usize = 1472;
/// The same on the wire: headers, FCS, preamble and gap.
const ON_WIRE: f64 = 1538.0;
/// What is sent at once, so that a port below its limit fills no queue.
const AT_ONCE: f64 = 8_192.0;

/// Sends until the value is dropped; one socket for each tenant.
pub fn start(host: usize, sockets: Vec<UdpSocket>, wants: Wants) -> Result<Background> {
    let work = move |end: &AtomicBool| send(host, &sockets, &wants, end);
    Ok(Background::start(&format!("send-{host}"), work)?)
}

fn send(host: usize, sockets: &[UdpSocket], wants: &Wants, end: &AtomicBool) {
    let packet = [0; DATAGRAM];
    let mut owed = [0.0; TENANTS.len()];
    let mut last = Instant::now();
    while !end.load(Ordering::Relaxed) {
        let rates = [0, 1].map(|tenant| wants.of(tenant, host) / 8.0);
        let fastest = rates.iter().copied().fold(0.0, f64::max);
        let pause = (AT_ONCE / fastest.max(1.0)).clamp(0.001, 0.01);
        std::thread::sleep(Duration::from_secs_f64(pause));
        let elapsed = last.elapsed().as_secs_f64();
        last = Instant::now();
        for ((rate, owed), socket) in rates.iter().zip(&mut owed).zip(sockets) {
            // What a busy machine has kept it from is not sent at once.
            *owed = (*owed + elapsed * rate).min((rate * 0.02).max(2.0 * ON_WIRE));
            while *owed >= ON_WIRE {
                *owed -= ON_WIRE;
                let _ = socket.send(&packet);
            }
        }
    }
}
