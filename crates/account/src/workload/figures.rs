//! What the counts of two endpoints amount to.

use nicety_model::note::{End, SockNote};
use nicety_model::sock::{
    EndReport, Ending, Family, ServiceDemand, SockResult, SockSpec, SockTest,
};
use nicety_model::{LatencySummary, LossRatio, Note, SCHEMA};

/// A finished test as both ends saw it.
#[derive(Debug, Clone)]
pub struct Ends {
    /// What lies between them.
    pub path: String,
    /// IP version.
    pub family: Family,
    /// Whether both ends are on one host.
    pub shared_host: bool,
    /// How it ended.
    pub ending: Ending,
    /// Client's counts.
    pub client: EndReport,
    /// Server's counts.
    pub server: Option<EndReport>,
}

/// The figures of one repeat.
pub fn result(spec: &SockSpec, repeat: u32, ends: Ends) -> SockResult {
    let Ends {
        path,
        family,
        shared_host,
        ending,
        client,
        server,
    } = ends;
    let (sender, receiver) = sides(spec.test, &client, server.as_ref());
    let elapsed_s = receiver
        .filter(|_| !spec.test.has_transactions())
        .unwrap_or(&client)
        .active_s;
    let transactions_per_s = spec
        .test
        .has_transactions()
        .then(|| per_second(client.transactions as f64, elapsed_s))
        .flatten();
    // Datagrams may be lost: what was sent says nothing about what arrived. Over TCP it does.
    let goodput_mbps = match spec.test {
        test if test.has_transactions() => None,
        SockTest::UdpStream => receiver.and_then(|end| mbps(end.received_bytes, elapsed_s)),
        _ => receiver
            .map(|end| end.received_bytes)
            .or(sender.map(|end| end.sent_bytes))
            .and_then(|bytes| mbps(bytes, elapsed_s)),
    };
    let offered_mbps = sender
        .filter(|_| spec.test == SockTest::UdpStream)
        .and_then(|end| mbps(end.sent_bytes, end.active_s));
    let datagrams = receiver.and_then(|end| end.datagrams);
    let loss_ratio = match spec.test {
        SockTest::UdpRr => client
            .requests
            .map(|requests| LossRatio::of(requests.lost, requests.sent)),
        SockTest::UdpStream => {
            sender
                .and_then(|end| end.datagrams)
                .zip(datagrams)
                .map(|(sent, got)| {
                    let different = got.datagrams - got.duplicate.unwrap_or(0).min(got.datagrams);
                    LossRatio::of(sent.datagrams.saturating_sub(different), sent.datagrams)
                })
        }
        _ => None,
    };
    let tcp = sender
        .filter(|_| !spec.test.has_transactions())
        .and_then(|end| end.tcp.as_ref().map(|tcp| (tcp, end)));
    let tcp_efficiency_ratio = tcp.and_then(|(tcp, _)| {
        let (sent, resent) = (tcp.sent_bytes?, tcp.resent_bytes?);
        (sent > 0).then(|| sent.saturating_sub(resent) as f64 / sent as f64)
    });
    let buffer_delay_ratio = tcp.and_then(|(tcp, end)| {
        let rtts: Vec<f64> = end
            .seconds
            .iter()
            .filter_map(|s| Some(s.tcp?.rtt_us))
            .collect();
        let least = tcp.min_rtt_us.filter(|rtt| *rtt > 0.0)?;
        let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
        (mean >= least).then(|| mean / least - 1.0)
    });
    let service_demand = demand(spec.test, shared_host, &client, server.as_ref());
    SockResult {
        schema: SCHEMA,
        cell: format!("{path}/{}", spec.name()),
        path,
        family,
        spec: spec.clone(),
        repeat,
        neighbours: None,
        ending,
        elapsed_s,
        transactions_per_s,
        goodput_mbps,
        offered_mbps,
        latency_us: client.latency_us,
        requests: client.requests,
        datagrams,
        loss_ratio,
        service_demand,
        tcp_efficiency_ratio,
        buffer_delay_ratio,
        notes: notes(&client, server.as_ref()),
        client,
        server,
    }
}

/// Sender and receiver of a stream; of a request/response test the client and the server.
fn sides<'a>(
    test: SockTest,
    client: &'a EndReport,
    server: Option<&'a EndReport>,
) -> (Option<&'a EndReport>, Option<&'a EndReport>) {
    match test {
        SockTest::TcpMaerts => (server, Some(client)),
        _ => (Some(client), server),
    }
}

fn per_second(count: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| count / seconds)
}

fn mbps(bytes: u64, seconds: f64) -> Option<f64> {
    per_second(bytes as f64 * 8.0 / 1e6, seconds)
}

