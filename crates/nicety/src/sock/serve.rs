//! `nicety sock serve`: the far end.

use std::net::IpAddr;

use anyhow::anyhow;
use nicety_runner::sock::workers::threads_on;
use nicety_socket::{Server, ServerConfig, Token};

use crate::exit::{Exit, Failure};
use crate::output;
use crate::signals::Signals;

use super::args::ServeArgs;
use super::token;

/// Serves until Ctrl-C.
pub fn run(args: &ServeArgs, signals: &Signals) -> Result<Exit, Failure> {
    let given = token::given(args.token_file.as_deref())?;
    let token = match &given {
        Some(token) => token.clone(),
        None => Token::random().map_err(|error| {
            Failure::environment(anyhow!("the kernel gives no random numbers: {error}"))
        })?,
    };
    let server = Server::bind(ServerConfig {
        listen: args.listen,
        token: token.clone(),
        threads: threads_on(args.threads, &args.pin),
    })
    .and_then(|server| server.pinned(&args.pin))?;
    let address = server.address().map_err(Failure::environment)?;
    let reach = match address.ip() {
        ip if ip.is_loopback() => " (this host only; --listen ADDRESS lets others in)",
        ip if ip.is_unspecified() => " (every address of this host)",
        _ => "",
    };
    output::say(&format!("listening on {address}{reach}; Ctrl-C ends it"));
    // What a script needs: where, and the token unless it gave it.
    let host = match address.ip() {
        IpAddr::V6(ip) => format!("[{ip}]"),
        ip => ip.to_string(),
    };
    let shown = match given {
        Some(_) => "TOKEN",
        None => token.text(),
    };
    output::tell(&format!(
        "on the other host: NICETY_TOKEN={shown} nicety sock tcp_rr {host}:{}",
        address.port()
    ));
    server.run(signals.stop().flag(), &|line| output::say(line));
    Ok(Exit::Done)
}
