//! `nicety police`: shares a link among tenants.

mod bill;
mod cluster;
mod dry_run;
mod import;
mod serve;
mod status;

use std::sync::Arc;

use anyhow::anyhow;
use nicety_model::SCHEMA;
use nicety_police::report::RestoreReport;
use nicety_policed::daemon::{self, Daemon, Ended, Options};
use nicety_policed::guard;
use nicety_policed::log::Log;
use nicety_policed::{PolicyFile, client};

use crate::cli::police::{AskArgs, PoliceCommand, RunArgs};
use crate::cli::state::usual_police;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::token_file;
use crate::web::{ListenAt, Tls};

/// Runs the command.
pub fn run(command: &PoliceCommand) -> Result<Exit, Failure> {
    match command {
        PoliceCommand::Run(args) => start(args),
        PoliceCommand::Status(args) => status::status(args),
        PoliceCommand::Reload(args) => status::reload(args),
        PoliceCommand::Poke(args) => status::poke(args),
        PoliceCommand::Bill(args) => bill::run(args),
        PoliceCommand::Import(args) => import::run(args),
        PoliceCommand::Restore(args) => restore(args),
        PoliceCommand::Forget(args) => cluster::forget(args),
        PoliceCommand::Guard => {
            let from = std::io::BufReader::new(std::io::stdin());
            guard::run(from, &mut std::io::stdout(), &Log::open(output::tell))?;
            Ok(Exit::Done)
        }
    }
}

fn start(args: &RunArgs) -> Result<Exit, Failure> {
    let policy = PolicyFile::read(&args.policy)?;
    let log = Log::open(output::tell);
    let directory = args.state.police()?;
    if args.dry_run {
        return dry_run::run(&policy, &directory, args, &log);
    }
    let options = Options {
        directory,
        naming: args.naming.naming(),
        absent_ok: args.absent_ok,
        strict: args.strict,
        keep: args.keep,
        periods: args.periods,
    };
    // Before a port is touched: a wrong file ends the daemon.
    let (gate, tls) = who_may_look(args)?;
    let mut daemon = Daemon::start(&policy, options, log)?;
    let _served = match &args.listen {
        Some(listening) => {
            let serve = serve::Serve {
                at: &listening.at,
                names: &listening.names,
                gate,
                tls,
            };
            Some(listen(serve, &daemon)?)
        }
        None => None,
    };
    if let Some(dir) = &args.out {
        daemon.record(dir, &policy)?;
    }
    Ok(match daemon.run()? {
        Ended::Clean => Exit::Done,
        Ended::NotRestored => Exit::Negative,
    })
}

/// What a client of the live page must know, and what keeps others from reading along.
fn who_may_look(args: &RunArgs) -> Result<(serve::Gate, Option<Tls>), Failure> {
    let listening = args.listen.as_ref();
    let token = listening.and_then(|listening| listening.token_file.as_ref());
    let token = token.map(|file| token_file::read("token-file", file));
    let tls = listening
        .and_then(|listening| listening.tls.clone())
        .map(Tls::start);
    Ok((serve::Gate(token.transpose()?), tls.transpose()?))
}

/// Shows what the daemon does to whoever asks.
fn listen(serve: serve::Serve<'_>, daemon: &Daemon) -> Result<serve::Served, Failure> {
    let scheme = if serve.tls.is_some() { "https" } else { "http" };
    if let ListenAt::Tcp(at) = serve.at
        && serve.tls.is_none()
        && serve.gate.0.is_some()
        && !at.ip().is_loopback()
    {
        output::say(
            "the token crosses the network for everyone to read; add cert= and key= to --listen",
        );
    }
    let served = serve::start(serve, Arc::clone(daemon.board()))?;
    output::say(&match &served.at {
        ListenAt::Tcp(at) => {
            format!("live page: {scheme}://{at}/, metrics: {scheme}://{at}/metrics")
        }
        ListenAt::Unix(path) => {
            let path = path.display();
            format!("metrics: curl --unix-socket {path} http://localhost/metrics")
        }
    });
    Ok(served)
}

fn restore(args: &AskArgs) -> Result<Exit, Failure> {
    let directory = args.state.police()?;
    let restored = daemon::restore(&directory, &Log::open(output::tell))?;
    if let (None, Some(path)) = (&restored, args.state.given()) {
        return Err(Failure::usage(anyhow!(
            "there is no directory {}; correct --state",
            path.display()
        )));
    }
    let restored = restored.unwrap_or_default();
    if restored.ports.is_empty() {
        output::say("nothing to put back");
    }
    if args.output.json {
        output::print_json(&RestoreReport {
            schema: SCHEMA,
            ports: restored.ports,
        })?;
    }
    Ok(match restored.bad {
        0 => Exit::Done,
        _ => Exit::Negative,
    })
}

/// Whether a daemon in this network namespace sets the limit of a port, which is now `limit`.
pub fn governs(netns: u64, port: &str, limit: &str) -> bool {
    client::governs(usual_police().ok().as_deref(), netns, port, limit)
}
