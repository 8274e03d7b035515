//! From the words that name what is measured to a plan.

use std::path::Path;

use anyhow::anyhow;
use nicety_host::regular;
use nicety_model::plan::{Plan, PortsError};

use crate::cli::what::WhatArgs;
use crate::exit::Failure;

/// Largest plan in bytes: far more than all paths there are.
const LARGEST: u64 = 16 << 20;

/// The plan that the words name; without any it is a kernel bridge.
pub fn plan(what: &WhatArgs) -> Result<Plan, Failure> {
    let mut plan = match what.plan() {
        None => Plan::default_bridge(),
        Some(file) => parse(&file)?,
    };
    if let Some([a, b]) = what.ports() {
        let wrong = |error| Failure::usage(anyhow!("{a} {b}: {}", with_fix(&error)));
        plan = plan.with_ports(a, b).map_err(wrong)?;
    }
    if let Some(path) = &what.path {
        plan.paths = made(path)?.paths;
    }
    Ok(plan)
}

/// A plan with one path by its name, as results have it: the kind, then keys and values.
fn made(name: &str) -> Result<Plan, Failure> {
    let mut parts = name.split(',');
    let mut text = format!("[[path]]\nkind = {:?}\n", parts.next().unwrap_or_default());
    for part in parts {
        let (key, word) = part.split_once('=').unwrap_or((part, ""));
        let literal = word.parse::<i64>().is_ok() || word.parse::<bool>().is_ok();
        text += &if literal {
            format!("{key} = {word}\n")
        } else {
            format!("{key} = {word:?}\n")
        };
    }
    Plan::parse("--path", &text).map_err(Failure::usage)
}

/// What is wrong with the ports, and what to do.
fn with_fix(error: &PortsError) -> String {
    match error {
        PortsError::Same(_) => "a path needs two different interfaces; name another one".to_owned(),
        other => format!("{other}; write names that `ip link` shows"),
    }
}

/// Reads a plan.
pub fn parse(file: &Path) -> Result<Plan, Failure> {
    let text = regular::text(file, LARGEST).map_err(|error| {
        Failure::usage(anyhow!(
            "cannot read the plan {}: {error}; name a TOML file or two interfaces, or nothing for a bridge",
            file.display()
        ))
    })?;
    Plan::parse(&file.display().to_string(), &text).map_err(Failure::usage)
}
