//! What many tenants receive at once, when some are sent four times as much as others.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nicety_netdev::link::{LinkChange, Links, VethEnd};
use nicety_netdev::netns::NetNs;
use serde_json::{Map, Value, json};

use crate::rig::{Rig, batch};
use crate::{number, watch};

const PORTS: usize = 256;
/// What the link carries, in Mbit/s, and what is left of it.
const LINK: u64 = 200;
const HEADROOM: f64 = 0.03;
/// The most that a tenant may receive: more than its share.
const MOST: &str = "20mbit";
/// Bytes of a frame on the wire, of the datagrams in it, and of the frame as interfaces count it.
const WIRE: f64 = 1_538.0;
const DATAGRAM: usize = 1_472;
const COUNTED: f64 = 1_514.0;
/// The ones that are sent least get so much more than their share, others twice to four times that.
const LEAST: f64 = 1.2;
const CLASSES: usize = 4;
const SETTLED: Duration = Duration::from_secs(8);
const AIM: f64 = 0.999;

/// Datagrams of one thread in the far namespace to all tenants.
pub fn measure(figures: &mut Map<String, Value>) -> Result<()> {
    let ports = number("NICETY_BENCH_PORTS")?.unwrap_or(PORTS);
    let time = Duration::from_secs(number("NICETY_BENCH_SECONDS")?.unwrap_or(10) as u64);
    watch::phase("received", SETTLED + time + Duration::from_secs(60));
    let rig = Rig::new(&[], 1_000)?;
    let owners = NetNs::create("owners")?;
    let far = Links::open(&owners)?;
    let policy = build(&rig, (&owners, &far), ports)?;
    let held = rig.daemon(&policy)?;
    let over = AtomicBool::new(false);
    let (rates, offered) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| flood(&rig.sink, ports, &over));
        let rates = rates(&far, ports, time);
        over.store(true, Ordering::Relaxed);
        (rates, sender.join())
    });
    let (rates, offered) = (rates?, offered.ok().context("the sender")??);
    drop(held);
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let jain = sum * sum / (rates.len() as f64 * squares);
    let wire = sum * WIRE / COUNTED;
    println!(
        "\n{ports} tenants that receive, sent 1, 2, 3 or 4 times as much ({offered:.0} Mbit/s in all), link {LINK} \
         Mbit/s: Jain {jain:.4} (aim: {AIM}), {wire:.1} Mbit/s on the wire"
    );
    figures.insert("received_256_ports_jain".to_owned(), json!(jain));
    let used = wire / LINK as f64;
    figures.insert("received_256_ports_use_ratio".to_owned(), json!(used));
    Ok(())
}

/// Ports at the bridge, and the link layer that the far side knows; a policy of them.
fn build(rig: &Rig, (owners, far): (&NetNs, &Links), ports: usize) -> Result<String> {
    let links = Links::open(&rig.hub)?;
    let bridge = links.get("sw")?.index;
    let mut policy =
        format!("[link]\ncapacity = \"{LINK}mbit\"\nheadroom = {HEADROOM}\nperiod = \"500ms\"\n");
    let (mut neighbours, mut forward) = (String::new(), String::new());
    for port in 0..ports {
        let (near, end) = (format!("p{port}"), format!("g{port}"));
        links.add_veth(
            VethEnd::plain(&rig.hub, &near),
            VethEnd::plain(owners, &end),
        )?;
        let change = LinkChange {
            up: Some(true),
            master: Some(bridge),
            ..LinkChange::default()
        };
        links.change(&near, &change)?;
        far.set_up(&end)?;
        let mac = format!("02:00:00:01:{:02x}:{:02x}", port >> 8, port & 0xff);
        writeln!(
            neighbours,
            "neighbour add {} lladdr {mac} dev u0",
            address(port)
        )?;
        writeln!(forward, "fdb add {mac} dev {near} master static")?;
        writeln!(
            policy,
            "[[tenant]]\nname = \"{port}\"\nports = \"{near}\"\nrx_max = \"{MOST}\""
        )?;
    }
    batch(
        &rig.sink,
        "ip",
        &format!("address add 10.9.0.1/16 dev u0\n{neighbours}"),
    )?;
    batch(&rig.hub, "bridge", &forward)?;
    Ok(policy)
}

fn address(port: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 9, 1 + (port >> 8) as u8, (port & 0xff) as u8)
}

/// Sends until it is over: every fourth as much as the next three. What it sent, in Mbit/s on the wire.
fn flood(from: &NetNs, ports: usize, over: &AtomicBool) -> Result<f64> {
    let socket = from.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))??;
    let data = [0; DATAGRAM];
    let share = LINK as f64 * (1.0 - HEADROOM) * 1e6 / 8.0 / WIRE / ports as f64;
    // Rounds of one datagram for the ones that are sent least come so often.
    let every = Duration::from_secs_f64(1.0 / (LEAST * share));
    let begin = Instant::now();
    let (mut rounds, mut sent) = (0, 0u64);
    while !over.load(Ordering::Relaxed) {
        let due = begin + every * rounds;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        for part in 0..CLASSES {
            for port in (0..ports).filter(|port| part <= port % CLASSES) {
                // What finds no room is not sent.
                sent += u64::from(socket.send_to(&data, (address(port), 9)).is_ok());
            }
        }
        rounds += 1;
    }
    Ok(sent as f64 * WIRE * 8e-6 / begin.elapsed().as_secs_f64())
}

/// What each tenant received, in Mbit/s of frames, once shares have settled.
fn rates(far: &Links, ports: usize, time: Duration) -> Result<Vec<f64>> {
    let read = || -> Result<Vec<u64>> {
        let mut bytes = vec![0; ports];
        for link in far.list()? {
            let port = link
                .name
                .strip_prefix('g')
                .and_then(|port| port.parse().ok());
            if let Some(of) = port.and_then(|port: usize| bytes.get_mut(port)) {
                *of = link.counters.rx_bytes;
            }
        }
        Ok(bytes)
    };
    std::thread::sleep(SETTLED);
    let (begin, before) = (Instant::now(), read()?);
    std::thread::sleep(time);
    let (after, seconds) = (read()?, begin.elapsed().as_secs_f64());
    let rate = |(after, before): (&u64, &u64)| (after - before) as f64 * 8e-6 / seconds;
    Ok(after.iter().zip(&before).map(rate).collect())
}
