//! `nicety tune plan`: asks the rules.

use std::io::{self, Write};

use anyhow::anyhow;
use nicety_advisor::{Wishes, advise};
use nicety_host::facts::Source;
use nicety_model::HostFacts;
use nicety_model::finding::Advice;
use nicety_model::path_mtu::PathProbe;

use super::{path_mtu, text};
use crate::cli::tune::{Ask, PlanArgs};
use crate::exit::{Exit, Failure};
use crate::{inspect, output};

/// Runs the command.
pub fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let source = inspect::source(args.sysroot.as_deref())?;
    let advice = ask(&source, &args.ask)?;
    if args.json {
        super::print_json(&advice)?;
    } else {
        print(&text::advice(&advice, output::table_options().width))?;
    }
    Ok(Exit::Done)
}

/// Writes to standard output; nobody reading is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(
            anyhow!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// What the rules say about a source, as far as it was asked.
///
/// # Errors
/// When the peer cannot be asked.
pub fn ask(source: &Source, ask: &Ask) -> Result<Advice, Failure> {
    let probe = match ask.peer {
        Some(_) if !source.is_live() => {
            return Err(Failure::usage(anyhow!(
                "--peer is asked by the running host; leave --sysroot or --peer away"
            )));
        }
        Some(peer) => Some(path_mtu::now(peer)?),
        None => None,
    };
    let mut advice = advice(&inspect::read(source, ask.window), ask, probe);
    advice.boot_id = source
        .roots
        .proc
        .text("sys/kernel/random/boot_id")
        .filter(|_| source.is_live());
    Ok(advice)
}

/// What the rules say about facts, as far as it was asked.
pub fn advice(facts: &HostFacts, ask: &Ask, peer: Option<PathProbe>) -> Advice {
    let wishes = Wishes {
        rtt_ms: ask.rtt,
        rate_mbps: ask.rate,
        jumbo_path: ask.jumbo_path,
        peer,
    };
    let mut advice = advise(facts, ask.goal, wishes);
    only(&mut advice, ask);
    advice
}

/// Keeps the rules that were asked for.
pub fn only(advice: &mut Advice, ask: &Ask) {
    let wanted = |id: &str, rule: &str| {
        let named = |only: &String| id.eq_ignore_ascii_case(only) || rule == only;
        ask.only.is_empty() || ask.only.iter().any(named)
    };
    advice
        .findings
        .retain(|finding| wanted(&finding.id, &finding.rule));
    advice
        .waiting
        .retain(|waiting| wanted(&waiting.id, &waiting.rule));
}
