//! What the daemon shows to those who ask: the last period, and how it came to that.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nicety_police::Policy;
use nicety_police::explain::explain;
use nicety_police::port_watch::LimitState;
use nicety_police::report::State;
use nicety_police::schedule::gets_on;
use nicety_police::totals::Total;
use serde::Serialize;

use crate::drops::TenantDrops;

/// Periods that are kept, and numbers of all tenants together.
const MOST_PERIODS: usize = 600;
const MOST_NUMBERS: usize = 400_000;
/// Rates and limits of all tenants in one period, in bits per second.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryPoint {
    /// Seconds since boot.
    pub at_s: f64,
    /// What each sends.
    pub rate: Vec<f32>,
    /// What each may send.
    pub limit: Vec<f32>,
}

/// One period as it is shown.
#[derive(Debug)]
pub struct Shown {
    /// Without explanations, which are made when somebody asks.
    pub state: State,
    /// By which it was decided.
    pub policy: Arc<Policy>,
    /// Frames and bytes of each port since the start.
    pub totals: Vec<Total>,
    /// What the kernel dropped of each tenant's packets since the start; none where that is not counted.
    pub drops: Option<Vec<TenantDrops>>,
    /// What became of each port's limit.
    pub limits: Vec<LimitState>,
    /// For how long the kernel has not answered, by NIC or `interfaces`; zero where it does.
    pub silences: Vec<(String, Duration)>,
    /// What the period took of the daemon's time.
    pub busy: Duration,
    /// When it ended.
    pub at: Instant,
}

impl Shown {
    /// Whether it says the same as another period, but for its number and time.
    pub fn same_as(&self, other: &Self) -> bool {
        let counts = |state: &State| (state.writes, state.errors);
        counts(&self.state) == counts(&other.state)
            && self.state.decision == other.state.decision
            && self.state.received == other.state.received
            && self.state.packets == other.state.packets
    }

    /// With explanations.
    pub fn whole(&self) -> State {
        State {
            tenants: explain(&self.policy, &self.state.decision),
            ..self.state.clone()
        }
    }
}

/// The last period and those before; cheap to ask, never waits for the loop.
#[derive(Debug, Default)]
pub struct Board(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    shown: Option<Arc<Shown>>,
    history: VecDeque<Arc<HistoryPoint>>,
}

impl Board {
    /// Shows a period.
    pub fn show(&self, shown: Arc<Shown>) {
        let tenants = &shown.state.decision.tenants;
        let point = HistoryPoint {
            at_s: shown.state.written_s,
            rate: tenants
                .iter()
                .map(|tenant| tenant.rate_bps as f32)
                .collect(),
            limit: tenants
                .iter()
                .map(|tenant| tenant.limit_bps as f32)
                .collect(),
        };
        let most = (MOST_NUMBERS / (2 * tenants.len().max(1))).clamp(2, MOST_PERIODS);
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.history.push_back(Arc::new(point));
        while inner.history.len() > most {
            inner.history.pop_front();
        }
        inner.shown = Some(shown);
    }

    /// Forgets all periods: the tenants are not those any more.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Inner::default();
    }

    /// The last period; none before the first.
    pub fn last(&self) -> Option<Arc<Shown>> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.shown.clone()
    }

    /// The periods after one, by its time; all that are kept for 0.
    pub fn since(&self, at_s: f64) -> Vec<Arc<HistoryPoint>> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = inner.history.iter().filter(|point| point.at_s > at_s);
        new.cloned().collect()
    }

    /// Whether the loop gets on; the text says what it does.
    ///
    /// # Errors
    /// What it does when it does not.
    pub fn health(&self) -> Result<String, String> {
        let Some(shown) = self.last() else {
            return Err("no period has ended yet".to_owned());
        };
        let age = shown.at.elapsed();
        let period = Duration::from_secs_f64(shown.state.period_s);
        let text = format!(
            "period {} ended {:.1} s ago",
            shown.state.periods,
            age.as_secs_f64()
        );
        if gets_on(age, period) {
            Ok(text)
        } else {
            Err(text)
        }
    }
}
