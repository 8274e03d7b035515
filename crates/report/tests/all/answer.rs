//! A report begins with the number and with what to do to get a better one, in every format.

use nicety_model::note::{MachineNote, SearchNote};
use nicety_model::remedy::{Advised, Step};
use nicety_model::run::StoppedBy;
use nicety_model::{Disturbance, Note, Program, Run, Verdict};
use nicety_report::{answer, json, markdown, remedy};
use proptest::prelude::*;
use scraper::Html;

use crate::common::{self, page, rendered};

fn terminal(run: &Run) -> String {
    common::terminal(run, 80)
}

fn markdowned(run: &Run) -> String {
    rendered(|out| markdown(run, out))
}

fn texts(page: &str, selector: &str) -> Vec<String> {
    common::texts(&Html::parse_document(page), selector)
}

/// Seven results whose numbers a busy machine gave.
fn noisy() -> Run {
    let mut run = common::many(7);
    for summary in &mut run.cells {
        summary.verdict = Verdict::Noisy;
    }
    for cell in &mut run.visits {
        cell.throughput_fps = Some(207_917.0);
        cell.bounds.lower_fps = Some(207_917.0);
        cell.bounds.upper_fps = Some(396_812.0);
    }
    run
}

#[test]
fn every_format_begins_with_the_number_and_one_verdict() {
    let run = common::visits();
    let line = "64 B: 785 k frames/s (760–810 k), 528 Mbit/s, 785 k held for 10 s";
    assert!(terminal(&run).starts_with(&format!("{line}  ok\n")));
    assert!(markdowned(&run).contains(&format!("\n\n**{line}** (ok)\n\n")));
    let page = page(&run);
    let large = texts(&page, "header .headline");
    assert_eq!(large, ["64 B 785 k frames/s (760–810 k) ok"]);
    assert_eq!(texts(&page, "header .headline strong"), ["785 k"]);
    assert_eq!(texts(&page, "header .headline .badge"), ["ok"]);
    assert_eq!(
        texts(&page, "header .beside"),
        ["528 Mbit/s · 785 k held for 10 s"]
    );
}

#[test]
fn what_results_are_worth_stands_below_the_number() {
    let mut run = noisy();
    let lines = answer::summary(&run);
    assert!(
        lines[0].starts_with("64 B: 210–400 k frames/s"),
        "{lines:?}"
    );
    let none = "None of these results is reliable (7 noisy).";
    let at = |lines: &[String], text: &str| lines.iter().position(|line| line == text);
    assert!(at(&lines, none) > Some(0), "{lines:?}");
    run.cells[0].verdict = Verdict::Ok;
    let lines = answer::summary(&run);
    let one = "1 of 7 results is reliable (6 noisy).";
    assert!(at(&lines, one) > Some(0), "{lines:?}");
    run.cells.truncate(1);
    run.visits.truncate(1);
    run.cells[0].verdict = Verdict::Noisy;
    let lines = answer::summary(&run);
    assert!(
        at(&lines, "This result is not reliable.") > Some(0),
        "{lines:?}"
    );
}

#[test]
fn a_noisy_number_is_its_interval_everywhere() {
    let run = noisy();
    let tables = texts(&page(&run), "header, table").concat();
    for text in [terminal(&run), markdowned(&run), tables] {
        assert!(text.contains("210–400 k"), "{text}");
        for precise in ["207,917", "207.9 k", "208 k"] {
            assert!(!text.contains(precise), "{precise}: {text}");
        }
    }
}

#[test]
fn steps_stand_in_a_box_and_in_the_data() {
    let run = common::visits();
    let steps = [
        "Stop rustc (PID 812, 0.9 CPU) and cc <1> (PID 901, 0.1 CPU).",
        "Give the VM a third CPU.",
        "Pin the VM's CPUs on its host, or use a quieter host: CPUs were stopped 14 ms per second.",
    ];
    let advised = remedy::of(&run);
    let told: Vec<&str> = advised.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(told, steps);
    let page = page(&run);
    assert_eq!(texts(&page, "header .steps h2"), ["To get a better number"]);
    assert_eq!(texts(&page, "header .steps li"), steps);
    let text = terminal(&run);
    let (before, after) = text.split_once("\nTo get a better number\n").unwrap();
    assert!(before.starts_with("64 B: ") && !before.contains("bytes  frames/s"));
    assert!(after.starts_with("  1. Stop rustc (PID 812"), "{after}");
    assert!(markdowned(&run).contains("**To get a better number**\n\n1. Stop rustc"));
    let mut out = Vec::new();
    json::render(&run, &mut out, json::Style::Compact).unwrap();
    let back: Run = serde_json::from_slice(&out).unwrap();
    assert_eq!(back.remedies, advised);
}

