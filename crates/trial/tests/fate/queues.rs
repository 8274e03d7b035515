//! Queues and rings that are full.

use nicety_model::fate::XdpEvent;
use nicety_model::{FateCause, Fps};
use nicety_testkit::runner::Skip;

use crate::case::{Run, all_lost, commands, trial, unexplained};
use crate::commands::run;
use crate::stage::Tester;

/// Names of what a queueing discipline does.
const QDISC: [&str; 3] = ["QDISC_DROP", "QDISC_OVERLIMIT", "QDISC_CONGESTED"];

pub fn tbf() -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        commands(
            path,
            &["tc qdisc add dev d1 root tbf rate 4mbit burst 3000b limit 6000b"],
        )
    })?;
    all_lost(&record, "d1", &QDISC);
    // As the discipline itself counts them.
    let counters = &record.fate.as_ref().unwrap().counters;
    let counted = counters.iter().find(|entry| entry.place == "d1 qdisc tbf");
    let at_d1 = record
        .loss_ledger
        .iter()
        .filter(|e| e.place.starts_with("d1 "));
    assert_eq!(
        counted.map(|e| e.frames),
        Some(at_d1.map(|e| e.frames).sum())
    );
    Ok(())
}

pub fn htb() -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        commands(
            path,
            &[
                "tc qdisc add dev d1 root handle 1: htb default 1",
                "tc class add dev d1 parent 1: classid 1:1 htb rate 4mbit burst 3000b",
                "tc qdisc add dev d1 parent 1:1 pfifo limit 20",
            ],
        )
    })?;
    all_lost(&record, "d1", &QDISC);
    Ok(())
}

/// Rules that every frame walks through, so that the path cannot keep up.
fn slow(path: &nicety_paths::BridgePath) -> Result<(), Skip> {
    let rules: String = (0..700)
        .map(|n| {
            format!(
                "ether saddr 06:00:00:00:{:02x}:{:02x} drop\n",
                n / 256,
                n % 256
            )
        })
        .collect();
    let table = format!(
        "table netdev fate {{ chain c {{ type filter hook ingress device d0 priority 0; policy accept;\n{rules}\n}}\n}}"
    );
    run(path.dut(), "nft", &["-f", "-"], &table).map(|_| ())
}

pub fn veth_ring() -> Result<(), Skip> {
    let how = Run {
        tester: Tester::AfPacket,
        load: Fps(400_000.0),
        frames: 80_000,
        ..Run::default()
    };
    let record = trial(how, slow)?;
    if record.frames.lost == 0 {
        return Err(Skip("the path kept up".to_owned()));
    }
    all_lost(&record, "d0", &["veth_xmit", "NOT_SPECIFIED"]);
    Ok(())
}

/// No tracepoint sees these: the engine counts them.
pub fn veth_ring_xdp() -> Result<(), Skip> {
    let how = Run {
        load: Fps(600_000.0),
        frames: 100_000,
        ..Run::default()
    };
    let record = trial(how, slow)?;
    let refused = FateCause::Refused {
        device: "a".to_owned(),
    };
    let line = record
        .loss_ledger
        .iter()
        .find(|e| e.cause.as_ref() == Some(&refused));
    assert!(line.is_some(), "{:?}", record.loss_ledger);
    assert_eq!(unexplained(&record), 0, "{:?}", record.loss_ledger);
    // The engine's own count is the truth of what the kernel's tracepoint counts there. Another tester on the machine
    // may have a port of the same name.
    let counts = &record.fate.as_ref().unwrap().xdp;
    println!("    {counts:?}");
    let at_port = counts
        .iter()
        .filter(|of| of.device == "a" && of.event == XdpEvent::TransmitRefused);
    let refused = line.map(|line| line.frames);
    assert!(
        at_port.map(|of| Some(of.frames)).any(|of| of == refused),
        "{refused:?} {counts:?}"
    );
    Ok(())
}
