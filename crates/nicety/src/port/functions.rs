//! `nicety port functions`: checked before, journaled, written, waited for.

use nicety_model::vf::FunctionsReport;
use nicety_model::{Problem, ProblemCode, SCHEMA};
use nicety_netdev::netns::NetNs;
use nicety_policed::vf::inventory::Inventory;
use nicety_report::plural;
use nicety_tuner::apply::commit;

use crate::cli::port::FunctionsArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &FunctionsArgs) -> Result<Exit, Failure> {
    let FunctionsArgs { nic, count, .. } = args;
    let inventory = Inventory::open()?;
    let mut report = FunctionsReport {
        schema: SCHEMA,
        transaction: None,
        interface: nic.clone(),
        from: *count,
        to: *count,
    };
    if let Some(change) = inventory.functions(nic, *count)? {
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

fn print(report: &FunctionsReport, args: &FunctionsArgs) -> Result<(), Failure> {
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
            "transaction {id}: nicety tune undo {id} undoes it; nicety port list {nic} shows them"
        ));
    }
    Ok(())
}
