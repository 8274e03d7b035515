//! `[bills]` as it stands in a file.

use nicety_model::source::Wrong;
use nicety_model::{integers, kind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Bills, DEFAULT_KEEP_DAYS};

/// What every tenant sends and receives is kept, for bills.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BillsFile {
    /// Where samples go besides the state directory: a file as in `/srv/bills.sqlite`, or a server as in
    /// `postgres://db/nicety`.
    store: Option<StorePlace>,
    /// For how many days samples stay in the state directory, 1 to 3650; 100 when absent.
    keep_days: Option<KeepDays>,
}

integers! {
    KeepDays 1 to 3_650, "a number of days, as in keep_days = 400";
}

/// A store: a file or a server.
#[derive(Debug, Clone, JsonSchema)]
pub(super) struct StorePlace(String);

kind!(
    StorePlace,
    "a file or a server in quotes, as in store = \"postgres://db/nicety\"",
    |raw| {
        let text = raw.text()?;
        if text.starts_with('/')
            || text.starts_with("postgres://")
            || text.starts_with("postgresql://")
        {
            return Ok(Self(text.to_owned()));
        }
        Err(Wrong::value(
            "store = {value} is neither an absolute path nor a PostgreSQL server",
            "write one as in store = \"/srv/bills.sqlite\" or store = \"postgres://db/nicety\"",
        ))
    }
);

impl BillsFile {
    pub(super) fn bills(&self) -> Bills {
        let keep = self.keep_days.map(|days| days.0);
        Bills {
            store: self.store.as_ref().map(|place| place.0.clone()),
            keep_days: keep.unwrap_or(DEFAULT_KEEP_DAYS),
        }
    }
}
