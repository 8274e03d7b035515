//! The end of a socket workload that is in a guest, and what the host asks of it.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;

use nicety_guests::wire::Serve;
use nicety_model::sock::{EndReport, Ending, SockSpec};
use nicety_socket::{Connection, Server, ServerConfig, SocketError, Token};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::workers::threads;

/// An endpoint of socket workloads in the guest, until the guest ends.
///
/// # Errors
/// When it cannot listen.
pub fn serve(serve: &Serve, address: IpAddr) -> Result<(), String> {
    let token = Token::new(&serve.token).map_err(|error| error.to_string())?;
    let server = Server::bind(ServerConfig {
        listen: SocketAddr::new(address, serve.port),
        token,
        threads: threads(None),
    });
    let server = server.map_err(|error| error.to_string())?;
    std::thread::spawn(move || server.run(&AtomicBool::new(false), &|_| ()));
    Ok(())
}

/// What the host asks a guest to do that has the client.
#[derive(Debug, Serialize, Deserialize)]
pub struct Test {
    /// Address and port of the server.
    pub to: String,
    /// What it wants to be shown.
    pub token: String,
    /// The test.
    pub ask: SockSpec,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was run.
    Ran {
        /// How it ended.
        ending: Ending,
        /// Client's counts.
        client: Box<EndReport>,
        /// Server's counts; absent when it went away.
        server: Option<Box<EndReport>>,
    },
    /// It could not begin.
    Failed {
        /// What is wrong.
        why: String,
        /// What to do, where that is known.
        remedy: Option<String>,
    },
}

/// A test with its client in this guest: a [`Test`] in, an [`Outcome`] out.
pub fn work(test: Value) -> Value {
    let failed = |error: &SocketError| Outcome::Failed {
        why: error.what(),
        remedy: error.remedy().map(|remedy| remedy.to_string()),
    };
    let run = || -> Result<Outcome, Outcome> {
        let test: Test = serde_json::from_value(test).map_err(|error| unknown(&error))?;
        let token = Token::new(&test.token).map_err(|error| unknown(&error))?;
        let opened = Connection::open(&test.to, &token, None);
        let mut connection = opened.map_err(|error| failed(&error))?;
        let never = AtomicBool::new(false);
        let ran = connection.run(&test.ask, threads(None), &never, &mut |_| ());
        let ran = ran.map_err(|error| failed(&error))?;
        Ok(Outcome::Ran {
            ending: ran.ending,
            client: Box::new(ran.client),
            server: ran.server.map(Box::new),
        })
    };
    let outcome = run().unwrap_or_else(|failed| failed);
    serde_json::to_value(outcome).unwrap_or_default()
}

/// The host asked for something that this program does not know.
fn unknown(error: &dyn std::fmt::Display) -> Outcome {
    Outcome::Failed {
        why: error.to_string(),
        remedy: None,
    }
}
