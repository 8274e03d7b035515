//! How soon a new flood is held, wherever in the controller's period it begins.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::flows::{Flow, Kind, Series};
use crate::rig::Rig;
use crate::{Control, STEP, STEPS_PER_PERIOD, UPLINK, watch};

/// Floods: two for each step of a period.
const FLOODS: u32 = 10;
/// Steps of a flood.
const LENGTH: u32 = 20;
/// Steps from one flood to the next: each begins a step later in the period of the controller.
const EVERY: u32 = 36;
/// Steps before the first one.
const LEAD: u32 = 20;
/// What a flood may have beyond its share.
const TOLERANCE: f64 = 1.1;
/// Headers, FCS, preamble and gap of a full frame in the datagrams that are counted.
const PAYLOAD: f64 = 1472.0 / 1538.0;

/// TCP sends all the time; UDP floods again and again.
pub fn measure(figures: &mut Map<String, Value>) -> Result<()> {
    let rig = Rig::new(&["a", "b"], UPLINK)?;
    let policy = Control::Shared.policy("two").context("a policy")?;
    let _held = rig.daemon(policy)?;
    let begins: Vec<u32> = (0..FLOODS).map(|flood| LEAD + flood * EVERY).collect();
    let mut flows = vec![Flow::new("a", Kind::Tcp, None, 0..LEAD + FLOODS * EVERY)];
    for begin in &begins {
        let when = *begin..begin + LENGTH;
        flows.push(Flow::new("b", Kind::Udp, Some(2 * UPLINK), when));
    }
    let steps = (LEAD + FLOODS * EVERY) as usize;
    watch::phase("reaction", STEP * steps as u32);
    let series = rig.run(&flows, STEP, steps)?;
    let (tcp, floods) = series.split_first().context("a flow")?;
    // Half of what the policy shares, its head-room left out.
    let share = 0.97 * UPLINK as f64 / 2.0 * PAYLOAD;
    let mut held: Vec<f64> = Vec::new();
    let mut back: Vec<f64> = Vec::new();
    for (flood, begin) in floods.iter().zip(&begins) {
        let when = *begin as usize..(begin + LENGTH) as usize;
        held.push(periods(flood, when.clone(), |rate| {
            rate > TOLERANCE * share
        }));
        back.push(periods(tcp, when, |rate| rate < 0.8 * share));
    }
    held.sort_by(f64::total_cmp);
    back.sort_by(f64::total_cmp);
    let of = |sorted: &[f64]| (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    let ((median, worst), (usual, slowest)) = (of(&held), of(&back));
    println!(
        "\n{FLOODS} floods, each {} ms later in the period: held within a tenth of its share after \
         {median:.1} periods, the worst after {worst:.1} (aim: 2); TCP has four fifths of its own \
         after {usual:.1}, the worst after {slowest:.1}",
        STEP.as_millis()
    );
    figures.insert("flood_held_after_periods".to_owned(), json!(worst));
    figures.insert("flood_held_after_periods_median".to_owned(), json!(median));
    figures.insert(
        "flood_tcp_back_after_periods_median".to_owned(),
        json!(usual),
    );
    figures.insert("flood_tcp_back_after_periods".to_owned(), json!(slowest));
    Ok(())
}

/// Periods of the daemon from the begin of a flood until `beyond` is never again true of a step.
fn periods(of: &Series, when: std::ops::Range<usize>, beyond: impl Fn(f64) -> bool) -> f64 {
    let rates = of.rates.get(when).unwrap_or_default();
    let last = rates.iter().rposition(|rate| beyond(*rate));
    last.map_or(0, |last| last + 1) as f64 / STEPS_PER_PERIOD as f64
}
