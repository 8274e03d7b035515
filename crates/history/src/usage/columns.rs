//! The numbers of a slot in the order of the tables' columns.

use nicety_model::bill::{Traffic, Usage};

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

/// A slot from its columns; a negative number is none that was kept.
pub fn usage(columns: [i64; 12]) -> Usage {
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
