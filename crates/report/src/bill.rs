//! What tenants have used, for a terminal.

use nicety_model::bill::{Bill, Billed, Samples, TenantBill};
use nicety_model::number;

use crate::document::{Cell, columns};
use crate::page::Page;

/// A bill: a row for each tenant, and what it may lack below.
pub fn page(bill: &Bill) -> Page {
    let mut page = Page::default();
    let day = |time: &str| time.get(..10).unwrap_or(time).to_owned();
    page.line(&format!(
        "{} until {} (UTC), from {}",
        day(&bill.from),
        day(&bill.to),
        bill.store
    ));
    page.rows(
        "tenants",
        &bill.tenants,
        columns![|of|
            "tenant" Name: &of.tenant;
            "host" Text: of.hosts.join(", ");
            "sent" Number: Cell::bytes(of.sent.bytes);
            "received" Number: Cell::bytes(of.received.bytes);
            "95th out" Number: Cell::rate(of.sent.p95_bps);
            "95th in" Number: Cell::rate(of.received.p95_bps);
            "limited" Number: Cell::number(of.limited_s, lasted);
            "samples" Number: Cell::count(of.samples);
            "missing" Number: (of.missing > 0).then(|| Cell::count(of.missing));
        ],
    );
    for of in &bill.tenants {
        for (way, billed) in [("sent", &of.sent), ("received", &of.received)] {
            if let Some(doubt) = doubt(of, way, billed) {
                page.line(&doubt);
            }
        }
    }
    page
}

/// What a direction may lack, where that is a thousandth or more.
fn doubt(of: &TenantBill, way: &str, billed: &Billed) -> Option<String> {
    let unseen = billed.unseen_bytes;
    let wide = billed.p95_most_bps > billed.p95_bps * 1.001;
    if unseen.saturating_mul(1_000) < billed.bytes.max(1) && !wide {
        return None;
    }
    let [least, most] =
        [billed.p95_least_bps, billed.p95_most_bps].map(nicety_police::explain::readable);
    Some(format!(
        "{} may have {way} up to {} more while nobody looked; its 95th percentile is {least} to {most}",
        of.tenant,
        number::bytes(unseen as f64),
    ))
}

/// Every sample.
pub fn samples(samples: &Samples, time: impl Fn(i64) -> String) -> Page {
    let mut page = Page::default();
    let time = &time;
    page.rows(
        "samples",
        &samples.samples,
        columns![|row|
            "time" Text: time(row.start);
            "host" Text: &row.host;
            "tenant" Name: &row.tenant;
            "sent" Number: Cell::bytes(row.usage.sent.bytes);
            "sent at least" Number: Cell::bytes(row.usage.sent.least);
            "sent at most" Number: Cell::bytes(row.usage.sent.most);
            "received" Number: Cell::bytes(row.usage.received.bytes);
            "received at least" Number: Cell::bytes(row.usage.received.least);
            "received at most" Number: Cell::bytes(row.usage.received.most);
            "limited s" Number: (row.usage.limited_ms as f64 / 1e3).to_string();
            "watched s" Number: (row.usage.watched_ms as f64 / 1e3).to_string();
        ],
    );
    page
}

/// A time as people read it: `12 min`.
fn lasted(seconds: f64) -> String {
    match seconds {
        s if s >= 86_400.0 => format!("{:.1} d", s / 86_400.0),
        s if s >= 3_600.0 => format!("{:.1} h", s / 3_600.0),
        s if s >= 60.0 => format!("{:.0} min", s / 60.0),
        s => format!("{s:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_words() {
        for (seconds, words) in [
            (0.0, "0 s"),
            (90.0, "2 min"),
            (5_400.0, "1.5 h"),
            (172_800.0, "2.0 d"),
        ] {
            assert_eq!(lasted(seconds), words);
        }
    }
}
