//! Both ends in one process over the loopback interface: every test, counts of both ends.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nicety_model::sock::{Ending, Second, SockSpec, SockTest};
use nicety_socket::{Connection, Ran, Server, ServerConfig, Token};

/// A server on a port of its own, stopped on drop.
struct Served {
    address: SocketAddr,
    token: Token,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn at(listen: &str) -> Self {
        let token = Token::random().unwrap();
        let config = ServerConfig {
            listen: listen.parse().unwrap(),
            token: token.clone(),
            threads: 2,
        };
        let server = Server::bind(config).unwrap();
        let address = server.address().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(&seen, &|_| ()));
        Self {
            address,
            token,
            stop,
            thread: Some(thread),
        }
    }

    fn connect(&self) -> Connection {
        Connection::open(&self.address.to_string(), &self.token, None).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn spec(test: SockTest, parallel: u32) -> SockSpec {
    SockSpec {
        parallel,
        ..SockSpec::new(test, Duration::from_millis(300))
    }
}

fn run(served: &Served, spec: &SockSpec) -> Ran {
    let never = AtomicBool::new(false);
    let ran = served.connect().run(spec, 2, &never, &mut |_| ()).unwrap();
    let server = ran.server.as_ref().unwrap();
    assert_eq!(ran.client.faults, Vec::<String>::new(), "{}", spec.name());
    assert_eq!(server.faults, Vec::<String>::new(), "{}", spec.name());
    assert_eq!(ran.ending, Ending::Complete);
    ran
}

#[test]
fn both_ends_count_the_same_transactions() {
    let served = Served::at("127.0.0.1:0");
    for test in [SockTest::TcpRr, SockTest::TcpCrr, SockTest::UdpRr] {
        for parallel in [1, 5] {
            let ran = run(&served, &spec(test, parallel));
            let server = ran.server.unwrap();
            let name = format!("{test} x{parallel}");
            assert!(ran.client.transactions > 0, "{name}: {:?}", ran.client);
            assert_eq!(ran.client.transactions, server.transactions, "{name}");
            assert_eq!(ran.client.received_bytes, server.sent_bytes, "{name}");
            let latency = ran.client.latency_us.unwrap();
            assert_eq!(latency.samples, ran.client.transactions, "{name}");
            assert!(latency.min > 0.0 && latency.p50 <= latency.max, "{name}");
        }
    }
}

#[test]
fn the_receiver_of_a_tcp_stream_gets_every_byte() {
    let served = Served::at("127.0.0.1:0");
    for parallel in [1, 5] {
        let ran = run(&served, &spec(SockTest::TcpStream, parallel));
        let server = ran.server.unwrap();
        assert!(server.received_bytes > 1_000_000);
        assert_eq!(ran.client.sent_bytes, server.received_bytes, "x{parallel}");
        let ran = run(&served, &spec(SockTest::TcpMaerts, parallel));
        let server = ran.server.unwrap();
        assert_eq!(ran.client.received_bytes, server.sent_bytes, "x{parallel}");
        assert_eq!(ran.client.tcp.unwrap().last.connections, parallel);
    }
}

#[test]
fn datagrams_are_counted_at_both_ends() {
    let served = Served::at("127.0.0.1:0");
    for (offload, parallel) in [(true, 1), (false, 1), (true, 5)] {
        let mut spec = spec(SockTest::UdpStream, parallel);
        spec.offload = offload;
        // Slow enough that nothing is lost.
        spec.rate_per_s = Some(2000.0);
        let ran = run(&served, &spec);
        let (sent, got) = (
            ran.client.datagrams.unwrap(),
            ran.server.unwrap().datagrams.unwrap(),
        );
        // 300 ms at 2000 per second, the one at time zero is the first.
        assert_eq!(sent.datagrams, 600, "{:?}", ran.client.notes);
        assert_eq!(got.datagrams, 600);
        assert_eq!((got.duplicate, got.reordered), (Some(0), Some(0)));
        let cut = ran
            .client
            .features
            .iter()
            .any(|f| f.starts_with("UDP_SEGMENT"));
        assert_eq!(cut, offload);
    }
}

#[test]
fn ipv6_large_and_odd_messages() {
    let served = Served::at("[::1]:0");
    for (test, bytes) in [
        (SockTest::TcpRr, 1_000_000),
        (SockTest::UdpRr, 65_507),
        (SockTest::UdpStream, 3),
        (SockTest::UdpStream, 9_999),
        (SockTest::TcpCrr, 300_001),
        (SockTest::TcpStream, 1),
    ] {
        for parallel in [1, 3] {
            let mut spec = spec(test, parallel);
            spec.message_bytes = bytes;
            let ran = run(&served, &spec);
            let server = ran.server.unwrap();
            let done = server.transactions + server.received_bytes;
            assert!(done > 0, "{test} {bytes}");
            if test.has_transactions() {
                assert_eq!(
                    ran.client.transactions, server.transactions,
                    "{test} {bytes}"
                );
            }
        }
    }
}

#[test]
fn one_connection_runs_many_tests() {
    let served = Served::at("127.0.0.1:0");
    let mut connection = served.connect();
    let never = AtomicBool::new(false);
    for test in SockTest::ALL {
        let ran = connection
            .run(&spec(test, 2), 1, &never, &mut |_| ())
            .unwrap();
        assert_eq!(ran.ending, Ending::Complete, "{test}: {ran:?}");
    }
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let served = Served::at("127.0.0.1:0");
    for test in [SockTest::TcpRr, SockTest::UdpRr, SockTest::TcpCrr] {
        for parallel in [1, 4] {
            let mut spec = spec(test, parallel);
            spec.rate_per_s = Some(200.0);
            let ran = run(&served, &spec);
            // 300 ms at 200 per second; those the machine was too late for are told.
            let unsent = 60 - ran.client.transactions;
            assert!(
                unsent == 0 || !ran.client.notes.is_empty(),
                "{test}: {ran:?}"
            );
            assert!(ran.client.transactions <= 60);
        }
    }
}

#[test]
fn a_stop_ends_the_test_and_keeps_the_figures() {
    let served = Served::at("127.0.0.1:0");
    for test in SockTest::ALL {
        let mut spec = spec(test, 1);
        spec.duration_ms = 60_000;
        let stop = AtomicBool::new(false);
        // The first line of a test in which something was carried.
        let mut carried = |second: &Second| {
            let bytes = second.sent_bytes + second.received_bytes;
            stop.fetch_or(bytes > 0, Ordering::Relaxed);
        };
        let ran = served.connect().run(&spec, 1, &stop, &mut carried).unwrap();
        assert_eq!(ran.ending, Ending::Interrupted, "{test}");
        assert!(
            ran.client.sent_bytes + ran.client.received_bytes > 0,
            "{test}"
        );
    }
}
