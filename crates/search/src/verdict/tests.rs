use nicety_model::{CoreUse, WhoUse};

use super::*;

fn confirm(met: bool) -> Option<ConfirmResult> {
    Some(ConfirmResult {
        load_fps: 100_000.0,
        duration_s: 30.0,
        loss_ratio: LossRatio(if met { 0.0 } else { 0.002 }),
        met,
        lost: None,
        lost_in_stalls: None,
        bad_windows: None,
    })
}

fn fine() -> Evidence {
    Evidence {
        throughput: Some(Fps(100_000.0)),
        loss_goal: 0.0001,
        tester_limit: Some(Fps(500_000.0)),
        confirm: confirm(true),
        steal: Some(0.001),
        ..Evidence::default()
    }
}

fn stalled(stalls: u64, share: f64) -> Option<Stalled> {
    let report = StallReport {
        stalls,
        programs: 3,
        longest_s: 0.004,
        stalled_s: 0.02,
        frames: 1000,
        lost: 12,
    };
    Some(Stalled { share, report })
}

#[test]
fn each_finding_has_its_verdict() {
    let drift = Some(Drift {
        drift: 0.08,
        limit: 0.05,
    });
    let table: [(&str, Evidence, Verdict, &str); 18] = [
        ("nothing", fine(), Verdict::Ok, ""),
        (
            "failed",
            Evidence {
                failed: Some(Note::Recorded("time is up".to_owned())),
                ..fine()
            },
            Verdict::Failed,
            "time is up",
        ),
        (
            "no valid confirm trial",
            Evidence {
                late: Some("offered 9 of 10".to_owned()),
                confirm: None,
                ..fine()
            },
            Verdict::Late,
            "offered 9 of 10",
        ),
        (
            "held up without loss",
            Evidence {
                at_max: true,
                held_up: Some(Fps(100_500.0)),
                ..fine()
            },
            Verdict::Coupled,
            "slows the sender down",
        ),
        (
            "missed its load once, but the path gave out first",
            Evidence {
                held_up: Some(Fps(100_500.0)),
                ..fine()
            },
            Verdict::Ok,
            "",
        ),
        (
            "confirm trial lost too much",
            Evidence {
                confirm: confirm(false),
                ..fine()
            },
            Verdict::Unstable,
            "lost 0.20 %",
        ),
        (
            "and held below",
            Evidence {
                confirm: confirm(false),
                held: confirm(true),
                ..fine()
            },
            Verdict::Unstable,
            "100 k frames/s met the goal for as long",
        ),
        (
            "CPUs were taken away above it",
            Evidence {
                above: Above {
                    trials: 3,
                    stopped: 2,
                },
                by_windows: true,
                ..fine()
            },
            Verdict::Bound,
            "2 of 3 trials",
        ),
        (
            "the path lost by itself above it",
            Evidence {
                above: Above {
                    trials: 4,
                    stopped: 2,
                },
                by_windows: true,
                ..fine()
            },
            Verdict::Ok,
            "",
        ),
        (
            "near the tester's limit",
            Evidence {
                tester_limit: Some(Fps(105_000.0)),
                ..fine()
            },
            Verdict::TesterLimited,
            "95 % of what the tester can send",
        ),
        (
            "just not near it",
            Evidence {
                tester_limit: Some(Fps(106_000.0)),
                ..fine()
            },
            Verdict::Ok,
            "",
        ),
        (
            "at the highest load, limit unknown",
            Evidence {
                at_max: true,
                tester_limit: None,
                held_up: Some(Fps(1e5)),
                ..fine()
            },
            Verdict::TesterLimited,
            "at least",
        ),
        (
            "at line rate",
            Evidence {
                at_max: true,
                line_rate: Some(Fps(100_000.0)),
                ..fine()
            },
            Verdict::Ok,
            "line rate",
        ),
        (
            "steal",
            Evidence {
                steal: Some(0.03),
                ..fine()
            },
            Verdict::Noisy,
            "3.0 % of a CPU",
        ),
        (
            "steal, but what it did is known",
            Evidence {
                steal: Some(0.03),
                stalled: Some(Stalled {
                    share: 0.0,
                    report: StallReport::default(),
                }),
                ..fine()
            },
            Verdict::Ok,
            "",
        ),
        (
            "stalls",
            Evidence {
                stalled: stalled(7, 0.05),
                ..fine()
            },
            Verdict::Ok,
            "CPUs were stopped 7 times and used by other programs 3 times, for 4.0 ms at most. The 5.0 % of frames sent then do not count; 12 of them were lost.",
        ),
        (
            "many stalls",
            Evidence {
                stalled: stalled(70, 0.2),
                ..fine()
            },
            Verdict::Noisy,
            "The 20.0 % of frames sent then do not count",
        ),
        (
            "drift",
            Evidence { drift, ..fine() },
            Verdict::Noisy,
            "by 8.0 % during the run (limit 5.0 %)",
        ),
    ];
    for (name, evidence, verdict, words) in table {
        let (judged, notes) = judge(&evidence);
        assert_eq!(judged, verdict, "{name}: {notes:?}");
        assert!(
            Note::texts(&notes).join("\n").contains(words),
            "{name}: {notes:?}"
        );
        assert_eq!(notes.is_empty(), words.is_empty(), "{name}: {notes:?}");
    }
}

