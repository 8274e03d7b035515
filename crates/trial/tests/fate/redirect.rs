//! A program of the path that redirects XDP frames to where they cannot go: no tracepoint shows the frames, and one
//! counts them.

use std::fs;
use std::process::Command;

use nicety_model::FateCause;
use nicety_model::fate::XdpEvent;
use nicety_paths::BridgePath;
use nicety_testkit::runner::Skip;

use crate::case::{Run, commands, trial, unexplained};
use crate::commands::{number, run};

/// Redirects all frames to one interface.
const PROGRAM: &str = "
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC(\"xdp\")
int redirect(struct xdp_md *frame) { return bpf_redirect(TARGET, 0); }
char LICENSE[] SEC(\"license\") = \"GPL\";
";

/// The program at `d0`, which redirects to `d1`.
fn attach(path: &BridgePath) -> Result<(), Skip> {
    let link = run(path.dut(), "ip", &["-j", "link", "show", "d1"], "")?;
    let target = number(&link, "ifindex");
    let dir = tempfile::tempdir().unwrap();
    let (source, object) = (dir.path().join("x.c"), dir.path().join("x.o"));
    fs::write(&source, PROGRAM).unwrap();
    let compiled = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-c"])
        .arg(format!(
            "-I/usr/include/{}-linux-gnu",
            std::env::consts::ARCH
        ))
        .arg(format!("-DTARGET={target}"))
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .output();
    match compiled {
        Ok(output) if output.status.success() => {}
        other => return Err(Skip(format!("clang does not compile a program: {other:?}"))),
    }
    let object = object.to_str().unwrap();
    commands(
        path,
        &[&format!("ip link set d0 xdpdrv obj {object} sec xdp")],
    )
}

/// To an interface that is down.
pub fn failed() -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        attach(path)?;
        commands(path, &["ip link set d1 down"])
    })?;
    let fate = record.fate.as_ref().unwrap();
    println!("    {:?} {:?}", record.loss_ledger, fate.xdp);
    let cause = FateCause::Xdp {
        device: "d0".to_owned(),
        event: XdpEvent::RedirectFailed,
    };
    let frames = |wanted: &FateCause| -> u64 {
        let lines = record.loss_ledger.iter();
        let of = lines.filter(|entry| entry.cause.as_ref() == Some(wanted));
        of.map(|entry| entry.frames).sum()
    };
    let refused = frames(&FateCause::Refused {
        device: "a".to_owned(),
    });
    // All that came to the program, and nothing arrived.
    assert_eq!(record.frames.received, 0);
    assert_eq!(frames(&cause), record.frames.sent - refused);
    let counted = fate.xdp.iter().find(|of| of.device == "d0");
    assert_eq!(counted.map(|of| of.frames), Some(frames(&cause)));
    assert_eq!(unexplained(&record), 0);
    Ok(())
}
