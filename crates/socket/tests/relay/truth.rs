//! What is known of the path is what is measured.

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use nicety_model::sock::{SockSpec, SockTest};
use nicety_netdev::privilege::Privilege;
use nicety_paths::{Between, Endpoints};
use nicety_testkit::runner::Skip;

use super::{Relay, Spec};
use crate::{Outcome, run, run_between};

const DELAY: Duration = Duration::from_millis(10);

/// 10 ms either way are 20 ms a transaction, and no request is given up before.
pub fn delay(_: Privilege) -> Outcome {
    let spec = Spec {
        delay: DELAY,
        ..Spec::default()
    };
    let relay = Relay::start(spec)?;
    for test in [SockTest::TcpRr, SockTest::UdpRr, SockTest::TcpCrr] {
        let spec = SockSpec {
            message_bytes: 64,
            ..SockSpec::new(test, Duration::from_millis(800))
        };
        let ran = run_between([&relay.a, &relay.b], relay.b.ipv4, &spec);
        let latency = ran.client.latency_us.unwrap();
        // A connection costs a round trip of its own; the histogram has three digits.
        let trips = if test == SockTest::TcpCrr { 2.0 } else { 1.0 };
        let least = trips * 2.0 * DELAY.as_secs_f64() * 1e6;
        assert!(latency.min >= least * 0.999, "{test}: {latency:?}");
        assert!(latency.min < least * 3.0, "{test}: {latency:?}");
        let requests = ran.client.requests.unwrap_or_default();
        assert_eq!(requests.lost, 0, "{test}: {requests:?}");
        if let Some(tcp) = ran.client.tcp {
            let rtt = tcp.min_rtt_us.unwrap();
            assert!(rtt >= 20_000.0, "{test}: {rtt}");
        }
    }
    Ok(())
}

/// Every tenth datagram: counted by the relay and by the endpoints alike.
pub fn loss(_: Privilege) -> Outcome {
    for (test, every) in [(SockTest::UdpRr, 10), (SockTest::UdpStream, 7)] {
        let spec = Spec {
            drop: Some((200, every)),
            ..Spec::default()
        };
        let relay = Relay::start(spec)?;
        let spec = SockSpec {
            message_bytes: 200,
            rate_per_s: Some(500.0),
            offload: false,
            ..SockSpec::new(test, Duration::from_millis(800))
        };
        let ran = run_between([&relay.a, &relay.b], relay.b.ipv4, &spec);
        let [dropped, seen] = [0, 1].map(|n| relay.counts[n].load(Ordering::Relaxed));
        assert!(dropped > 0 && dropped == seen / every);
        match test {
            SockTest::UdpRr => {
                let requests = ran.client.requests.unwrap();
                assert_eq!((requests.sent, requests.lost), (seen, dropped));
            }
            _ => {
                let sent = ran.client.datagrams.unwrap().datagrams;
                let got = ran.server.unwrap().datagrams.unwrap();
                assert_eq!((sent, got.datagrams), (seen, seen - dropped));
                assert_eq!((got.duplicate, got.reordered), (Some(0), Some(0)));
            }
        }
    }
    Ok(())
}

/// A token bucket in the bridge: what TCP gets is the bucket's rate less its headers.
pub fn throughput(_: Privilege) -> Outcome {
    const RATE_MBPS: f64 = 20.0;
    // 1448 bytes of payload in frames of 1514, as the bucket counts them.
    const PAYLOAD: f64 = 1448.0 / 1514.0;
    let ends = Endpoints::build(Between::Bridge).unwrap();
    let bucket = "qdisc add dev d1 root tbf rate 20mbit burst 16kb limit 128kb";
    let shaped = ends.dut.as_ref().unwrap().run(|| {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut tc = Command::new("tc");
        tc.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        tc.args(bucket.split(' ')).output()
    });
    match shaped.unwrap() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Skip(format!("this kernel has no sch_tbf: {said}")));
        }
        Err(error) => return Err(Skip(format!("tc cannot be started: {error}"))),
    }
    let spec = SockSpec::new(SockTest::TcpStream, Duration::from_secs(2));
    let ran = run(&ends, false, &spec);
    let server = ran.server.unwrap();
    let mbps = server.received_bytes as f64 * 8.0 / 1e6 / server.active_s;
    let share = mbps / (RATE_MBPS * PAYLOAD);
    // Not above it but for the burst; below where the machine kept an end waiting.
    assert!((0.8..1.03).contains(&share), "{mbps} Mbit/s, {share}");
    // A line of the time line for every second, with what TCP said at its end.
    let lines = &ran.client.seconds;
    assert!(lines.len() >= 2, "{lines:?}");
    for line in lines {
        let tcp = line.tcp.unwrap();
        assert!(tcp.rtt_us > 0.0 && tcp.cwnd_segments >= 1.0, "{tcp:?}");
        let delivered = tcp.delivery_rate_mbps.unwrap();
        assert!(delivered > 0.0 && line.sent_bytes > 0, "{line:?}");
    }
    let retransmits: Vec<u64> = lines.iter().map(|l| l.tcp.unwrap().retransmits).collect();
    assert!(retransmits.is_sorted(), "{retransmits:?}");
    Ok(())
}