#[test]
fn the_most_telling_verdict_wins_and_all_findings_are_noted() {
    let mut evidence = Evidence {
        late: Some("missed".to_owned()),
        at_max: true,
        held_up: Some(Fps(90_000.0)),
        confirm: confirm(false),
        throughput: Some(Fps(490_000.0)),
        steal: Some(0.5),
        ..fine()
    };
    assert_eq!(judge(&evidence).0, Verdict::Coupled);
    assert_eq!(judge(&evidence).1.len(), 5);
    evidence.held_up = None;
    assert_eq!(judge(&evidence).0, Verdict::Late);
    evidence.late = None;
    assert_eq!(judge(&evidence).0, Verdict::Unstable);
    evidence.confirm = confirm(true);
    assert_eq!(judge(&evidence).0, Verdict::TesterLimited);
    evidence.at_max = false;
    evidence.tester_limit = None;
    assert_eq!(judge(&evidence).0, Verdict::Noisy);
    evidence.steal = None;
    assert_eq!(judge(&evidence), (Verdict::Ok, vec![]));
    evidence.failed = Some(SearchNote::NoLoadInGoal.into());
    assert_eq!(judge(&evidence).0, Verdict::Failed);
}

fn cpu(cores: &[(f64, f64)]) -> CpuUse {
    CpuUse {
        cores: cores
            .iter()
            .zip(0..)
            .map(|((softirq, system), cpu)| CoreUse {
                cpu,
                softirq: *softirq,
                system: *system,
                idle: 1.0 - softirq - system,
                ..CoreUse::default()
            })
            .collect(),
        ..CpuUse::default()
    }
}

#[test]
fn loss_among_idle_cpus_is_explained() {
    let one_full = cpu(&[(0.9, 0.1), (0.1, 0.14)]);
    assert_eq!(
        idle_note(&one_full).unwrap().to_string(),
        "CPU 0 (softirq) was full while all CPUs together were 38 % idle."
    );
    let named = CpuUse {
        busiest: Some(WhoUse {
            cpu: 0,
            busy_ratio: 1.0,
            who: "napi/d0".to_owned(),
            ..WhoUse::default()
        }),
        ..one_full
    };
    assert_eq!(
        idle_note(&named).unwrap().to_string(),
        "CPU 0 (napi/d0) was full while all CPUs together were 38 % idle."
    );
    assert!(
        idle_note(&cpu(&[(0.5, 0.1), (0.1, 0.1)]))
            .unwrap()
            .to_string()
            .contains("idle and none full")
    );
    assert_eq!(idle_note(&cpu(&[(0.9, 0.1), (0.9, 0.0)])), None);
    assert_eq!(idle_note(&CpuUse::default()), None);
}
