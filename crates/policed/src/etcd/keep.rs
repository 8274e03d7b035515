//! Keeps the lease alive, and notes when each renewal was sent.

use std::convert::Infallible;
use std::time::Duration;

use nicety_host::journal::since_boot;
use tokio::time::sleep;

use crate::etcd::Trouble;
use crate::etcd::connect::Link;
use crate::etcd::event::Held;
use crate::etcd::session::Shared;

/// Renewals in a lease's life: two may be lost.
const RENEWALS: u32 = 3;

/// Renews until something fails. One request at a time: the next answer is always that of the last request.
pub(crate) async fn keep(
    link: &Link<'_>,
    shared: &Shared,
    lease: Held,
) -> Result<Infallible, Trouble> {
    let limit = link.settings.timeout.min(lease.ttl / RENEWALS);
    let mut sent_at = since_boot();
    let mut client = link.client();
    let opened = client.lease_keep_alive(lease.id);
    let (mut keeper, mut answers) = link.ask_within(limit, opened).await?;
    shared.renewed(Held { sent_at, ..lease });
    let mut stalled = false;
    loop {
        let pause = (sent_at + lease.ttl / RENEWALS).saturating_sub(since_boot());
        sleep(pause.max(Duration::from_millis(10))).await;
        sent_at = since_boot();
        // A loop that stands still applies no grant: its lease must end, so that others are told so.
        if shared.mailbox.idle() > lease.ttl {
            if !std::mem::replace(&mut stalled, true) {
                shared.trouble(Trouble::Stalled).await;
            }
            continue;
        }
        stalled = false;
        link.ask_within(limit, keeper.keep_alive()).await?;
        let answer = link.ask_within(limit, answers.message()).await?;
        let answer = answer.ok_or_else(|| link.closed("lease's stream"))?;
        if answer.ttl() <= 0 {
            return Err(Trouble::LeaseEnded);
        }
        let ttl = crate::etcd::event::ttl(answer.ttl());
        shared.renewed(Held {
            ttl,
            sent_at,
            ..lease
        });
    }
}
