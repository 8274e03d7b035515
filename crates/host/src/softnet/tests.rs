//! Rows of `softnet_stat`, as kernels 6.18 and 4.19 print them.

use super::*;

const NEW: &str = "\
00000011 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
00002b30 00000005 00000007 00000000 00000000 00000000 00000000 00000000 00000000 0000000a 00000002 00000003 00000004 00000001 00000002
";
const OLD: &str = "\
00000011 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
00000022 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
";

#[test]
fn rows_carry_their_cpu_in_new_kernels_and_their_order_in_old() {
    let new = SoftnetSample::parse(NEW);
    assert_eq!(new.cpus.keys().copied().collect::<Vec<_>>(), [0, 4]);
    assert_eq!(
        new.cpus[&4],
        SoftnetCpu {
            processed: 0x2b30,
            dropped: 5,
            time_squeeze: 7,
            received_rps: 10,
            flow_limit: 2,
            backlog_len: Some(3),
        }
    );
    let old = SoftnetSample::parse(OLD);
    assert_eq!(old.cpus.keys().copied().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(old.cpus[&1].processed, 0x22);
    assert_eq!(old.cpus[&1].backlog_len, None);
}

#[test]
fn nonsense_rows_are_left_out() {
    for text in ["", "\n\n", "xyz 1 2", "00000001", "fffffffff 0 0", "-1 0 0"] {
        assert!(SoftnetSample::parse(text).cpus.is_empty(), "{text:?}");
    }
    assert_eq!(SoftnetSample::parse("1 2 3\n1 zz 3\n").cpus.len(), 1);
}

fn one(cpu: u32, processed: u32, dropped: u32, flow_limit: u32) -> SoftnetSample {
    let dropping = SoftnetCpu {
        processed,
        dropped,
        flow_limit,
        ..SoftnetCpu::default()
    };
    SoftnetSample {
        cpus: [(cpu, dropping)].into(),
    }
}

#[test]
fn differences_wrap_but_never_run_backwards() {
    let wrapped = one(0, 5, 1, 0).since(&one(0, u32::MAX - 4, 1, 0));
    assert_eq!(wrapped[&0].processed, 10);
    assert_eq!(wrapped[&0].dropped, 0);
    assert!(one(0, 5, 1, 0).since(&one(0, 100, 1, 0)).is_empty());
    assert!(one(1, 5, 1, 0).since(&one(0, 1, 1, 0)).is_empty());
}

#[test]
fn ledger_lines_count_every_dropped_frame_once() {
    let moved = one(1, 100, 12, 4).since(&one(1, 0, 2, 1));
    let lines: Vec<(String, u64)> = losses(&moved)
        .into_iter()
        .map(|entry| (entry.place, entry.frames))
        .collect();
    assert_eq!(
        lines,
        [
            ("cpu1 softnet dropped".to_owned(), 7),
            ("cpu1 softnet flow_limit".to_owned(), 3)
        ]
    );
    assert!(losses(&one(1, 100, 2, 0).since(&one(1, 0, 2, 0))).is_empty());
}
