//! The workers of one endpoint: threads, time line, report.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nicety_model::note::SockNote;
use nicety_model::sock::{DatagramCounts, EndReport, Second};

use crate::cpu::CpuWindow;
use crate::error::SocketError;
use crate::job::{GRACE, Job, Live, Tally, add};
use crate::join::{TcpFlow, UdpFlow};
use crate::{pin, sys, tcp_crr, tcp_info, tcp_rr, tcp_stream, udp_rr, udp_stream};

/// Connections whose TCP_INFO is read each second.
const WATCHED: usize = 256;

/// What one worker does, and with which flows.
#[derive(Debug)]
pub(crate) enum Part {
    TcpRequest(Vec<TcpFlow>),
    TcpRespond(Vec<TcpFlow>),
    TcpPush(Vec<TcpFlow>),
    TcpPull(Vec<TcpFlow>),
    UdpRequest(Vec<UdpFlow>),
    UdpRespond(Vec<UdpFlow>),
    UdpPush(Vec<UdpFlow>),
    UdpPull(Vec<UdpFlow>),
    Connect(Vec<u32>, SocketAddr),
    Accept(Arc<TcpListener>, IpAddr),
}

impl Part {
    fn tcp(&self) -> &[TcpFlow] {
        match self {
            Self::TcpRequest(flows)
            | Self::TcpRespond(flows)
            | Self::TcpPush(flows)
            | Self::TcpPull(flows) => flows,
            _ => &[],
        }
    }

    fn work(self, job: &Job, live: &Live) -> io::Result<Tally> {
        match self {
            Self::TcpRequest(flows) => tcp_rr::request(flows, job, live),
            Self::TcpRespond(flows) => tcp_rr::respond(flows, job, live),
            Self::TcpPush(flows) => tcp_stream::push(flows, job, live),
            Self::TcpPull(flows) => tcp_stream::pull(flows, job, live),
            Self::UdpRequest(flows) => udp_rr::request(flows, job, live),
            Self::UdpRespond(flows) => udp_rr::respond(flows, job, live),
            Self::UdpPush(flows) => udp_stream::push(flows, job, live),
            Self::UdpPull(flows) => udp_stream::pull(flows, job, live),
            Self::Connect(flows, server) => tcp_crr::connect_and_request(flows, server, job, live),
            Self::Accept(listener, client) => {
                tcp_crr::accept_and_answer(&listener, client, job, live)
            }
        }
    }
}

/// Sockets on which workers with one flow wait until there is a request or an answer. A time limit
/// of the socket's own would arm a timer in every wait, so they are ended from outside.
#[derive(Debug, Default)]
struct Waits {
    connections: Vec<Arc<TcpStream>>,
    datagrams: Vec<Arc<UdpSocket>>,
}

impl Waits {
    fn of(parts: &[Part]) -> Self {
        let mut waits = Self::default();
        for part in parts {
            match part {
                Part::TcpRequest(flows) | Part::TcpRespond(flows) if flows.len() == 1 => {
                    let streams = flows.iter().map(|flow| Arc::clone(&flow.stream));
                    waits.connections.extend(streams);
                }
                Part::UdpRespond(flows) if flows.len() == 1 => {
                    let sockets = flows.iter().map(|flow| Arc::clone(&flow.socket));
                    waits.datagrams.extend(sockets);
                }
                _ => {}
            }
        }
        waits
    }

