//! Removes what a host has left that is gone for good.

use std::io;

use etcd_client::{Compare, CompareOp, Txn, TxnOp, TxnOpResponse};
use nicety_police::cluster::wire::{GRANT_DIR, MEMBER_DIR, REPORT_DIR};

use crate::etcd::look::at_any;
use crate::etcd::{Settings, Trouble, register};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// What it held is free.
    Done,
    /// There is no such host.
    Unknown,
    /// The host is alive: its entry is under a lease.
    Alive,
}

/// Why etcd could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// etcd.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// This machine.
    #[error("cannot speak to etcd: {0}")]
    Io(#[from] io::Error),
}

/// Removes the grant of a host that is gone, and with it the safe share that is kept for it.
///
/// # Errors
/// The trouble at the last endpoint, when none could be asked.
pub fn forget(settings: &Settings, host: &str) -> Result<Forgotten, ForgetError> {
    at_any(settings, async |link| {
        register::known(link).await?;
        let key = |dir: &str| link.key(&format!("{dir}{host}"));
        let gone = Compare::version(key(MEMBER_DIR), CompareOp::Equal, 0);
        let removals = [GRANT_DIR, REPORT_DIR].map(|dir| TxnOp::delete(key(dir), None));
        let txn = Txn::new().when([gone]).and_then(removals);
        let answer = link.ask(link.client().txn(txn)).await?;
        if !answer.succeeded() {
            return Ok(Forgotten::Alive);
        }
        let removed = |response: &TxnOpResponse| match response {
            TxnOpResponse::Delete(removed) => removed.deleted() > 0,
            _ => false,
        };
        Ok(if answer.op_responses().iter().any(removed) {
            Forgotten::Done
        } else {
            Forgotten::Unknown
        })
    })
}
