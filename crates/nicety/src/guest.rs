//! `nicety guest`: inside a container or virtual machine, what the host sees of it and the limit it
//! sets itself.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use nicety_guests::virtio_ports;
use nicety_host::guest_channel::GuestChannel;
use nicety_lab::spec::GUEST_PORT;
use nicety_police::guest::{Command, Reply, Request, VSOCK_PORT};

use crate::cli::guest::GuestCommand;
use crate::exit::{Exit, Failure};

/// Where the host's socket is in a container, and its port in a virtual machine.
const SOCKET: &str = "/run/nicety/guest.sock";
const PORT: &str = "/dev/virtio-ports/org.nicety.guest";
/// How long the host may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs the command.
pub fn run(command: &GuestCommand) -> Result<Exit, Failure> {
    let (channel, json, command) = match command {
        GuestCommand::Status(args) => (&args.channel, args.output.json, Command::Status),
        GuestCommand::Limit(args) => {
            let limit = Some(args.rate).filter(|rate| rate.0 > 0);
            let lease = args.lease;
            (
                &args.at.channel,
                args.at.output.json,
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
        crate::output::print_json(&reply)?;
    }
    match (reply.error, reply.status) {
        (Some(_), _) if json => Ok(Exit::Negative),
        (Some(why), _) => Err(Failure {
            exit: Exit::Negative,
            error: anyhow!("the host refuses: {why}"),
        }),
        (None, Some(record)) => {
            if !json {
                crate::output::lines(&record.to_string())?;
            }
            Ok(Exit::Done)
        }
        (None, None) => Err(Failure::environment(anyhow!("the host's answer is empty"))),
    }
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

fn exchange(path: &Path, request: &Request) -> io::Result<Reply> {
    let mut channel = GuestChannel::open(path, VSOCK_PORT, PATIENCE)?;
    channel.write(&(request.line() + "\n"))?;
    loop {
        let line = channel.line()?;
        match serde_json::from_slice::<Reply>(&line) {
            Ok(reply) if reply.id == request.id => return Ok(reply),
            // To somebody else, or the end of such a one.
            Ok(_) | Err(_) => {}
        }
    }
}
