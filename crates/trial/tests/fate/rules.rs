//! Rules and programs that throw frames away.

use nicety_model::Direction;
use nicety_packet::MacAddr;
use nicety_paths::BridgePath;
use nicety_port::af_packet::{PortSpec, Refusal};
use nicety_port::xdp::receive::Receiver;
use nicety_testkit::runner::Skip;

use crate::case::{Run, all_lost, commands, told, trial, unexplained};
use crate::commands::{number, run};
use crate::stage::{self, Tester};

/// Every seventh frame.
fn nft(path: &BridgePath, family: &str, hook: &str) -> Result<(), Skip> {
    let rules = format!(
        "table {family} fate {{
            counter dropped {{ }}
            chain frames {{
                type filter {hook}; policy accept;
                numgen inc mod 7 0 counter name dropped drop
            }}
        }}"
    );
    run(path.dut(), "nft", &["-f", "-"], &rules).map(|_| ())
}

/// Where a rule drops, by the kernel's version.
const BY_RULE: [&str; 3] = ["NETFILTER_DROP", "nft_do_chain", "nf_hook_slow"];

fn by_rule(family: &str, hook: &str, device: &str) -> Result<(), Skip> {
    let path = stage::bridge();
    let record = crate::case::on(&path, Run::default(), |path| nft(path, family, hook))?;
    all_lost(&record, device, &BY_RULE);
    let listed = run(path.dut(), "nft", &["list", "counters"], "")?;
    // Those by which the receipt was learned are among the rule's.
    let (frames, _) = told(&record, device, &BY_RULE);
    let dropped = number(&listed, "packets");
    assert!(
        frames <= dropped && dropped - frames <= 200,
        "{frames} of {dropped}"
    );
    Ok(())
}

pub fn netdev() -> Result<(), Skip> {
    by_rule("netdev", "hook ingress device d0 priority 0", "d0")
}

pub fn bridge() -> Result<(), Skip> {
    // The frame has its way out by then.
    by_rule("bridge", "hook forward priority 0", "d1")
}

pub fn inet() -> Result<(), Skip> {
    by_rule("inet", "hook ingress device d0 priority 0", "d0")
}

/// Classic BPF that drops frames with even numbers (TC_ACT_SHOT is 2): the last byte of the number is behind
/// Ethernet, IPv4 and UDP header 8 bytes into the stamp.
const EVEN: &str = "4,48 0 0 49,69 1 0 1,6 0 0 2,6 0 0 0";

fn by_filter(device: &str, hook: &str, reason: &str) -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        commands(path, &[&format!("tc qdisc add dev {device} clsact")])?;
        let filter = [
            "filter",
            "add",
            "dev",
            device,
            hook,
            "bpf",
            "direct-action",
            "bytecode",
            EVEN,
        ];
        run(path.dut(), "tc", &filter, "").map(|_| ())
    })?;
    all_lost(&record, device, &[reason]);
    // The odd ones came through, but for what a busy machine lost before.
    let (even, others) = told(&record, device, &[reason]);
    let before: u64 = others.iter().map(|entry| entry.frames).sum();
    let half = record.frames.sent.div_ceil(2);
    assert!(even <= half && even + before >= half, "{even} of {half}");
    Ok(())
}

pub fn tc_ingress() -> Result<(), Skip> {
    by_filter("d0", "ingress", "TC_INGRESS")
}

pub fn tc_egress() -> Result<(), Skip> {
    by_filter("d1", "egress", "TC_EGRESS")
}

pub fn two() -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        nft(path, "netdev", "hook ingress device d0 priority 0")?;
        commands(
            path,
            &["tc qdisc add dev d1 root tbf rate 4mbit burst 3000b limit 6000b"],
        )
    })?;
    let (rule, _) = told(&record, "d0", &BY_RULE);
    let (bucket, _) = told(&record, "d1", &["QDISC_DROP", "QDISC_OVERLIMIT"]);
    assert!(rule > 0 && bucket > 0, "{:?}", record.loss_ledger);
    assert_eq!(unexplained(&record), 0, "{:?}", record.loss_ledger);
    Ok(())
}

/// The tester's own receive program, put where it is not expected: it drops test frames.
pub fn program(path: &BridgePath) -> Receiver {
    let spec = PortSpec {
        interface: "d0".to_owned(),
        mac: MacAddr::local(9),
        mtu: 1500,
        refusal: Refusal::LostInPath,
        promiscuous: false,
    };
    let opened = path
        .dut()
        .run(|| Receiver::open(&spec, stage::traffic(Direction::Uni), &[0]));
    opened.unwrap().unwrap()
}

pub fn xdp() -> Result<(), Skip> {
    let how = Run {
        tester: Tester::AfPacket,
        ..Run::default()
    };
    let mut dropping = None;
    let record = trial(how, |path| {
        dropping = Some(program(path));
        Ok(())
    })?;
    let names = ["veth_xdp_rcv_skb", "do_xdp_generic", "XDP", "veth_xdp_rcv"];
    all_lost(&record, "d0", &names);
    Ok(())
}
