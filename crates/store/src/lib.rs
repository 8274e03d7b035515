//! The run directory: what a run leaves behind, written as it is measured.
//!
//! | File | Written | Holds |
//! |---|---|---|
//! | `plan.toml` | once | the plan, also of a run that had none |
//! | `host.json` | once | [`nicety_model::Fingerprint`] |
//! | `run.json` | last at creation, replaced since | [`RunMeta`] |
//! | `tester.json` | replaced | [`TesterLimits`] |
//! | `trials.jsonl` | a line per trial | [`nicety_model::TrialRecord`] |
//! | `cells.jsonl` | a line per cell | [`nicety_model::CellResult`] |
//! | `sockets.jsonl` | a line per socket test | [`nicety_model::sock::SockResult`] |
//! | `report.html` and its like | replaced | rendered results |
//!
//! A recorded run of the police leaves another kind of directory ([`PolicedDir`]): `policy.toml`,
//! `host.json`, `police.json` with the shared link and its tenants, `periods.jsonl` with a line per
//! period, `report.html`.
//!
//! A soak leaves `plan.toml`, `host.json`, `soak.json`, `intervals.jsonl` with a line for ten seconds or more, and
//! `report.html` ([`SoakDir`]).
//!
//! Each line is one write and one `fdatasync`; each other file is written beside its place
//! and renamed. So a kill or a crash at any moment loses at most the line being written, and
//! the next [`RunDir::open`] cuts that off and says so. While a [`RunDir`] lives, an
//! exclusive `flock` on the directory keeps a second writer out. Reading
//! ([`RunContents::read`]) needs no lock and changes nothing.

mod contents;
mod dir;
mod error;
mod files;
mod lines;
mod lock;
mod meta;
mod name;
mod policed;
mod soaked;

pub use contents::{RunContents, RunFiles, read_files, read_run_json};
pub use dir::RunDir;
pub use error::StoreError;
pub use files::{LARGEST, make_dirs};
pub use meta::{RunMeta, TesterLimits};
pub use name::{new_dir, rfc3339, run_dir_name};
pub use policed::{PolicedDir, is_policed, read_policed};
pub use soaked::{SoakDir, SoakFiles, is_soak, read_soak};

/// Names of the files in a run directory.
pub mod file {
    /// The plan.
    pub const PLAN: &str = "plan.toml";
    /// The machine.
    pub const HOST: &str = "host.json";
    /// The run's own facts.
    pub const RUN: &str = "run.json";
    /// The tester's own limits.
    pub const TESTER: &str = "tester.json";
    /// Trials.
    pub const TRIALS: &str = "trials.jsonl";
    /// Cells.
    pub const CELLS: &str = "cells.jsonl";
    /// Results of socket workloads.
    pub const SOCKETS: &str = "sockets.jsonl";
    /// The report made at the end of a run.
    pub const REPORT: &str = "report.html";
    /// The policy of a recorded run of the police.
    pub const POLICY: &str = "policy.toml";
    /// What such a run shared, and among whom.
    pub const POLICE: &str = "police.json";
    /// Its periods.
    pub const PERIODS: &str = "periods.jsonl";
    /// What a soak sends, over what, and for how long.
    pub const SOAK: &str = "soak.json";
    /// Its intervals and gaps.
    pub const INTERVALS: &str = "intervals.jsonl";
}
