//! Below a period: what a flood of an idle tenant does to a guarantee until the controller has seen it, and what the ways
//! to hold it at once cost the one who begins.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::flows::{Flow, Kind, Series};
use crate::rig::{Rig, inside};
use crate::{UPLINK, watch};

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

/// `a` sends less than its guarantee, `c` all it can, and `b` is idle and floods again and again.
pub fn measure(figures: &mut Map<String, Value>) -> Result<()> {
    let floods: u32 = match std::env::var("NICETY_BENCH_ROUNDS") {
        Ok(text) => text.parse().context("NICETY_BENCH_ROUNDS is a number")?,
        Err(_) => 10,
    };
    println!(
        "\n{floods} floods of an idle tenant beside a guarantee of {GUARANTEE} of {UPLINK} Mbit/s: what the guaranteed one \
         loses, as time of its own rate,\nand how long the flood waits for four fifths of its share; median, worst\n\
         {:<20}{:>22}{:>22}",
        "", "loses ms", "waits ms"
    );
    for (way, name) in WAYS {
        let rig = Rig::new(&["a", "b", "c"], UPLINK)?;
        let held = match way {
            Way::Idle(share) => Some(rig.daemon(&policy(share))?),
            Way::Htb => {
                htb(&rig)?;
                None
            }
        };
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
        watch::phase(name, STEP * steps);
        let series = rig.run(&flows, STEP, steps as usize)?;
        drop(held);
        let (mut loses, mut waits) = (Vec::new(), Vec::new());
        for (flood, begin) in series.iter().skip(2).zip(&begins) {
            let from = *begin as usize;
            let during = from..from + LENGTH as usize;
            let before = series[0].mean(from - 100..from);
            let lost = (before - series[0].mean(during.clone())).max(0.0) / before;
            loses.push(lost * f64::from(LENGTH) * 10.0);
            waits.push(wait(flood, during));
        }
        let [(lost, most), (waited, longest)] = [middle(&mut loses), middle(&mut waits)];
        println!(
            "{name:<20}{:>22}{:>22}",
            format!("{lost:.0}, {most:.0}"),
            format!("{waited:.0}, {longest:.0}")
        );
        let key = match way {
            Way::Idle(share) => format!("begin_idle_share_{share}"),
            Way::Htb => "begin_htb_by_hand".to_owned(),
        };
        for (what, value) in [
            ("loses", lost),
            ("loses_worst", most),
            ("waits", waited),
            ("waits_worst", longest),
        ] {
            figures.insert(format!("{key}_{what}_ms"), json!(value));
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
    let sh = |line: &str| inside(&rig.hub, &line.split(' ').collect::<Vec<_>>());
    sh("tc qdisc replace dev u1 root handle 1: htb default 3")?;
    sh(&format!(
        "tc class add dev u1 parent 1: classid 1:9 htb rate {shared}mbit ceil {shared}mbit"
    ))?;
    for (number, rate) in [(1, GUARANTEE), (2, rest), (3, rest)] {
        sh(&format!(
            "tc class add dev u1 parent 1:9 classid 1:{number} htb rate {rate}mbit ceil {shared}mbit"
        ))?;
        sh(&format!(
            "tc qdisc add dev u1 parent 1:{number} bfifo limit {}",
            rate * 1250
        ))?;
        sh(&format!(
            "tc filter add dev u1 parent 1: protocol ip u32 match ip src 192.0.2.{number}/32 flowid 1:{number}"
        ))?;
    }
    Ok(())
}

/// Milliseconds until a flood has four fifths of what it has at the end, and keeps it for a tenth of a second.
fn wait(flood: &Series, during: std::ops::Range<usize>) -> f64 {
    let share = flood.mean(during.end - 30..during.end);
    let has = |at: &usize| flood.mean(*at..at + 10) >= 0.8 * share;
    let first = (during.start..during.end - 10).find(has);
    first.map_or(f64::INFINITY, |at| (at - during.start) as f64 * 10.0)
}

/// The middle one and the last; sorts.
fn middle(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    (at(values.len() / 2), at(values.len().saturating_sub(1)))
}
