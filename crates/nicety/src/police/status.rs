//! `nicety police status`, `explain` and `reload`: what the daemon has written down, and what it
//! answers.

use std::path::Path;

use anyhow::anyhow;
use nicety_police::controller::Enforcement;
use nicety_police::explain::readable;
use nicety_police::report::State;
use nicety_policed::client;

use super::directory;
use crate::cli::police::{AskArgs, ExplainArgs, ReloadArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use nicety_report::page::Page;

/// Prints the state of everybody.
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

/// Prints one tenant, or a port and its tenant, in one line.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let state = read(args.ask.state.as_deref())?;
    let explained = client::find(&state, &args.name)?;
    match args.ask.json {
        true => output::print_json(&explained)?,
        false => output::print(&format!("{explained}\n"))?,
    }
    Ok(Exit::Done)
}

/// Has the daemon take its policy as the file is now.
pub fn reload(args: &ReloadArgs) -> Result<Exit, Failure> {
    let directory = directory(args.state.as_deref())?;
    let report = client::reload(&directory)?;
    if args.json {
        output::print_json(&report)?;
    }
    if let Some(why) = report.why {
        return Err(Failure {
            exit: Exit::Negative,
            error: anyhow!("the old policy goes on: {why}"),
        });
    }
    output::say(&format!(
        "{} is taken: {} tenants",
        report.policy, report.tenants
    ));
    Ok(Exit::Done)
}

/// The state of a daemon that runs.
pub fn read(asked: Option<&Path>) -> Result<State, Failure> {
    let read = client::read(&directory(asked)?)?;
    if let Some(age) = read.old_s {
        output::say(&format!(
            "this is {age:.0} s old: the daemon does not get on"
        ));
    }
    Ok(read.state)
}
