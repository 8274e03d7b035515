//! `nicety tune plan`: asks the rules.

use std::io::{self, Write};

use anyhow::anyhow;
use nicety_advisor::{Wishes, advise};
use nicety_host::facts::Source;
use nicety_model::finding::Advice;

use super::text;
use crate::cli::tune::{Ask, PlanArgs};
use crate::exit::{Exit, Failure};
use crate::{inspect, output};

/// Runs the command.
pub fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let source = inspect::source(args.sysroot.as_deref())?;
    let advice = ask(&source, &args.ask);
    let text = if args.json {
        let json = serde_json::to_string_pretty(&advice)
            .map_err(|error| Failure::environment(anyhow!("cannot write the plan: {error}")))?;
        format!("{json}\n")
    } else {
        text::advice(&advice, output::table_options().width)
    };
    print(&text)?;
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

/// What the rules say, as far as it was asked.
pub fn ask(source: &Source, ask: &Ask) -> Advice {
    let wishes = Wishes {
        rtt_ms: ask.rtt,
        rate_mbps: ask.rate,
        jumbo_path: ask.jumbo_path,
    };
    let mut advice = advise(&inspect::read(source), ask.goal, wishes);
    let wanted = |id: &str, rule: &str| {
        ask.only.is_empty()
            || ask
                .only
                .iter()
                .any(|only| id.eq_ignore_ascii_case(only) || rule == only)
    };
    advice
        .findings
        .retain(|finding| wanted(&finding.id, &finding.rule));
    advice
        .waiting
        .retain(|waiting| wanted(&waiting.id, &waiting.rule));
    advice.boot_id = source
        .roots
        .proc
        .text("sys/kernel/random/boot_id")
        .filter(|_| source.is_live());
    advice
}
