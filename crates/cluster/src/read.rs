//! Keys and changes as etcd tells them.

use etcd_client::{Event as Told, EventType, GetOptions, KeyValue, WatchResponse};

use crate::connect::Link;
use crate::keys::is_internal;
use crate::{Change, Entry, Trouble};

/// Keys of one answer. An answer of all hosts' keys at once would be larger than the client takes.
const PAGE: i64 = 256;

/// A key below the prefix; none for what is no path.
pub(crate) fn entry(link: &Link<'_>, found: &KeyValue) -> Option<Entry> {
    Some(Entry {
        path: link.path(found.key())?.to_owned(),
        value: found.value().to_vec(),
        lease: found.lease(),
        revision: found.mod_revision(),
    })
}

fn change(link: &Link<'_>, told: &Told) -> Option<Change> {
    let found = told.kv()?;
    match told.event_type() {
        EventType::Put => entry(link, found).map(Change::Put),
        EventType::Delete => Some(Change::Gone {
            path: link.path(found.key())?.to_owned(),
            revision: found.mod_revision(),
        }),
    }
}

/// What an answer of a watch tells; with the crate's own keys.
pub(crate) fn changes(link: &Link<'_>, answer: &WatchResponse) -> Vec<Change> {
    let told = answer.events().iter();
    told.filter_map(|event| change(link, event)).collect()
}

/// Everything below the prefix at one revision, without the crate's own keys; and whether a key is there that was
/// made at a revision.
pub(crate) async fn everything(
    link: &Link<'_>,
    own: (&[u8], i64),
) -> Result<(i64, Vec<Entry>, bool), Trouble> {
    let prefix = link.key("");
    // The first key that is not below the prefix: '0' follows '/'.
    let end = format!("{}0", link.settings.prefix);
    let (mut from, mut revision, mut all) = (prefix, 0, Vec::new());
    let mut is_there = false;
    loop {
        let range = GetOptions::new().with_range(end.clone());
        let page = range.with_limit(PAGE).with_revision(revision);
        let answer = link
            .ask(link.client().get(from.clone(), Some(page)))
            .await?;
        if revision == 0 {
            revision = answer.header().map_or(0, |header| header.revision());
        }
        is_there |= answer
            .kvs()
            .iter()
            .any(|found| (found.key(), found.create_revision()) == own);
        let found = answer.kvs().iter().filter_map(|found| entry(link, found));
        all.extend(found.filter(|entry| !is_internal(&entry.path)));
        match answer.kvs().last() {
            Some(last) if answer.more() => {
                from = String::from_utf8_lossy(last.key()).into_owned() + "\0";
            }
            _ => return Ok((revision, all, is_there)),
        }
    }
}