#[test]
fn a_run_of_good_numbers_has_no_box() {
    let run = common::many(7);
    assert!(remedy::of(&run).is_empty());
    for text in [terminal(&run), markdowned(&run), page(&run)] {
        assert!(!text.contains("To get a better number"));
    }
    let mut out = Vec::new();
    json::render(&run, &mut out, json::Style::Compact).unwrap();
    assert!(!String::from_utf8(out).unwrap().contains("remedies"));
}

#[test]
fn intervals_are_wide_for_the_reason_that_most_of_them_have() {
    let mut run = common::visits();
    for (n, summary) in run.cells.iter_mut().enumerate() {
        summary.verdict = Verdict::Wide;
        summary.disturbance = Some(Disturbance {
            stalls_ms_per_s: Some(3.0 + n as f64),
            ..Disturbance::default()
        });
    }
    let all = run.cells.len();
    let said = |run: &Run, why: &str| {
        let lines = answer::summary(run);
        let line = format!("All {all} intervals are wide: {why}.");
        assert!(lines.contains(&line), "{lines:?}");
    };
    assert!(all > 2);
    let stopped = format!("the CPUs were stopped for up to {} ms per second", all + 2);
    said(&run, &stopped);
    // A single one that a program made wide does not speak for all.
    let program = Program {
        name: "make".to_owned(),
        pid: 7,
        cpus: 0.5,
    };
    for (n, summary) in run.cells.iter_mut().enumerate() {
        let seen = summary.disturbance.as_mut().unwrap();
        if n == 0 {
            seen.programs = vec![program.clone()];
        }
    }
    said(&run, &stopped);
    for summary in &mut run.cells {
        summary.disturbance.as_mut().unwrap().programs = vec![program.clone()];
    }
    said(&run, "other programs used the CPUs");
}

/// A run of one result with this verdict and these notes.
fn of(verdict: Verdict, notes: Vec<Note>) -> Run {
    let mut run = common::visits();
    run.visits
        .retain(|cell| cell.key.frame_size_bytes.bytes() == 64);
    run.cells.truncate(1);
    run.cells[0].verdict = verdict;
    run.cells[0].disturbance = None;
    run.cells[0].why = notes;
    // A machine with enough of everything.
    run.run.host.cpus = 8;
    run.run.host.cpus_allowed = (0..8).collect();
    run.run.host.privileged = true;
    run
}

#[test]
fn each_cause_has_its_step() {
    let steps = |run: &Run| -> Vec<String> {
        let advised = remedy::of(run).into_iter();
        advised.map(|one: Advised| one.text).collect()
    };
    let search = |note: SearchNote| vec![Note::from(note)];
    #[rustfmt::skip]
    let table = [
        (Verdict::Wide, search(SearchNote::VisitsDiffer { visits: 5 }), "Set repeats = 9 in the plan."),
        (Verdict::Wide, search(SearchNote::StoodStill { ms_per_s: 9.0 }),
            "Pin the VM's CPUs on its host, or use a quieter host: CPUs were stopped 9 ms per second."),
        (Verdict::Noisy, search(SearchNote::Others { cpus: 0.62 }), "Stop other programs: they used 0.6 CPU."),
        (Verdict::Failed, search(SearchNote::NoLoadInGoal),
            "See where frames were lost, or allow a higher loss_ratio."),
        (Verdict::TesterLimited, Vec::new(), "Use --engine xdp, which sends more."),
        (Verdict::Wide, vec![MachineNote::Quota { cpus: 1.5 }.into()],
            "Raise the CPU limit of nicety's control group: it allows 1.5 CPU."),
    ];
    for (verdict, notes, text) in table {
        let run = of(verdict, notes);
        assert_eq!(
            steps(&run).first().map(String::as_str),
            Some(text),
            "{verdict}"
        );
    }
    // The first is the machine's, whatever the verdict's reason was.
    let mut run = of(Verdict::Wide, search(SearchNote::SingleVisit));
    run.run.preset = "quick".to_owned();
    assert_eq!(steps(&run), ["Rerun with --preset robust."]);
    run.run.host.cpus_allowed = vec![0, 1];
    assert_eq!(
        steps(&run)[0],
        "Allow nicety a third CPU: start it with taskset -c."
    );
    run.run.host.cpus = 2;
    assert_eq!(steps(&run)[0], "Give the VM a third CPU.");
    run.run.host.hypervisor = None;
    assert_eq!(steps(&run)[0], "Use a machine with 3 CPUs or more.");
    run.left_out = vec!["bridge/64/uni repeat 2".to_owned(), "and 3 more".to_owned()];
    assert_eq!(
        steps(&run)[1],
        "Continue with --resume: 4 measurements are missing."
    );
    run.run.stopped_by = Some(StoppedBy::TimeBox);
    assert_eq!(
        steps(&run)[1],
        "Allow a longer --for: 4 measurements are left out."
    );
    let mut run = of(Verdict::TesterLimited, Vec::new());
    run.run.host.privileged = false;
    assert!(steps(&run)[0].starts_with("Run nicety as root"));
}

