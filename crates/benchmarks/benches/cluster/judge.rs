//! What a series says of each scene.

use nicety_police::level::{Share, level};

use crate::series::{STEP, Series, point};
use crate::trace::{Change, Scene, Trace};
use crate::{PERIOD_S, TENANTS, TOTAL};

/// Share of what could be sent from which on a shift is followed.
const FOLLOWED: f64 = 0.95;
/// Points over which a rate is taken for that.
const RATE: usize = 2;
/// Periods after which a shift is to be over.
const SETTLED: f64 = 3.0;

/// What one scene has shown.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Most that all hosts have sent in any second, over the total.
    pub highest: f64,
    /// Seconds, a tenth apart, in which they have sent more than 1 % above the total, and all.
    pub above: (usize, usize),
    /// Sent over what total and demand allow, all the time.
    pub used: f64,
    /// Sent over the total, from 3 periods after a shift on, where the demand is at least the total.
    pub full: f64,
    /// Periods until 95 % of what is possible is sent, sorted; a shift that is not followed counts until the next.
    pub follow: Vec<f64>,
    /// Jain's index of what each host has over what max-min fairness gives it, from 3 periods after a shift on.
    pub jain: f64,
}

impl Shown {
    pub fn rank(&self, share: f64) -> f64 {
        let last = self.follow.len().saturating_sub(1);
        let index = (share * last as f64).round() as usize;
        self.follow.get(index).copied().unwrap_or(f64::NAN)
    }
}

pub fn judge(trace: &Trace, series: &Series, scene: Scene) -> Shown {
    let mut shown = Shown::default();
    let (mut used, mut full) = (Mean::default(), Mean::default());
    let mut jain = Mean::default();
    for tenant in 0..TENANTS.len() {
        let spans = trace.spans(tenant).into_iter();
        for (change, end) in spans.filter(|(change, _)| change.scene == scene) {
            windows(series, change, end, &mut shown);
            if !trace.is_shift(change) {
                continue;
            }
            let (from, to) = (point(change.at), point(end).min(series.points() - 1));
            let wanted: f64 = change.demand.iter().sum();
            let possible = wanted.min(TOTAL);
            let seconds = |from: usize| to.saturating_sub(from) as f64 * STEP;
            used.add(series.sum(tenant, from, to), possible * seconds(from));
            shown.follow.push(follow(series, change, to, possible));
            let settled = point(change.at + SETTLED * PERIOD_S);
            if settled >= to {
                continue;
            }
            if wanted >= TOTAL {
                full.add(series.sum(tenant, settled, to), TOTAL * seconds(settled));
            }
            let each = series.each(tenant, settled, to);
            jain.add(fairness(change, &each, seconds(settled)), 1.0);
        }
    }
    shown.follow.sort_by(f64::total_cmp);
    shown.used = used.value();
    shown.full = full.value();
    shown.jain = jain.value();
    shown
}

#[derive(Debug, Default)]
struct Mean(f64, f64);

impl Mean {
    fn add(&mut self, value: f64, of: f64) {
        self.0 += value;
        self.1 += of;
    }

    fn value(&self) -> f64 {
        self.0 / self.1
    }
}

/// Every second that ends in a span.
fn windows(series: &Series, change: &Change, end: f64, shown: &mut Shown) {
    let second = point(1.0);
    let to = point(end).min(series.points());
    for at in point(change.at).max(second)..to {
        let sent = series.sum(change.tenant, at - second, at) / TOTAL;
        shown.highest = shown.highest.max(sent);
        shown.above.0 += usize::from(sent > 1.01);
        shown.above.1 += 1;
    }
}

/// Periods until a rate is what is possible, but for a twentieth.
fn follow(series: &Series, change: &Change, end: usize, possible: f64) -> f64 {
    let enough = FOLLOWED * possible * RATE as f64 * STEP;
    let mut points = point(change.at) + RATE..=end;
    let reached = points.find(|at| series.sum(change.tenant, at - RATE, *at) >= enough);
    (reached.unwrap_or(end) as f64 * STEP - change.at) / PERIOD_S
}

fn fairness(change: &Change, each: &[f64], seconds: f64) -> f64 {
    let shares: Vec<Share> = change
        .demand
        .iter()
        .map(|demand| Share {
            weight: 1.0,
            guarantee: 0.0,
            demand: *demand,
        })
        .collect();
    let ideal = level(TOTAL, &shares).given;
    let parts: Vec<f64> = each
        .iter()
        .zip(ideal)
        .filter(|(_, ideal)| *ideal > 0.0)
        .map(|(bits, ideal)| bits / (ideal * seconds))
        .collect();
    let sum: f64 = parts.iter().sum();
    let squares: f64 = parts.iter().map(|part| part * part).sum();
    sum * sum / (parts.len() as f64 * squares)
}
