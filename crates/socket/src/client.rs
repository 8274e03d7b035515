//! The client: one control connection, one test after another.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nicety_model::Note;
use nicety_model::sock::{EndReport, Ending, Family, Second, SockSpec, SockTest};

use crate::cpu;
use crate::error::SocketError;
use crate::files;
use crate::hello::Key;
use crate::job::{GRACE, Job};
use crate::join::{self, JOIN_LIMIT};
use crate::pin::check_cpus;
use crate::sys::readable;
use crate::tcp_info;
use crate::token::{Nonces, Role, Token};
use crate::wire::{self, LARGEST_REPORT, PROTOCOL, ReadError, ToClient, ToServer};
use crate::workers::{Part, Workers, deal};

/// Longest time for the server to accept and to greet.
const GREET_LIMIT: Duration = Duration::from_secs(5);
/// Longest time for a small message to leave.
const WRITE_LIMIT: Duration = Duration::from_secs(5);
/// Longest time for the report: the server drains its flows first.
const REPORT_LIMIT: Duration = Duration::from_secs(GRACE.as_secs() + 6);

/// A control connection to a server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    server: SocketAddr,
    shared_host: bool,
    cpus: Arc<[u32]>,
}

/// A test that was run, well or not.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// Client's counts.
    pub client: EndReport,
    /// Server's counts; absent when it went away.
    pub server: Option<EndReport>,
}