    /// Wakes every worker: it finds its socket closed.
    fn end(&mut self) {
        for stream in self.connections.drain(..) {
            // Closed by the other end already, mostly.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.end_datagrams();
    }

    /// Wakes those that answer datagrams, which nobody closes.
    fn end_datagrams(&mut self) {
        for socket in self.datagrams.drain(..) {
            // Refused only to a socket without a peer; these have one.
            let _ = rustix::net::shutdown(&*socket, rustix::net::Shutdown::Read);
        }
    }
}

/// Deals flows to at most `threads` workers, in turn.
pub(crate) fn deal<T>(flows: Vec<T>, threads: usize) -> Vec<Vec<T>> {
    let workers = threads.clamp(1, flows.len().max(1));
    let mut hands: Vec<Vec<T>> = (0..workers).map(|_| Vec::new()).collect();
    for (place, flow) in flows.into_iter().enumerate() {
        hands[place % workers].push(flow);
    }
    hands
}

/// Workers under way.
#[derive(Debug)]
pub(crate) struct Workers {
    job: Job,
    threads: Vec<JoinHandle<Tally>>,
    lives: Arc<[Live]>,
    watched: Vec<Arc<TcpStream>>,
    /// Sockets on which a worker waits without a limit of its own.
    waits: Waits,
    cpu: CpuWindow,
    /// Totals up to the last line of the time line.
    last: Second,
    seconds: Vec<Second>,
}

impl Workers {
    /// Starts one thread per part; they inherit the caller's network namespace.
    pub(crate) fn start(parts: Vec<Part>, job: Job) -> Result<Self, SocketError> {
        let watched = parts.iter().flat_map(Part::tcp).take(WATCHED);
        let watched = watched.map(|flow| Arc::clone(&flow.stream)).collect();
        let waits = Waits::of(&parts);
        let lives: Arc<[Live]> = parts.iter().map(|_| Live::default()).collect();
        let mut pool = Self {
            job: job.clone(),
            threads: Vec::new(),
            lives: Arc::clone(&lives),
            watched,
            waits,
            cpu: CpuWindow::open(),
            last: Second::default(),
            seconds: Vec::new(),
        };
        for (place, part) in parts.into_iter().enumerate() {
            let (job, lives) = (job.clone(), Arc::clone(&lives));
            let worker = std::thread::Builder::new()
                .name(format!("sock-{place}"))
                .spawn(move || {
                    sys::sharp_timers();
                    let cpu = job.cpus.get(place % job.cpus.len().max(1));
                    let pinned = cpu.map(|cpu| pin::pin(*cpu));
                    let before = sys::thread_cpu();
                    let done = part.work(&job, &lives[place]);
                    let mut tally = done.unwrap_or_else(|error| {
                        let mut tally = Tally::default();
                        tally.fault(error.to_string());
                        tally
                    });
                    tally.cpu = sys::thread_cpu().saturating_sub(before);
                    match pinned {
                        Some(Ok(cpus)) => tally.pinned = cpus,
                        Some(Err(why)) => {
                            let why = why.to_string();
                            tally.notes.push(SockNote::WorkerUnpinned { why }.into());
                        }
                        None => {}
                    }
                    tally
                });
            match worker {
                Ok(worker) => pool.threads.push(worker),
                Err(error) => {
                    pool.job
                        .stop
                        .store(true, std::sync::atomic::Ordering::Relaxed);
                    pool.waits.end();
                    return Err(SocketError::kernel("start a worker thread", error));
                }
            }
        }
        Ok(pool)
    }

    /// Whether every worker of a client is done; ends waits that are hopeless by now.
    pub(crate) fn finished(&mut self) -> bool {
        if self.job.hopeless(self.job.now_ns()) {
            self.waits.end();
        }
        self.done()
    }

