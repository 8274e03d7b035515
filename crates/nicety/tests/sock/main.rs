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
#[path = "../cli/schema.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod schema;

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
    let serve = nicety(["sock", "serve", "--listen", "127.0.0.1:0"]);
    listening(serve.env("NICETY_TOKEN", TOKEN))
}

/// A server that begins so, and where it listens.
fn listening(call: Call) -> (Running, String) {
    let mut server = call.limit(harness::LONG).start();
    server.until("listening", |server| {
        server.stderr().contains("tcp_rr ") && server.stderr().ends_with('\n')
    });
    let said = server.stderr();
    let to = said
        .split("tcp_rr ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    (server, to.unwrap().to_owned())
}

/// Waits until messages of a test come and go at one end: each lets a worker of that end run once more.
fn until_served(end: &mut Running) {
    end.until("messages of a test", |end| turns(end.id()) > 20);
}

/// How often the kernel has let the workers of an end run (proc_pid_status(5)).
fn turns(pid: i32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    // A thread may end while it is looked at.
    let texts =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    let is_worker = |text: &String| {
        let name = text.strip_prefix("Name:\tsock-");
        name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit()))
    };
    let counts = |text: String| -> u64 {
        let counts = text
            .lines()
            .filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        counts
            .map(|(_, count)| count.trim().parse::<u64>().unwrap())
            .sum()
    };
    texts.filter(is_worker).map(counts).sum()
}

/// A test against a server.
fn client(to: &str, words: &[&str]) -> Call {
    let (tests, options) = words.split_first().unwrap();
    let mut all = vec!["sock", tests, to];
    all.extend(options);
    nicety(all).env("NICETY_TOKEN", TOKEN).limit(harness::LONG)
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
