//! What stopped a path from carrying more.

use nicety_model::{FateCause, LossEntry, Run, Verdict, WhoUse};

use crate::fate;
use crate::number;
use crate::pick::{self, Group};
use crate::place;
use crate::threads;

/// Busy share from which a CPU counts as full: what is left is within the noise of `/proc/stat`.
const FULL: f64 = 0.95;
/// Share of the line rate from which the link itself counts as the limit.
const AT_LINE_RATE: f64 = 0.99;

/// What stopped the path, from the verdict first and the busiest CPU next: whole sentences.
pub(super) fn of(run: &Run, group: &Group<'_>) -> Vec<String> {
    let verdict = match group.verdict() {
        Verdict::TesterLimited => {
            return vec!["The limit was the tester, not the path.".to_owned()];
        }
        Verdict::Bound => {
            return vec!["The limit was not the path: its CPUs were taken away.".to_owned()];
        }
        Verdict::Faulty => {
            let told = "The path repeats, damages or reorders frames: mend that first.";
            return vec![told.to_owned()];
        }
        Verdict::Coupled => {
            let told = "The path ran in the sender's own calls, so both are measured together.";
            return vec![told.to_owned()];
        }
        Verdict::Late => {
            return vec!["The sender missed its schedule.".to_owned()];
        }
        Verdict::Unstable if group.estimate().is_some() => {
            Some("Measurements contradict each other.")
        }
        Verdict::Unstable => Some("The longer confirm trial lost more than allowed."),
        Verdict::Noisy => Some("The machine was busy with other work."),
        Verdict::Ok | Verdict::Wide | Verdict::Failed => None,
    };
    let mut told = found(run, group);
    told.extend(verdict.map(str::to_owned));
    told
}

fn found(run: &Run, group: &Group<'_>) -> Vec<String> {
    let at_line_rate = pick::link_speed(run)
        .zip(group.throughput_fps())
        .is_some_and(|((mbps, _), fps)| fps >= AT_LINE_RATE * group.key.line_rate(mbps).0);
    if at_line_rate {
        return vec!["The limit was the link.".to_owned()];
    }
    let began = first_place(group).map(began);
    let Some(cpu) = group.shown.cpu.as_ref() else {
        return vec![began.unwrap_or_else(|| unknown(group))];
    };
    let Some(busiest) = cpu.busiest.as_ref() else {
        return vec![began.unwrap_or_else(|| unknown(group))];
    };
    // A thread that polls fills its CPU at any load: how much of that was of use is what counts.
    if let Some(thread) = cpu.polls_on_busiest() {
        let how = format!(
            "{} on CPU {} {}",
            thread.who,
            busiest.cpu,
            threads::polls(thread)
        );
        return if thread.useful_ratio.is_some_and(|useful| useful >= FULL) {
            vec![format!("The limit was {how}.")]
        } else {
            began.into_iter().chain([format!("{how}.")]).collect()
        };
    }
    if busiest.busy_ratio >= FULL {
        let user = threads::greatest_user(busiest);
        return vec![format!("The limit was CPU {} ({user}).", busiest.cpu)];
    }
    let began = began.unwrap_or_else(|| "No CPU was full.".to_owned());
    vec![began, busy(busiest)]
}

/// `Loss began at port `a`.`; where the fate of frames was found out, in the kernel's names and plain words.
fn began(entry: &LossEntry) -> String {
    match &entry.cause {
        Some(cause @ FateCause::Dropped { .. }) => {
            let why = fate::meaning(cause).map_or_else(String::new, |why| format!(": {why}"));
            format!("Loss began {}{why}.", fate::place(cause))
        }
        _ => format!("Loss began at {}.", place::spoken(&entry.place)),
    }
}

fn unknown(group: &Group<'_>) -> String {
    match group.shown.confirm {
        None => "The trial that looks for the cause did not run.".to_owned(),
        Some(_) => "What limited it was not measured.".to_owned(),
    }
}

/// `CPU 0 was busiest at 37 % (thread napi/d0: 23 %).`
fn busy(busiest: &WhoUse) -> String {
    let who = match busiest.who.as_str() {
        // Neither is a thread.
        who @ ("softirq" | "tester") => who.to_owned(),
        who => format!("thread {who}"),
    };
    let share = busiest.users.get(&busiest.who).copied();
    let share = share.map_or_else(String::new, |share| format!(": {}", number::share(share)));
    format!(
        "CPU {} was busiest at {} ({who}{share}).",
        busiest.cpu,
        number::share(busiest.busy_ratio)
    )
}

/// The counter that lost most frames just above the throughput.
fn first_place<'a>(group: &'a Group<'_>) -> Option<&'a LossEntry> {
    group
        .shown
        .overload_ledger
        .iter()
        .filter(|entry| entry.place != "unexplained" && entry.frames > 0)
        .max_by_key(|entry| entry.frames)
}
