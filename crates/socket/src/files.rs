//! Enough file descriptors for all flows, or a clear word before anything is opened.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::SocketError;

/// Beside the flows: control connections, timers, libraries.
const OTHERS: u64 = 256;

/// Raises the soft limit as far as `flows` flows need and the hard limit allows. Both ends may
/// live in one process, and connections are held twice while TCP is watched.
pub(crate) fn ensure(flows: u32) -> Result<(), SocketError> {
    let needed = 4 * u64::from(flows) + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|soft| soft >= needed) {
        return Ok(());
    }
    let refused = |limit| SocketError::Files {
        flows,
        needed,
        limit,
    };
    if let Some(hard) = maximum.filter(|hard| *hard < needed) {
        return Err(refused(hard));
    }
    let wanted = Rlimit {
        current: Some(needed),
        maximum,
    };
    setrlimit(Resource::Nofile, wanted).map_err(|_| refused(current.unwrap_or(0)))
}
