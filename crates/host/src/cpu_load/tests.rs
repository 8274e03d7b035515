//! Shares and attribution on made-up counters.

use std::time::Duration;

use nicety_model::CoreUse;

use super::attribute::{ThreadUse, attribute};
use super::*;
use crate::stat::StatSample;
use crate::tasks::SOFTIRQ;

const BEFORE: &str = "\
cpu  100 0 100 1000 10 0 0 5 0 0
cpu0 50 0 50 500 10 0 0 5 0 0
cpu1 50 0 50 500 0 0 0 0 0 0
cpu2 50 0 50 500 0 0 0 0 0 0
intr 1 2 3
ctxt 5
";
const AFTER: &str = "\
cpu  100 0 100 1000 10 0 0 5 0 0
cpu0 60 5 65 510 8 10 40 15 99 99
cpu1 50 0 50 500 0 0 0 0 0 0
cpu3 9 9 9 9 9 9 9 9 9 9
";

#[test]
fn shares_add_up_and_never_go_negative() {
    let shares = StatSample::parse(AFTER).shares_since(&StatSample::parse(BEFORE));
    // cpu1 stood still, cpu2 went away, cpu3 came.
    assert_eq!(shares.len(), 1);
    let core = shares[0];
    // 10 user + 5 nice, 15 system, 10 idle, iowait back by 2, 10 irq, 40 softirq, 10 steal.
    let expected = [0.15, 0.15, 0.1, 0.4, 0.1, 0.1];
    let got = [
        core.user,
        core.system,
        core.irq,
        core.softirq,
        core.steal,
        core.idle,
    ];
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() < 1e-9, "{core:?}");
    }
    let back = StatSample::parse(BEFORE).shares_since(&StatSample::parse(AFTER));
    for core in back {
        for share in [core.user, core.system, core.irq, core.softirq, core.steal] {
            assert!((0.0..=1.0).contains(&share), "{core:?}");
        }
    }
}

#[test]
fn malformed_stat_lines_are_left_out() {
    for text in [
        "",
        "cpu",
        "cpu 1 2 3 4",
        "cpux 1 2 3 4",
        "cpu0",
        "cpu0 1 2 3",
        "cpu0 1 2 x 4",
        "cpu0 -1 2 3 4",
        "cpu0 99999999999999999999999 2 3 4",
        "\0\0\0",
    ] {
        assert!(StatSample::parse(text).cpus.is_empty(), "{text:?}");
    }
    let old = StatSample::parse("cpu7 1 2 3 4");
    assert_eq!(old.cpus[&7].idle, 4);
    assert_eq!(old.cpus[&7].steal, 0);
}

fn core(cpu: u32, user: f64, system: f64, softirq: f64) -> CoreUse {
    CoreUse {
        cpu,
        user,
        system,
        softirq,
        idle: 1.0 - user - system - softirq,
        ..CoreUse::default()
    }
}

fn thread(label: &str, cpus: f64, home: Option<u32>) -> ThreadUse {
    ThreadUse {
        label: label.to_owned(),
        cpus,
        home,
    }
}

fn near(got: f64, expected: f64) -> bool {
    (got - expected).abs() < 1e-9
}

#[test]
fn threads_interrupts_and_others_share_the_busy_time() {
    let cores = vec![core(0, 0.1, 0.2, 0.6), core(1, 0.3, 0.5, 0.0)];
    let cpu = attribute(
        cores,
        &[
            thread(TESTER, 0.5, Some(1)),
            thread(TESTER, 0.2, Some(1)),
            thread("napi/d0", 0.25, Some(0)),
        ],
    );
    assert!(near(cpu.who[TESTER], 0.7));
    assert!(near(cpu.who["napi/d0"], 0.25));
    assert!(near(cpu.who[SOFTIRQ], 0.6));
    assert!(near(cpu.who[STEAL], 0.0));
    // 1.1 of user and system time, 0.95 of it named.
    assert!(near(cpu.who[OTHER], 0.15));
    assert!(near(cpu.who.values().sum(), 1.7));
    let busiest = cpu.busiest.unwrap();
    assert_eq!((busiest.cpu, busiest.who.as_str()), (0, SOFTIRQ));
    assert!(near(busiest.busy_ratio, 0.9));
}

