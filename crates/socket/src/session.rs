//! One control connection, from the server's side. Nothing it says is trusted: orders are
//! checked, every wait is limited, and whatever it does it only loses its own connection.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nicety_model::note::SockNote;
use nicety_model::sock::{EndReport, SockSpec, SockTest};

use crate::cpu;
use crate::error::SocketError;
use crate::files;
use crate::hello::Key;
use crate::job::Job;
use crate::join;
use crate::service::{MOST_TESTS, Service};
use crate::sys::readable;
use crate::token::{Nonces, Role};
use crate::wire::{self, LARGEST_ORDER, PROTOCOL, ReadError, ToClient, ToServer};
use crate::workers::{Part, Workers, deal};

/// Longest time to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(5);
/// Before a wrong token is called wrong.
const WRONG_PAUSE: Duration = Duration::from_millis(500);
/// Longest time between two tests.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// Longest time from an order to Go.
const GO_LIMIT: Duration = Duration::from_secs(10);
/// Longest time for a message to leave or, once begun, to arrive.
const MESSAGE_LIMIT: Duration = Duration::from_secs(5);
/// How long a look at the connection waits.
const POLL: Duration = Duration::from_millis(20);
/// What a test may take beyond its duration.
const OVERTIME: Duration = Duration::from_secs(10);
/// What to do where others are served already.
const LATER: &str = "try again later";

struct Session<'a> {
    service: &'a Service,
    stream: &'a TcpStream,
    from: SocketAddr,
    stop: &'a AtomicBool,
    log: &'a (dyn Fn(&str) + Sync),
}

/// Why a session ends, to be told; `None` where there is nothing to tell.
type End = Option<String>;

/// Serves one connection to its end.
pub(crate) fn serve(
    service: &Service,
    id: u64,
    stream: &TcpStream,
    from: SocketAddr,
    stop: &AtomicBool,
    log: &(dyn Fn(&str) + Sync),
) {
    let session = Session {
        service,
        stream,
        from,
        stop,
        log,
    };
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    // Its absence only costs time.
    let _ = stream.set_nodelay(true);
    if let Err(Some(why)) = session.run_all(id)
        && let Some(left_out) = service.may_tell(from.ip())
    {
        let more = match left_out {
            0 => String::new(),
            1 => " (1 line about this address was left out)".to_owned(),
            n => format!(" ({n} lines about this address were left out)"),
        };
        log(&format!("{from}: {why}{more}"));
    }
}

