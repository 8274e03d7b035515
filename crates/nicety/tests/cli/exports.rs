//! `nicety report` for other programs: JUnit XML and OpenMetrics.

use std::fs;

use crate::harness::nicety;
use crate::made::Made;

#[test]
fn a_run_for_a_build_server_and_for_prometheus() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Made::new(1, &[(64, &[1e5, 1.01e5]), (1518, &[9e4])]);
    made.name = "<b>\"nightly\" & more".to_owned();
    made.write(dir.path(), "run");
    let words = [
        "report",
        "run",
        "--junit",
        "run.xml",
        "--openmetrics",
        "run.prom",
    ];
    let ended = nicety(words).dir(dir.path()).run();
    assert_eq!(ended.assert_code(0).stdout, "", "files were asked for");
    let xml = fs::read_to_string(dir.path().join("run.xml")).unwrap();
    assert_eq!(xml.matches("<testcase ").count(), 2);
    assert!(
        xml.contains("name=\"&lt;b&gt;&quot;nightly&quot; &amp; more\""),
        "{xml}"
    );
    let metrics = fs::read_to_string(dir.path().join("run.prom")).unwrap();
    let sample = "nicety_throughput_frames_per_second{cell=\"bridge/1518/uni\",path=\"bridge\",\
                  frame_size_bytes=\"1518\",direction=\"uni\",flows=\"1\"} 90000";
    assert!(metrics.lines().any(|line| line == sample), "{metrics}");
    let piped = nicety(["report", "run", "--openmetrics", "-"])
        .dir(dir.path())
        .run();
    assert_eq!(piped.assert_code(0).stdout, metrics);
}