#[test]
fn softirqs_on_a_threads_back_are_not_the_threads() {
    // The tester's thread claims the whole CPU, but 70 % of it were softirqs in its context.
    let cpu = attribute(
        vec![core(0, 0.1, 0.2, 0.7)],
        &[thread(TESTER, 1.0, Some(0))],
    );
    assert!(near(cpu.who[TESTER], 0.3));
    assert!(near(cpu.who[SOFTIRQ], 0.7));
    assert!(near(cpu.who[OTHER], 0.0));
    assert_eq!(cpu.busiest.unwrap().who, SOFTIRQ);
}

#[test]
fn threads_that_moved_are_bounded_by_what_is_left() {
    let cores = vec![core(0, 0.5, 0.0, 0.5), core(1, 0.5, 0.0, 0.0)];
    let threads = [thread("napi/d0", 0.5, Some(0)), thread(TESTER, 0.8, None)];
    let cpu = attribute(cores, &threads);
    assert!(near(cpu.who["napi/d0"], 0.5));
    assert!(near(cpu.who[TESTER], 0.5));
    assert!(near(cpu.who[OTHER], 0.0));
}

#[test]
fn ksoftirqd_is_not_counted_twice() {
    let cpu = attribute(
        vec![core(0, 0.0, 0.0, 0.8)],
        &[thread(SOFTIRQ, 0.5, Some(0))],
    );
    assert!(near(cpu.who[SOFTIRQ], 0.8));
    assert!(near(cpu.who.values().sum(), 0.8));
}

#[test]
fn the_busiest_cpu_names_its_greatest_user() {
    let stolen = CoreUse {
        cpu: 0,
        steal: 0.7,
        user: 0.3,
        ..CoreUse::default()
    };
    for (core, threads, who) in [
        (core(0, 0.6, 0.3, 0.1), vec![], "user"),
        (core(0, 0.3, 0.6, 0.1), vec![], "system"),
        (core(0, 0.0, 0.0, 0.0), vec![], "idle"),
        (stolen, vec![], STEAL),
        (
            core(0, 0.4, 0.5, 0.1),
            vec![thread("vhost-1", 0.8, Some(0))],
            "vhost-1",
        ),
        // A small thread does not answer for the rest of the CPU.
        (
            core(0, 0.1, 0.8, 0.1),
            vec![thread("vhost-1", 0.1, Some(0))],
            "system",
        ),
    ] {
        let cpu = attribute(vec![core], &threads);
        assert_eq!(cpu.busiest.unwrap().who, who, "{core:?}");
    }
    assert_eq!(attribute(vec![], &[]).busiest, None);
}

#[test]
fn cpu_time_per_frame_counts_the_paths_labels() {
    let cpu = attribute(
        vec![core(0, 0.0, 0.5, 0.25), core(1, 0.5, 0.0, 0.0)],
        &[
            thread(TESTER, 0.5, Some(1)),
            thread("napi/d0", 0.5, Some(0)),
        ],
    );
    let second = Duration::from_secs(2);
    let per_frame = |labels| us_per_frame(&cpu, second, 1_000_000, labels);
    let not_path = [TESTER, STEAL, OTHER];
    assert!(near(per_frame(PathLabels::AllBut(&not_path)).unwrap(), 1.5));
    assert!(near(per_frame(PathLabels::Only(&["napi/*"])).unwrap(), 1.0));
    assert!(near(per_frame(PathLabels::Only(&["napi/"])).unwrap(), 0.0));
    assert_eq!(us_per_frame(&cpu, second, 0, PathLabels::Only(&[])), None);
    let none = Duration::ZERO;
    assert_eq!(us_per_frame(&cpu, none, 9, PathLabels::Only(&[])), None);
}
