//! What a host is told: its own paths, read at one revision and watched from there.

use etcd_client::{Txn, TxnOp, TxnOpResponse, WatchOptions};

use crate::connect::Link;
use crate::session::Shared;
use crate::{Event, Trouble, read};

/// Watches until something fails.
pub(crate) async fn own(link: &Link<'_>, shared: &Shared) -> Trouble {
    loop {
        if let Err(trouble) = follow(link, shared).await {
            return trouble;
        }
        // What is asked for has been compacted away: it is read again.
    }
}

async fn follow(link: &Link<'_>, shared: &Shared) -> Result<(), Trouble> {
    let paths = link.settings.own.iter().map(|path| link.key(path));
    let gets: Vec<TxnOp> = paths.clone().map(|key| TxnOp::get(key, None)).collect();
    let answer = link
        .ask(link.client().txn(Txn::new().and_then(gets)))
        .await?;
    let revision = answer.header().map_or(0, |header| header.revision());
    let mut found = Vec::new();
    for response in answer.op_responses() {
        if let TxnOpResponse::Get(response) = response {
            found.extend(
                response
                    .kvs()
                    .iter()
                    .filter_map(|found| read::entry(link, found)),
            );
        }
    }
    shared.tell(Event::Own(found)).await;
    let mut watch = None;
    for key in paths {
        let from = Some(WatchOptions::new().with_start_revision(revision + 1));
        match &mut watch {
            None => watch = Some(link.ask(link.client().watch(key, from)).await?),
            Some(watch) => link.ask(watch.watch(key, from)).await?,
        }
    }
    let Some(mut watch) = watch else {
        return Err(std::future::pending().await);
    };
    loop {
        let answer = watch
            .message()
            .await
            .map_err(|error| link.trouble(&error))?;
        let answer = answer.ok_or_else(|| link.closed("watch"))?;
        if answer.compact_revision() > 0 {
            return Ok(());
        }
        if answer.canceled() {
            return Err(link.closed(&format!("watch ({})", answer.cancel_reason())));
        }
        let changes = read::changes(link, &answer);
        if !changes.is_empty() {
            shared.tell(Event::OwnChanged(changes)).await;
        }
    }
}
