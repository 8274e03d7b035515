//! What comes before anything else: the prefix is ours, the host has a lease, and its name is its own.

use std::time::Duration;

use etcd_client::{Compare, CompareOp, GetOptions, PutOptions, Txn, TxnOp, TxnOpResponse};
use nicety_host::journal::since_boot;
use nicety_police::cluster::wire::{MARKER, MEMBER_DIR, SCHEMA_KEY, Wire};
use nicety_police::cluster::{Member, Registration};

use crate::etcd::Trouble;
use crate::etcd::connect::Link;
use crate::etcd::event::Held;
use crate::etcd::keys::YOUNG;

/// Says what the prefix is used for where nobody has, and refuses one that is used for something else.
pub(crate) async fn prefix(link: &Link<'_>) -> Result<(), Trouble> {
    let schema = link.key(SCHEMA_KEY);
    loop {
        if known(link).await? {
            return Ok(());
        }
        // The lease is longer than any host of an older etcd may hold its grants.
        let young = seconds(2 * link.settings.ttl);
        let young = link.ask(link.client().lease_grant(young, None)).await?.id();
        let under = PutOptions::new().with_lease(young);
        let puts = [
            TxnOp::put(schema.clone(), MARKER, None),
            TxnOp::put(link.key(YOUNG), "", Some(under)),
        ];
        let nobody = Compare::version(schema.clone(), CompareOp::Equal, 0);
        let txn = Txn::new().when([nobody]).and_then(puts);
        if link.ask(link.client().txn(txn)).await?.succeeded() {
            return Ok(());
        }
        // Another host was faster.
    }
}

/// Whether the prefix says that it is ours; false for one below which there is nothing.
pub(crate) async fn known(link: &Link<'_>) -> Result<bool, Trouble> {
    let schema = link.key(SCHEMA_KEY);
    if is_marked(link, &schema).await? {
        return Ok(true);
    }
    let any = GetOptions::new()
        .with_prefix()
        .with_keys_only()
        .with_limit(1);
    let used = link.ask(link.client().get(link.key(""), Some(any))).await?;
    let Some(used) = used.kvs().first() else {
        return Ok(false);
    };
    // Another host has written between the two looks: it writes the marker first.
    if is_marked(link, &schema).await? {
        return Ok(true);
    }
    Err(Trouble::Foreign {
        prefix: link.settings.prefix.clone(),
        key: String::from_utf8_lossy(used.key()).into_owned(),
    })
}

/// Whether the marker is there and ours.
async fn is_marked(link: &Link<'_>, schema: &str) -> Result<bool, Trouble> {
    let found = link.ask(link.client().get(schema, None)).await?;
    match found.kvs().first() {
        Some(found) => check(link, found.value()).map(|()| true),
        None => Ok(false),
    }
}

fn check(link: &Link<'_>, found: &[u8]) -> Result<(), Trouble> {
    let found = String::from_utf8_lossy(found).into_owned();
    let prefix = link.settings.prefix.clone();
    // All but the number.
    let family = MARKER.trim_end_matches(|c: char| c.is_ascii_digit());
    match found {
        ours if ours == MARKER => Ok(()),
        found if found.starts_with(family) => Err(Trouble::OtherSchema { prefix, found }),
        _ => Err(Trouble::Foreign {
            key: link.key(SCHEMA_KEY),
            prefix,
        }),
    }
}

/// etcd counts whole seconds; a lease is never shorter than asked for.
fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis().div_ceil(1000)).unwrap_or(i64::MAX)
}

/// A new lease.
pub(crate) async fn lease(link: &Link<'_>) -> Result<Held, Trouble> {
    let sent_at = since_boot();
    let ttl = seconds(link.settings.ttl);
    let granted = link.ask(link.client().lease_grant(ttl, None)).await?;
    Ok(Held {
        id: granted.id(),
        ttl: crate::etcd::event::ttl(granted.ttl()),
        sent_at,
    })
}

/// Writes the host's entry under its lease, while no other lease has it. An earlier lease of the same machine is
/// revoked: whoever registers has no limit above its safe shares any more.
pub(crate) async fn entry(link: &Link<'_>, registration: &Registration) -> Result<(), Trouble> {
    let key = link.key(&format!("{MEMBER_DIR}{}", link.settings.host));
    loop {
        let under = PutOptions::new().with_lease(registration.lease);
        let put = TxnOp::put(key.clone(), registration.member.encode(), Some(under));
        let free = Compare::version(key.clone(), CompareOp::Equal, 0);
        let txn = Txn::new().when([free]).and_then([put.clone()]);
        let txn = txn.or_else([TxnOp::get(key.clone(), None)]);
        let answer = link.ask(link.client().txn(txn)).await?;
        if answer.succeeded() {
            return Ok(());
        }
        let Some((lease, value)) = found(&answer.op_responses()) else {
            continue;
        };
        if lease == registration.lease {
            let own = Compare::lease(key.clone(), CompareOp::Equal, lease);
            let txn = Txn::new().when([own]).and_then([put]);
            if link.ask(link.client().txn(txn)).await?.succeeded() {
                return Ok(());
            }
            continue;
        }
        let machine = Member::decode(&value).map_or_else(|_| String::new(), |of| of.machine);
        if machine != registration.member.machine || lease == 0 {
            return Err(Trouble::NameTaken {
                host: link.settings.host.clone(),
                machine,
            });
        }
        match link.ask(link.client().lease_revoke(lease)).await {
            // It has just ended by itself.
            Ok(_) | Err(Trouble::LeaseEnded) => {}
            Err(trouble) => return Err(trouble),
        }
    }
}

/// Lease and value of the key that was read.
fn found(responses: &[TxnOpResponse]) -> Option<(i64, Vec<u8>)> {
    responses.iter().find_map(|response| match response {
        TxnOpResponse::Get(found) => {
            let found = found.kvs().first()?;
            Some((found.lease(), found.value().to_vec()))
        }
        _ => None,
    })
}
