//! Writes what waits: the host's own values while it has its name, a leader's batches while it leads.

use etcd_client::{Compare, CompareOp, PutOptions, Txn, TxnOp};

use crate::connect::Link;
use crate::keys::{HOST, YOUNG};
use crate::session::{Leadership, Shared};
use crate::{Batch, Event, Outcome, OwnPut, Trouble, Write};

/// Operations of one transaction: etcd takes 128 (`--max-txn-ops`).
const OPERATIONS: usize = 120;
/// Bytes of one transaction: etcd takes 1.5 MiB (`--max-request-bytes`).
const BYTES: usize = 1 << 20;

/// Writes until something fails.
pub(crate) async fn write(link: &Link<'_>, shared: &Shared, lease: i64) -> Trouble {
    loop {
        let (puts, batches) = shared.mailbox.take();
        if !puts.is_empty()
            && let Err(trouble) = own(link, lease, &puts).await
        {
            shared.mailbox.put_back(puts);
            if trouble.breaks() {
                unknown(shared, batches, &trouble).await;
                return trouble;
            }
            shared.trouble(trouble).await;
        }
        for batch in batches {
            let outcome = lead(link, shared, &batch).await;
            let failed = match &outcome {
                Outcome::Unknown(trouble) if trouble.breaks() => Some(trouble.clone()),
                _ => None,
            };
            if let Outcome::Unknown(trouble) = &outcome
                && !trouble.breaks()
            {
                shared.trouble(trouble.clone()).await;
            }
            let batch = batch.number;
            shared.tell(Event::Wrote { batch, outcome }).await;
            if let Some(trouble) = failed {
                return trouble;
            }
        }
        shared.mailbox.changed().await;
    }
}

/// Batches that are not tried: their writer counts them as written.
async fn unknown(shared: &Shared, batches: Vec<Batch>, trouble: &Trouble) {
    for batch in batches {
        let outcome = Outcome::Unknown(trouble.clone());
        shared
            .tell(Event::Wrote {
                batch: batch.number,
                outcome,
            })
            .await;
    }
}

/// The host's own values, all or none: only while the name is under this lease.
async fn own(link: &Link<'_>, lease: i64, puts: &[OwnPut]) -> Result<(), Trouble> {
    let name = link.key(&format!("{HOST}{}", link.settings.host));
    let named = Compare::lease(name, CompareOp::Equal, lease);
    for part in puts.chunks(OPERATIONS) {
        let ops = part.iter().map(|put| {
            let under = put.leased.then(|| PutOptions::new().with_lease(lease));
            TxnOp::put(link.key(&put.path), put.value.clone(), under)
        });
        let txn = Txn::new()
            .when([named.clone()])
            .and_then(ops.collect::<Vec<_>>());
        if !link.ask(link.client().txn(txn)).await?.succeeded() {
            return Err(Trouble::LeaseEnded);
        }
    }
    Ok(())
}

/// A leader's batch, in as few transactions as etcd takes. Each of them passes only while the election's key is
/// there, as this leader has made it.
async fn lead(link: &Link<'_>, shared: &Shared, batch: &Batch) -> Outcome {
    let Some(leadership) = shared.leadership() else {
        return Outcome::NotLeader;
    };
    for part in parts(&batch.writes) {
        match transaction(link, &leadership, part).await {
            Ok(None) => {}
            Ok(Some(refused)) => return refused,
            Err(Trouble::LeaseEnded) => {
                // A host has gone meanwhile. Its write alone is left out.
                for write in part {
                    match transaction(link, &leadership, std::slice::from_ref(write)).await {
                        Ok(None) | Err(Trouble::LeaseEnded) => {}
                        Ok(Some(refused)) => return refused,
                        Err(trouble) => return Outcome::Unknown(trouble),
                    }
                }
            }
            Err(trouble) => return Outcome::Unknown(trouble),
        }
    }
    Outcome::Done
}

/// None when it passed, else why it did not.
async fn transaction(
    link: &Link<'_>,
    leadership: &Leadership,
    writes: &[Write],
) -> Result<Option<Outcome>, Trouble> {
    let young = link.key(YOUNG);
    let conditions = [
        Compare::create_revision(leadership.key.clone(), CompareOp::Equal, leadership.term),
        Compare::version(young.clone(), CompareOp::Equal, 0),
    ];
    let ops = writes.iter().map(|write| {
        let key = link.key(&write.path);
        match &write.value {
            Some(value) => {
                let under = (write.lease != 0).then(|| PutOptions::new().with_lease(write.lease));
                TxnOp::put(key, value.clone(), under)
            }
            None => TxnOp::delete(key, None),
        }
    });
    let txn = Txn::new()
        .when(conditions)
        .and_then(ops.collect::<Vec<_>>())
        .or_else([TxnOp::get(young, None)]);
    let answer = link.ask(link.client().txn(txn)).await?;
    if answer.succeeded() {
        return Ok(None);
    }
    let is_young = answer.op_responses().iter().any(|response| {
        matches!(response, etcd_client::TxnOpResponse::Get(found) if !found.kvs().is_empty())
    });
    Ok(Some(match is_young {
        true => Outcome::Young,
        false => Outcome::NotLeader,
    }))
}

/// Writes as they go into transactions.
fn parts(writes: &[Write]) -> Vec<&[Write]> {
    let size = |write: &Write| write.path.len() + write.value.as_ref().map_or(0, Vec::len) + 64;
    let (mut parts, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (at, write) in writes.iter().enumerate() {
        if at > begin && (at - begin == OPERATIONS || bytes + size(write) > BYTES) {
            parts.push(&writes[begin..at]);
            (begin, bytes) = (at, 0);
        }
        bytes += size(write);
    }
    if begin < writes.len() {
        parts.push(&writes[begin..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(bytes: usize) -> Write {
        Write {
            path: "grant/h".to_owned(),
            value: Some(vec![0; bytes]),
            lease: 1,
        }
    }

    #[test]
    fn a_batch_is_as_few_transactions_as_etcd_takes() {
        let sizes = |writes: &[Write]| {
            parts(writes)
                .iter()
                .map(|part| part.len())
                .collect::<Vec<_>>()
        };
        assert!(sizes(&[]).is_empty());
        assert_eq!(sizes(&vec![write(10); 250]), [120, 120, 10]);
        assert_eq!(sizes(&vec![write(400_000); 5]), [2, 2, 1]);
        assert_eq!(sizes(&[write(2 * BYTES), write(1)]), [1, 1]);
    }
}
