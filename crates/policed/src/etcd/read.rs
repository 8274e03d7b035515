//! Keys and changes as etcd tells them.

use etcd_client::{Event as Told, EventType, GetOptions, KeyValue, WatchResponse};
use nicety_police::cluster::wire::LEADER_DIR;
use nicety_police::cluster::{Change, Changes};

use crate::etcd::Trouble;
use crate::etcd::connect::Link;
use crate::etcd::keys::YOUNG;

/// Keys of one answer. An answer of all hosts' keys at once would be larger than the client takes.
const PAGE: i64 = 256;

/// A key below the prefix; none for what is no path, and for the key that only this crate reads.
pub(crate) fn put(link: &Link<'_>, found: &KeyValue) -> Option<Change> {
    let key = link.path(found.key()).filter(|path| *path != YOUNG)?;
    Some(Change::Put {
        key: key.to_owned(),
        value: found.value().to_vec(),
        lease: found.lease(),
    })
}

fn change(link: &Link<'_>, told: &Told) -> Option<Change> {
    let found = told.kv()?;
    match told.event_type() {
        EventType::Put => put(link, found),
        EventType::Delete => {
            let key = link.path(found.key()).filter(|path| *path != YOUNG)?;
            Some(Change::Gone {
                key: key.to_owned(),
            })
        }
    }
}

/// What an answer of a watch tells. etcd tells all of a revision in one answer.
pub(crate) fn changes(link: &Link<'_>, answer: &WatchResponse) -> Changes {
    let told = answer.events().iter();
    Changes {
        revision: answer.header().map_or(0, |header| header.revision()),
        all: false,
        changes: told.filter_map(|event| change(link, event)).collect(),
    }
}

/// Everything below the prefix at one revision, but of the election only the leader's key; and whether a key is there
/// that was made at a revision.
pub(crate) async fn everything(
    link: &Link<'_>,
    own: (&[u8], i64),
) -> Result<(Changes, bool), Trouble> {
    // The first key that is not below the prefix: '0' follows '/'.
    let end = format!("{}0", link.settings.prefix);
    let (mut from, mut is_there) = (link.key("").into_bytes(), false);
    let mut leader: Option<(i64, Change)> = None;
    let mut all = Changes {
        all: true,
        ..Changes::default()
    };
    loop {
        let range = GetOptions::new().with_range(end.clone());
        let page = range.with_limit(PAGE).with_revision(all.revision);
        let answer = link.ask(link.client().get(from, Some(page))).await?;
        if all.revision == 0 {
            all.revision = answer.header().map_or(0, |header| header.revision());
        }
        let mut keys = answer.kvs().iter();
        is_there |= keys.any(|found| (found.key(), found.create_revision()) == own);
        for found in answer.kvs() {
            let Some(change) = put(link, found) else {
                continue;
            };
            let made = found.create_revision();
            match &change {
                // Whoever stands for election has a key; the oldest is the leader's.
                Change::Put { key, .. } if key.starts_with(LEADER_DIR) => match &leader {
                    Some((oldest, _)) if *oldest < made => {}
                    _ => leader = Some((made, change)),
                },
                _ => all.changes.push(change),
            }
        }
        match answer.kvs().last() {
            Some(last) if answer.more() => from = [last.key(), b"\0"].concat(),
            _ => break,
        }
    }
    all.changes.extend(leader.map(|(_, change)| change));
    Ok((all, is_there))
}
