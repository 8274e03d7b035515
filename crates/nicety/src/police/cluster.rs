//! `nicety police status --cluster` and `nicety police cluster`: what etcd has of all hosts.

use std::path::Path;

use anyhow::anyhow;
use nicety_police::cluster::View;
use nicety_police::cluster::status::ClusterState;
use nicety_policed::etcd::{Forgotten, Settings};
use nicety_policed::{PolicyFile, cluster};
use nicety_report::police;

use crate::cli::police::{ForgetArgs, StatusArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// The policy of the packaged unit.
const USUAL: &str = "/etc/nicety/policy.toml";

/// Prints every tenant of every host.
pub fn status(args: &StatusArgs) -> Result<Exit, Failure> {
    let settings = settings(args.policy.as_deref())?;
    let changes = nicety_policed::etcd::look(&settings).map_err(Failure::environment)?;
    let mut view = View::default();
    view.take(&changes);
    let state = ClusterState::of(&view);
    output::page(&args.format, &state, || {
        police::cluster(&state, &settings.prefix)
    })?;
    Ok(Exit::Done)
}

/// Frees what is kept for a host.
pub fn forget(args: &ForgetArgs) -> Result<Exit, Failure> {
    let settings = settings(args.policy.as_deref())?;
    let host = &args.host;
    let forgotten = nicety_policed::etcd::forget(&settings, host).map_err(Failure::environment)?;
    let why = match forgotten {
        Forgotten::Done => {
            output::say(&format!(
                "{host} is forgotten: what it held is free for others"
            ));
            return Ok(Exit::Done);
        }
        Forgotten::Alive => format!("{host} runs: stop its daemon first"),
        Forgotten::Unknown => {
            format!("nothing is kept for {host}; see nicety police status --cluster")
        }
    };
    Err(Failure {
        exit: Exit::Negative,
        error: anyhow!(why),
    })
}

/// How etcd is reached, by the policy that is named or the packaged unit's. Not by the one that a daemon's state names:
/// it says which files are sent where, and another user may have written the state.
fn settings(policy: Option<&Path>) -> Result<Settings, Failure> {
    let policy = match policy {
        Some(policy) => PolicyFile::read(policy)?,
        None => PolicyFile::read(Path::new(USUAL)).map_err(|error| {
            Failure::usage(anyhow!("{error}; name the cluster's policy with --policy"))
        })?,
    };
    let settings = cluster::session(&policy.policy, String::new());
    settings.ok_or_else(|| {
        let file = policy.file;
        Failure::usage(anyhow!(
            "{file} names no cluster; add [cluster] with endpoints"
        ))
    })
}
