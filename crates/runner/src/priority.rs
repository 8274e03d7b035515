//! Tester and path before other programs, as far as that can be had.

use std::thread;

use nicety_host::cpu_share;
use nicety_host::roots::{ProcRoot, SysRoot};
use nicety_model::note::MachineNote;
use nicety_netdev::schedule;
use nicety_paths::RaisedSession;

/// Raises this process's session until the value is dropped, where that changes anything, and says what the
/// threads of the tester have. An ordinary user's have nothing, which the path's notes say.
pub fn raise() -> (Option<RaisedSession>, Option<MachineNote>) {
    if !can(|| schedule::prefer(None).is_ok()) {
        return (None, None);
    }
    if cpu_share::in_control_group(&ProcRoot::live(), &SysRoot::live()) {
        let real_time = can(|| schedule::before_programs(None).is_ok());
        let note = if real_time {
            priority(false, true)
        } else {
            MachineNote::NoPriority
        };
        return (None, Some(note));
    }
    let session = RaisedSession::now();
    let note = priority(session.is_some(), false);
    (session, Some(note))
}

fn priority(session: bool, real_time: bool) -> MachineNote {
    MachineNote::Priority { session, real_time }
}

/// Whether a thread of its own can be given what it asks for.
fn can(ask: fn() -> bool) -> bool {
    thread::spawn(ask).join().unwrap_or(false)
}
