//! The recipes for build servers: their steps in a shell, with and without a regression.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use yaml_rust2::{Yaml, YamlLoader};

use crate::harness::{Ended, NICETY, call, skip};
use crate::made::Made;

const GITLAB: &str = include_str!("../../../../packaging/ci/gitlab-ci.yml");
const GITHUB: &str = include_str!("../../../../packaging/ci/github.yml");
/// Checks what it is asked as the real one does, and takes the next of the made runs.
const BENCH: &str = r#"#!/bin/sh
if [ "$1" != bench ]; then exec "$REAL" "$@"; fi
[ "$2 $3 $4" = "network.toml --strict --out" ] || { echo "odd words: $*" >&2; exit 99; }
next=$(ls "$MADE" | head -n 1)
mkdir -p "$(dirname "$5")" && mv "$MADE/$next" "$5"
"#;

fn yaml(text: &str) -> Yaml {
    let mut all = YamlLoader::load_from_str(text).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn texts(list: &Yaml) -> Vec<String> {
    let list = list.as_vec().unwrap().iter();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// What GitLab's runner gives to one shell.
fn gitlab() -> Vec<String> {
    let all = yaml(GITLAB);
    let job = &all["network"];
    vec![
        [texts(&job["before_script"]), texts(&job["script"])]
            .concat()
            .join("\n"),
    ]
}

/// The steps of this event, each for a shell of its own.
fn github(event: &str) -> Vec<String> {
    let all = yaml(GITHUB);
    let steps = all["jobs"]["network"]["steps"].as_vec().unwrap().clone();
    let runs = |step: &&Yaml| {
        let condition = step["if"].as_str().unwrap_or("always()");
        step["run"].as_str().is_some() && (condition == "always()" || condition.contains(event))
    };
    let steps = steps.iter().filter(runs);
    steps
        .map(|step| step["run"].as_str().unwrap().to_owned())
        .collect()
}

/// A working copy on a runner, with a store that stays.
struct Runner {
    dir: tempfile::TempDir,
    seed: u64,
}

impl Runner {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("bin/nicety");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, BENCH).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir, seed: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A job that measures this level; ends with its first step that fails.
    fn job(&mut self, level: f64, steps: &[String], environment: &[(&str, &str)]) -> Ended {
        let work = self.path("work");
        let _ = fs::remove_dir_all(&work);
        fs::create_dir(&work).unwrap();
        let made = self.path("made");
        let _ = fs::remove_dir_all(&made);
        for n in 1..=2 {
            self.seed += 1;
            let values = [0.998, 1.0, 1.003].map(|factor| level * factor);
            Made::new(self.seed, &[(64, &values)]).write(&made, &format!("run-{n}"));
        }
        let mut last = None;
        for step in steps {
            let ended = self.step(&work, step, environment);
            let failed = !ended.status.success();
            last = Some(ended);
            if failed {
                break;
            }
        }
        last.unwrap()
    }

    fn step(&self, work: &Path, step: &str, environment: &[(&str, &str)]) -> Ended {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.path("bin").display());
        let words = ["--noprofile", "--norc", "-eo", "pipefail", "-c", step];
        let summary = self.path("summary.md");
        let mut shell = call(Path::new("/bin/bash"), words)
            .dir(work)
            .env("PATH", &path)
            .env("REAL", NICETY)
            .env("MADE", self.path("made").to_str().unwrap())
            .env("RUNS", "2")
            .env("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())
            .env("NICETY_STORE", self.path("store.sqlite").to_str().unwrap());
        for (name, value) in environment {
            shell = shell.env(name, value);
        }
        shell.run()
    }
}

/// Pushes and merge requests in order: what is slower is refused, and only that.
fn plays(push: (&[String], &[(&str, &str)]), merge: (&[String], &[(&str, &str)])) {
    let mut runner = Runner::new();
    let first = runner.job(1e5, merge.0, merge.1);
    assert!(
        first.assert_code(0).stdout.is_empty() || first.stdout.contains("no runs of main yet"),
        "{first:?}"
    );
    let comparison = runner.path("work/comparison.md");
    assert_eq!(
        fs::read_to_string(&comparison).unwrap(),
        "no runs of main yet; nothing to compare with\n"
    );
    for _ in 0..2 {
        runner.job(1e5, push.0, push.1).assert_code(0);
    }
    runner.job(1.001e5, merge.0, merge.1).assert_code(0);
    runner.job(0.9e5, merge.0, merge.1).assert_code(1);
    let text = fs::read_to_string(&comparison).unwrap();
    assert!(text.contains("worse"), "{text}");
    let kept = runner.step(
        &runner.path("work"),
        "nicety runs list --format csv --no-header | cut -d, -f1 | wc -l",
        &[],
    );
    assert_eq!(kept.stdout.trim(), "10", "all runs are kept: {kept:?}");
}

#[test]
fn the_recipe_for_gitlab_fails_a_merge_that_is_slower() {
    let steps = gitlab();
    let push = [("CI_COMMIT_BRANCH", "main")];
    let merge = [
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
    ];
    plays((&steps, &push), (&steps, &merge));
}

#[test]
fn the_recipe_for_github_fails_a_merge_that_is_slower() {
    let [push, merge] = ["push", "pull_request"].map(github);
    assert_eq!((push.len(), merge.len()), (2, 4), "{push:?} {merge:?}");
    plays(
        (&push, &[("LABEL", "main")]),
        (&merge, &[("LABEL", "pr-7"), ("BRANCH", "main")]),
    );
}

#[test]
fn build_servers_know_every_key_of_their_recipe() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = crate::dashboards::tool("ci", "check-jsonschema");
    let checks = |schema: &str, text: &str| {
        let mut file = tempfile::Builder::new().suffix(".yml").tempfile().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let mut check = Command::new(&program);
        check.args(["--builtin-schema", schema]).arg(file.path());
        check.current_dir(&root).output()
    };
    for (schema, text, odd) in [
        (
            "vendor.gitlab-ci",
            GITLAB,
            ("resource_group:", "resource_groups:"),
        ),
        ("vendor.github-workflows", GITHUB, ("runs-on:", "run-on:")),
    ] {
        match checks(schema, text) {
            Err(why) => {
                skip(format_args!(
                    "no check-jsonschema ({why}); scripts/setup.sh test fetches it"
                ));
                return;
            }
            Ok(said) => assert!(said.status.success(), "{said:?}"),
        }
        // The schema does tell.
        let wrong = text.replace(odd.0, odd.1);
        assert!(
            !checks(schema, &wrong).unwrap().status.success(),
            "{schema}"
        );
    }
}
