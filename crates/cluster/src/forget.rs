//! Removes paths once, without a session: what a host has left that is gone for good.

use std::io;

use etcd_client::{Compare, CompareOp, Txn, TxnOp};

use crate::connect::Link;
use crate::keys::HOST;
use crate::{Settings, Trouble, register};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// Something was removed.
    Done,
    /// There was nothing.
    Unknown,
    /// The host is alive: its name is under a lease.
    Alive,
}

/// Why nothing was removed.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// etcd.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// This machine.
    #[error("cannot speak to etcd: {0}")]
    Io(#[from] io::Error),
}

/// Removes `paths` of a host that is gone.
///
/// # Errors
/// The trouble at the last endpoint, when none could be asked.
pub fn forget(settings: &Settings, host: &str, paths: &[String]) -> Result<Forgotten, ForgetError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut last = io::Error::other("there is no endpoint").into();
        for endpoint in &settings.endpoints {
            match at(settings, endpoint, host, paths).await {
                Ok(done) => return Ok(done),
                Err(trouble) => last = trouble.into(),
            }
        }
        Err(last)
    })
}

async fn at(
    settings: &Settings,
    endpoint: &str,
    host: &str,
    paths: &[String],
) -> Result<Forgotten, Trouble> {
    let link = Link::open(settings, endpoint).await?;
    register::prefix(&link).await?;
    let gone = Compare::version(link.key(&format!("{HOST}{host}")), CompareOp::Equal, 0);
    let removals: Vec<TxnOp> = paths
        .iter()
        .map(|path| TxnOp::delete(link.key(path), None))
        .collect();
    let answer = link
        .ask(
            link.client()
                .txn(Txn::new().when([gone]).and_then(removals)),
        )
        .await?;
    if !answer.succeeded() {
        return Ok(Forgotten::Alive);
    }
    let removed: i64 = answer
        .op_responses()
        .iter()
        .map(|response| match response {
            etcd_client::TxnOpResponse::Delete(removed) => removed.deleted(),
            _ => 0,
        })
        .sum();
    Ok(match removed {
        0 => Forgotten::Unknown,
        _ => Forgotten::Done,
    })
}
