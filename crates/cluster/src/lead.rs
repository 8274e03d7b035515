//! The election.

use std::convert::Infallible;

use nicety_police::cluster::Leadership as Candidate;
use nicety_police::cluster::wire::{LEADER_DIR, SCHEMA, Wire};

use crate::Trouble;
use crate::connect::Link;
use crate::session::{Leadership, Shared};

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
        // Answered when it is elected, whenever that is: the lease's stream tells a dead connection.
        let answer = client
            .campaign(name.clone(), candidate.encode(), lease)
            .await;
        let mut answer = answer.map_err(|error| link.trouble(&error))?;
        let Some(key) = answer.take_leader() else {
            return Err(link.closed("election"));
        };
        let leadership = Some(Leadership {
            key: key.key().to_vec(),
            term: key.rev(),
        });
        shared.elected(leadership.clone());
        shared.leadership_changed(&leadership).await;
    }
}
