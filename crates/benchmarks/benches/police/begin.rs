//! Below a period: what a flood of an idle tenant does to a guarantee until the controller has seen it, and what the ways
//! to hold it at once cost the one who begins.

use std::time::Duration;

use anyhow::Result;
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::inside::sh;
use nicety_benchmarks::start::setting;

use crate::UPLINK;
use crate::flows::{Flow, Kind, Series};
use crate::rig::Rig;

const STEP: Duration = Duration::from_millis(10);
/// Steps before the first flood, of one, and from one to the next: each begins elsewhere in a period of 500 ms.
const LEAD: u32 = 250;
const LENGTH: u32 = 120;
const EVERY: u32 = 253;
/// What the one with the guarantee sends, in Mbit/s of datagrams: less than it is sure of.
const SENDS: u64 = 80;
const GUARANTEE: u64 = 100;

/// How floods are held.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// By the controller, `idle_share` as given.
    Idle(f64),
    /// All ports share one device, and HTB there lends what is left.
    Htb,
}

const WAYS: [(Way, &str); 4] = [
    (Way::Idle(1.0), "idle_share = 1"),
    (Way::Idle(0.1), "idle_share = 0.1"),
    (Way::Idle(0.01), "idle_share = 0.01"),
    (Way::Htb, "one HTB by hand"),
];

/// `a` sends less than its guarantee, `c` all it can, and `b` is idle and floods again and again: what `a` loses, as time
/// of its own rate, and how long a flood waits for four fifths of its share.
pub fn measure(figures: &mut Figures) -> Result<()> {
    let floods = setting("NICETY_BENCH_ROUNDS", 10_u32)?;
    let steps = LEAD + floods * EVERY;
    let begins: Vec<u32> = (0..floods).map(|flood| LEAD + flood * EVERY).collect();
    let mut flows = vec![
        Flow::new("a", Kind::Udp, Some(SENDS), 0..steps),
        Flow::new("c", Kind::Udp, Some(2 * UPLINK), 0..steps),
    ];
    for begin in &begins {
        let when = *begin..begin + LENGTH;
        flows.push(Flow::new("b", Kind::Udp, Some(2 * UPLINK), when));
    }
    for (way, name) in WAYS {
        let rig = Rig::new(&["a", "b", "c"], UPLINK)?;
        let _held = match way {
            Way::Idle(share) => Some(rig.daemon(&policy(share))?),
            Way::Htb => {
                htb(&rig)?;
                None
            }
        };
        let series = rig.run(&flows, STEP, steps as usize)?;
        for (flood, begin) in series.iter().skip(2).zip(&begins) {
            let from = *begin as usize;
            let during = from..from + LENGTH as usize;
            let before = series[0].mean(from - 100..from);
            let lost = (before - series[0].mean(during.clone())).max(0.0) / before;
            figures.next_round();
            let lost_ms = lost * f64::from(LENGTH) * 10.0;
            let values = [("loses ms", lost_ms), ("waits ms", wait(flood, during))];
            figures.put_all(&format!("begin, {name},"), values);
        }
    }
    Ok(())
}

fn policy(idle_share: f64) -> String {
    format!(
        "[link]\ncapacity = \"{UPLINK}mbit\"\nperiod = \"500ms\"\nidle_share = {idle_share}\n\
         [[tenant]]\nname = \"a\"\nguarantee = \"{GUARANTEE}mbit\"\nports = \"a1\"\n\
         [[tenant]]\nname = \"b\"\nports = \"b1\"\n[[tenant]]\nname = \"c\"\nports = \"c1\"\n"
    )
}

/// Classes at the uplink, each with 10 ms of queue.
fn htb(rig: &Rig) -> Result<()> {
    let shared = UPLINK * 97 / 100;
    let rest = (shared - GUARANTEE) / 2;
    let mut script = format!(
        "tc qdisc replace dev u1 root handle 1: htb default 3\n\
         tc class add dev u1 parent 1: classid 1:9 htb rate {shared}mbit ceil {shared}mbit\n"
    );
    for (number, rate) in [(1, GUARANTEE), (2, rest), (3, rest)] {
        let limit = rate * 1250;
        script += &format!(
            "tc class add dev u1 parent 1:9 classid 1:{number} htb rate {rate}mbit ceil {shared}mbit\n\
             tc qdisc add dev u1 parent 1:{number} bfifo limit {limit}\n\
             tc filter add dev u1 parent 1: protocol ip u32 match ip src 192.0.2.{number}/32 flowid 1:{number}\n"
        );
    }
    sh(&rig.hub, &script)
}

/// Milliseconds until a flood has four fifths of what it has at the end, and keeps it for a tenth of a second.
fn wait(flood: &Series, during: std::ops::Range<usize>) -> f64 {
    let share = flood.mean(during.end - 30..during.end);
    let has = |at: &usize| flood.mean(*at..at + 10) >= 0.8 * share;
    let first = (during.start..during.end - 10).find(has);
    first.map_or(f64::INFINITY, |at| (at - during.start) as f64 * 10.0)
}
