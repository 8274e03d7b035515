//! What `nicety drops` and the police daemon's count cost: the kernel's own time of the program for each drop, the
//! reading once a second, and what a sender sees of it.

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use aya::programs::loaded_programs;
use aya::sys::{Stats, enable_stats};
use nicety_fate::{Drops, PLACES};
use nicety_netdev::netns::NetNs;
use nicety_testkit::runner::Skip;

use crate::commands;
use nicety_benchmarks::figures::Figures;

/// Drops per second, and seconds of a measurement.
const RATE: u64 = 10_000;
const SECONDS: u64 = 2;
/// Share of a CPU in per cent that counting may take at that rate.
pub const MOST: f64 = 0.5;
/// Name of the figure that is judged.
pub const COST: &str = "drops: cost at 10 k/s, % of a CPU";
/// Datagrams at once.
const BURST: u64 = 100;

/// One pair, in turning order.
pub fn measure(pair: u32, figures: &mut Figures) -> Result<(), Skip> {
    let ns = NetNs::create("drops").map_err(|error| Skip(error.to_string()))?;
    commands::run(&ns, "ip", &["link", "set", "lo", "up"], "")?;
    for turn in 0..2 {
        let counted = (turn + pair).is_multiple_of(2);
        let drops = counted.then(|| Drops::open(PLACES)).transpose();
        let mut drops = drops.map_err(|why| Skip(why.to_string()))?;
        let per_drop = ns.run(|| send(&mut || {})).map_err(skip)??;
        let word = if counted { "counted" } else { "plain" };
        figures.put(
            format!("drops: sender, ns of CPU per drop, {word}"),
            per_drop,
        );
        if let Some(drops) = &mut drops {
            judge(&ns, drops, figures)?;
        }
    }
    Ok(())
}

fn skip(error: impl std::fmt::Display) -> Skip {
    Skip(error.to_string())
}

/// Time of the program by the kernel's count, and of reading it once a second.
fn judge(ns: &NetNs, drops: &mut Drops, figures: &mut Figures) -> Result<(), Skip> {
    // As long as this is open.
    let _stats = enable_stats(Stats::RunTime).map_err(skip)?;
    drops.read(true).map_err(skip)?;
    let before = program()?;
    let mut reading = 0;
    ns.run(|| {
        send(&mut || {
            let begin = on_cpu();
            // As the police daemon reads.
            let _ = drops.read(false);
            reading += on_cpu() - begin;
        })
    })
    .map_err(skip)??;
    let after = program()?;
    let (time, runs) = (after.0 - before.0, after.1 - before.1);
    let seen = runs.max(1) as f64;
    figures.put("drops: program, ns per drop", time as f64 / seen);
    figures.put(
        "drops: reading, µs a second",
        reading as f64 / 1e3 / SECONDS as f64,
    );
    let busy = time as f64 / seen * RATE as f64 + reading as f64 / SECONDS as f64;
    figures.put(COST, busy / 1e9 * 100.0);
    Ok(())
}

/// Sends at the rate to a port on which nobody listens, and calls `each` once a second; CPU time of a datagram in
/// nanoseconds.
fn send(each: &mut dyn FnMut()) -> Result<f64, Skip> {
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(skip)?;
    let begin = Instant::now();
    let (mut sent, mut busy) = (0, 0);
    for second in 1..=SECONDS {
        while sent < second * RATE {
            let burst = on_cpu();
            for _ in 0..BURST {
                // The kernel may answer that nobody listens, to a later one.
                let _ = socket.send_to(b"x", "127.0.0.1:9");
            }
            busy += on_cpu() - burst;
            sent += BURST;
            let due = begin + Duration::from_secs(1).mul_f64(sent as f64 / RATE as f64);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        each();
    }
    Ok(busy as f64 / sent as f64)
}

/// Nanoseconds that this thread was on a CPU (Documentation/scheduler/sched-stats.rst).
fn on_cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split(' ').next().and_then(|word| word.parse().ok());
    first.unwrap_or(0)
}

/// Nanoseconds and runs of the program that counts, by the kernel's count.
fn program() -> Result<(u64, u64), Skip> {
    let all = loaded_programs().filter_map(Result::ok);
    let mut ours = all.filter(|of| {
        of.name_as_str()
            .is_some_and(|name| name.starts_with("dropped_"))
    });
    let program = ours
        .next()
        .ok_or_else(|| Skip("the program is not loaded".to_owned()))?;
    let fd = program.fd().map_err(skip)?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(&fd));
    let info = Path::new("/proc/thread-self/fdinfo").join(number.to_string());
    let info = std::fs::read_to_string(info).map_err(skip)?;
    let value = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|value| value.trim().parse().ok());
        number.ok_or_else(|| Skip(format!("this kernel tells no {name}")))
    };
    Ok((value("run_time_ns:")?, value("run_cnt:")?))
}
