//! The numbers of a slot in the order of the tables' columns.

use nicety_model::bill::{Traffic, Usage, UsageRow};

/// The columns, as they stand in both stores.
pub const NAMES: [&str; 12] = [
    "sent_bytes",
    "sent_frames",
    "sent_unseen",
    "sent_least",
    "sent_most",
    "received_bytes",
    "received_frames",
    "received_unseen",
    "received_least",
    "received_most",
    "limited_ms",
    "watched_ms",
];

/// A slot as a database takes it, which knows no numbers of 64 bits without a sign.
pub fn of(usage: &Usage) -> [i64; 12] {
    let (sent, received) = (&usage.sent, &usage.received);
    [
        sent.bytes,
        sent.frames,
        sent.unseen,
        sent.least,
        sent.most,
        received.bytes,
        received.frames,
        received.unseen,
        received.least,
        received.most,
        usage.limited_ms,
        usage.watched_ms,
    ]
    .map(|number| i64::try_from(number).unwrap_or(i64::MAX))
}

/// A row of a tenant on a host: its text, when its slot begins, and then the numbers, each by the place of its column.
pub fn row<E>(
    (host, tenant, start): (String, String, i64),
    number: impl Fn(usize) -> Result<i64, E>,
) -> Result<UsageRow, E> {
    let mut columns = [0; NAMES.len()];
    for (at, column) in columns.iter_mut().enumerate() {
        *column = number(at + 3)?;
    }
    Ok(UsageRow {
        host,
        tenant,
        start,
        usage: usage(columns),
    })
}

/// A slot from its columns; a negative number is none that was kept.
fn usage(columns: [i64; 12]) -> Usage {
    let [
        sb,
        sf,
        su,
        sl,
        sm,
        rb,
        rf,
        ru,
        rl,
        rm,
        limited_ms,
        watched_ms,
    ] = columns.map(|number| u64::try_from(number).unwrap_or(0));
    let traffic = |bytes, frames, unseen, least, most| Traffic {
        bytes,
        frames,
        unseen,
        least,
        most,
    };
    Usage {
        sent: traffic(sb, sf, su, sl, sm),
        received: traffic(rb, rf, ru, rl, rm),
        limited_ms,
        watched_ms,
    }
}
