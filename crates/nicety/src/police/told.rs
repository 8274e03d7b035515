//! `nicety police status`, `explain` and `reload`: what the daemon has written down, and what it
//! answers.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use nicety_host::journal::since_boot;
use nicety_model::SCHEMA;
use nicety_police::controller::Enforcement;
use nicety_police::explain::{Explained, readable};
use nicety_police::told::ReloadReport;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::state::{self, State};
use crate::cli::police::{AskArgs, ExplainArgs, ReloadArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use nicety_report::page::Page;

/// Names told to somebody who has written another one.
const NAMED: usize = 20;
/// Periods after which a state is old.
const OLD: f64 = 5.0;

/// Tells of everybody.
pub fn status(args: &AskArgs) -> Result<Exit, Failure> {
    let state = read(args.state.as_deref())?;
    if args.json {
        output::print_json(&state)?;
        return Ok(Exit::Done);
    }
    let decision = &state.decision;
    let mut page = Page::new(output::table_options().width);
    let level = match decision.level_bps {
        Some(level) => format!("level {} for each unit of weight", readable(level)),
        None => "all demand fits".to_owned(),
    };
    page.line(&format!(
        "{}, process {}, every {} s: {} sent, {level}",
        state.policy,
        state.pid,
        state.period_s,
        readable(decision.total_bps)
    ));
    page.line(&format!(
        "{} periods, {} limits written, {} errors",
        state.periods, state.writes, state.errors
    ));
    let demand = |bps: Option<f64>| bps.map_or("more".to_owned(), readable);
    let rows: Vec<Vec<String>> = (state.tenants.iter().zip(&decision.tenants))
        .map(|(tenant, decided)| {
            vec![
                tenant.tenant.clone(),
                tenant.weight.to_string(),
                tenant.guarantee.to_string(),
                readable(decided.cap_bps),
                decided.soft_bps.map_or("none".to_owned(), readable),
                readable(tenant.rate_bps),
                demand(tenant.demand_bps),
                readable(tenant.limit_bps),
            ]
        })
        .collect();
    let columns = [
        "name",
        "weight",
        "guarantee",
        "hard",
        "soft",
        "sends",
        "wants",
        "may send",
    ];
    page.table("tenants", &columns, &rows);
    let rows: Vec<Vec<String>> = (decision.ports.iter())
        .map(|port| {
            let owner = state.tenants.get(port.tenant);
            let holds = match (port.present, port.enforcement) {
                (false, _) => match &port.waits {
                    Some(why) => format!("waits: {why}"),
                    None => "gone".to_owned(),
                },
                (true, Enforcement::NotEnforced) => "not enforced".to_owned(),
                (true, Enforcement::Holds) => "holds".to_owned(),
                (true, Enforcement::Untested) => "not reached".to_owned(),
            };
            // One that waits for the kernel's answer has the limit it had.
            let limit = match port.present || port.limit.0 > 0 {
                true => port.limit.to_string(),
                false => String::new(),
            };
            vec![
                port.port.to_string(),
                owner.map_or(String::new(), |owner| owner.tenant.clone()),
                port.rate_bps.map_or(String::new(), readable),
                limit,
                holds,
            ]
        })
        .collect();
    page.table(
        "ports",
        &["port", "tenant", "sends", "limit", "limit is"],
        &rows,
    );
    output::print(&page.into_text())?;
    Ok(Exit::Done)
}

/// Tells of one tenant, or of a port and its tenant, in one line.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let state = read(args.ask.state.as_deref())?;
    let Some(told) = find(&state, &args.name) else {
        return Err(Failure::usage(anyhow!(
            "the policy {} has no tenant or port {:?}; write one of {}",
            state.policy,
            args.name,
            known(&state)
        )));
    };
    match args.ask.json {
        true => output::print_json(&told)?,
        false => output::print(&format!("{told}\n"))?,
    }
    Ok(Exit::Done)
}

