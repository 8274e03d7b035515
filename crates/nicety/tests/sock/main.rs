//! `nicety sock` with the real binary: both ends on this machine, a server that stalls, dies or
//! is attacked, a client that meets something else than a server.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

#[path = "../cli/harness.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod harness;

mod both_ends;
mod plan;
mod served;
mod strangers;
mod tokens;

use harness::{Call, Running, nicety};
use serde_json::Value;

const TOKEN: &str = "a-token-of-tests";

/// A server on a free port of the loopback interface, and where it listens.
fn serve() -> (Running, String) {
    listening(nicety(["sock", "serve", "--port", "0", "--token", TOKEN]))
}

/// A server that begins so, and where it listens.
fn listening(call: Call) -> (Running, String) {
    let mut server = call.limit(harness::LONG).start();
    server.until("listening", |server| {
        server.stderr().contains("--to ") && server.stderr().ends_with('\n')
    });
    let said = server.stderr();
    let to = said
        .split("--to ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    (server, to.unwrap().to_owned())
}

/// A test against a server.
fn client(to: &str, words: &[&str]) -> Call {
    let mut all = vec!["sock"];
    all.extend(words);
    all.extend(["--to", to, "--token", TOKEN]);
    nicety(all).limit(harness::LONG)
}

/// The first result of the JSON on standard output.
fn first(stdout: &str) -> Value {
    let report: Value = serde_json::from_str(stdout).unwrap();
    report["series"][0]["results"][0].clone()
}

/// A message as it crosses the network.
fn frame(json: &str) -> Vec<u8> {
    let length = (json.len() as u32).to_be_bytes();
    [b"NCTY", length.as_slice(), json.as_bytes()].concat()
}
