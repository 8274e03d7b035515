//! `nicety police bill`: what tenants have used in a month.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use nicety_history::{Caution, History, HistoryError, has_password};
use nicety_model::SCHEMA;
use nicety_model::bill::{Bill, Month, SLOT_SECONDS, Samples, UsageRow};
use nicety_police::bill::{Grouped, statement};
use nicety_policed::bills;
use nicety_report::bill;

use crate::cli::police::BillArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &BillArgs) -> Result<Exit, Failure> {
    let (store, place) = open(args)?;
    let now = seconds(SystemTime::now());
    let month = args.month.unwrap_or_else(|| Month::at(now));
    let time = month.seconds();
    let rows = rows(&store, args, month)?;
    if rows.is_empty() {
        output::say(&format!("no samples for {month}: {}", why(args, now)));
    }
    if args.samples {
        show_samples(args, &rows, (&place, &time))?;
    } else {
        let grouped = if args.group_by.is_some() {
            Grouped::ByHost
        } else {
            Grouped::ByTenant
        };
        let sum = Bill {
            schema: SCHEMA,
            store: place,
            from: rfc3339(time.start),
            to: rfc3339(time.end),
            slot_s: SLOT_SECONDS,
            tenants: statement(&rows, time, now, grouped),
        };
        output::page(&args.format, &sum, || bill::page(&sum))?;
    }
    Ok(Exit::Done)
}

/// Why there may be no samples. In the first minute of a daemon it is known when the first one comes.
fn why(args: &BillArgs, now: i64) -> String {
    let own = args.store.is_none().then(|| args.state.police().ok());
    let due = own.flatten().and_then(|state| bills::first_due(&state));
    match due {
        Some(due) => format!(
            "the first one comes by {}",
            rfc3339(now.saturating_add(i64::try_from(due.as_secs()).unwrap_or(0)))
        ),
        None => "is [bills] in the policy? The first sample takes a minute".to_owned(),
    }
}

/// What the store has of the tenants that are asked for, oldest first.
fn rows(store: &History, args: &BillArgs, month: Month) -> Result<Vec<UsageRow>, Failure> {
    let mut tenants = args.tenants.clone();
    tenants.sort();
    tenants.dedup();
    if tenants.is_empty() {
        return Ok(store.usage(month.seconds(), None)?);
    }
    let mut rows = Vec::new();
    for tenant in &tenants {
        let found = store.usage(month.seconds(), Some(tenant))?;
        if found.is_empty() {
            let known = names(&store.usage(month.seconds(), None)?);
            return Err(Failure::usage(anyhow!(
                "{} has no tenant {tenant:?} in {month}; {}",
                store.place(),
                match known.as_slice() {
                    [] => "it has none at all; name another --month or --store".to_owned(),
                    known => format!("it has {}", known.join(", ")),
                }
            )));
        }
        rows.extend(found);
    }
    rows.sort_by(|a, b| (a.start, &a.tenant, &a.host).cmp(&(b.start, &b.tenant, &b.host)));
    Ok(rows)
}

fn show_samples(
    args: &BillArgs,
    rows: &[UsageRow],
    (place, time): (&str, &Range<i64>),
) -> Result<(), Failure> {
    let samples = Samples {
        schema: SCHEMA,
        store: place.to_owned(),
        from: rfc3339(time.start),
        to: rfc3339(time.end),
        slot_s: SLOT_SECONDS,
        samples: rows.to_vec(),
    };
    output::page(&args.format, &samples, || bill::samples(&samples, rfc3339))
}

/// The store that is asked for, or the daemon's own.
fn open(args: &BillArgs) -> Result<(History, String), Failure> {
    let own = || Ok::<_, Failure>(bills::file(&args.state.police()?));
    let place = args.store.clone().map_or_else(own, Ok)?;
    if place.to_str().is_some_and(has_password) {
        output::tell(&format!("nicety: {}", Caution::PasswordInArguments));
    }
    let store = nicety_history::open(&place, false);
    let store = store.map_err(|error| match error {
        HistoryError::Missing { place } => Failure::environment(anyhow!(
            "nothing is kept at {place}; add [bills] to the policy and reload it, or name another with --store"
        )),
        error => error.into(),
    })?;
    for caution in store.cautions() {
        output::tell(&format!("nicety: {caution}"));
    }
    let place = store.place();
    Ok((store, place))
}

fn names(rows: &[UsageRow]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().map(|row| row.tenant.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn rfc3339(seconds: i64) -> String {
    let since = std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    nicety_model::utc::rfc3339(since)
}
