//! `nicety guest-init`: what this program does as the first processes of a guest. Not for users.

use std::cell::RefCell;

use anyhow::anyhow;
use nicety_fate::inside::Agent;
use nicety_guests::init as guest;
use nicety_lab::agent;
use nicety_runner::sock::guest::{serve, work};
use serde_json::Value;

use crate::exit::{Exit, Failure};
use crate::output;

/// Plays a part in a guest: `lab` and `vm` are first processes, `agent` is the lab's second.
pub fn run(part: &str) -> Result<Exit, Failure> {
    match part {
        "lab" if rustix::process::getpid().is_init() => {
            let error = match nicety_lab::init::run() {
                Ok(never) => match never {},
                Err(error) => error,
            };
            // The last line on the console, which the host shows.
            output::error(&format!("the lab's first process: {error}"));
            guest::power_off();
            Err(Failure::environment(error))
        }
        "vm" if rustix::process::getpid().is_init() => {
            let agent = RefCell::new(Agent::default());
            let follow = |question: Value| {
                let answer = agent.borrow_mut().answer(&question);
                answer.unwrap_or_else(|| work(question))
            };
            let Err(error) = guest::run(&serve, &follow);
            output::error(&format!("the guest's first process: {error}"));
            guest::power_off();
            Err(Failure::environment(error))
        }
        "agent" => agent::run()
            .map(|()| Exit::Done)
            .map_err(Failure::environment),
        _ => Err(Failure::usage(anyhow!(
            "guest-init is for guests of nicety only; see nicety lab --help"
        ))),
    }
}