/// Notes of every kind as the model writes them.
fn notes() -> Vec<Note> {
    let written = include_str!("../../../model/src/note/tests/notes.jsonl");
    let lines = written.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn program() -> impl Strategy<Value = Program> {
    ("[a-z]{1,15}", 1_u32..99_999, -0.1_f64..4.0).prop_map(|(name, pid, cpus)| Program {
        name,
        pid,
        cpus,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever went wrong: at most three steps, each once, each a short sentence; none where nothing did.
    #[test]
    fn steps_are_few_short_and_different(
        verdicts in proptest::collection::vec(0..Verdict::ALL.len(), 4),
        which in proptest::collection::vec(0..200_usize, 0..9),
        programs in proptest::collection::vec(program(), 0..5),
        cpus in 1..6_u32,
        box_ended in any::<bool>(),
    ) {
        let mut run = common::visits();
        let known = notes();
        for (summary, verdict) in run.cells.iter_mut().zip(&verdicts) {
            summary.verdict = Verdict::ALL[*verdict];
            summary.why = which.iter().map(|at| known[at % known.len()].clone()).collect();
            if let Some(seen) = &mut summary.disturbance {
                seen.programs = programs.clone();
            }
        }
        run.run.host.cpus_allowed = (0..cpus).collect();
        if box_ended {
            run.left_out = vec!["bridge/64/uni".to_owned()];
            run.run.stopped_by = Some(StoppedBy::TimeBox);
        }
        let steps = remedy::of(&run);
        prop_assert!(steps.len() <= remedy::MOST);
        let fine = run.cells.iter().all(|summary| summary.verdict == Verdict::Ok);
        prop_assert!(!fine || steps.is_empty(), "{steps:?}");
        for (n, one) in steps.iter().enumerate() {
            prop_assert!(one.text.ends_with('.'), "{}", one.text);
            let words = one.text.split_whitespace().count();
            prop_assert!(words <= 25, "{words} words: {}", one.text);
            prop_assert!(!steps[..n].iter().any(|other| other.text == one.text), "{steps:?}");
            if let Step::StopPrograms { programs } = &one.step {
                prop_assert!(programs.len() <= 2 && programs.iter().all(|p| p.cpus >= 0.05));
            }
        }
    }
}

#[test]
fn only_verdicts_that_occur_are_explained_one_line_each() {
    for run in [common::rich(), common::visits()] {
        let occur: Vec<&str> = Verdict::ALL
            .into_iter()
            .filter(|verdict| run.cells.iter().any(|one| one.verdict == *verdict))
            .map(Verdict::word)
            .collect();
        assert_eq!(texts(&page(&run), "#verdicts dt"), occur);
        let text = terminal(&run);
        let (_, after) = text.split_once("\nverdicts\n").unwrap();
        for (line, word) in after.lines().zip(&occur) {
            assert!(line.starts_with(&format!("  {word}: ")), "{line}");
        }
    }
}

#[test]
fn pills_and_phrases_do_not_repeat() {
    let page = page(&common::visits());
    assert!(texts(&page, ".tile .badge, #cpu td .badge, #ledger td .badge").is_empty());
    // A figure has one where its result is doubtful.
    for pill in texts(&page, "figcaption .badge") {
        assert_ne!(pill, "ok");
    }
    assert_eq!(page.matches("worth of time").count(), 0);
    let facts = texts(&page, "#machine details li");
    assert!(
        facts.contains(&"net.core.netdev_budget: 300".to_owned()),
        "{facts:?}"
    );
    assert!(
        facts.contains(&"meltdown: Not affected".to_owned()),
        "{facts:?}"
    );
}

#[test]
fn notes_of_one_kind_are_told_once() {
    let mut run = common::many(3);
    for (n, summary) in run.cells.iter_mut().enumerate() {
        summary.verdict = Verdict::Wide;
        let cpus = 0.25 + n as f64;
        summary.why = vec![SearchNote::Others { cpus }.into()];
    }
    let text = markdowned(&run);
    assert_eq!(text.matches("Other programs used").count(), 1, "{text}");
    let told = "Other programs used 0.25 CPUs. Stop those programs, or give the machine more CPUs. \
                (vm,vcpus=0/64/uni; similar in vm,vcpus=0/128/uni, vm,vcpus=0/256/uni)";
    assert!(text.contains(told), "{text}");
}

#[test]
fn long_lists_are_folded() {
    let mut run = common::visits();
    run.run.complete = false;
    run.left_out = (0..40).map(|n| format!("p{n}/64/uni repeat 2")).collect();
    let page = page(&run);
    assert_eq!(
        texts(&page, "#left-out details summary"),
        ["40 measurements"]
    );
    assert_eq!(texts(&page, "#left-out details li").len(), 40);
}
