//! Plans of `tests/cases/plans`: the cells they come to, or why they are refused.

use std::collections::BTreeSet;
use std::process::ExitCode;

use nicety_model::Plan;
use nicety_model::cell::SkippedCell;
use nicety_testkit::cases::{self, Case, Failed};

fn main() -> ExitCode {
    cases::run(&[("plans", check)])
}

/// Every plan of the folder: a line with file, line, mistake and remedy for each that is refused,
/// the cells of all others.
fn check(case: &mut Case) -> Result<(), Failed> {
    let (mut cells, mut refusal) = (String::new(), String::new());
    for file in case.inputs(".toml")? {
        match Plan::parse(&file, &case.input(&file)?) {
            Ok(plan) => cells += &listing(&file, &plan)?,
            Err(error) => refusal += &one_line(&error.to_string())?,
        }
    }
    for (file, text) in [("cells.txt", cells), ("refusal.txt", refusal)] {
        if !text.is_empty() {
            case.expect(file, &text)?;
        }
    }
    Ok(())
}

fn one_line(message: &str) -> Result<String, Failed> {
    match message.lines().count() {
        1 => Ok(format!("{message}\n")),
        _ => Err(format!("not one line: {message:?}").into()),
    }
}

/// Cells and socket tests in their order, with what no machine can build.
fn listing(file: &str, plan: &Plan) -> Result<String, Failed> {
    let (cells, sockets) = (plan.cell_count(), plan.sock_count());
    let mut text = format!("{file}: {cells} cells, {sockets} socket tests\n");
    let skipped: Vec<SkippedCell> = (plan.unavailable_cells())
        .chain(plan.unavailable_sock_cells())
        .collect();
    let mut listed = 0;
    let cells = plan.cells().map(|cell| cell.name());
    let sockets = plan.sock_cells().map(|cell| cell.name());
    for name in cells.chain(sockets) {
        text += &name;
        if let Some(skip) = skipped.iter().find(|skip| skip.cell == name) {
            text += &format!("\n    skipped: {}; {}", skip.reason, skip.remedy);
            listed += 1;
        }
        text.push('\n');
    }
    // Socket tests that cannot be are not among the others.
    for skip in &skipped[listed..] {
        text += &format!(
            "{}\n    skipped: {}; {}\n",
            skip.cell, skip.reason, skip.remedy
        );
    }
    let names: BTreeSet<String> = plan.cells().map(|cell| cell.name()).collect();
    let complete = names.len() as u64 == plan.cell_count();
    let again = plan.to_toml().map(|text| Plan::parse(file, &text));
    match (complete, again) {
        (false, _) => {
            Err(format!("{file}: cells are not as many as counted, or not distinct").into())
        }
        (true, Ok(Ok(again))) if again == *plan => Ok(text),
        (true, other) => Err(format!("{file}: not read back as written: {other:?}").into()),
    }
}
