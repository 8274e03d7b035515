//! Rules and programs that throw frames away.

use nicety_port::af_packet::{PortSpec, Refusal};
use nicety_port::xdp::receive::Receiver;
use nicety_model::Direction;
use nicety_packet::MacAddr;
use nicety_paths::BridgePath;
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

fn by_rule(family: &str, hook: &str, device: &str) -> Result<(), Skip> {
    let path = stage::bridge();
    let record = crate::case::on(&path, Run::default(), |path| nft(path, family, hook))?;
    let names = ["NETFILTER_DROP", "nft_do_chain", "nf_hook_slow"];
    all_lost(&record, device, &names);
    let listed = run(path.dut(), "nft", &["list", "counters"], "")?;
    // Those by which the receipt was learned are among the rule's.
    let (frames, _) = told(&record, device, &names);
    let dropped = number(&listed, "packets");
    assert!(frames <= dropped && dropped - frames <= 200, "{frames} of {dropped}");
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

/// Frames with an even last byte of their numbers: behind IPv4 and UDP header the number is 4 bytes
/// into the stamp.
const EVEN: &str = "u32 match u8 0 1 at 35 action drop";

pub fn tc_ingress() -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        let filter = format!("tc filter add dev d0 ingress protocol ip prio 1 {EVEN}");
        commands(path, &["tc qdisc add dev d0 clsact", &filter])
    })?;
    all_lost(&record, "d0", &["TC_INGRESS"]);
    Ok(())
}

pub fn tc_egress() -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        let filter = format!("tc filter add dev d1 egress protocol ip prio 1 {EVEN}");
        commands(path, &["tc qdisc add dev d1 clsact", &filter])
    })?;
    all_lost(&record, "d1", &["TC_EGRESS"]);
    Ok(())
}

pub fn two() -> Result<(), Skip> {
    let record = trial(Run::default(), |path| {
        nft(path, "netdev", "hook ingress device d0 priority 0")?;
        commands(
            path,
            &["tc qdisc add dev d1 root tbf rate 4mbit burst 3000b limit 6000b"],
        )
    })?;
    let (rule, _) = told(&record, "d0", &["NETFILTER_DROP", "nft_do_chain", "nf_hook_slow"]);
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
