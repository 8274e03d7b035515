//! What comes before anything else: the prefix is ours, the host has a lease, and its name is its own.

use etcd_client::{Compare, CompareOp, GetOptions, PutOptions, Txn, TxnOp, TxnOpResponse};
use nicety_host::journal::since_boot;
use std::time::Duration;

use crate::Trouble;
use crate::connect::Link;
use crate::event::Lease;
use crate::keys::{HOST, SCHEMA, SCHEMA_VALUE, YOUNG};

/// Says what the prefix is used for where nobody has, and refuses one that is used for something else.
pub(crate) async fn prefix(link: &Link<'_>) -> Result<(), Trouble> {
    let schema = link.key(SCHEMA);
    loop {
        let found = link.ask(link.client().get(schema.clone(), None)).await?;
        if let Some(found) = found.kvs().first() {
            return check(link, found.value());
        }
        let any = GetOptions::new()
            .with_prefix()
            .with_keys_only()
            .with_limit(1);
        let used = link.ask(link.client().get(link.key(""), Some(any))).await?;
        if let Some(used) = used.kvs().first() {
            return Err(Trouble::Foreign {
                prefix: link.settings.prefix.clone(),
                key: String::from_utf8_lossy(used.key()).into_owned(),
            });
        }
        // The lease is longer than any host of an older etcd may hold its grants.
        let young = seconds(2 * link.settings.ttl);
        let young = link.ask(link.client().lease_grant(young, None)).await?.id();
        let puts = [
            TxnOp::put(schema.clone(), SCHEMA_VALUE, None),
            TxnOp::put(
                link.key(YOUNG),
                "",
                Some(PutOptions::new().with_lease(young)),
            ),
        ];
        let nobody = Compare::version(schema.clone(), CompareOp::Equal, 0);
        let txn = Txn::new().when([nobody]).and_then(puts);
        if link.ask(link.client().txn(txn)).await?.succeeded() {
            return Ok(());
        }
        // Another host was faster.
    }
}

fn check(link: &Link<'_>, found: &[u8]) -> Result<(), Trouble> {
    let found = String::from_utf8_lossy(found).into_owned();
    let prefix = link.settings.prefix.clone();
    match found {
        ours if ours == SCHEMA_VALUE => Ok(()),
        found if found.starts_with("nicety-police ") => Err(Trouble::OtherSchema { prefix, found }),
        _ => Err(Trouble::Foreign {
            key: link.key(SCHEMA),
            prefix,
        }),
    }
}

/// etcd counts whole seconds; a lease is never shorter than asked for.
pub(crate) fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis().div_ceil(1000)).unwrap_or(i64::MAX)
}

/// A new lease.
pub(crate) async fn lease(link: &Link<'_>) -> Result<Lease, Trouble> {
    let sent_at = since_boot();
    let granted = link
        .ask(link.client().lease_grant(seconds(link.settings.ttl), None))
        .await?;
    Ok(Lease {
        id: granted.id(),
        ttl: Duration::from_secs(u64::try_from(granted.ttl()).unwrap_or(0)),
        sent_at,
    })
}

/// Puts the host's name under its lease; refused while another lease has it.
pub(crate) async fn name(link: &Link<'_>, lease: i64) -> Result<(), Trouble> {
    let settings = link.settings;
    let key = link.key(&format!("{HOST}{}", settings.host));
    let under = PutOptions::new().with_lease(lease);
    let txn = Txn::new()
        .when([Compare::version(key.clone(), CompareOp::Equal, 0)])
        .and_then([TxnOp::put(
            key.clone(),
            settings.identity.clone(),
            Some(under),
        )])
        .or_else([TxnOp::get(key, None)]);
    let answer = link.ask(link.client().txn(txn)).await?;
    if answer.succeeded() {
        return Ok(());
    }
    for response in answer.op_responses() {
        if let TxnOpResponse::Get(found) = response
            && let Some(owner) = found.kvs().first()
            && owner.lease() != lease
        {
            return Err(Trouble::NameTaken {
                host: settings.host.clone(),
                lease: owner.lease(),
                by: String::from_utf8_lossy(owner.value()).into_owned(),
            });
        }
    }
    Ok(())
}
