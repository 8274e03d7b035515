//! Cells of switches other than the plain bridge: measured, named, and nothing left of them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{
    Ended, LONG, as_root, in_namespaces, lines, nicety, own_mounts, privileged,
    privileged_namespaces, skip,
};
use crate::leftovers::Before;
use crate::runs::TINY;

/// Runs a plan of one size over these paths with an engine.
fn bench_by(dir: &Path, paths: &str, engine: &str) -> Ended {
    fs::write(dir.join("plan.toml"), format!("{TINY}{paths}")).unwrap();
    nicety(["bench", "plan.toml", "--out", "run", "--engine", engine])
        .dir(dir)
        .env("XDG_RUNTIME_DIR", dir.to_str().unwrap())
        .limit(LONG * 2)
        .run()
}

/// What the run says about itself.
fn meta(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("run/run.json")).unwrap()).unwrap()
}

/// One cell of `kind` has a result, or was skipped for want of what it is made of.
#[track_caller]
fn measured(kind: &str, note: &str) {
    if !privileged_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let before = Before::now(dir.path());
    let path = format!("[[path]]\nkind = \"{kind}\"\n");
    let ended = bench_by(dir.path(), &path, "auto");
    let meta = meta(dir.path());
    if let Some(skipped) = meta["skipped"].get(0) {
        let remedy = skipped["remedy"].as_str().unwrap();
        let known = ["apt install ", "modprobe ", "take a kernel "];
        assert!(
            known.iter().any(|start| remedy.starts_with(start)),
            "{skipped}"
        );
        skip(format_args!("{}; {remedy}", skipped["reason"]));
        ended.assert_code(3);
        return;
    }
    let cells = lines(&dir.path().join("run/cells.jsonl"));
    assert!(!cells.is_empty(), "{ended:?}");
    assert_eq!(cells[0]["path"]["kind"], kind);
    // On a machine that is not quiet there may be no result, but frames were carried.
    let failed = cells.iter().any(|cell| cell["verdict"] == "failed");
    ended.assert_code(i32::from(failed));
    let trials = lines(&dir.path().join("run/trials.jsonl"));
    let carried = |trial: &Value| trial["frames"]["received"].as_u64() > Some(0);
    assert!(trials.iter().any(carried), "{ended:?}");
    let notes = meta["notes"].as_array().unwrap();
    let said = |text: &Value| text["text"].as_str().unwrap().contains(note);
    assert!(note.is_empty() || notes.iter().any(said), "{notes:?}");
    before.check();
    assert_eq!(dirs_in(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_cell_of_tagged_frames() {
    measured("vlan-bridge", "");
}

#[test]
fn a_cell_of_open_vswitch() {
    measured("ovs", " datapath");
}

#[test]
fn a_cell_of_open_vswitch_with_dpdk() {
    measured("ovs-dpdk", "1 polling thread on CPU ");
}

#[test]
fn a_cell_of_testpmd() {
    measured("testpmd", "1 polling thread on CPU ");
}

/// Directories of paths below the user's runtime directory.
fn dirs_in(runtime: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(runtime.join("nicety")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("path-")
        })
        .collect()
}

#[test]
fn switches_end_with_a_killed_nicety() {
    if !privileged() {
        skip("needs root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let runtime = dir.path().to_str().unwrap();
    let before = Before::now(dir.path());
    let ovs = "/usr/lib/openvswitch-switch/ovs-vswitchd";
    let dpdk = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
    for (number, (kind, program, log)) in [
        ("ovs", ovs, "ovsdb-server.log"),
        ("ovs", ovs, "ovs-vswitchd.log"),
        ("ovs-dpdk", dpdk, "ovs-vswitchd.log"),
        ("testpmd", "/usr/bin/dpdk-testpmd", "testpmd.log"),
    ]
    .into_iter()
    .enumerate()
    {
        if !Path::new(program).exists() {
            skip(format_args!("{kind}: there is no {program}"));
            continue;
        }
        let plan = format!("{TINY}[[path]]\nkind = \"{kind}\"\n");
        fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let run = format!("run{number}");
        let mut running = nicety(["bench", "plan.toml", "--out", &run])
            .dir(dir.path())
            .env("XDG_RUNTIME_DIR", runtime)
            .limit(LONG)
            .start();
        // Killed while the program starts.
        running.until("the switch", |_| {
            let mut dirs = dirs_in(dir.path()).into_iter();
            dirs.any(|path| path.join(log).exists())
        });
        let _ = running.kill();
        before.check();
    }
    let ended = nicety(["bench", "plan.toml", "nosuch0", "nosuch1"])
        .dir(dir.path())
        .env("XDG_RUNTIME_DIR", runtime)
        .run();
    ended.assert_code(2);
    assert_eq!(dirs_in(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn cells_that_cannot_be_built_are_skipped_with_their_remedy() {
    if !as_root("needs root") || !own_mounts() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let before = Before::now(dir.path());
    fs::write(
        dir.path().join("plan.toml"),
        format!(
            "{TINY}[[path]]\nkind = \"testpmd\"\n\
             [[path]]\nkind = \"ovs-dpdk\"\nvdev = \"af_xdp\"\nqueues = 4\n"
        ),
    )
    .unwrap();
    // A machine without the program: something that is no file stands in its place.
    let hidden = "for dir in /usr/bin /usr/local/bin; do \
                  if [ -e $dir/dpdk-testpmd ]; then mount --bind /dev/null $dir/dpdk-testpmd; fi; \
                  done; exec \"$@\"";
    let ended = nicety(["bench", "plan.toml", "--out", "run"])
        .below(["unshare", "-m", "sh", "-ec", hidden, "sh"])
        .dir(dir.path())
        .limit(LONG)
        .run();
    ended.assert_code(3);
    let meta = meta(dir.path());
    let skipped = meta["skipped"].as_array().unwrap();
    let find = |kind: &str| {
        let own = |entry: &&Value| entry["cell"].as_str().unwrap().starts_with(kind);
        let entry = skipped.iter().find(own).unwrap();
        ["reason", "remedy"].map(|key| entry[key].as_str().unwrap().to_owned())
    };
    assert_eq!(
        find("testpmd/"),
        [
            "dpdk-testpmd is not installed",
            "apt install dpdk-dev, then go on with --resume"
        ]
    );
    assert_eq!(
        find("ovs-dpdk,"),
        [
            "DPDK's af_xdp driver on a veth has one queue, not 4",
            "write queues = 1 or vdev = \"af_packet\", and start a new run"
        ]
    );
    before.check();
}

/// What a run says about itself that has nothing to measure over this path.
fn skipped(path: &str, engine: &str) -> Option<Value> {
    if !privileged_namespaces() {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let before = Before::now(dir.path());
    bench_by(dir.path(), path, engine).assert_code(3);
    assert_eq!(dirs_in(dir.path()), Vec::<PathBuf>::new());
    before.check();
    Some(meta(dir.path()))
}

#[test]
fn nics_of_dpdk_that_are_not_there_are_named_and_nothing_is_taken() {
    let path = "[[path]]\nkind = \"testpmd\"\na = \"eth8\"\nb = \"eth9\"\n\
                pci = [[\"ffff:ff:1f.6\", \"ffff:ff:1f.7\"]]\n";
    let Some(meta) = skipped(path, "auto") else {
        return;
    };
    match meta["skipped"][0]["reason"].as_str().unwrap() {
        why @ "dpdk-testpmd is not installed" => skip(why),
        reason => assert_eq!(reason, "there is no PCI device ffff:ff:1f.6"),
    }
}

#[test]
fn queues_that_the_engine_does_not_reach_are_not_measured() {
    let path = "[[path]]\nkind = \"vm\"\nguest = \"netns\"\nhost_queues = 4\n";
    let Some(meta) = skipped(path, "xdp") else {
        return;
    };
    let reason = "engine xdp reaches one of the host's 4 receive queues only";
    assert_eq!(meta["skipped"][0]["reason"], reason);
    let remedy = "measure with --engine af_packet, then go on with --resume, or write host_queues = 1 and start a new run";
    assert_eq!(meta["skipped"][0]["remedy"], remedy);
    let notes = meta["notes"].as_array().unwrap();
    let few = "The plan has flows = 1 and host_queues = 4. ";
    let is_few = |note: &Value| note["text"].as_str().unwrap().starts_with(few);
    assert!(notes.iter().any(is_few), "{notes:?}");
}

#[test]
fn a_short_time_box_leaves_out_only_what_could_be_built() {
    if !in_namespaces() || !as_root("needs root") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let both = TINY.replace("[search]", "directions = [\"uni\", \"bi\"]\n[search]");
    let paths = "[[path]]\nkind = \"bridge\"\n[[path]]\nkind = \"testpmd\"\ncores = 1000\n";
    fs::write(dir.path().join("plan.toml"), format!("{both}{paths}")).unwrap();
    let first = ["bench", "plan.toml", "--out", "run", "--for", "1s"];
    let again = ["bench", "--resume", "run", "--for", "1s"];
    for words in [&first[..], &again] {
        let ended = nicety(words.iter()).dir(dir.path()).limit(LONG).run();
        ended.assert_code(1);
        let meta = meta(dir.path());
        let names = |key: &str, of: fn(&Value) -> &Value| -> Vec<String> {
            let list = meta[key].as_array().unwrap().iter();
            list.map(|entry| of(entry).as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(
            names("skipped", |entry| &entry["cell"]),
            ["testpmd,cores=1000/1518/uni", "testpmd,cores=1000/1518/bi"]
        );
        let remedy = meta["skipped"][0]["remedy"].as_str().unwrap();
        assert!(
            remedy.ends_with(" or less, and start a new run"),
            "{remedy}"
        );
        assert_eq!(
            names("left_out", |entry| entry),
            ["bridge/1518/uni", "bridge/1518/bi"]
        );
        let notes = names("notes", |entry| &entry["text"]);
        let short: Vec<_> = notes
            .iter()
            .filter(|note| note.contains("too short for one result"))
            .collect();
        assert_eq!(short.len(), 1, "{notes:?}");
    }
}
