//! `burst` and `rx_burst` as they stand in a file.

use std::time::Duration;

use nicety_model::source::{Diagnostic, Wrong};
use nicety_model::{BitRate, kind};
use schemars::JsonSchema;
use toml::Spanned;

use super::file::{TenantFile, between};
use super::{Policy, Tenant};
use crate::credit::{Credit, CreditError};

/// How a credit is written.
const FORM: &str = "\"2s at 2x, refilled at 0.1x\"";

/// How long a port may send before its limit bites, or what a tenant may send above its cap.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct Burst(#[schemars(with = "String")] Kinds);

#[derive(Debug, Clone, Copy)]
enum Kinds {
    Depth(Duration),
    Credit(Credit),
}

kind!(
    Burst,
    "a duration in quotes, as in \"4ms\", or a credit, as in \"2s at 2x, refilled at 0.1x\"",
    |raw| {
        // No time has either.
        let is_credit = raw
            .text()
            .is_ok_and(|text| text.contains('x') || text.contains(" at "));
        Ok(Self(if is_credit {
            Kinds::Credit(credit(raw.text()?)?)
        } else {
            Kinds::Depth(between(raw, [0, 1_000], "4ms")?)
        }))
    }
);

/// What a tenant may receive above its `rx_max`.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct BurstCredit(#[schemars(with = "String")] pub(super) Credit);

kind!(
    BurstCredit,
    "a credit in quotes, as in \"2s at 2x, refilled at 0.1x\"",
    |raw| { credit(raw.text()?).map(Self) }
);

fn credit(text: &str) -> Result<Credit, Wrong> {
    text.parse().map_err(|error| {
        let [what, remedy] = match error {
            CreditError::Form => [
                "{key} = {value} is not a burst credit",
                "write how long, how much, and how fast it comes back, as in {key} = ",
            ],
            CreditError::Lasts => [
                "{key} = {value} does not last for 100ms to 24h",
                "write such a time, as in {key} = ",
            ],
            CreditError::Factor => [
                "{key} = {value} is not 1.01 to 100 times the maximum",
                "write such a factor, as in {key} = ",
            ],
            CreditError::Refill => [
                "{key} = {value} is not refilled at 0.001 to 1 times the maximum",
                "write such a factor, as in {key} = ",
            ],
        };
        Wrong::value(what, format!("{remedy}{FORM}"))
    })
}

impl Burst {
    pub(super) fn depth(self) -> Option<Duration> {
        match self.0 {
            Kinds::Depth(time) => Some(time),
            Kinds::Credit(_) => None,
        }
    }

    pub(super) fn credit(self) -> Option<Credit> {
        match self.0 {
            Kinds::Depth(_) => None,
            Kinds::Credit(credit) => Some(credit),
        }
    }
}

/// A credit of one direction with what it goes with: where it stands, its key, the key of the maximum and that.
struct Placed {
    at: usize,
    credit: Credit,
    keys: [&'static str; 2],
    max: Option<BitRate>,
}

impl TenantFile {
    /// Burst credits that do not go with the rest.
    pub(super) fn problems_of_bursts(&self, tenant: &Tenant, policy: &Policy) -> Vec<Diagnostic> {
        let start = |span: Option<usize>| span.unwrap_or_default();
        let sends = tenant.credit.map(|credit| Placed {
            at: start(self.burst.as_ref().map(|it| it.span().start)),
            credit,
            keys: ["burst", "cap"],
            max: tenant.cap,
        });
        let receives = tenant.received.credit.map(|credit| Placed {
            at: start(self.rx_burst.as_ref().map(|it| it.span().start)),
            credit,
            keys: ["rx_burst", "rx_max"],
            max: tenant.received.cap,
        });
        let both = sends.into_iter().chain(receives);
        let mut found: Vec<Diagnostic> = both.filter_map(|one| one.problem(policy)).collect();
        if let (Some(total), Some(credit), Some(burst)) =
            (&self.total_max, tenant.credit, &self.burst)
        {
            // Hosts would have to share the credit as well.
            let what = format!(
                "burst = \"{credit}\" of a tenant with total_max = {}",
                total.get_ref().0
            );
            found.push(Diagnostic::new(
                Spanned::span(burst).start,
                what,
                "remove one of both",
            ));
        }
        found
    }
}

impl Placed {
    fn problem(&self, policy: &Policy) -> Option<Diagnostic> {
        let [key, max_key] = self.keys;
        let credit = self.credit;
        let wrong = |what: String, remedy: String| Some(Diagnostic::new(self.at, what, remedy));
        let Some(max) = self.max else {
            return wrong(
                format!("{key} = \"{credit}\" without {max_key}"),
                format!("add {max_key} = \"100mbit\", which the credit is above, or remove it"),
            );
        };
        let most = BitRate::from_bps(max.bps() * credit.factor);
        if most > policy.capacity {
            return wrong(
                format!(
                    "{key} = \"{credit}\" allows {most}, more than the link's {}",
                    policy.capacity
                ),
                format!("lower the factor or {max_key}"),
            );
        }
        if credit.lasts < policy.period {
            return wrong(
                format!(
                    "{key} = \"{credit}\" is shorter than the period of {:?}",
                    policy.period
                ),
                "write a longer time, or a shorter period in [link]".to_owned(),
            );
        }
        None
    }
}
