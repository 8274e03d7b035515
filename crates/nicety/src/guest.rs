//! `nicety guest`: inside a container or virtual machine, what the host sees of it and the limit it
//! sets itself.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use nicety_guests::virtio_ports;
use nicety_lab::spec::GUEST_PORT;
use nicety_model::BitRate;
use nicety_police::explain::readable;
use nicety_police::guest::{Command, Record, Reply, Request, VSOCK_PORT, soft_limit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cli::guest::{GuestArgs, GuestCommand};
use crate::exit::{Exit, Failure};

/// Where the host's socket is in a container, and its port in a virtual machine.
const SOCKET: &str = "/run/nicety/guest.sock";
const PORT: &str = "/dev/virtio-ports/org.nicety.guest";
/// How long the host may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer in bytes.
const LONGEST: usize = 16 << 10;

/// Runs the command.
pub fn run(args: &GuestArgs) -> Result<Exit, Failure> {
    let (channel, json, command) = match &args.command {
        GuestCommand::Status(args) => (&args.channel, args.json, Command::Status),
        GuestCommand::Limit(args) => {
            let limit = Some(args.rate).filter(|rate| rate.0 > 0);
            let lease = args.lease;
            (
                &args.at.channel,
                args.at.json,
                Command::Limit { limit, lease },
            )
        }
    };
    let path = find(channel.as_deref())?;
    let request = Request {
        // Answers to somebody who did not wait for them have another.
        id: format!("p{:x}", std::process::id()),
        command,
    };
    let reply = exchange(&path, &request).map_err(|error| {
        Failure::environment(anyhow!(
            "the host does not answer through {}: {error}",
            path.display()
        ))
    })?;
    if json {
        crate::tune::print_json(&reply)?;
    }
    match (reply.error, reply.status) {
        (Some(_), _) if json => Ok(Exit::Negative),
        (Some(why), _) => Err(Failure {
            exit: Exit::Negative,
            error: anyhow!("the host refuses: {why}"),
        }),
        (None, Some(record)) => {
            if !json {
                crate::tune::print(&words(&record))?;
            }
            Ok(Exit::Done)
        }
        (None, None) => Err(Failure::environment(anyhow!("the host's answer is empty"))),
    }
}

fn words(record: &Record) -> String {
    let demand = match record.demand_bps {
        Some(bps) => format!("at most {}", readable(bps)),
        None => "more than it gets".to_owned(),
    };
    let soft = match (record.soft_bps, record.lease_s) {
        (Some(bps), Some(left)) => format!("{}, for {left:.0} s more", readable(bps)),
        (Some(bps), None) => readable(bps),
        (None, Some(left)) => format!("none, for {left:.0} s more"),
        (None, None) => "none".to_owned(),
    };
    format!(
        "sends       {}\nwants       {demand}\nhard limit  {}\nsoft limit  {soft}\nguarantee   {}\nmay send    {}\nunused      {}\n",
        readable(record.rate_bps),
        readable(record.hard_bps),
        readable(record.guarantee_bps),
        readable(record.effective_bps),
        readable(record.unused_bps),
    )
}

/// The channel asked for, else the first there is.
fn find(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = asked {
        return Ok(path.to_owned());
    }
    let usual = [SOCKET, PORT].map(PathBuf::from);
    let found = usual.into_iter().find(|path| path.exists());
    found.or_else(port_of_sysfs).ok_or_else(|| {
        Failure::environment(anyhow!(
            "the host has given no channel: there is neither {SOCKET} nor {PORT}; ask whoever runs the host, or give --channel"
        ))
    })
}

/// The port by its name, where nobody makes links below /dev.
fn port_of_sysfs() -> Option<PathBuf> {
    let ports = virtio_ports::devices(|name| name == GUEST_PORT).ok()?;
    ports.into_iter().next()
}

/// A socket or a port.
enum Line {
    Socket(UnixStream),
    Port(File),
}

fn open(path: &Path) -> std::io::Result<Line> {
    let cid = path.to_str().and_then(|path| path.strip_prefix("vsock:"));
    if let Some(cid) = cid {
        let cid = cid.parse().map_err(|_| {
            std::io::Error::other("no number of a machine; write vsock:2 for the host")
        })?;
        // Reading and writing is the same for all stream sockets.
        let stream = UnixStream::from(nicety_host::vsock::connect(cid, VSOCK_PORT)?);
        stream.set_nonblocking(true)?;
        return Ok(Line::Socket(stream));
    }
    if std::fs::metadata(path)?.file_type().is_socket() {
        let stream = UnixStream::connect(path)?;
        stream.set_nonblocking(true)?;
        return Ok(Line::Socket(stream));
    }
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(nonblocking);
    Ok(Line::Port(options.open(path)?))
}

fn exchange(path: &Path, request: &Request) -> std::io::Result<Reply> {
    let end = Instant::now() + PATIENCE;
    let line = open(path)?;
    let text = request.line() + "\n";
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        wait(&line, PollFlags::OUT, end)?;
        let written = match &line {
            Line::Socket(socket) => (&*socket).write(rest),
            Line::Port(port) => (&*port).write(rest),
        };
        match written {
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    let mut held = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        wait(&line, PollFlags::IN, end)?;
        let read = match &line {
            Line::Socket(socket) => (&*socket).read(&mut buffer),
            Line::Port(port) => (&*port).read(&mut buffer),
        };
        match read {
            Ok(0) => return Err(std::io::Error::other("it has closed the channel")),
            Ok(count) => held.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        while let Some(end) = held.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = held.drain(..=end).collect();
            match serde_json::from_slice::<Reply>(&line) {
                Ok(reply) if reply.id == request.id => return Ok(reply),
                // To somebody else, or the end of such a one.
                Ok(_) | Err(_) => {}
            }
        }
        if held.len() > LONGEST {
            return Err(std::io::Error::other("its answer is too long"));
        }
    }
}

fn wait(line: &Line, flags: PollFlags, end: Instant) -> std::io::Result<()> {
    let fd = match line {
        Line::Socket(socket) => socket.as_fd(),
        Line::Port(port) => port.as_fd(),
    };
    let mut fds = [PollFd::from_borrowed_fd(fd, flags)];
    let left = end.saturating_duration_since(Instant::now());
    let time = Timespec {
        tv_sec: left.as_secs() as i64,
        tv_nsec: left.subsec_nanos().into(),
    };
    match poll(&mut fds, Some(&time)) {
        Ok(0) => Err(std::io::ErrorKind::TimedOut.into()),
        // A port hangs up while nobody is at the host's end of it.
        Ok(_) if fds[0].revents() == PollFlags::HUP => {
            Err(std::io::Error::other("nobody is at its other end"))
        }
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A soft limit on the command line: 0 for `none`, and for nothing else.
pub fn rate(text: &str) -> Result<BitRate, String> {
    soft_limit(text).map(Option::unwrap_or_default)
}
