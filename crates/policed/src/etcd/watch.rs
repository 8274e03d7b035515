//! What a host is told of the store: its own keys, or all of them while it leads. Read at one revision, and watched
//! from there.

use std::convert::Infallible;

use etcd_client::{Txn, TxnOp, TxnOpResponse, WatchOptions, WatchStream};
use nicety_police::cluster::wire::{GRANT_DIR, MEMBER_DIR};
use nicety_police::cluster::{Change, Changes};

use crate::etcd::connect::Link;
use crate::etcd::session::{Leadership, Shared};
use crate::etcd::{Event, Trouble, read};

/// Watches until something fails; changes what is watched whenever this host begins or ceases to lead.
pub(crate) async fn watch(link: &Link<'_>, shared: &Shared) -> Result<Infallible, Trouble> {
    let mut led = false;
    loop {
        let leadership = shared.leadership();
        if led && leadership.is_none() {
            shared.tell(Event::Elected(false)).await;
        }
        led = leadership.is_some();
        let followed = async {
            match &leadership {
                Some(leadership) => everything(link, shared, leadership).await,
                None => own(link, shared).await,
            }
        };
        tokio::select! {
            followed = followed => followed?,
            () = shared.leadership_changed(&leadership) => {}
        }
        // Another role, or what is asked for has been compacted away: it is read again.
    }
}

async fn own(link: &Link<'_>, shared: &Shared) -> Result<(), Trouble> {
    let host = &link.settings.host;
    let keys = [GRANT_DIR, MEMBER_DIR].map(|dir| link.key(&format!("{dir}{host}")));
    let gets = keys.clone().map(|key| TxnOp::get(key, None));
    let txn = Txn::new().and_then(gets);
    let answer = link.ask(link.client().txn(txn)).await?;
    let revision = answer.header().map_or(0, |header| header.revision());
    let mut changes = Vec::new();
    for response in answer.op_responses() {
        if let TxnOpResponse::Get(response) = response {
            let found = response.kvs().iter();
            changes.extend(found.filter_map(|found| read::put(link, found)));
        }
    }
    let all = true;
    let read = Changes {
        revision,
        all,
        changes,
    };
    shared.tell(Event::Changed(read)).await;
    let [grant, member] = keys;
    let from = || Some(WatchOptions::new().with_start_revision(revision + 1));
    let mut watch = link.ask(link.client().watch(grant, from())).await?;
    link.ask(watch.watch(member, from())).await?;
    while let Some(changes) = next(link, &mut watch).await? {
        shared.changed(changes).await;
    }
    Ok(())
}

async fn everything(
    link: &Link<'_>,
    shared: &Shared,
    leadership: &Leadership,
) -> Result<(), Trouble> {
    let key = (leadership.key.as_slice(), leadership.term);
    let (read, is_there) = read::everything(link, key).await?;
    // A server that ends an old connection's candidacy removes the key, which is that of the new one too.
    if !is_there {
        shared.deposed(leadership);
        return Ok(());
    }
    let from = WatchOptions::new().with_start_revision(read.revision + 1);
    shared.tell(Event::Changed(read)).await;
    shared.tell(Event::Elected(true)).await;
    let from = from.with_prefix();
    let mut watch = link
        .ask(link.client().watch(link.key(""), Some(from)))
        .await?;
    let own = link.path(&leadership.key).unwrap_or_default();
    while let Some(changes) = next(link, &mut watch).await? {
        let gone = |change: &Change| matches!(change, Change::Gone { key } if key == own);
        let deposed = changes.changes.iter().any(gone);
        shared.changed(changes).await;
        if deposed {
            shared.deposed(leadership);
            return Ok(());
        }
    }
    Ok(())
}

/// The next changes; none when what is asked for has been compacted away.
async fn next(link: &Link<'_>, watch: &mut WatchStream) -> Result<Option<Changes>, Trouble> {
    let answer = watch.message().await;
    let answer = answer.map_err(|error| link.trouble(&error))?;
    let answer = answer.ok_or_else(|| link.closed("watch"))?;
    if answer.compact_revision() > 0 {
        return Ok(None);
    }
    if answer.canceled() {
        return Err(link.closed(&format!("watch ({})", answer.cancel_reason())));
    }
    Ok(Some(read::changes(link, &answer)))
}
