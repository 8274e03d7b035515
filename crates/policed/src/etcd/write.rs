//! Writes what waits: the host's entry and reports, and its transactions while it leads.

use std::convert::Infallible;
use std::time::Duration;

use etcd_client::{Compare, CompareOp, PutOptions, Txn, TxnOp, TxnOpResponse};
use nicety_police::cluster::wire::{GRANT_DIR, LEDGER_KEY, MEMBER_DIR, REPORT_DIR, Wire};
use nicety_police::cluster::{Batch, HostReport};
use tokio::time::timeout;

use crate::etcd::connect::Link;
use crate::etcd::keys::YOUNG;
use crate::etcd::session::{Leadership, Shared};
use crate::etcd::{Event, Outcome, Trouble, register};

/// Pause before a name that another host has is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Writes until something fails.
pub(crate) async fn write(
    link: &Link<'_>,
    shared: &Shared,
    lease: i64,
) -> Result<Infallible, Trouble> {
    loop {
        let letters = shared.mailbox.take();
        let registration = letters.registration.filter(|of| of.lease == lease);
        if let Some(registration) = &registration
            && !shared.is_registered()
        {
            let entered = register::entry(link, registration).await;
            shared.registered(entered.is_ok());
            mild(shared, entered).await?;
        }
        if let Some(report) = letters.report
            && shared.is_registered()
        {
            let written = own(link, shared, lease, &report).await;
            match &written {
                Ok(()) => shared.well(),
                Err(_) => shared.mailbox.put_back(report),
            }
            mild(shared, written).await?;
        }
        if !letters.batches.is_empty() {
            let outcome = lead(link, shared, &letters.batches).await;
            let trouble = match &outcome {
                Outcome::Unknown(trouble) => Err(trouble.clone()),
                _ => Ok(()),
            };
            shared.tell(Event::Written(outcome)).await;
            mild(shared, trouble).await?;
        }
        let waits = registration.is_some() && !shared.is_registered();
        if waits {
            drop(timeout(AGAIN, shared.mailbox.changed()).await);
        } else {
            shared.mailbox.changed().await;
        }
    }
}

/// Tells a trouble that the connection survives.
async fn mild(shared: &Shared, written: Result<(), Trouble>) -> Result<(), Trouble> {
    match written {
        Err(trouble) if !trouble.breaks() => {
            shared.trouble(trouble).await;
            Ok(())
        }
        other => other,
    }
}

/// The host's report: only while its entry is under this lease.
async fn own(
    link: &Link<'_>,
    shared: &Shared,
    lease: i64,
    report: &HostReport,
) -> Result<(), Trouble> {
    let host = &link.settings.host;
    let entry = link.key(&format!("{MEMBER_DIR}{host}"));
    let put = TxnOp::put(
        link.key(&format!("{REPORT_DIR}{host}")),
        report.encode(),
        Some(PutOptions::new().with_lease(lease)),
    );
    let txn = Txn::new().when([Compare::lease(entry, CompareOp::Equal, lease)]);
    let txn = txn.and_then([put]);
    // Somebody has removed the entry: it is written again.
    let written = link.ask(link.client().txn(txn)).await?.succeeded();
    shared.registered(written);
    Ok(())
}

/// A leader's transactions, in order, until one does not apply.
async fn lead(link: &Link<'_>, shared: &Shared, batches: &[Batch]) -> Outcome {
    let Some(leadership) = shared.leadership() else {
        return Outcome::Overtaken;
    };
    for batch in batches {
        match transaction(link, &leadership, batch).await {
            Ok(None) => {}
            Ok(Some(refused)) => return refused,
            Err(trouble) => return Outcome::Unknown(trouble),
        }
    }
    Outcome::Applied
}

/// One of them: it passes only while the election's key is there as this leader has made it, and the ledger is as
/// the leader has read it. None when it passed, else why it did not.
async fn transaction(
    link: &Link<'_>,
    leadership: &Leadership,
    batch: &Batch,
) -> Result<Option<Outcome>, Trouble> {
    let (young, ledger) = (link.key(YOUNG), link.key(LEDGER_KEY));
    let as_read = match batch.expected() {
        Some(bytes) => Compare::value(ledger.clone(), CompareOp::Equal, bytes),
        None => Compare::version(ledger.clone(), CompareOp::Equal, 0),
    };
    let conditions = [
        Compare::create_revision(leadership.key.clone(), CompareOp::Equal, leadership.term),
        Compare::version(young.clone(), CompareOp::Equal, 0),
        as_read,
    ];
    let grants = batch.grants.iter().map(|(host, grant)| {
        let key = link.key(&format!("{GRANT_DIR}{host}"));
        TxnOp::put(key, grant.encode(), None)
    });
    let mut puts: Vec<TxnOp> = grants.collect();
    puts.push(TxnOp::put(ledger, batch.ledger(), None));
    let txn = Txn::new().when(conditions).and_then(puts);
    let txn = txn.or_else([TxnOp::get(young, None)]);
    let answer = link.ask(link.client().txn(txn)).await?;
    if answer.succeeded() {
        return Ok(None);
    }
    let found = |response: &TxnOpResponse| match response {
        TxnOpResponse::Get(found) => !found.kvs().is_empty(),
        _ => false,
    };
    Ok(Some(if answer.op_responses().iter().any(found) {
        Outcome::Young
    } else {
        Outcome::Overtaken
    }))
}