/// netperf's service demand: busy share of all CPUs x number of CPUs x time / work.
fn demand(
    test: SockTest,
    shared_host: bool,
    client: &EndReport,
    server: Option<&EndReport>,
) -> Option<ServiceDemand> {
    let busy_us = |end: &EndReport| {
        let cpu = end.cpu?;
        Some(cpu.host_busy_cpus * cpu.elapsed_s * 1e6)
    };
    let received = match test {
        SockTest::TcpMaerts => client.received_bytes,
        _ => server.map_or(0, |end| end.received_bytes),
    };
    let work = if test.has_transactions() {
        client.transactions as f64
    } else {
        received as f64 / 1024.0
    };
    if work <= 0.0 {
        return None;
    }
    let of_client = busy_us(client).map(|us| us / work);
    let of_server = server
        .filter(|_| !shared_host)
        .and_then(busy_us)
        .map(|us| us / work);
    let transactions = test.has_transactions();
    Some(ServiceDemand {
        client_us_per_kb: of_client.filter(|_| !transactions),
        server_us_per_kb: of_server.filter(|_| !transactions),
        client_us_per_transaction: of_client.filter(|_| transactions),
        server_us_per_transaction: of_server.filter(|_| transactions),
        shared_host,
    })
}

/// Ninety percent of requests within this many times the median are one mode.
const MODES_APART: f64 = 5.0;

/// Two modes in the latency of requests: a CPU that sleeps between them.
fn slept(latency: Option<&LatencySummary>) -> Option<SockNote> {
    let latency = latency.filter(|latency| latency.knows(0.1) && latency.p50 > 0.0)?;
    let (p50_us, p90_us) = (latency.p50, latency.p90);
    (p90_us > MODES_APART * p50_us).then_some(SockNote::SleptBetween { p50_us, p90_us })
}

