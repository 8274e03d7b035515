//! What the thread that strangers speak to gives up: it serves what others have left for it in memory, so it
//! needs no capability, no file and no connection of its own.

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus,
};
use nicety_netdev::privilege::give_up_capabilities;

/// Confines the calling thread for good; others keep their rights. Says whether the kernel closed files to
/// it: Landlock is there from 5.13 on, where it was not switched off. Where something cannot be given up
/// the thread serves all the same: the rest of what keeps strangers out stays.
pub fn confine() -> bool {
    // Refused by no kernel by itself, and what is left of it by Landlock's.
    let _ = give_up_capabilities();
    close_files().unwrap_or(false)
}

fn close_files() -> Result<bool, RulesetError> {
    // Rights that an older kernel does not know it does not take; no rule gives one back.
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V5))?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_confined_thread_opens_nothing() {
        let here = env!("CARGO_MANIFEST_PATH");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let opened = std::thread::spawn(move || {
            File::open(here).unwrap();
            confine().then(|| (File::open(here).is_ok(), TcpStream::connect(at).is_ok()))
        });
        match opened.join().unwrap() {
            None => println!("SKIP a_confined_thread_opens_nothing: this kernel has no Landlock"),
            Some((file, connection)) => {
                assert!(!file, "a file was opened");
                // From 6.7 on.
                println!("connections of its own: {connection}");
            }
        }
        // The others are as before.
        File::open(here).unwrap();
        TcpStream::connect(at).unwrap();
    }
}
