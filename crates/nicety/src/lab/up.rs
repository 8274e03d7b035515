//! `nicety lab up` and `nicety lab down`.

use std::io::{self, Write};

use anyhow::{Context, anyhow};
use nicety_guests::Accel;
use nicety_lab::runs::Runs;
use nicety_lab::signals::Signals;
use nicety_lab::up::boot_up;
use nicety_lab::{Home, LabState, Running};
use serde::Serialize;

use super::args::{DownArgs, MachineArgs, UpArgs};
use super::setup::{self, announce};
use super::share;
use crate::exit::{Exit, Failure};
use crate::output;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    lab: &'a LabState,
    directory: String,
    qemu_pid: u32,
}

/// `nicety lab up`.
pub fn up(args: &UpArgs) -> Result<Exit, Failure> {
    let home = Home::of_user();
    let _turn = home.lock().map_err(Failure::environment)?;
    if let Some(running) = home.running().map_err(Failure::environment)? {
        if running.state.up {
            if let Some(other) = other_machine(&args.machine, &running.state) {
                return Err(Failure::usage(anyhow!(other)));
            }
            output::say("nicety: the lab is up already");
            return report(&home, &running, args.json);
        }
        output::say("nicety: ending a lab whose start was interrupted");
        running.end().map_err(Failure::environment)?;
    }
    let mut signals = Signals::install()
        .context("cannot take over signals")
        .map_err(Failure::environment)?;
    let mut setup = setup::get(&args.machine)?;
    if signals.ended() {
        return Ok(Exit::Interrupted);
    }
    // Without one that goes on it is removed again.
    let runs = share::runs();
    setup.spec.shares = runs.iter().map(Runs::path).collect();
    announce(&setup);
    let mut state = LabState {
        schema: 1,
        cpus: setup.spec.cpus,
        memory_mib: setup.spec.memory_mib,
        accelerator: setup.accelerator.to_string(),
        up: false,
        runs: runs.as_ref().map(Runs::dir),
    };
    home.begin(&state).map_err(Failure::environment)?;
    let result = boot_up(&home, &setup, &mut signals);
    match result {
        Ok(Some(machine)) => {
            state.up = true;
            home.write(&state).map_err(Failure::environment)?;
            machine.leave();
            if let Some(runs) = runs {
                runs.leave();
            }
            match home.running().map_err(Failure::environment)? {
                Some(running) => report(&home, &running, args.json),
                None => Err(Failure::environment(anyhow!(
                    "the lab ended as soon as it was up; try again"
                ))),
            }
        }
        Ok(None) => {
            home.clear().map_err(Failure::environment)?;
            Ok(Exit::Interrupted)
        }
        Err(error) => {
            // The error says more than what removing the directory could.
            let _ = home.clear();
            Err(Failure::environment(error))
        }
    }
}

/// What the lab that is up has that another one was asked for with.
fn other_machine(asked: &MachineArgs, state: &LabState) -> Option<String> {
    let is_kvm = state.accelerator.starts_with("KVM");
    let other_accel = match asked.accel.unwrap_or_default() {
        Accel::Auto => false,
        Accel::Kvm => !is_kvm,
        Accel::Tcg => is_kvm,
    };
    let has = if asked.cpus.is_some_and(|cpus| cpus != state.cpus) {
        format!("has {} CPUs", state.cpus)
    } else if asked.memory.is_some_and(|mib| mib != state.memory_mib) {
        format!("has {} MiB", state.memory_mib)
    } else if other_accel {
        format!("runs on {}", state.accelerator)
    } else {
        return None;
    };
    Some(format!(
        "a lab is up already and {has}; end it with nicety lab down first"
    ))
}

fn report(home: &Home, running: &Running, as_json: bool) -> Result<Exit, Failure> {
    let state = &running.state;
    let text = if as_json {
        let report = Report {
            schema: 1,
            lab: state,
            directory: home.dir().display().to_string(),
            qemu_pid: running.id(),
        };
        serde_json::to_string_pretty(&report).map_err(Failure::environment)?
    } else {
        let kept = state.runs.as_ref().map_or_else(
            || "nothing that is written in it".to_owned(),
            |runs| runs.directory.display().to_string(),
        );
        format!(
            "The lab is up: {} CPUs, {} MiB, {}.\n\
             enter it     nicety lab shell\n\
             run in it    nicety lab run -- COMMAND\n\
             what stays   {kept}\n\
             hard limits  kept by the lab on functions' interfaces, not inside guests\n\
             its console  {}\n\
             end it       nicety lab down",
            state.cpus,
            state.memory_mib,
            state.accelerator,
            running.console().display()
        )
    };
    match writeln!(io::stdout().lock(), "{text}") {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(e)),
        _ => Ok(Exit::Done),
    }
}

/// `nicety lab down`.
pub fn down(_: &DownArgs) -> Result<Exit, Failure> {
    let home = Home::of_user();
    let _turn = home.lock().map_err(Failure::environment)?;
    match home.running().map_err(Failure::environment)? {
        Some(running) => {
            running.end().map_err(Failure::environment)?;
            output::say("nicety: the lab has ended");
        }
        None => output::say("nicety: no lab is up"),
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use nicety_guests::Accelerator;

    use super::*;

    #[test]
    fn a_lab_of_another_kind_is_not_the_one_asked_for() {
        let state = LabState {
            schema: 1,
            cpus: 2,
            memory_mib: 4096,
            accelerator: Accelerator::Kvm.to_string(),
            up: true,
            runs: None,
        };
        let asked = |cpus, memory, accel| MachineArgs {
            cpus,
            memory,
            accel,
            cache: None,
            mirror: String::new(),
        };
        for same in [
            asked(None, None, None),
            asked(Some(2), Some(4096), Some(Accel::Kvm)),
            asked(None, None, Some(Accel::Auto)),
        ] {
            assert_eq!(other_machine(&same, &state), None, "{same:?}");
        }
        for (other, has) in [
            (asked(Some(4), None, None), "has 2 CPUs"),
            (asked(None, Some(8192), None), "has 4096 MiB"),
            (asked(None, None, Some(Accel::Tcg)), "runs on KVM"),
        ] {
            let line = format!("a lab is up already and {has}; end it with nicety lab down first");
            assert_eq!(other_machine(&other, &state), Some(line), "{other:?}");
        }
    }
}