impl Connection {
    /// Connects to `host:port`, over `family` where one is asked for, and shows the token.
    ///
    /// # Errors
    /// Nobody there, no nicety, another version, a wrong token, silence.
    pub fn open(to: &str, token: &Token, family: Option<Family>) -> Result<Self, SocketError> {
        let server = resolve(to, family)?;
        let stream =
            TcpStream::connect_timeout(&server, GREET_LIMIT).map_err(|source| {
                match source.kind() {
                    ErrorKind::ConnectionRefused => SocketError::NotThere { to: to.to_owned() },
                    ErrorKind::TimedOut | ErrorKind::WouldBlock => SocketError::Silent {
                        peer: to.to_owned(),
                        what: "accept the connection",
                        seconds: GREET_LIMIT.as_secs(),
                    },
                    _ => SocketError::Connect {
                        to: to.to_owned(),
                        source,
                    },
                }
            })?;
        // Its absence only costs time.
        let _ = stream.set_nodelay(true);
        let mut connection = Self {
            stream,
            server,
            shared_host: false,
            cpus: Arc::default(),
        };
        connection.send(&ToServer::Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: String::new(),
        })?;
        let nonces = connection.prove(token)?;
        match connection.receive("greet", GREET_LIMIT)? {
            ToClient::Welcome { host_id, proof, .. } => {
                if !token.proves(&proof, Role::Server, nonces) {
                    return Err(SocketError::NotNicety {
                        peer: connection.peer(),
                        what: "it does not know the token itself".to_owned(),
                    });
                }
                let own = cpu::host_id();
                connection.shared_host = !own.is_empty() && own == host_id;
                Ok(connection)
            }
            ToClient::WrongToken => Err(SocketError::Token {
                peer: connection.peer(),
            }),
            other => Err(connection.unexpected(&other)),
        }
    }

    /// Answers the server's challenge.
    fn prove(&self, token: &Token) -> Result<Nonces, SocketError> {
        let server = match self.receive("greet", GREET_LIMIT)? {
            ToClient::Challenge { nonce } => nonce,
            ToClient::WrongProtocol { protocol, version } => {
                return Err(SocketError::Version {
                    peer: self.peer(),
                    theirs: format!("{} (protocol {protocol})", cut(&version)),
                    ours: format!("{} (protocol {PROTOCOL})", env!("CARGO_PKG_VERSION")),
                });
            }
            other => return Err(self.unexpected(&other)),
        };
        let kernel = |source: std::io::Error| SocketError::kernel("draw a random number", source);
        let client = wire::random().map_err(kernel)?;
        let nonces = Nonces { server, client };
        let proof = token.proof(Role::Client, nonces);
        let proof = proof.ok_or_else(|| kernel(ErrorKind::Unsupported.into()))?;
        let nonce = client;
        self.send(&ToServer::Proof { nonce, proof })?;
        Ok(nonces)
    }

    /// Lets the workers of coming tests run on these CPUs in turn.
    ///
    /// # Errors
    /// [`SocketError::Cpu`] for one that this process may not use.
    pub fn pin(&mut self, cpus: &[u32]) -> Result<(), SocketError> {
        check_cpus(cpus)?;
        self.cpus = cpus.into();
        Ok(())
    }

    /// Whether both ends run on one kernel, so that its CPU time is that of both.
    pub fn shared_host(&self) -> bool {
        self.shared_host
    }

    /// The server's address.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// IP version of the flows.
    pub fn family(&self) -> Family {
        if self.server.ip().to_canonical().is_ipv4() {
            Family::Ipv4
        } else {
            Family::Ipv6
        }
    }

    /// Runs one test in the caller's network namespace; `threads` workers at most. `stop` ends
    /// it early, `progress` gets the client's time line as it grows. A server that goes away in
    /// mid-test is an ending, not an error.
    ///
    /// # Errors
    /// When the test could not begin.
    pub fn run(
        &mut self,
        spec: &SockSpec,
        threads: usize,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&Second),
    ) -> Result<Ran, SocketError> {
        spec.check()?;
        files::ensure(spec.parallel)?;
        self.send(&ToServer::Order { spec: spec.clone() })?;
        let (port, key) = match self.receive("prepare the test", JOIN_LIMIT)? {
            ToClient::Ready { port, key } => (port, key),
            other => return Err(self.unexpected(&other)),
        };
        let parts = self.parts(spec, port, &key, threads)?;
        match self.receive("take all flows", JOIN_LIMIT + GREET_LIMIT)? {
            ToClient::Joined => {}
            other => return Err(self.unexpected(&other)),
        }
        self.send(&ToServer::Go)?;
        match self.receive("begin", GREET_LIMIT)? {
            ToClient::Going => {}
            other => return Err(self.unexpected(&other)),
        }
        let job = Job {
            spec: spec.clone(),
            key,
            start: Instant::now(),
            stop: Arc::new(AtomicBool::new(false)),
            client: true,
            round_trip_ns: self.round_trip_ns(),
            cpus: Arc::clone(&self.cpus),
        };
        let abort = Arc::clone(&job.stop);
        let mut workers = Workers::start(parts, job)?;
        let (mut lost, mut interrupted) = (false, false);
        while !workers.finished() {
            lost |= self.has_message();
            interrupted |= stop.load(Ordering::Relaxed);
            if lost || interrupted {
                abort.store(true, Ordering::Relaxed);
            }
            if let Some(second) = workers.tick() {
                progress(&second);
            }
        }
        let client = workers.report();
        let server = if lost || self.send(&ToServer::Stop).is_err() {
            None
        } else {
            match self.receive("report", REPORT_LIMIT) {
                Ok(ToClient::Report { report }) => Some(bounded(*report)),
                _ => None,
            }
        };
        let faults = |end: &EndReport| !end.faults.is_empty();
        let ending = match &server {
            _ if interrupted => Ending::Interrupted,
            None => Ending::PeerLost,
            Some(server) if faults(&client) || faults(server) => Ending::Faulty,
            Some(_) => Ending::Complete,
        };
        Ok(Ran {
            ending,
            client,
            server,
        })
    }

    fn parts(
        &self,
        spec: &SockSpec,
        port: u16,
        key: &Key,
        threads: usize,
    ) -> Result<Vec<Part>, SocketError> {
        let mut data = self.server;
        data.set_port(port);
        let count = spec.parallel;
        let tcp = |part: fn(Vec<_>) -> Part| {
            let flows = join::tcp_client(data, key, count)?;
            Ok(deal(flows, threads).into_iter().map(part).collect())
        };
        let udp = |part: fn(Vec<_>) -> Part| {
            let flows = join::udp_client(data, key, count)?;
            Ok(deal(flows, threads).into_iter().map(part).collect())
        };
        match spec.test {
            SockTest::TcpRr => tcp(Part::TcpRequest),
            SockTest::TcpStream => tcp(Part::TcpPush),
            SockTest::TcpMaerts => tcp(Part::TcpPull),
            SockTest::UdpRr => udp(Part::UdpRequest),
            SockTest::UdpStream => udp(Part::UdpPush),
            SockTest::TcpCrr => {
                let hands = deal((0..count).collect(), threads).into_iter();
                Ok(hands.map(|flows| Part::Connect(flows, data)).collect())
            }
        }
    }

    /// Round trip of the control connection as TCP knows it.
    fn round_trip_ns(&self) -> Option<u64> {
        let sample = tcp_info::sample(std::slice::from_ref(&self.stream))?;
        Some((sample.rtt_us * 1000.0) as u64)
    }

    fn peer(&self) -> String {
        self.server.to_string()
    }

    fn send(&self, message: &ToServer) -> Result<(), SocketError> {
        wire::write(&self.stream, message, WRITE_LIMIT).map_err(|_| SocketError::Closed {
            peer: self.peer(),
            during: "it was spoken to",
        })
    }

    fn receive(&self, what: &'static str, limit: Duration) -> Result<ToClient, SocketError> {
        wire::read(&self.stream, LARGEST_REPORT, limit).map_err(|error| match error {
            ReadError::Late => SocketError::Silent {
                peer: self.peer(),
                what,
                seconds: limit.as_secs(),
            },
            ReadError::Closed => SocketError::Closed {
                peer: self.peer(),
                during: "an answer was due",
            },
            ReadError::Garbage(what) => SocketError::NotNicety {
                peer: self.peer(),
                what: cut(&what),
            },
        })
    }

    /// Whether the server speaks or goes during a test, which it never does by itself. Waits a
    /// moment.
    fn has_message(&self) -> bool {
        readable(&self.stream, Duration::from_millis(20))
    }

    fn unexpected(&self, answer: &ToClient) -> SocketError {
        match answer {
            ToClient::Failed { why, remedy } => SocketError::Refused {
                peer: self.peer(),
                why: cut(why),
                remedy: remedy.as_deref().map(cut),
            },
            _ => SocketError::NotNicety {
                peer: self.peer(),
                what: "it answers out of turn".to_owned(),
            },
        }
    }
}

