//! `runs add`: a run is kept whole or not at all.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::campaign::{self, Scene};
use crate::harness::{Call, nicety};

/// A run that every version reads.
pub const RUN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/cases/runs/five-visits"
);

pub struct Add(pub TempDir);

impl Add {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Reads the run that is kept.
    pub fn report(&self) -> Call {
        let store = self.0.path().join("runs.db");
        nicety(["report", "1"]).env("NICETY_STORE", store.to_str().unwrap())
    }

    pub fn runs(&self, words: &[&str]) -> Call {
        let store = self.0.path().join("runs.db");
        nicety(
            ["runs"]
                .iter()
                .chain(words)
                .copied()
                .chain(["--store", store.to_str().unwrap()]),
        )
    }
}

impl Scene for Add {
    fn call(&self) -> Call {
        self.runs(&["add", RUN])
    }

    fn span(&self) -> Duration {
        Duration::from_millis(60)
    }

    /// The client of SQLite writes from a thread of its own.
    fn threads(&self) -> bool {
        true
    }

    fn recover(&self) {
        if !self.0.path().join("runs.db").exists() {
            return;
        }
        let listed = self.runs(&["list", "--json"]).run();
        if listed.code() == 0 && !listed.stdout.is_empty() {
            let list: Value = serde_json::from_str(&listed.stdout).unwrap();
            let runs = list["runs"].as_array().unwrap();
            assert!(runs.len() <= 1, "{list}");
            if runs.len() == 1 {
                self.report().run().assert_code(0);
            }
        }
        for entry in fs::read_dir(self.0.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }

    fn state(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.path()).unwrap();
        files
            .map(|file| format!("{:?}", file.unwrap().file_name()))
            .collect()
    }
}

#[test]
fn runs_add_killed() {
    campaign::killed("runs add", &Add::new());
}

#[test]
fn runs_add_refused() {
    campaign::refused("runs add", &Add::new());
}
