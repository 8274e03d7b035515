//! `nicety bisect` with commands that print made runs, and below `git bisect run`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Ended, NICETY, nicety, skip};
use crate::made::Made;

const GOOD: [f64; 3] = [100_000.0, 100_400.0, 99_700.0];
const BAD: [f64; 3] = [90_000.0, 90_400.0, 89_700.0];

/// Three runs a side, and one to be judged that is like `like`.
fn runs(dir: &Path) {
    for n in 0..3_u64 {
        let shift = 1.0 + n as f64 / 1000.0;
        let of = |numbers: [f64; 3]| numbers.map(|number| number * shift);
        Made::new(n + 1, &[(64, &of(GOOD)), (1518, &GOOD)]).write(dir, &format!("good{n}"));
        Made::new(n + 11, &[(64, &of(BAD)), (1518, &GOOD)]).write(dir, &format!("bad{n}"));
    }
    Made::new(21, &[(64, &[100_100.0]), (1518, &GOOD)]).write(dir, "like-good");
    Made::new(22, &[(64, &[90_100.0]), (1518, &GOOD)]).write(dir, "like-bad");
    Made::new(23, &[(64, &[95_000.0]), (1518, &GOOD)]).write(dir, "between");
    let mut failed = Made::new(24, &[(64, &[90_100.0])]);
    failed.verdict = "failed".to_owned();
    failed.write(dir, "failed");
}

const SIDES: [&str; 12] = [
    "--good", "good0", "--good", "good1", "--good", "good2", "--bad", "bad0", "--bad", "bad1",
    "--bad", "bad2",
];

fn bisect(dir: &Path, words: &[&str], command: &str) -> Ended {
    let all = [&["bisect"][..], &SIDES, words, &["--", "sh", "-c", command]].concat();
    nicety(all).dir(dir).run()
}

#[test]
fn a_revision_is_good_bad_or_cannot_be_told() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path());
    for (like, code, side) in [("like-good", 0, "good"), ("like-bad", 1, "bad")] {
        let ended = bisect(dir.path(), &["--json"], &format!("cp -r {like} {{}}"));
        let told: Value = serde_json::from_str(&ended.assert_code(code).stdout).unwrap();
        assert_eq!(
            (&told["side"], &told["cell"]),
            (&side.into(), &"bridge/64/uni".into())
        );
        let count = told["numbers"].as_array().unwrap().len();
        assert!((1..=4).contains(&count), "{told}");
    }
    for (command, words, told) in [
        (
            "cp -r between {}",
            &["--most", "4"][..],
            "cannot tell after 4 measurements: 4 measurements were not enough for an error of 5 %\n",
        ),
        (
            "exit 7",
            &[],
            "cannot tell after 0 measurements: sh failed: exit status: 7\n",
        ),
        (
            "cp -r failed {}",
            &[],
            "cannot tell after 0 measurements: bridge/64/uni: failed now\n",
        ),
    ] {
        let ended = bisect(dir.path(), words, command);
        assert_eq!(ended.assert_code(125).stdout, told, "{command}");
    }
    // What would be a bad revision to git is no exit code of a mistake.
    for (words, line) in [
        (
            &["bisect", "--god", "x"][..],
            "unknown argument --god; did you mean --good?",
        ),
        (
            &["bisect", "--good", "none", "--bad", "none", "--", "true"],
            "there is no run directory none; check the path",
        ),
        (
            &["bisect", "--good", "good0", "--bad", "good1", "--", "true"],
            "no cell of the bad side is worse: bridge/64/uni is same, bridge/1518/uni is same; measure both again with more repeats, or name another --metric",
        ),
    ] {
        let ended = nicety(words).dir(dir.path()).run();
        assert_eq!(ended.assert_code(129).only_line(), line, "{words:?}");
    }
}

/// `git` in a directory.
fn git(dir: &Path, words: &[&str]) -> String {
    let said = Command::new("git")
        .args(crate::harness::words(
            "-c user.name=n -c user.email=n@example.org -c init.defaultBranch=main",
        ))
        .args(words)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(said.status.success(), "git {words:?}: {said:?}");
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn git_finds_the_first_bad_revision() {
    if Command::new("git").arg("--version").output().is_err() {
        skip("no git here; on Debian: apt-get install git");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("made");
    fs::create_dir(&made).unwrap();
    runs(&made);
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    git(&tree, &["init", "-q"]);
    for n in 0..8 {
        let like = match n {
            3 => "broken",
            0..5 => "like-good",
            _ => "like-bad",
        };
        fs::write(tree.join("speed"), format!("{like}\n")).unwrap();
        fs::write(tree.join("n"), n.to_string()).unwrap();
        git(&tree, &["add", "."]);
        git(&tree, &["commit", "-qm", &format!("revision {n}")]);
    }
    git(&tree, &["bisect", "start", "HEAD", "HEAD~7"]);
    let at = |name: &str| made.join(name).display().to_string();
    let measure = format!("cp -r {}/$(cat speed) {{}}", made.display());
    let sides: Vec<String> = (0..3)
        .flat_map(|n| {
            [
                "--good".to_owned(),
                at(&format!("good{n}")),
                "--bad".to_owned(),
                at(&format!("bad{n}")),
            ]
        })
        .collect();
    let mut words = vec!["bisect", "run", NICETY, "bisect", "-q"];
    words.extend(sides.iter().map(String::as_str));
    words.extend(["--", "sh", "-c", &measure]);
    let said = git(&tree, &words);
    let found = git(&tree, &["show", "-s", "--format=%s", "refs/bisect/bad"]);
    assert_eq!(found, "revision 5\n", "{said}");
}