/// What both ends have to say.
fn notes(client: &EndReport, server: Option<&EndReport>) -> Vec<Note> {
    let slept = slept(client.latency_us.as_ref()).map(Note::from);
    let ends = [(End::Client, Some(client)), (End::Server, server)];
    let reports = ends
        .into_iter()
        .filter_map(|(end, report)| Some((end, report?)));
    reports
        .flat_map(|(end, report)| {
            let faults = report.faults.iter().cloned();
            let notes = report.notes.iter().cloned().map(Box::new);
            faults
                .map(move |what| SockNote::Fault { end, what })
                .chain(notes.map(move |note| SockNote::At { end, note }))
        })
        .map(Note::from)
        .chain(slept)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nicety_model::sock::{DatagramCounts, EndCpu, RequestCounts, Second, TcpEnd, TcpSample};

    use super::*;

    #[test]
    fn two_modes_of_latency_are_told() {
        let of = |p50, p90, samples| {
            slept(Some(&LatencySummary {
                p50,
                p90,
                samples,
                ..LatencySummary::default()
            }))
        };
        let told = SockNote::SleptBetween {
            p50_us: 4.5,
            p90_us: 75.0,
        };
        assert_eq!(of(4.5, 75.0, 100), Some(told));
        assert_eq!(of(4.5, 75.0, 99), None);
        assert_eq!(of(20.0, 75.0, 100), None);
        assert_eq!(slept(None), None);
    }

    fn ends(client: EndReport, server: Option<EndReport>) -> Ends {
        Ends {
            path: "veth".to_owned(),
            family: Family::Ipv4,
            shared_host: false,
            ending: Ending::Complete,
            client,
            server,
        }
    }

    fn spec(test: SockTest) -> SockSpec {
        SockSpec::new(test, Duration::from_secs(2))
    }

    fn cpu(busy: f64) -> Option<EndCpu> {
        Some(EndCpu {
            elapsed_s: 2.0,
            host_cpus: 4,
            host_busy_cpus: busy,
            endpoint_busy_cpus: busy / 2.0,
        })
    }

    #[test]
    fn service_demand_is_netperfs() {
        // netperf's manual: utilisation x CPUs x time over work. 25 % of 4 CPUs for 2 s and
        // 100,000 transactions: 20 us each.
        let client = EndReport {
            active_s: 2.0,
            transactions: 100_000,
            cpu: cpu(1.0),
            ..EndReport::default()
        };
        let server = EndReport {
            cpu: cpu(0.5),
            ..EndReport::default()
        };
        let mut both = ends(client, Some(server));
        let apart = result(&spec(SockTest::TcpRr), 1, both.clone());
        let demand = apart.service_demand.unwrap();
        assert_eq!(demand.client_us_per_transaction, Some(20.0));
        assert_eq!(demand.server_us_per_transaction, Some(10.0));
        assert_eq!(demand.client_us_per_kb, None);
        assert_eq!(apart.transactions_per_s, Some(50_000.0));
        both.shared_host = true;
        let together = result(&spec(SockTest::TcpRr), 1, both)
            .service_demand
            .unwrap();
        assert_eq!(together.client_us_per_transaction, Some(20.0));
        assert_eq!(together.server_us_per_transaction, None);
    }

    #[test]
    fn goodput_is_what_the_receiver_got() {
        let sender = EndReport {
            active_s: 2.0,
            sent_bytes: 4_000_000,
            cpu: cpu(1.0),
            ..EndReport::default()
        };
        let receiver = EndReport {
            active_s: 2.5,
            received_bytes: 2_500_000,
            cpu: cpu(1.0),
            ..EndReport::default()
        };
        for (test, client, server) in [
            (SockTest::TcpStream, sender.clone(), receiver.clone()),
            (SockTest::UdpStream, sender.clone(), receiver.clone()),
            (SockTest::TcpMaerts, receiver.clone(), sender.clone()),
        ] {
            let measured = result(&spec(test), 1, ends(client, Some(server)));
            assert_eq!(measured.goodput_mbps, Some(8.0), "{test}");
            assert_eq!(measured.elapsed_s, 2.5);
            let demand = measured.service_demand.unwrap();
            assert_eq!(demand.client_us_per_kb, Some(2e6 / (2_500_000.0 / 1024.0)));
            let offered = (test == SockTest::UdpStream).then_some(16.0);
            assert_eq!(measured.offered_mbps, offered, "{test}");
        }
    }

    #[test]
    fn a_lost_server_leaves_what_the_client_knows() {
        let client = EndReport {
            active_s: 1.0,
            sent_bytes: 1_000_000,
            ..EndReport::default()
        };
        let stream = result(&spec(SockTest::TcpStream), 1, ends(client.clone(), None));
        assert_eq!(stream.goodput_mbps, Some(8.0));
        let datagrams = result(&spec(SockTest::UdpStream), 1, ends(client, None));
        assert_eq!((datagrams.goodput_mbps, datagrams.loss_ratio), (None, None));
        assert_eq!(datagrams.offered_mbps, Some(8.0));
    }

    #[test]
    fn duplicates_do_not_hide_losses() {
        let counts = |datagrams, duplicate| EndReport {
            active_s: 1.0,
            datagrams: Some(DatagramCounts {
                datagrams,
                duplicate,
                ..DatagramCounts::default()
            }),
            ..EndReport::default()
        };
        let both = ends(counts(100, None), Some(counts(95, Some(5))));
        let measured = result(&spec(SockTest::UdpStream), 1, both);
        assert_eq!(measured.loss_ratio, Some(LossRatio(0.1)));
        let client = EndReport {
            requests: Some(RequestCounts {
                sent: 50,
                answered: 49,
                lost: 1,
                ..RequestCounts::default()
            }),
            ..EndReport::default()
        };
        let measured = result(&spec(SockTest::UdpRr), 1, ends(client, None));
        assert_eq!(measured.loss_ratio, Some(LossRatio(0.02)));
    }

    #[test]
    fn rfc_6349_metrics() {
        let sample = |rtt_us| Second {
            tcp: Some(TcpSample {
                rtt_us,
                ..TcpSample::default()
            }),
            ..Second::default()
        };
        let client = EndReport {
            active_s: 2.0,
            sent_bytes: 1000,
            seconds: vec![sample(30.0), sample(34.0)],
            tcp: Some(TcpEnd {
                min_rtt_us: Some(25.0),
                // The example of RFC 6349 §4.2.1: 102,000 sent, 2,000 of them again.
                sent_bytes: Some(102_000),
                resent_bytes: Some(2_000),
                ..TcpEnd::default()
            }),
            ..EndReport::default()
        };
        let measured = result(&spec(SockTest::TcpStream), 1, ends(client, None));
        assert!((measured.tcp_efficiency_ratio.unwrap() - 0.9804).abs() < 1e-4);
        // §4.3.1: mean 32 over a baseline of 25 is 28 %.
        assert!((measured.buffer_delay_ratio.unwrap() - 0.28).abs() < 1e-9);
    }

    #[test]
    fn nothing_measured_is_nothing_said() {
        let nothing = ends(EndReport::default(), Some(EndReport::default()));
        for test in SockTest::ALL {
            let measured = result(&spec(test), 1, nothing.clone());
            assert_eq!(measured.headline(), None, "{test}");
            assert_eq!(measured.service_demand, None, "{test}");
        }
    }
}
