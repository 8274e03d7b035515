//! `nicety tune plan` for whole hosts; what it says about them is in `tests/cases/advice`, whose hosts
//! these are.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{nicety, words};

/// A host as files, written below a temporary folder.
pub struct Tree(BTreeMap<String, String>);

impl Tree {
    /// The host of a case.
    pub fn of_case(name: &str) -> Self {
        let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/advice");
        let text = fs::read_to_string(format!("{cases}/{name}/host.json")).unwrap();
        let mut captured: Value = serde_json::from_str(&text).unwrap();
        Self(serde_json::from_value(captured["files"].take()).unwrap())
    }

    pub fn put(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.0.insert(path.into(), text.into());
    }

    pub fn written(&self) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in &self.0 {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }
}

#[test]
fn the_plan_follows_its_schema() {
    let tree = Tree::of_case("oracle-large-kvm").written();
    let tree = tree.path().to_str().unwrap();
    let call = ["tune", "plan", "--json", "--goal", "latency", tree];
    let plan = nicety(call).run();
    crate::schema::read(&plan.assert_code(0).stdout, "Advice");
}

#[test]
fn wrong_wishes_are_one_line() {
    for (arguments, part) in [
        (
            ["--goal", "speed"],
            "is not a goal; write throughput, latency or forwarding",
        ),
        (
            ["--rtt", "20"],
            "is not a round trip time; write it as 0.2ms",
        ),
        (["--rtt", "0ms"], "round trip time"),
        (["--rtt", "infs"], "is not a round trip time"),
        (["--only", "T99"], "is not a rule; write ids such as T04"),
        (["--rate", "0"], "--rate"),
    ] {
        let call = ["tune", "plan", arguments[0], arguments[1]];
        nicety(call).run().refused_for(part);
    }
}

#[test]
fn rules_are_listed_and_explained() {
    let list = nicety(["explain", "T"]).run();
    let list = &list.assert_code(0).stdout;
    assert!(list.starts_with("T01 "), "{list}");
    assert!(list.contains("\nT35 "), "{list}");
    let one = nicety(["explain", "t04"]).run();
    assert!(one.assert_code(0).stdout.starts_with("T04 irq-affinity"));
    let json = nicety(["explain", "irq-affinity", "--json"]).run().json();
    assert_eq!(json["rules"][0]["id"], "T04");
    let wrong = nicety(["explain", "T99"]).run();
    wrong.refused_for("nicety explain lists all");
}

#[test]
fn interfaces_without_functions_are_refused() {
    for (words, part) in [
        (
            ["lo", "2"],
            "lo cannot have virtual functions; see nicety port list",
        ),
        (["lo", "0"], "lo cannot have virtual functions"),
        (["nosuch0", "2"], "there is no interface nosuch0"),
        (
            ["lo", "two"],
            "N: \"two\" is not a number of functions; write 0 or more",
        ),
    ] {
        let ended = nicety(["port", "functions"].iter().chain(&words)).run();
        ended.refused_for(part);
    }
}

#[test]
fn the_picture_shows_what_is_far_from_its_port() {
    let tree = Tree::of_case("oracle-large-kvm").written();
    let page = tree.path().join("host.html");
    let line = format!(
        "inspect --sysroot {} --html {}",
        tree.path().display(),
        page.display()
    );
    nicety(words(&line)).run().assert_code(0);
    let text = fs::read_to_string(page).unwrap();
    assert!(
        text.contains("eth4-TxRx-0 runs on CPU 0, eth4 is on node 3"),
        "{text}"
    );
    assert!(text.contains("web vCPU 0 runs on CPUs 0-159, eth4 is on node 3"));
    assert!(text.contains("8 nodes with 160 CPUs"));
    // One square per CPU and one frame per node, in each of the three widths it is drawn for.
    assert_eq!(text.matches("<rect").count(), 3 * (160 + 8));
}

/// Garbage in all files of a kind in turn, short and as long as a megabyte.
#[test]
fn garbage_in_any_file_never_breaks_a_plan() {
    let whole = Tree::of_case("tuned-and-docker");
    let kind = |path: &str| {
        let name = path.rsplit('/').next().unwrap().to_owned();
        name.trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    let mut kinds: Vec<String> = whole.0.keys().map(|path| kind(path)).collect();
    kinds.sort();
    kinds.dedup();
    assert!(kinds.len() > 30, "{kinds:?}");
    let long = "9".repeat(1 << 20);
    let texts = ["\u{fffd}\n-1 0x \0", "0-4294967295", &long];
    let dir = whole.written();
    for (kind_at, wanted) in kinds.iter().enumerate() {
        let text = texts[kind_at % texts.len()];
        let mut once = false;
        for path in whole.0.keys() {
            if kind(path) != *wanted || (once && text.len() > 100) {
                continue;
            }
            fs::write(dir.path().join(path), text).unwrap();
            once = true;
        }
        // Either words or one line of what is wrong; `nicety` checks for panics.
        let call = ["tune", "plan", dir.path().to_str().unwrap()];
        nicety(call).run().assert_code(0);
        for (path, old) in &whole.0 {
            if kind(path) == *wanted {
                fs::write(dir.path().join(path), old).unwrap();
            }
        }
    }
}