/// The tenant of that name, else the port with its tenant.
fn find(state: &State, name: &str) -> Option<Explained> {
    let tenants = &state.tenants;
    let tenant = tenants.iter().find(|tenant| tenant.tenant == name);
    let (tenant, port) = match tenant {
        Some(tenant) => (tenant, None),
        None => {
            let mut ports = state.decision.ports.iter();
            let port = ports.find(|port| port.port.to_string() == name)?;
            (tenants.get(port.tenant)?, Some(port.clone()))
        }
    };
    Some(Explained {
        schema: nicety_model::SCHEMA,
        tenant: tenant.clone(),
        port,
    })
}

/// The first tenants and how many more names there are.
fn known(state: &State) -> String {
    let tenants = state.tenants.iter().map(|tenant| tenant.tenant.clone());
    let ports = state
        .decision
        .ports
        .iter()
        .map(|port| port.port.to_string());
    let names: Vec<String> = tenants.chain(ports).collect();
    match names.split_at_checked(NAMED) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} or {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// Has the daemon take its policy as the file is now, and tells whether it did.
pub fn reload(args: &ReloadArgs) -> Result<Exit, Failure> {
    let ask = args.state.as_deref();
    let before = read(ask)?;
    let pid = i32::try_from(before.pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Failure::environment(anyhow!("the daemon has no number")))?;
    let refused = |error: Errno| {
        Failure::environment(anyhow!(
            "cannot ask process {}: {error}; ask as the user who started it",
            before.pid
        ))
    };
    let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(refused)?;
    // From here on the number is nobody else's.
    if !state::lives(&before) {
        return Err(Failure::environment(anyhow!("the daemon has just ended")));
    }
    pidfd_send_signal(&handle, Signal::USR1).map_err(refused)?;
    let patience = Duration::from_secs_f64(10.0 + OLD * before.period_s.clamp(0.0, 3600.0));
    let begin = Instant::now();
    let count = |state: &State| state.reloads.taken + state.reloads.refused;
    while begin.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(50));
        let now = read(ask)?;
        if count(&now) == count(&before) {
            continue;
        }
        if args.json {
            output::print_json(&ReloadReport {
                schema: SCHEMA,
                policy: now.policy.clone(),
                taken: now.reloads.why.is_none(),
                why: now.reloads.why.clone(),
                tenants: now.tenants.len(),
            })?;
        }
        if let Some(why) = now.reloads.why {
            return Err(Failure {
                exit: Exit::Negative,
                error: anyhow!("the old policy goes on: {why}"),
            });
        }
        let tenants = now.tenants.len();
        output::say(&format!("{} is taken: {tenants} tenants", now.policy));
        return Ok(Exit::Done);
    }
    Err(Failure::environment(anyhow!(
        "the daemon does not answer; see nicety police status"
    )))
}

/// The state of the daemon that runs in a network namespace, with the directory that it has announced or
/// the usual one; none when there is none, or only others may read it.
pub fn read_quietly(netns: u64) -> Option<State> {
    let places = [state::announced(netns), state::directory(None).ok()];
    let read = |place: PathBuf| -> Option<State> {
        serde_json::from_slice(&std::fs::read(super::state_file(&place)).ok()?).ok()
    };
    let mut states = places.into_iter().flatten().filter_map(read);
    states.find(|state| state.netns == netns && state::lives(state))
}

/// The state of a daemon that runs.
pub fn read(asked: Option<&Path>) -> Result<State, Failure> {
    let directory = state::directory(asked)?;
    let path = super::state_file(&directory);
    let none = || {
        Failure::environment(anyhow!(
            "no nicety police runs with the state directory {}; start one, or give its --state",
            directory.display()
        ))
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(none()),
        Err(error) => {
            return Err(Failure::environment(anyhow!(
                "cannot read {}: {error}",
                path.display()
            )));
        }
    };
    let state: State = serde_json::from_str(&text)
        .map_err(|error| Failure::environment(anyhow!("{} is damaged: {error}", path.display())))?;
    let age = since_boot().as_secs_f64() - state.written_s;
    if !state::lives(&state) || age < 0.0 {
        return Err(none());
    }
    if age > OLD * state.period_s.max(1.0) {
        output::say(&format!(
            "this is {age:.0} s old: the daemon does not get on"
        ));
    }
    Ok(state)
}