    fn done(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Gives workers on connections the time to take what is on the way, and no more.
    fn settle(&mut self) {
        self.waits.end_datagrams();
        let end = Instant::now() + GRACE;
        while !self.waits.connections.is_empty() && !self.done() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.waits.end();
    }

    /// The next line of the time line, once a second.
    pub(crate) fn tick(&mut self) -> Option<Second> {
        let due = Duration::from_secs(self.seconds.len() as u64 + 1);
        (self.job.start.elapsed() >= due).then(|| self.line())
    }

    fn line(&mut self) -> Second {
        let now = self.totals();
        let line = Second {
            at_s: now.at_s,
            transactions: now.transactions - self.last.transactions,
            sent_bytes: now.sent_bytes - self.last.sent_bytes,
            received_bytes: now.received_bytes - self.last.received_bytes,
            timeouts: now.timeouts - self.last.timeouts,
            tcp: tcp_info::sample(&self.watched),
        };
        self.last = now;
        self.seconds.push(line);
        line
    }

    fn totals(&self) -> Second {
        let sum = |of: fn(&Live) -> u64| self.lives.iter().map(of).sum();
        Second {
            at_s: self.job.start.elapsed().as_secs_f64(),
            transactions: sum(|live| live.transactions.get()),
            sent_bytes: sum(|live| live.sent_bytes.get()),
            received_bytes: sum(|live| live.received_bytes.get()),
            timeouts: sum(|live| live.timeouts.get()),
            tcp: None,
        }
    }

    /// Waits for the workers and adds up what they did.
    pub(crate) fn report(mut self) -> EndReport {
        self.settle();
        let threads = self.threads.len() as u32;
        let workers = std::mem::take(&mut self.threads);
        let tallies: Vec<Tally> = workers
            .into_iter()
            .map(|worker| {
                worker.join().unwrap_or_else(|_| {
                    let mut tally = Tally::default();
                    tally.fault("a worker ended by a defect of nicety");
                    tally
                })
            })
            .collect();
        let cpu: Duration = tallies.iter().map(|tally| tally.cpu).sum();
        let cpu = self.cpu.close(cpu.as_secs_f64());
        let totals = self.totals();
        let moved = (
            totals.transactions,
            totals.sent_bytes,
            totals.received_bytes,
        ) != (
            self.last.transactions,
            self.last.sent_bytes,
            self.last.received_bytes,
        );
        if moved {
            self.line();
        }
        let mut report = EndReport {
            threads,
            active_s: active_s(&tallies),
            transactions: totals.transactions,
            sent_bytes: totals.sent_bytes,
            received_bytes: totals.received_bytes,
            cpu,
            tcp: tcp_info::end(&self.watched),
            seconds: self.seconds,
            ..EndReport::default()
        };
        merge(tallies, &mut report);
        report
    }
}

/// From the first to the last thing any worker did; from the start where only the last is known.
fn active_s(tallies: &[Tally]) -> f64 {
    let last = tallies.iter().map(|tally| tally.last_ns).max().unwrap_or(0);
    let first = tallies.iter().filter_map(|tally| tally.first_ns).min();
    let since = first.filter(|first| *first < last).unwrap_or(0);
    (last - since) as f64 / 1e9
}

fn merge(tallies: Vec<Tally>, report: &mut EndReport) {
    let mut latency: Option<nicety_account::Latency> = None;
    for tally in tallies {
        for cpu in tally.pinned {
            if !report.pinned_cpus.contains(&cpu) {
                report.pinned_cpus.push(cpu);
            }
        }
        match (&mut latency, tally.latency) {
            (Some(all), Some(more)) => all.merge(&more),
            (all @ None, more) => *all = more,
            (Some(_), None) => {}
        }
        if let Some(more) = tally.requests {
            add(report.requests.get_or_insert_default(), &more);
        }
        if let Some(more) = tally.datagrams {
            let all = report.datagrams.get_or_insert_default();
            let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
            *all = DatagramCounts {
                datagrams: all.datagrams + more.datagrams,
                duplicate: sum(all.duplicate, more.duplicate),
                reordered: sum(all.reordered, more.reordered),
                socket_dropped: sum(all.socket_dropped, more.socket_dropped),
                foreign: all.foreign + more.foreign,
            };
        }
        for (from, into) in [
            (tally.features, &mut report.features),
            (tally.faults, &mut report.faults),
        ] {
            for text in from {
                if !into.contains(&text) && into.len() < 32 {
                    into.push(text);
                }
            }
        }
        for note in tally.notes {
            if !report.notes.contains(&note) && report.notes.len() < 32 {
                report.notes.push(note);
            }
        }
    }
    report.latency_us = latency.and_then(|latency| latency.summary());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_dealt_in_turn() {
        assert_eq!(deal(vec![0, 1, 2, 3, 4], 2), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(deal(vec![0, 1], 8), [vec![0], vec![1]]);
        assert_eq!(deal(Vec::<u8>::new(), 8), [Vec::<u8>::new()]);
    }

    #[test]
    fn time_runs_from_the_first_to_the_last_of_all() {
        let tally = |first_ns, last_ns| Tally {
            first_ns,
            last_ns,
            ..Tally::default()
        };
        let both = [
            tally(Some(2_000_000_000), 3_000_000_000),
            tally(Some(1_000_000_000), 2_500_000_000),
        ];
        assert_eq!(active_s(&both), 2.0);
        assert_eq!(active_s(&[tally(None, 1_500_000_000)]), 1.5);
        assert_eq!(active_s(&[]), 0.0);
    }
}
