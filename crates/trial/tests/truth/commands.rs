//! `nft` and `tc` inside a namespace.

use std::io::Write;
use std::process::{Command, Stdio};

use nicety_netdev::netns::NetNs;
use nicety_testkit::runner::Skip;

/// What the kernel answers through these programs when it lacks something or forbids it. Any
/// other failure is one of the test.
const REFUSALS: [&str; 4] = [
    "Could not process rule",
    "Operation not permitted",
    "Operation not supported",
    "qdisc kind is unknown",
];

/// Runs a command in `ns` with `input`; its output.
pub fn run(ns: &NetNs, program: &str, arguments: &[&str], input: &str) -> Result<String, Skip> {
    let output = ns.run(|| {
        let mut child = Command::new(program)
            .args(arguments)
            .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        child.wait_with_output()
    });
    let output = output
        .unwrap()
        .map_err(|error| Skip(format!("cannot run {program}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = error.lines().next().unwrap_or_default();
    assert!(
        REFUSALS.iter().any(|refusal| error.contains(refusal)),
        "{program} {arguments:?}: {error}"
    );
    Err(Skip(format!("{program}: {line}")))
}

/// The number behind the first `key` in a command's output.
pub fn number(text: &str, key: &str) -> u64 {
    let (_, rest) = text.split_once(key).unwrap();
    let rest = rest.trim_start_matches([' ', '"', ':']);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}