/// Longest text of a peer that is shown.
const LONGEST_TEXT: usize = 300;

/// A peer's text, short and without characters that move a cursor.
fn cut(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(LONGEST_TEXT).collect()
}

/// A peer's report with bounded texts; its numbers are as good as the peer.
fn bounded(mut report: EndReport) -> EndReport {
    for texts in [&mut report.features, &mut report.faults] {
        texts.truncate(32);
        for text in texts {
            *text = cut(text);
        }
    }
    report.notes.truncate(32);
    for note in &mut report.notes {
        let text = note.to_string();
        let plain = cut(&text);
        if plain != text {
            *note = Note::Recorded(plain);
        }
    }
    report.seconds.truncate(4000);
    if let Some(tcp) = &mut report.tcp {
        tcp.congestion_control = tcp.congestion_control.as_deref().map(cut);
    }
    report
}

/// The first address of `to` that has the family.
fn resolve(to: &str, family: Option<Family>) -> Result<SocketAddr, SocketError> {
    let connect = |source| SocketError::Connect {
        to: to.to_owned(),
        source,
    };
    let fits = |address: &SocketAddr| match family {
        None => true,
        Some(Family::Ipv4) => address.is_ipv4(),
        Some(Family::Ipv6) => address.is_ipv6(),
    };
    to.to_socket_addrs()
        .map_err(connect)?
        .find(fits)
        .ok_or_else(|| SocketError::NoAddress {
            host: to.to_owned(),
            family: match family {
                Some(Family::Ipv4) => "IPv4",
                Some(Family::Ipv6) => "IPv6",
                None => "usable",
            },
        })
}
