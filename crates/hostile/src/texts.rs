//! Texts that users write, and journals that somebody may have planted.

use nicety_model::cpu_list::{parse_cpu_list, parse_cpu_mask};

use nicety_model::journal::{Event, Journal, TransactionReport};
use nicety_model::knob::{Change, Knob};
use nicety_model::plan::parse_duration;
use nicety_model::{BitRate, EngineChoice, LimitKey, Plan};

use crate::{Target, cases};

pub(crate) const PLAN: Target = Target {
    name: "plan",
    run: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        match Plan::parse("plan.toml", &text) {
            Ok(plan) => drop(plan.cells()),
            Err(error) => one_line(&error.to_string()),
        }
    },
    seeds: |root| cases(root, "plans", "plan.toml"),
};

pub(crate) const JOURNAL: Target = Target {
    name: "journal",
    run: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(journal) = Journal::parse(&text) {
            journal.to_undo();
            journal.why_undone();
            let _ = TransactionReport::new(1, &journal);
        }
    },
    seeds: |_| {
        let knob = Knob::Sysctl {
            name: "net.core.rmem_max".to_owned(),
        };
        let change = Change {
            knob: knob.clone(),
            from: "212992".to_owned(),
            to: "16777216".to_owned(),
        };
        let events = [
            Event::Begin {
                schema: nicety_model::SCHEMA,
                id: 1,
                boot_id: "b".to_owned(),
                netns: 4_026_531_840,
                confirm_within_s: 60.0,
                origin: None,
            },
            Event::Intent { change },
            Event::Written {
                found: "16777216".to_owned(),
            },
            Event::Applied { deadline_s: 90.5 },
            Event::Undoing {
                why: "the time to confirm was over".to_owned(),
            },
            Event::RolledBack,
        ];
        let lines = events
            .iter()
            .map(serde_json::to_string)
            .map_while(Result::ok);
        vec![
            lines
                .map(|line| line + "\n")
                .collect::<String>()
                .into_bytes(),
        ]
    },
};

pub(crate) const UNITS: Target = Target {
    name: "units",
    run: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for word in text.split_whitespace() {
            let _ = word.parse::<BitRate>().map(|rate| rate.to_string());
            let _ = word.parse::<EngineChoice>();
            let _ = word.parse::<LimitKey>();
            let _ = parse_duration(word);
            let _ = parse_cpu_list(word).map(|cpus| cpus.len());
            let _ = parse_cpu_mask(word).map(|cpus| cpus.len());
        }
    },
    seeds: |_| vec![b"10.5gbit 200mbit 1h 250ms 0-3,8 ffff,00000003 auto af_packet".to_vec()],
};

/// What is wrong with a file is said on one line, whatever it quotes.
#[allow(clippy::panic, reason = "the fuzzer looks for panics")]
pub(crate) fn one_line(message: &str) {
    let odd = |c: char| c.is_control() && c != '\n';
    if message.contains(odd) {
        panic!("a message with control characters: {message:?}");
    }
}
