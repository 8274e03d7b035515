//! Both ends in namespaces, with a path that loses what it is told to lose.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::net::{IpAddr, SocketAddr};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nicety_model::sock::{Ending, SockSpec, SockTest};
use nicety_netdev::link::Links;
use nicety_netdev::privilege::Privilege;
use nicety_paths::{Between, EndpointSite, Endpoints};
use nicety_socket::{Connection, Ran, Server, ServerConfig, Token};
use nicety_testkit::runner::{Skip, Test, run as run_tests};

mod relay;

type Outcome = Result<(), Skip>;

fn main() -> ExitCode {
    run_tests([
        Test::new("every_tenth_request_lost_is_counted_exactly", lost_requests),
        Test::new(
            "every_tenth_datagram_lost_is_counted_exactly",
            lost_datagrams,
        ),
        Test::new("interface_counters_agree", interface_counters),
        Test::new("ipv6_over_a_bridge", ipv6).as_any_user(),
        Test::new("a_known_delay_is_the_latency", relay::truth::delay),
        Test::new("a_relay_that_drops_is_the_loss", relay::truth::loss),
        Test::new("a_token_bucket_is_the_throughput", relay::truth::throughput),
    ])
}

fn run(ends: &Endpoints, ipv6: bool, spec: &SockSpec) -> Ran {
    let ip = if ipv6 {
        ends.b.ipv6.unwrap()
    } else {
        ends.b.ipv4
    };
    run_between([&ends.a, &ends.b], ip, spec)
}

/// Runs a test from the first site against a server at `ip` of the second.
fn run_between([a, b]: [&EndpointSite; 2], ip: IpAddr, spec: &SockSpec) -> Ran {
    let over = AtomicBool::new(false);
    let token = Token::random().unwrap();
    let config = ServerConfig {
        listen: SocketAddr::new(ip, 0),
        token: token.clone(),
        threads: 2,
    };
    let server = b.ns.run(|| Server::bind(config)).unwrap().unwrap();
    let to = server.address().unwrap().to_string();
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| b.ns.run(|| server.run(&over, &|_| ())));
        let ran = a.ns.run(|| {
            let mut connection = Connection::open(&to, &token, None)?;
            connection.run(spec, 2, &AtomicBool::new(false), &mut |_| ())
        });
        over.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
        let ran = ran.unwrap().unwrap();
        assert_eq!(ran.ending, Ending::Complete, "{ran:?}");
        ran
    })
}

/// Lets B drop every tenth UDP datagram of `bytes`, the first of them first; false without nft.
fn drop_every_tenth(ends: &Endpoints, bytes: u32) -> Outcome {
    let length = bytes + 8;
    let rules = format!(
        "table inet t {{ chain c {{ type filter hook input priority 0; \
         udp length {length} numgen inc mod 10 0 drop; }}; }}"
    );
    let loaded = ends.b.ns.run(|| {
        let mut nft = Command::new("nft");
        let path = std::env::var("PATH").unwrap_or_default();
        nft.env("PATH", format!("{path}:/usr/sbin:/sbin"))
            .arg(&rules);
        nft.output()
    });
    match loaded.unwrap() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            Ok(())
        }
        Err(error) => Err(Skip(format!("nft cannot be started: {error}"))),
    }
}

fn lost_requests(_: Privilege) -> Outcome {
    for parallel in [1, 3] {
        let ends = Endpoints::build(Between::Veth).unwrap();
        let spec = SockSpec {
            message_bytes: 64,
            parallel,
            ..SockSpec::new(SockTest::UdpRr, Duration::from_millis(500))
        };
        drop_every_tenth(&ends, 64)?;
        let ran = run(&ends, false, &spec);
        let requests = ran.client.requests.unwrap();
        assert!(requests.sent > 20, "{requests:?}");
        assert_eq!(requests.lost, requests.sent.div_ceil(10), "{requests:?}");
        assert_eq!(requests.sent, requests.answered + requests.lost);
        assert_eq!(requests.unexpected, 0);
        let server = ran.server.unwrap();
        assert_eq!(server.transactions, requests.answered);
        // A lost request has no latency: none of the figures is a time-out's.
        let latency = ran.client.latency_us.unwrap();
        assert_eq!(latency.samples, requests.answered);
        assert!(latency.p50 < 10_000.0, "{latency:?}");
        let timeouts: u64 = ran.client.seconds.iter().map(|s| s.timeouts).sum();
        assert!(
            timeouts + u64::from(parallel) >= requests.lost,
            "{timeouts}"
        );
    }
    Ok(())
}

fn lost_datagrams(_: Privilege) -> Outcome {
    let ends = Endpoints::build(Between::Veth).unwrap();
    drop_every_tenth(&ends, 100)?;
    let spec = SockSpec {
        message_bytes: 100,
        rate_per_s: Some(2000.0),
        // One datagram per packet: nft sees datagrams, not pieces of many.
        offload: false,
        ..SockSpec::new(SockTest::UdpStream, Duration::from_millis(500))
    };
    let ran = run(&ends, false, &spec);
    let sent = ran.client.datagrams.unwrap().datagrams;
    let got = ran.server.unwrap().datagrams.unwrap();
    assert_eq!(sent, 1000, "{:?}", ran.client.notes);
    assert_eq!(got.datagrams, 900);
    assert_eq!((got.duplicate, got.reordered), (Some(0), Some(0)));
    assert_eq!(got.socket_dropped, Some(0));
    Ok(())
}

fn interface_counters(_: Privilege) {
    let ends = Endpoints::build(Between::Veth).unwrap();
    let links = Links::open(&ends.b.ns).unwrap();
    let counters = || links.get(&ends.b.interface).unwrap().counters;
    let before = counters();
    let spec = SockSpec {
        message_bytes: 1000,
        rate_per_s: Some(2000.0),
        offload: false,
        ..SockSpec::new(SockTest::UdpStream, Duration::from_millis(500))
    };
    let ran = run(&ends, false, &spec);
    let sent = ran.client.datagrams.unwrap().datagrams;
    let after = counters();
    let (packets, bytes) = (
        after.rx_packets - before.rx_packets,
        after.rx_bytes - before.rx_bytes,
    );
    // Beside the datagrams: the control connection and the greeting, below 100 packets.
    assert!(
        (sent..sent + 100).contains(&packets),
        "{packets} for {sent}"
    );
    assert!(bytes >= sent * 1042, "{bytes} for {sent}");
    assert!(bytes < sent * 1042 + 50_000, "{bytes} for {sent}");
}

fn ipv6(_: Privilege) -> Outcome {
    let ends = Endpoints::build(Between::Bridge).unwrap();
    if ends.b.ipv6.is_none() {
        return Err(Skip("this kernel has no IPv6".into()));
    }
    for test in SockTest::ALL {
        let spec = SockSpec {
            parallel: 2,
            ..SockSpec::new(test, Duration::from_millis(200))
        };
        let ran = run(&ends, true, &spec);
        assert!(
            ran.client.sent_bytes + ran.client.received_bytes > 0,
            "{test}"
        );
    }
    Ok(())
}
