//! iperf3 and sockperf: started, and read.

use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nicety_benchmarks::program::Held;
use nicety_model::sock::SockTest;
use nicety_paths::Endpoints;

use crate::{DATAGRAM, Got, MESSAGE, Pinning};

pub const ALL: [&str; 2] = ["iperf3", "sockperf"];
/// Next port: a port for every run, so that none meets connections of the one before.
static PORT: AtomicU16 = AtomicU16::new(5201);

/// Who is compared with.
pub fn of(test: SockTest) -> &'static str {
    if test.has_transactions() {
        "sockperf"
    } else {
        "iperf3"
    }
}

/// One run: server process in B, client process in A.
pub fn run(ends: &Endpoints, test: SockTest, pinning: Pinning, window: Duration) -> Result<Got> {
    let ip = ends.b.ipv4.to_string();
    let port = PORT.fetch_add(1, Ordering::Relaxed);
    let seconds = window.as_secs().max(1).to_string();
    let (program, tcp) = (of(test), !test.is_udp());
    let (server, client) = match program {
        "iperf3" => {
            let server = format!("-s -1 -B {ip} -p {port}");
            let kind = if tcp {
                String::new()
            } else {
                format!("-u -b 0 -l {DATAGRAM}")
            };
            (server, format!("-c {ip} -p {port} -t {seconds} -J {kind}"))
        }
        _ => {
            let kind = if tcp { "--tcp" } else { "" };
            let server = format!("sr -i {ip} -p {port} {kind}");
            let client =
                format!("pp -i {ip} -p {port} -t {seconds} -m {MESSAGE} --full-rtt {kind}");
            (server, client)
        }
    };
    let start = |words: &str| {
        let mut command = Command::new(program);
        command
            .args(words.split_whitespace())
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let mut command = start(&server);
    command.stdout(Stdio::null());
    let child = ends.b.ns.run(|| -> Result<_> {
        pinning.apply()?;
        Ok(command.spawn()?)
    })??;
    let _server = Held::killed(child);
    let out = ends.a.ns.run(|| -> Result<_> {
        pinning.apply()?;
        if program == "sockperf" && tcp {
            listening(SocketAddr::new(ends.b.ipv4, port))?;
        } else {
            // iperf3 serves the first connection only, UDP has none: time must do.
            std::thread::sleep(Duration::from_millis(300));
        }
        Ok(start(&client).output()?)
    })??;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let got = match program {
        "iperf3" => iperf3(&text, tcp),
        _ => sockperf(&text),
    };
    got.with_context(|| format!("{program} {client} said: {}", text.trim()))
}

fn listening(at: SocketAddr) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(3);
    while TcpStream::connect(at).is_err() {
        if Instant::now() > until {
            bail!("the server does not listen");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn iperf3(text: &str, tcp: bool) -> Result<Got> {
    let all: serde_json::Value = serde_json::from_str(text)?;
    let number = |path: &str| all.pointer(path).and_then(serde_json::Value::as_f64);
    let (mbps, seconds) = if tcp {
        let bits = number("/end/sum_received/bits_per_second");
        let seconds = number("/end/sum_received/seconds");
        (bits.map(|bits| bits / 1e6), seconds)
    } else {
        // The rate of the sum is the sender's; what arrived is in the counts.
        let seconds = number("/end/sum/seconds");
        let got = number("/end/sum/packets").zip(number("/end/sum/lost_packets"));
        let bytes = got.map(|(sent, lost)| (sent - lost) * f64::from(DATAGRAM));
        (bytes.zip(seconds).map(|(b, s)| b * 8.0 / s / 1e6), seconds)
    };
    Ok(Got {
        mbps: Some(mbps.context("no rate")?),
        seconds: seconds.context("no time")?,
        ..Got::default()
    })
}

fn sockperf(text: &str) -> Result<Got> {
    let after = |line: &str, word: &str| -> Option<f64> {
        let rest = line.split(word).nth(1)?.trim_start_matches([' ', '=']);
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let line = |word: &str| text.lines().find(|line| line.contains(word));
    let valid = line("[Valid Duration]").context("no valid duration")?;
    let seconds = after(valid, "RunTime=").context("no run time")?;
    let received = after(valid, "ReceivedMessages=").context("no count")?;
    Ok(Got {
        per_s: Some(received / seconds),
        p50_us: line("percentile 50.000").and_then(|line| after(line, "50.000")),
        p99_us: line("percentile 99.000").and_then(|line| after(line, "99.000")),
        seconds,
        ..Got::default()
    })
}
