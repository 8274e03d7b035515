//! The thread that sends what was kept to a store for many hosts.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use nicety_history::{History, HistoryError, open};
use nicety_police::event::Event;

use crate::log::Log;

/// Slots that are sent together.
const TOGETHER: usize = 2_000;

/// How long a stop waits for what is sent last. What does not arrive then is sent by the next daemon.
const LAST: Duration = Duration::from_secs(5);

/// The keeper's end of it.
pub struct Forward {
    tell: SyncSender<()>,
    ended: Receiver<()>,
}

impl Forward {
    /// There is something to send.
    pub fn tell(&self) {
        // One that is busy looks again when it is done.
        let _ = self.tell.try_send(());
    }

    /// Ends it.
    pub fn stop(self) {
        drop(self.tell);
        let _ = self.ended.recv_timeout(LAST);
    }
}

/// Starts it. What the last daemon could not send goes at once.
pub fn start(from: &Path, to: PathBuf, log: Log) -> io::Result<Forward> {
    let (tell, told) = sync_channel(1);
    let (ends, ended) = sync_channel(1);
    let _ = tell.try_send(());
    let from = from.to_owned();
    std::thread::Builder::new()
        .name("bills-to".to_owned())
        .spawn(move || {
            let (mut there, mut trouble) = (None, false);
            for () in told {
                let sent = send(&from, &to, &mut there);
                if sent.is_err() {
                    // It may have gone: the next time begins with a new connection.
                    there = None;
                }
                match sent {
                    Ok(()) if trouble => log.report(&Event::BillsSent),
                    Err(error) if !trouble => log.report(&Event::BillsUnsent(error.to_string())),
                    _ => {}
                }
                trouble = there.is_none();
            }
            // Nobody waits after a while.
            let _ = ends.send(());
        })?;
    Ok(Forward { tell, ended })
}

/// Sends everything that has changed since it was sent last.
fn send(from: &Path, to: &Path, there: &mut Option<History>) -> Result<(), HistoryError> {
    let mut here = open(from, false)?;
    let store = match there {
        Some(store) => store,
        None => there.insert(open(to, true)?),
    };
    let place = store.place();
    loop {
        let (rows, until) = here.unsent(&place, TOGETHER)?;
        if rows.is_empty() {
            return Ok(());
        }
        store.keep_usage(&rows)?;
        here.sent(&place, until)?;
    }
}
