//! `nicety vf enable` and `disable`: checked before, journaled, written, waited for.

use nicety_model::vf::FunctionsReport;
use nicety_model::{Problem, ProblemCode, SCHEMA};
use nicety_netdev::netns::NetNs;
use nicety_policed::vf::inventory::Inventory;
use nicety_report::plural;
use nicety_tuner::apply::commit;

use crate::cli::vf::{ChangeArgs, DisableArgs, EnableArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Gives a NIC functions.
pub fn enable(args: &EnableArgs) -> Result<Exit, Failure> {
    run(&args.interface, args.count, &args.rest)
}

/// Takes all of them away.
pub fn disable(args: &DisableArgs) -> Result<Exit, Failure> {
    run(&args.interface, 0, &args.rest)
}

fn run(nic: &str, count: u32, args: &ChangeArgs) -> Result<Exit, Failure> {
    let inventory = Inventory::open()?;
    let mut report = FunctionsReport {
        schema: SCHEMA,
        transaction: None,
        interface: nic.to_owned(),
        from: count,
        to: count,
    };
    if let Some(change) = inventory.functions(nic, count)? {
        report.from = change.from.parse().unwrap_or(0);
        refuse_policed(nic, report.from)?;
        let work = args.state.begin()?;
        report.transaction = Some(commit(&work, &[&change])?);
    }
    print(&report, args)?;
    Ok(Exit::Done)
}

/// Functions whose limits a daemon sets are in use, whether they have one now or not.
fn refuse_policed(nic: &str, there: u32) -> Result<(), Failure> {
    let netns = NetNs::current().map_err(Failure::environment)?.inode();
    let mut ports = (0..there).map(|vf| format!("{nic}/vf{vf}"));
    match ports.find(|port| crate::police::governs(netns, port, "")) {
        None => Ok(()),
        Some(port) => {
            let what = format!("nicety police limits {port}");
            let problem = Problem::new(ProblemCode::InUse, what);
            Err(problem.with("take the port out of its policy first").into())
        }
    }
}

fn print(report: &FunctionsReport, args: &ChangeArgs) -> Result<(), Failure> {
    let nic = &report.interface;
    if args.output.json {
        output::print_json(report)?;
    } else {
        let functions = plural(report.to, "virtual function");
        output::print(&match report.transaction {
            Some(_) => format!("{nic}: {functions}, before {}\n", report.from),
            None => format!("{nic}: {functions} already\n"),
        })?;
    }
    if let Some(id) = report.transaction {
        output::say(&format!(
            "transaction {id}: nicety tune rollback {id} undoes it; nicety vf list {nic} shows them"
        ));
    }
    Ok(())
}
