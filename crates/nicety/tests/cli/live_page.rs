//! `nicety bench --listen`: the live view as a page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Running, in_namespaces, nicety, open_dir, skip};
use crate::leftovers::Before;
use crate::runs::bench;

/// What a path answers; empty when nobody listens any more.
fn get(at: SocketAddr, path: &str) -> String {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(at)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    ask().unwrap_or_default()
}

fn address(run: &mut Running) -> SocketAddr {
    let told = |text: String| {
        let (_, rest) = text.split_once("http://")?;
        rest.split_once('/')?.0.parse().ok()
    };
    run.until("an address", |run| told(run.stderr()).is_some());
    told(run.stderr()).unwrap()
}

/// Prometheus' own checker finds nothing wrong with these metrics.
fn promtool_takes(metrics: &str) {
    let checker = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut checker) = checker else {
        skip("promtool is not here; on Debian: apt-get install prometheus");
        return;
    };
    let written = checker.stdin.take().unwrap().write_all(metrics.as_bytes());
    written.unwrap();
    let said = checker.wait_with_output().unwrap();
    assert!(said.status.success(), "{said:?}\n{metrics}");
}

#[test]
fn a_browser_sees_how_far_a_run_is() {
    if !in_namespaces() {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let mut run = bench(dir.path(), &["--listen=127.0.0.1:0"]).start();
    let at = address(&mut run);
    for (path, part) in [
        ("/", "<title>nicety bench</title>"),
        ("/page.css", "--paper"),
        ("/page.js", "state.json"),
        ("/uplot.js", "uPlot"),
        ("/uplot.css", ".uplot"),
        ("/elsewhere", "404 Not Found"),
    ] {
        let mut answer = String::new();
        run.until(path, |_| {
            answer = get(at, path);
            !answer.is_empty()
        });
        assert!(answer.contains(part), "{path}: {answer}");
    }
    let mut state = Value::Null;
    run.until("a trial", |_| {
        let answer = get(at, "/state.json");
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        state = serde_json::from_str(body).unwrap_or_default();
        state["board"]["now"]["trial"][0].as_u64() > Some(1)
    });
    assert_eq!(state["plan"], "tiny");
    assert_eq!(state["board"]["now"]["cell"], "bridge/1518/uni");
    assert_eq!(state["board"]["rows"][0]["cells"][0][0], "bridge/1518/uni");
    assert!(state["board"]["now"]["load_fps"].as_f64() > Some(0.0));
    // Trials that ended, and what is said of the run, as a terminal says it.
    let tried = &state["board"]["trials"][0];
    assert!(tried["load_fps"].as_f64() > Some(0.0), "{state}");
    assert!(tried["loss_ratio"].as_f64().is_some(), "{state}");
    let square = &state["board"]["rows"][0]["cells"][0][1];
    assert_eq!(square["point"]["frame_size_bytes"], 1518);
    assert_eq!(state["words"]["counts"][0], "0 of 1 test point");
    assert!(!state["words"]["search"].as_str().unwrap().is_empty());
    let answer = get(at, "/metrics");
    let (head, metrics) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    for line in [
        "nicety_bench_info{version=\"",
        "nicety_bench_test_points{state=\"to_come\"} 1.0\n",
        "nicety_bench_load_frames_per_second{cell=\"bridge/1518/uni\"} ",
        "# TYPE nicety_bench_trials_total counter\n",
    ] {
        assert!(metrics.contains(line), "no {line} in\n{metrics}");
    }
    promtool_takes(metrics);
    assert!(!state["board"]["cores"].as_array().unwrap().is_empty());
    let ended = run.wait();
    assert!(matches!(ended.code(), 0 | 1), "{ended:?}");
    // Beside the page everything is as without it.
    assert!(ended.stderr.contains("\nbridge/1518/uni: "), "{ended:?}");
    assert!(TcpStream::connect(at).is_err());
    drop(ended);
    std::fs::remove_dir_all(dir.path().join("run")).unwrap();
    std::fs::remove_file(dir.path().join("tiny.toml")).unwrap();
    before.check();
}

#[test]
fn an_address_that_cannot_be_had_is_said_before_anything_is_made() {
    let dir = open_dir();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let refused = bench(dir.path(), &[&format!("--listen={at}")]).run();
    let line = refused.assert_code(3).only_line().to_owned();
    assert!(
        line.starts_with(&format!("cannot listen on {at}: ")),
        "{line}"
    );
    assert!(
        line.ends_with("; give --listen another address or port"),
        "{line}"
    );
    assert!(!dir.path().join("run").exists());
    // A port alone is one of the loopback.
    let refused = bench(dir.path(), &[&format!("--listen={}", at.port())]).run();
    let line = refused.assert_code(3).only_line().to_owned();
    assert!(
        line.starts_with(&format!("cannot listen on {at}: ")),
        "{line}"
    );
    let wrong = nicety(["bench", "--listen=here"]).dir(dir.path()).run();
    wrong.refused(r#"--listen: "here" is not an address with a port; write one as in "127.0.0.1:9471" or "[::]:9471""#);
}
