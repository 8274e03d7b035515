//! Run directories that somebody sends.

use std::io;
use std::path::Path;

use nicety_compare::{Input, Options};
use nicety_model::Run;
use nicety_report::{csv, html, json, junit, markdown, table};
use nicety_runner::assemble;
use nicety_store::{RunContents, RunFiles};

use crate::Target;

/// Files of a directory in one text: each behind a line `== NAME`.
const MARK: &str = "== ";

pub(crate) const RUN: Target = Target {
    name: "run",
    run: |bytes| {
        let Ok(contents) = RunContents::from_files(Path::new("run"), &files(bytes)) else {
            return;
        };
        if let Ok(run) = assemble::run(contents) {
            render(&run);
        }
    },
    seeds: |root| {
        seeds(
            root,
            &[
                "plan.toml",
                "host.json",
                "run.json",
                "tester.json",
                "cells.jsonl",
                "trials.jsonl",
            ],
        )
    },
};

pub(crate) const PERIODS: Target = Target {
    name: "periods",
    run: |bytes| {
        let Ok(folder) = tempfile::tempdir() else {
            return;
        };
        for (name, text) in files(bytes) {
            let plain = Path::new(&name)
                .file_name()
                .is_some_and(|file| *file == *name);
            if plain && std::fs::write(folder.path().join(&name), text).is_err() {
                return;
            }
        }
        if let Ok(policed) = nicety_store::read_policed(folder.path()) {
            let _ = markdown(&policed, &mut io::sink());
            let _ = html(&policed, &mut io::sink());
        }
    },
    seeds: |root| {
        seeds(
            root,
            &["host.json", "police.json", "policy.toml", "periods.jsonl"],
        )
    },
};

/// Everything a run is written as, and compared with itself.
fn render(run: &Run) {
    let out = &mut io::sink();
    let _ = table(
        run,
        out,
        nicety_report::Options {
            width: 80,
            colour: true,
        },
    );
    let _ = markdown(run, out);
    let _ = html(run, out);
    let _ = csv::render(run, out);
    let _ = csv::guests::render(run, out);
    let _ = csv::ranking::render(run, out);
    let _ = csv::directions::render(run, out);
    let _ = junit::render(run, out);
    let _ = json::render(run, out, json::Style::Pretty);
    let _ = nicety_report::prometheus::families(run);
    let side = || Input {
        source: "run".to_owned(),
        run: run.clone(),
    };
    if let Ok(comparison) = nicety_compare::compare(&[side()], &[side()], &Options::default()) {
        let _ = markdown(&comparison, out);
    }
}

/// The files in a text.
fn files(bytes: &[u8]) -> RunFiles {
    let text = String::from_utf8_lossy(bytes);
    let mut files = RunFiles::new();
    let mut name = String::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix(MARK) {
            Some(next) => name = next.trim_end().to_owned(),
            None => files
                .entry(name.clone())
                .or_default()
                .extend_from_slice(line.as_bytes()),
        }
    }
    files
}

/// The runs of `tests/cases` as such texts.
fn seeds(root: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    let Ok(folders) = std::fs::read_dir(root.join("runs")) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = folders.flatten().map(|folder| folder.path()).collect();
    paths.sort();
    let text = |folder: &std::path::PathBuf| -> Vec<u8> {
        let of = |name: &&str| {
            let mut file = std::fs::read(folder.join(name)).ok()?;
            file.splice(0..0, format!("{MARK}{name}\n").into_bytes());
            Some(file)
        };
        names.iter().filter_map(of).flatten().collect()
    };
    paths
        .iter()
        .map(text)
        .filter(|text| !text.is_empty())
        .collect()
}