impl Session<'_> {
    fn run_all(&self, id: u64) -> Result<(), End> {
        let hello = wire::read(self.stream, LARGEST_ORDER, HELLO_LIMIT);
        let ToServer::Hello {
            protocol,
            version: _,
            token: _,
        } = hello.map_err(read_failure)?
        else {
            return Err(Some("spoke before its hello; closed".to_owned()));
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        if protocol != PROTOCOL {
            self.answer(&ToClient::WrongProtocol {
                protocol: PROTOCOL,
                version,
            })?;
            return Err(Some(format!(
                "speaks protocol {protocol}, this is {PROTOCOL}; closed"
            )));
        }
        let nonces = self.challenge()?;
        let Some(_place) = self.service.known(id) else {
            return self.refuse("too many clients", Some(LATER));
        };
        let proof = self.service.config.token.proof(Role::Server, nonces);
        self.answer(&ToClient::Welcome {
            version,
            host_id: cpu::host_id(),
            proof: proof.ok_or(None)?,
        })?;
        loop {
            match self.receive(IDLE_LIMIT)? {
                ToServer::Order { spec } => self.test(&spec)?,
                _ => return Err(Some("spoke out of turn; closed".to_owned())),
            }
        }
    }

    /// Has the client show that it knows the token.
    fn challenge(&self) -> Result<Nonces, End> {
        let server = wire::random().map_err(|_| None)?;
        self.answer(&ToClient::Challenge { nonce: server })?;
        let answer = wire::read(self.stream, LARGEST_ORDER, HELLO_LIMIT);
        let ToServer::Proof { nonce, proof } = answer.map_err(read_failure)? else {
            return Err(Some("spoke out of turn; closed".to_owned()));
        };
        let nonces = Nonces {
            server,
            client: nonce,
        };
        if self
            .service
            .config
            .token
            .proves(&proof, Role::Client, nonces)
        {
            return Ok(nonces);
        }
        // Whoever guesses shall wait; its place may go to another meanwhile.
        std::thread::sleep(WRONG_PAUSE);
        self.answer(&ToClient::WrongToken)?;
        Err(Some("does not know the token; closed".to_owned()))
    }

    fn answer(&self, message: &ToClient) -> Result<(), End> {
        wire::write(self.stream, message, MESSAGE_LIMIT).map_err(|_| None)
    }

    fn refuse(&self, why: &str, remedy: Option<&str>) -> Result<(), End> {
        self.answer(&ToClient::Failed {
            why: why.to_owned(),
            remedy: remedy.map(str::to_owned),
        })?;
        Err(Some(match remedy {
            Some(remedy) => format!("{why}; {remedy}"),
            None => why.to_owned(),
        }))
    }

    fn refuse_for(&self, error: &SocketError) -> Result<(), End> {
        let remedy = error.remedy().map(|remedy| remedy.to_string());
        self.refuse(&error.what(), remedy.as_deref())
    }

    /// Waits for a message, and for the server's own end.
    fn receive(&self, limit: Duration) -> Result<ToServer, End> {
        let end = Instant::now() + limit;
        while !readable(self.stream, POLL) {
            if self.stop.load(Ordering::Relaxed) {
                return Err(None);
            }
            if Instant::now() >= end {
                return Err(Some(format!(
                    "said nothing for {} s; closed",
                    limit.as_secs()
                )));
            }
        }
        wire::read(self.stream, LARGEST_ORDER, MESSAGE_LIMIT).map_err(read_failure)
    }

    /// Whether the client left while nothing was expected of it.
    fn gone(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || readable(self.stream, Duration::ZERO)
    }

    fn test(&self, spec: &SockSpec) -> Result<(), End> {
        let running = &self.service.running;
        let others = running.fetch_add(1, Ordering::Relaxed);
        let result = match others {
            MOST_TESTS.. => self.refuse("too many tests run already", Some(LATER)),
            _ => self.run(spec, others),
        };
        running.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn run(&self, spec: &SockSpec, others: usize) -> Result<(), End> {
        if let Err(error) = spec.check() {
            return self.refuse_for(&error.into());
        }
        if let Err(error) = files::ensure(spec.parallel) {
            return self.refuse_for(&error);
        }
        let key: Key = match wire::random() {
            Ok(key) => key,
            Err(error) => return self.refuse(&format!("no random numbers: {error}"), None),
        };
        let parts = match self.parts(spec, &key)? {
            Ok(parts) => parts,
            Err(why) => return self.refuse(&why, None),
        };
        self.answer(&ToClient::Joined)?;
        let ToServer::Go = self.receive(GO_LIMIT)? else {
            return Err(Some("spoke out of turn; closed".to_owned()));
        };
        let job = Job {
            spec: spec.clone(),
            key,
            start: Instant::now(),
            stop: Arc::new(AtomicBool::new(false)),
            client: false,
            round_trip_ns: None,
            cpus: Arc::clone(&self.service.cpus),
        };
        let limit = spec.duration() + OVERTIME;
        let (started, stop) = (job.start, Arc::clone(&job.stop));
        let mut workers = match Workers::start(parts, job) {
            Ok(workers) => workers,
            Err(error) => return self.refuse_for(&error),
        };
        let going = self.answer(&ToClient::Going);
        let mut most_others = others;
        let end = loop {
            if going.is_err() || self.stop.load(Ordering::Relaxed) {
                break Err(None);
            }
            if readable(self.stream, POLL) {
                break match wire::read(self.stream, LARGEST_ORDER, MESSAGE_LIMIT)
                    .map_err(read_failure)
                {
                    Ok(ToServer::Stop) => Ok(()),
                    Ok(_) => Err(Some("spoke out of turn; closed".to_owned())),
                    Err(_) => Err(Some(format!("went away during {}", spec.name()))),
                };
            }
            if started.elapsed() > limit {
                break Err(Some(format!("did not end {} in time; closed", spec.name())));
            }
            most_others = most_others.max(self.service.running.load(Ordering::Relaxed) - 1);
            workers.tick();
        };
        stop.store(true, Ordering::Relaxed);
        let mut report = workers.report();
        end?;
        if most_others > 0 {
            report.notes.push(SockNote::OtherClients.into());
        }
        self.log_done(spec, &report);
        self.answer(&ToClient::Report {
            report: Box::new(report),
        })
    }

    fn log_done(&self, spec: &SockSpec, report: &EndReport) {
        let faults = match report.faults.len() {
            0 => String::new(),
            count => format!(", {count} faults"),
        };
        (self.log)(&format!("{}: {} done{faults}", self.from, spec.name()));
    }

    /// Opens the data port and takes the flows: the outer error ends the session, the inner one
    /// is told to the client.
    fn parts(&self, spec: &SockSpec, key: &Key) -> Result<Result<Vec<Part>, String>, End> {
        let mut at = self.service.config.listen;
        if let Ok(own) = self.stream.local_addr() {
            at.set_ip(own.ip());
        }
        at.set_port(0);
        let threads = self.service.config.threads;
        let count = spec.parallel;
        let gone = || self.gone();
        let ready = |port| self.answer(&ToClient::Ready { port, key: *key });
        let open = |error: std::io::Error| format!("cannot open a data port: {error}");
        if spec.test.is_udp() {
            let opened = join::udp_socket(at, None).and_then(|s| Ok((s.local_addr()?.port(), s)));
            let (port, entrance) = match opened {
                Ok(opened) => opened,
                Err(error) => return Ok(Err(open(error))),
            };
            ready(port)?;
            let flows = join::udp_server(&entrance, self.from.ip(), key, count, &gone);
            let part = match spec.test {
                SockTest::UdpRr => Part::UdpRespond,
                _ => Part::UdpPull,
            };
            return Ok(flows.map(|flows| deal(flows, threads).into_iter().map(part).collect()));
        }
        let opened = TcpListener::bind(at).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?.port(), listener))
        });
        let (port, listener) = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(open(error))),
        };
        ready(port)?;
        if spec.test == SockTest::TcpCrr {
            let listener = Arc::new(listener);
            let workers = threads.clamp(1, count as usize);
            let part = |_| Part::Accept(Arc::clone(&listener), self.from.ip());
            return Ok(Ok((0..workers).map(part).collect()));
        }
        let flows = join::tcp_server(&listener, key, count, &gone);
        let part = match spec.test {
            SockTest::TcpRr => Part::TcpRespond,
            SockTest::TcpStream => Part::TcpPull,
            _ => Part::TcpPush,
        };
        Ok(flows.map(|flows| deal(flows, threads).into_iter().map(part).collect()))
    }
}

/// What to tell about a message that did not come.
fn read_failure(error: ReadError) -> End {
    match error {
        ReadError::Late => Some("was too slow; closed".to_owned()),
        ReadError::Closed => None,
        ReadError::Garbage(what) => Some(format!("{what}; closed")),
    }
}
