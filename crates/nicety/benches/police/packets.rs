//! How near a flood of small packets comes to its limit of packets, also while the processors are busy.

use std::io::Write as _;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nicety_netdev::link::Links;
use serde_json::{Map, Value, json};

use crate::flows::SINK;
use crate::rig::{Over, Rig};
use crate::{UPLINK, number, watch};

/// Packets a second.
const LIMITS: [u64; 3] = [2_000, 20_000, 40_000];
const SETTLED: Duration = Duration::from_secs(3);
const AIM: f64 = 0.01;
/// Times the limit that must be tried, lest the sender is what limits.
const ENOUGH: f64 = 1.1;

/// One tenant floods as fast as the system sends, with as many busy threads as there are CPUs, and with none.
pub fn measure(figures: &mut Map<String, Value>) -> Result<()> {
    let time = Duration::from_secs(number("NICETY_BENCH_SECONDS")?.unwrap_or(10) as u64);
    println!(
        "\nA flood of datagrams of 18 bytes held to packets a second, over {} s: what passed beside the limit, and how many \
         times the limit was tried\n{:<12}{:>24}{:>24}",
        time.as_secs(),
        "limit",
        "CPUs idle",
        "all CPUs busy"
    );
    for limit in LIMITS {
        watch::phase("packets", 2 * (SETTLED + time) + Duration::from_secs(20));
        print!("{limit:<12}");
        for busy in [false, true] {
            let (error, offered) = error(limit, busy, time)?;
            let said = match offered < ENOUGH {
                true => "too few".to_owned(),
                false => format!("{:+.2} %", 100.0 * error),
            };
            print!("{:>24}", format!("{said} of {offered:.1}"));
            std::io::stdout().flush()?;
            let word = if busy { "busy" } else { "idle" };
            figures.insert(format!("packets_{limit}_pps_{word}_error"), json!(error));
            figures.insert(
                format!("packets_{limit}_pps_{word}_tried_ratio"),
                json!(offered),
            );
        }
        println!();
    }
    println!("aim: within {:.0} %", 100.0 * AIM);
    Ok(())
}

/// By how much what passes is above the limit, as a part of it, and how many times the limit was tried.
fn error(limit: u64, busy: bool, time: Duration) -> Result<(f64, f64)> {
    let rig = Rig::new(&["a"], UPLINK)?;
    let policy = format!(
        "[link]\ncapacity = \"{UPLINK}mbit\"\nperiod = \"500ms\"\n\
         [[tenant]]\nname = \"a\"\nports = \"a1\"\nmax_pps = {limit}\n"
    );
    let held = rig.daemon(&policy)?;
    let from = rig.tenant("a").context("the tenant")?;
    let socket = from.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))??;
    socket.connect((SINK, 9))?;
    socket.set_nonblocking(true)?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let over = AtomicBool::new(false);
    let going = || !over.load(Ordering::Relaxed);
    let tried = AtomicU64::new(0);
    let (passed, offered) = std::thread::scope(|scope| {
        let _over = Over(&over);
        scope.spawn(|| {
            while going() {
                // What waits counts against the sender's buffer: it tries again and again, as a flood does.
                let _ = socket.send(&[0; 18]);
                tried.fetch_add(1, Ordering::Relaxed);
            }
        });
        for _ in 0..if busy { cpus } else { 0 } {
            scope.spawn(|| {
                while going() {
                    std::hint::spin_loop();
                }
            });
        }
        let links = Links::open(&rig.hub)?;
        let read = || Ok::<_, anyhow::Error>(links.get("u1")?.counters.tx_packets);
        std::thread::sleep(SETTLED);
        let first = (read(), tried.load(Ordering::Relaxed));
        let begin = Instant::now();
        std::thread::sleep(time);
        let last = (read(), tried.load(Ordering::Relaxed));
        let seconds = begin.elapsed().as_secs_f64();
        let rate = |last: u64, first: u64| (last - first) as f64 / seconds;
        Ok::<_, anyhow::Error>((rate(last.0?, first.0?), rate(last.1, first.1)))
    })?;
    drop(held);
    let limit = limit as f64;
    Ok((passed / limit - 1.0, offered / limit))
}
