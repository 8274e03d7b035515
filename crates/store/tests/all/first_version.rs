//! A run directory as the first version wrote it is read, shown and gone on with: schema 1 only
//! ever got keys that may be absent.

use std::fs;
use std::path::Path;

use nicety_model::{CellResult, Note, Plan, Verdict};
use nicety_store::{RunContents, RunDir, TesterLimits, file};

const HOST: &str = r#"{"nicety":"0.1.0","privileged":true,"kernel":"6.1.0","cmdline":"quiet","os":"Debian",
"cpu_model":"EPYC","cpus":2,"cpus_allowed":[0,1],"sockets":1,"numa":{"0":[0,1]},"smt":"on","governor":{},
"mitigations":{},"isolated":[],"hypervisor":null,"clocksource":"tsc","microcode":null,"memory_mib":8000,
"hugepages":{},"sysctl":{},"interfaces":{"eth1":{"driver":"igb","driver_version":null,"firmware":null,
"bus":null,"numa_node":0,"speed_mbps":1000,"mtu":1500,"mac":null,"queues":null,"offloads":[]}},"bios":null}"#;
const RUN: &str = r#"{"schema":1,"name":"bridge","started":"2026-03-14T15:09:26Z","seed":7,"preset":"quick",
"loss_goal":0.0001,"command":"nicety bench"}"#;
const TESTER: &str = r#"{"schema":1,"engine":"af_packet","limit_fps":{"64":900000.0}}"#;
const TRIAL: &str = r#"{"schema":1,"cell":"bridge/64/uni","repeat":1,"index":1,"purpose":{"kind":"search"},"load_fps":1000.0,"duration_s":1.0,"wall_s":1.2,"started_unix_s":1773500966.25,"validity":{"is":"valid"},"frames":{"intended":1000,"sent":1000,"received":999,"lost":1,"duplicate":0,"reordered":0,"corrupt":0,"foreign":0},"loss_ratio":0.001,"forwarding_fps":999.0,"streams":[],"pacing":{"offered_fps":1000.0,"sending_s":1.0,"burst_max":4,"slips":0,"slipped_s":0.0,"slip_max_s":0.0,"late_p99_us":6.0,"late_max_us":80.0,"refused":0},"loss_ledger":[]}
"#;
const CELL: &str = r#"{"schema":1,"cell":"bridge/64/uni","repeat":1,"path":{"kind":"bridge"},"frame_size_bytes":64,"direction":"uni","flows":1,"engine":"af_packet","loss_goal":0.0001,"throughput_fps":245000.0,"trials":16,"search_s":24.3,"verdict":"ok","notes":["said before notes had codes"]}
"#;

fn write(dir: &Path) {
    fs::create_dir(dir).unwrap();
    let plan = Plan::default_bridge().to_toml().unwrap();
    for (name, text) in [
        (file::PLAN, plan.as_str()),
        (file::HOST, HOST),
        (file::RUN, RUN),
        (file::TESTER, TESTER),
        (file::TRIALS, TRIAL),
        (file::CELLS, CELL),
    ] {
        fs::write(dir.join(name), text).unwrap();
    }
}

#[test]
fn a_run_of_the_first_version_is_read_and_gone_on_with() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    write(&dir);
    let contents = RunContents::read(&dir).unwrap();
    assert_eq!(contents.notes, []);
    assert_eq!(contents.cells[0].verdict, Verdict::Ok);
    let said = Note::Recorded("said before notes had codes".to_owned());
    assert_eq!(contents.cells[0].notes, [said]);
    assert_eq!(contents.trials[0].frames.lost, 1);
    assert_eq!(contents.trials[0].stalls, None);
    assert!(!contents.meta.complete);
    assert!(contents.sockets.is_empty());
    for read in [RunContents::read_for_reports, RunContents::read_results] {
        assert_eq!(read(&dir).unwrap().cells, contents.cells);
    }
    let (mut run, stored) = RunDir::open(&dir).unwrap();
    assert_eq!(stored, contents);
    run.append_trial(&stored.trials[0]).unwrap();
    drop(run);
    let grown = RunContents::read(&dir).unwrap();
    assert_eq!(
        grown.trials,
        [stored.trials[0].clone(), stored.trials[0].clone()]
    );
}

#[test]
fn what_reports_do_not_show_of_trials_is_left_out_on_reading() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    write(&dir);
    let place = r#""loss_ledger":[{"where":"d0 rx_dropped","frames":1}]"#;
    let trials = TRIAL.replace(r#""loss_ledger":[]"#, place).repeat(3);
    // The last line is torn, as when a run is killed.
    fs::write(dir.join(file::TRIALS), &trials[..trials.len() - 20]).unwrap();
    let whole = RunContents::read(&dir).unwrap();
    let mut shown = RunContents::read_for_reports(&dir).unwrap();
    assert_eq!((shown.trials.len(), shown.notes.len()), (2, 1));
    assert_eq!(shown.notes, whole.notes);
    assert!(
        shown
            .trials
            .iter()
            .all(|trial| trial.loss_ledger.is_empty())
    );
    for (shown, whole) in shown.trials.iter_mut().zip(&whole.trials) {
        assert_eq!(whole.loss_ledger.len(), 1);
        shown.loss_ledger.clone_from(&whole.loss_ledger);
    }
    assert_eq!(shown, whole);
}

#[test]
fn keys_of_limits_are_the_same_text_as_ever() {
    let text = r#"{"schema":1,"engine":"xdp","limit_fps":{"1518":1.0,"64":4.0,"64/bi":3.0,"64/bi/af_packet":2.0},"notes":[]}"#;
    let limits: TesterLimits = serde_json::from_str(text).unwrap();
    assert_eq!(limits.limit_fps.len(), 4);
    assert_eq!(serde_json::to_string(&limits).unwrap(), text);
}

#[test]
fn paths_are_the_same_objects_of_words_as_ever() {
    for path in [
        r#"{"kind":"bridge"}"#,
        r#"{"accel":"tcg","kind":"vm","nic":"e1000","pin":"4+6","vcpus":"2"}"#,
        r#"{"datapath":"userspace","kind":"ovs","tagging":"filtering"}"#,
        r#"{"a":"eth2","b":"eth3","kind":"testpmd","pci":"0000:03:00.0+0000:03:00.1","queues":"2"}"#,
        // Of a version that can measure more.
        r#"{"kind":"tunnel","mtu":"1400"}"#,
    ] {
        let text = CELL.trim_end().replace(r#"{"kind":"bridge"}"#, path);
        let cell: CellResult = serde_json::from_str(&text).unwrap();
        assert!(
            serde_json::to_string(&cell).unwrap().contains(path),
            "{path}"
        );
        let words: std::collections::BTreeMap<String, String> = serde_json::from_str(path).unwrap();
        let name = words.iter().filter(|(key, _)| *key != "kind");
        let name: String = name.map(|(key, word)| format!(",{key}={word}")).collect();
        assert_eq!(cell.key.path_name(), format!("{}{name}", words["kind"]));
    }
}
