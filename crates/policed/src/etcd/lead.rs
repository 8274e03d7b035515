//! The election.

use std::convert::Infallible;
use std::pin::pin;

use etcd_client::{GetOptions, SortOrder, SortTarget};
use nicety_police::cluster::Leadership as Candidate;
use nicety_police::cluster::wire::{LEADER_DIR, SCHEMA, Wire};
use tokio::time::sleep;

use crate::etcd::Trouble;
use crate::etcd::connect::Link;
use crate::etcd::session::{Leadership, Shared};

/// How often in a lease's life a candidate looks whether it leads already.
const LOOKS: u32 = 4;

/// Stands for election on the lease, leads when elected, and stands again when that ends.
pub(crate) async fn lead(
    link: &Link<'_>,
    shared: &Shared,
    lease: i64,
) -> Result<Infallible, Trouble> {
    let name = link.key(LEADER_DIR.trim_end_matches('/'));
    let candidate = Candidate {
        schema: SCHEMA,
        host: link.settings.host.clone(),
    };
    loop {
        let mut client = link.client();
        // Answered when it is elected, whenever that is: the lease's stream tells a dead connection. It is not given up
        // while the host leads: etcd would take that for a resignation.
        let mut campaign = pin!(client.campaign(name.clone(), candidate.encode(), lease));
        let leadership = loop {
            tokio::select! {
                answer = &mut campaign => {
                    let mut answer = answer.map_err(|error| link.trouble(&error))?;
                    let Some(key) = answer.take_leader() else {
                        return Err(link.closed("election"));
                    };
                    break Leadership {
                        key: key.key().to_vec(),
                        term: key.rev(),
                    };
                }
                // After members were cut off from each other, etcd 3.4 may not tell a candidate that all before it
                // are gone. Then nobody would lead.
                () = sleep(link.settings.ttl / LOOKS) => {
                    if let Some(leadership) = first(link, &name, lease).await? {
                        break leadership;
                    }
                }
            }
        };
        let leadership = Some(leadership);
        shared.elected(leadership.clone());
        shared.leadership_changed(&leadership).await;
    }
}

/// The election's key when it is this lease's: the candidate whose key was made first leads
/// (etcd, client/v3/concurrency/election.go, `Election.Leader`).
async fn first(link: &Link<'_>, name: &str, lease: i64) -> Result<Option<Leadership>, Trouble> {
    let options = GetOptions::new()
        .with_prefix()
        .with_sort(SortTarget::Create, SortOrder::Ascend)
        .with_limit(1);
    let mut client = link.client();
    let found = link
        .ask(client.get(format!("{name}/"), Some(options)))
        .await?;
    let ours = found.kvs().first().filter(|found| found.lease() == lease);
    Ok(ours.map(|found| Leadership {
        key: found.key().to_vec(),
        term: found.create_revision(),
    }))
}
