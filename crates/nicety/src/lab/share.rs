//! Directories of the host that the lab may write to: what the user named, and what is said of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nicety_lab::runs::{RUNS, Runs};
use nicety_lab::state::RunsDir;

use crate::exit::Failure;
use crate::output;

/// The directory named with `--out`, made and in full.
pub fn named(out: &Path) -> Result<PathBuf, Failure> {
    let full = fs::create_dir_all(out).and_then(|()| out.canonicalize());
    let full = full.map_err(|error| {
        let out = out.display();
        Failure::usage(anyhow!("--out {out}: {error}; name another directory"))
    })?;
    if full == Path::new("/") {
        Err(Failure::usage(anyhow!(
            "--out / would open the whole host to the lab; name a directory for results"
        )))
    } else {
        Ok(full)
    }
}

/// The caller's `./runs`; says why when it cannot be had.
pub fn runs() -> Option<Runs> {
    Runs::here()
        .inspect_err(|error| {
            output::say(&format!(
                "nicety: ./{RUNS}: {error}; nothing that is written in the lab stays, name a directory with lab run --out DIR"
            ));
        })
        .ok()
}

/// What a lab that is up keeps, when that is not what is written to the caller's `./runs`.
pub fn kept_elsewhere(runs: Option<&RunsDir>) -> Option<String> {
    let here = std::env::current_dir().ok()?.join(RUNS);
    let here = here.canonicalize().unwrap_or(here);
    let kept = match runs {
        Some(runs) if runs.directory == here => return None,
        Some(runs) => format!("only what is written to {}", runs.directory.display()),
        None => "nothing".to_owned(),
    };
    Some(format!(
        "of the lab that is up {kept} stays; --fresh boots one for ./{RUNS}, --out DIR one for another directory"
    ))
}
