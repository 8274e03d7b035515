//! `nicety report` for other programs: JUnit XML and metrics for Prometheus.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Ends, installed, nicety, words};
use crate::made::Made;

#[test]
fn a_run_for_a_build_server_and_for_prometheus() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Made::new(1, &[(64, &[1e5, 1.01e5]), (1518, &[9e4])]);
    made.name = "<b>\"nightly\" & more".to_owned();
    made.write(dir.path(), "run");
    let line = "report run --junit run.xml --prometheus run.prom";
    let ended = nicety(words(line)).dir(dir.path()).run();
    assert_eq!(ended.assert_code(0).stdout, "", "files were asked for");
    let xml = fs::read_to_string(dir.path().join("run.xml")).unwrap();
    assert_eq!(xml.matches("<testcase ").count(), 2);
    assert!(
        xml.contains("name=\"&lt;b&gt;&quot;nightly&quot; &amp; more\""),
        "{xml}"
    );
    let metrics = fs::read_to_string(dir.path().join("run.prom")).unwrap();
    let sample = "nicety_throughput_frames_per_second{cell=\"bridge/1518/uni\",path=\"bridge\",\
                  frame_size_bytes=\"1518\",direction=\"uni\",flows=\"1\"} 90000.0";
    assert!(metrics.lines().any(|line| line == sample), "{metrics}");
    let piped = nicety(["report", "run", "--prometheus", "-"])
        .dir(dir.path())
        .run();
    assert_eq!(piped.assert_code(0).stdout, metrics);
}

/// What a search finds for each of its loss goals has the goal's name; what it measures once has none.
#[test]
fn every_loss_goal_is_exported() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Made::new(1, &[(64, &[1e5]), (1518, &[9e4])]);
    made.goals = vec![("NDR", 0.0001, 1.0), ("PDR", 0.005, 1.5)];
    made.write(dir.path(), "run");
    let words = ["report", "run", "--prometheus", "-"];
    let metrics = nicety(words).dir(dir.path()).run();
    let metrics = metrics.assert_code(0).stdout.clone();
    let labels = "cell=\"bridge/64/uni\",path=\"bridge\",frame_size_bytes=\"64\",direction=\"uni\",flows=\"1\"";
    for line in [
        format!("nicety_throughput_frames_per_second{{{labels},goal=\"NDR\"}} 100000.0"),
        format!("nicety_throughput_frames_per_second{{{labels},goal=\"PDR\"}} 150000.0"),
        format!("nicety_throughput_l1_bytes_per_second{{{labels},goal=\"PDR\"}} 12600000.0"),
        format!("nicety_verdict{{{labels},goal=\"PDR\",verdict=\"ok\"}} 1.0"),
        format!("nicety_repeats{{{labels}}} 1.0"),
        "nicety_run_loss_goal_ratio{goal=\"NDR\"} 0.0001".to_owned(),
        "nicety_run_loss_goal_ratio{goal=\"PDR\"} 0.005".to_owned(),
    ] {
        assert!(
            metrics.lines().any(|one| one == line),
            "no {line} in\n{metrics}"
        );
    }
    let throughput = "nicety_throughput_frames_per_second{";
    let samples = metrics.lines().filter(|line| line.starts_with(throughput));
    assert_eq!(samples.count(), 4, "{metrics}");
}

/// A run's metrics in a directory, as `run.prom`.
fn metrics_of_a_run(dir: &Path) -> String {
    let mut made = Made::new(1, &[(64, &[1e5, 1.01e5]), (1518, &[9e4])]);
    made.name = "a \"nightly\" run of C:\\nicety".to_owned();
    made.write(dir, "run");
    let words = ["report", "run", "--prometheus", "run.prom"];
    nicety(words).dir(dir).run().assert_code(0);
    fs::read_to_string(dir.join("run.prom")).unwrap()
}

#[test]
fn promtool_finds_no_fault_in_the_metrics_of_a_run() {
    if !installed("promtool", "prometheus") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let metrics = metrics_of_a_run(dir.path());
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]);
    promtool.stdin(fs::File::open(dir.path().join("run.prom")).unwrap());
    let said = promtool.output().unwrap();
    assert!(said.status.success(), "{said:?}\n{metrics}");
}

/// What a server on loopback has at `/metrics`; none while nobody listens.
fn scraped(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn node_exporter_reads_the_metrics_of_a_run() {
    if !installed("prometheus-node-exporter", "prometheus-node-exporter") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    metrics_of_a_run(dir.path());
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut exporter = Command::new("prometheus-node-exporter");
    exporter.args(["--collector.disable-defaults", "--collector.textfile"]);
    exporter.arg(format!(
        "--collector.textfile.directory={}",
        dir.path().display()
    ));
    exporter.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    exporter.stdout(Stdio::null()).stderr(Stdio::null());
    let mut exporter = Ends(exporter.spawn().unwrap());
    let page = loop {
        if let Some(page) = scraped(port) {
            break page;
        }
        let ended = exporter.0.try_wait().unwrap();
        assert!(ended.is_none(), "node_exporter has ended: {ended:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    for start in [
        "node_textfile_scrape_error 0",
        "nicety_run_info{",
        "nicety_throughput_frames_per_second{cell=\"bridge/1518/uni\",",
    ] {
        let there = page.lines().any(|line| line.starts_with(start));
        assert!(there, "no {start} in\n{page}");
    }
}
