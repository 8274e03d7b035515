//! The election, and what its winner is told: everything.

use etcd_client::WatchOptions;

use crate::connect::Link;
use crate::keys::{LEADER, is_internal};
use crate::session::{Leadership, Shared};
use crate::{Change, Event, Trouble, read};

/// Stands for election on the lease, leads when elected, and stands again when that ends.
pub(crate) async fn lead(link: &Link<'_>, shared: &Shared, lease: i64) -> Trouble {
    loop {
        match elected(link, shared, lease).await {
            Ok(()) => shared.not_leading().await,
            Err(trouble) => return trouble,
        }
    }
}

/// Until another host leads.
async fn elected(link: &Link<'_>, shared: &Shared, lease: i64) -> Result<(), Trouble> {
    let name = link.key(LEADER.trim_end_matches('/'));
    let mut client = link.client();
    // Answered when it is elected, whenever that is: the lease's stream tells a dead connection.
    let answer = client
        .campaign(name, link.settings.host.as_str(), lease)
        .await;
    let mut answer = answer.map_err(|error| link.trouble(&error))?;
    let Some(key) = answer.take_leader() else {
        return Err(link.closed("election"));
    };
    let leadership = Leadership {
        key: key.key().to_vec(),
        term: key.rev(),
    };
    shared.leading(leadership.clone()).await;
    while watch(link, shared, &leadership).await? == Ended::Compacted {}
    Ok(())
}

#[derive(PartialEq)]
enum Ended {
    /// What is asked for has been compacted away: it is read again.
    Compacted,
    /// The key of the election is gone.
    Deposed,
}

async fn watch(
    link: &Link<'_>,
    shared: &Shared,
    leadership: &Leadership,
) -> Result<Ended, Trouble> {
    let own = link.path(&leadership.key).unwrap_or_default();
    let key = (leadership.key.as_slice(), leadership.term);
    let (revision, entries, is_there) = read::everything(link, key).await?;
    // A server that ends an old connection's candidacy removes the key, which is that of the new one too.
    if !is_there {
        return Ok(Ended::Deposed);
    }
    shared.tell(Event::View { revision, entries }).await;
    let from = WatchOptions::new()
        .with_prefix()
        .with_start_revision(revision + 1);
    let mut watch = link
        .ask(link.client().watch(link.key(""), Some(from)))
        .await?;
    loop {
        let answer = watch
            .message()
            .await
            .map_err(|error| link.trouble(&error))?;
        let answer = answer.ok_or_else(|| link.closed("watch"))?;
        if answer.compact_revision() > 0 {
            return Ok(Ended::Compacted);
        }
        if answer.canceled() {
            return Err(link.closed(&format!("watch ({})", answer.cancel_reason())));
        }
        let revision = answer.header().map_or(0, |header| header.revision());
        let (internal, changes): (Vec<_>, Vec<_>) = read::changes(link, &answer)
            .into_iter()
            .partition(|change| is_internal(path(change)));
        if !changes.is_empty() {
            shared.tell(Event::Changes { revision, changes }).await;
        }
        if internal
            .iter()
            .any(|change| matches!(change, Change::Gone { path, .. } if path == own))
        {
            return Ok(Ended::Deposed);
        }
    }
}

fn path(change: &Change) -> &str {
    match change {
        Change::Put(entry) => &entry.path,
        Change::Gone { path, .. } => path,
    }
}
