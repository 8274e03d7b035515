//! `--dry-run`: the same decisions, told and not applied.

use std::time::Duration;

use nicety_model::{BitRate, SCHEMA};
use nicety_police::explain::readable;
use nicety_police::told::{DryPeriod, DryPort};
use nicety_police::{Controller, Decision, Policy, PortName, Seen, Tuning};

use super::check::check;
use super::ports::Ports;
use super::softly::Kept;
use super::{guests, state};
use crate::cli::police::RunArgs;
use crate::exit::{Exit, Failure};

/// Periods without `--periods`.
const PERIODS: u64 = 3;

/// Tells for a few periods what would be done.
pub fn run(policy: &Policy, file: &str, args: &RunArgs) -> Result<Exit, Failure> {
    let mut ports = Ports::open(Some(policy))?;
    check(policy, file, &mut ports, args.absent_ok)?;
    guests::check(policy)?;
    let kept = Kept::open(&state::directory(args.state.as_deref())?);
    let softs = guests::softs(policy, &kept, None);
    let mut controller = Controller::new(policy.clone(), &[], Tuning::default());
    for (tenant, soft) in softs.now().into_iter().enumerate() {
        controller.soften(tenant, soft);
    }
    // The first sample has no rate yet.
    for period in 0..=args.periods.unwrap_or(PERIODS) {
        if period > 0 {
            std::thread::sleep(policy.period.max(Duration::from_millis(100)));
        }
        let mut survey = ports.survey().map_err(Failure::environment)?;
        let moments: Vec<_> = (policy.ports().enumerate())
            .map(|(number, (_, port))| survey.take(number, port))
            .collect();
        for (index, moment) in moments.iter().enumerate() {
            if let Some(setup) = &moment.setup {
                controller.describe(index, setup);
            }
        }
        let seen: Vec<_> = moments.iter().map(|moment| moment.seen).collect();
        let decision = controller.step(&seen);
        if period == 0 {
            continue;
        }
        crate::output::print(&match args.json {
            true => crate::output::line(&told(period, policy, &decision, &seen))?,
            false => text(period, policy, &decision, &seen),
        })?;
    }
    Ok(Exit::Done)
}

fn text(period: u64, policy: &Policy, decision: &Decision, seen: &[Seen]) -> String {
    let mut text = format!(
        "period {period}: {} of {}\n",
        readable(decision.total_bps),
        policy.capacity
    );
    for (port, now) in decision.ports.iter().zip(seen) {
        let has = match now.limit {
            Some(limit) if limit.0 > 0 => limit.to_string(),
            Some(_) => "none".to_owned(),
            None => "not there".to_owned(),
        };
        let sends = port.rate_bps.map_or("nothing known".to_owned(), readable);
        let would = match port.present {
            true => format!(", would be {}", port.limit),
            false => String::new(),
        };
        text += &format!(
            "  {} ({}): sends {sends}, limit {has}{would}\n",
            port.port, policy.tenants[port.tenant].name
        );
    }
    text
}

fn told(period: u64, policy: &Policy, decision: &Decision, seen: &[Seen]) -> DryPeriod {
    let ports = decision.ports.iter().zip(seen).map(|(port, now)| DryPort {
        port: PortName::clone(&port.port),
        tenant: policy.tenants[port.tenant].name.clone(),
        present: port.present,
        rate_bps: port.rate_bps,
        limit_bps: (now.limit.filter(|limit| limit.0 > 0)).map(BitRate::bps),
        would_be_bps: port.present.then(|| port.limit.bps()),
    });
    DryPeriod {
        schema: SCHEMA,
        period,
        capacity_bps: policy.capacity.bps(),
        total_bps: decision.total_bps,
        ports: ports.collect(),
    }
}
