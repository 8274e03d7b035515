//! The kernel threads in which interfaces of a path receive, and where they run.

use std::collections::BTreeMap;

use nicety_model::Note;
use nicety_model::note::PathNote;
use nicety_netdev::napi::{self, NapiThread};
use nicety_netdev::net_error::NetError;
use nicety_netdev::ns_sysfs::NsSysfs;

use crate::path::PathThread;
use crate::site::Site;

/// Lets the far end receive in threads, that of every queue pinned to its `cpu`, in the order of the
/// queues. None at all means that it works in the sender's context; `notes` says why.
pub(crate) fn start(
    site: &Site,
    name: &str,
    cpu: &dyn Fn(usize) -> Option<u32>,
    notes: &mut Vec<Note>,
) -> Result<Vec<PathThread>, NetError> {
    let link = site.links.get(name)?;
    let made =
        NsSysfs::mount(&site.ns).and_then(|sysfs| napi::make_threaded(&site.ns, &sysfs, &link));
    let threads = match made {
        Ok(threads) => threads,
        Err(error) => {
            let note = PathNote::SenderContext {
                interface: name.to_owned(),
                error: error.to_string(),
            };
            notes.push(note.into());
            return Ok(Vec::new());
        }
    };
    threads
        .into_iter()
        .enumerate()
        .map(|(queue, thread)| place(name, thread, cpu(queue)))
        .collect()
}

/// The receive queues of an interface and where their threads run, for the run's notes; nothing
/// without threads, which has been said.
pub(crate) fn queue_words(name: &str, queues: u32, threads: &[PathThread]) -> Option<PathNote> {
    let cpus = threads.iter().map(|thread| match thread.cpus.as_slice() {
        [one] => Some(*one),
        _ => None,
    });
    (!threads.is_empty()).then(|| PathNote::ReceiveQueues {
        interface: name.to_owned(),
        queues,
        cpus: cpus.collect(),
    })
}

fn place(interface: &str, thread: NapiThread, wanted: Option<u32>) -> Result<PathThread, NetError> {
    let unpinned = match wanted.map(|cpu| napi::pin(&thread, cpu)) {
        None => Some("no CPU was asked for".to_owned()),
        Some(Ok(())) => None,
        Some(Err(error)) if error.is_not_permitted() => {
            Some("only root may pin kernel threads".to_owned())
        }
        Some(Err(error)) => Some(error.to_string()),
    };
    Ok(PathThread {
        interface: interface.to_owned(),
        cpus: napi::cpus(&thread)?,
        // Only a thread that keeps to its CPU may keep others from it.
        preferred: unpinned.is_none() && napi::prefer(&thread).is_ok(),
        thread,
        unpinned,
    })
}

/// One note about all threads that could not be pinned for the same reason.
pub(crate) fn note_unpinned(threads: &[PathThread], notes: &mut Vec<Note>) {
    let mut by_reason = BTreeMap::<&str, Vec<&str>>::new();
    for thread in threads {
        if let Some(reason) = &thread.unpinned {
            by_reason.entry(reason).or_default().push(&thread.interface);
        }
    }
    by_reason.values_mut().for_each(Vec::dedup);
    for (reason, interfaces) in by_reason {
        let note = PathNote::ThreadsUnpinned {
            interfaces: interfaces.into_iter().map(str::to_owned).collect(),
            why: reason.to_owned(),
        };
        notes.push(note.into());
    }
    let mut interfaces: Vec<String> = threads
        .iter()
        .filter(|thread| !thread.preferred)
        .map(|thread| thread.interface.clone())
        .collect();
    interfaces.dedup();
    if !interfaces.is_empty() {
        notes.push(PathNote::ThreadsOrdinary { interfaces }.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(interface: &str, unpinned: Option<&str>) -> PathThread {
        PathThread {
            interface: interface.to_owned(),
            thread: NapiThread {
                name: format!("napi/{interface}-1"),
                pid: 1,
            },
            cpus: vec![0],
            preferred: true,
            unpinned: unpinned.map(str::to_owned),
        }
    }

    #[test]
    fn a_reason_is_said_once() {
        let mut notes = Vec::new();
        note_unpinned(&[thread("d0", None)], &mut notes);
        assert_eq!(notes, []);
        note_unpinned(
            &[
                thread("d0", Some("only root")),
                thread("d0", Some("only root")),
                thread("d1", Some("only root")),
            ],
            &mut notes,
        );
        assert_eq!(
            Note::texts(&notes),
            ["The receive threads of d0 and d1 are not pinned: only root."]
        );
    }

    #[test]
    fn queues_are_told_with_the_cpus_of_their_threads() {
        let on = |cpus: &[u32]| PathThread {
            cpus: cpus.to_vec(),
            ..thread("d0", None)
        };
        assert_eq!(queue_words("d0", 2, &[]), None);
        assert_eq!(
            queue_words("d0", 3, &[on(&[2]), on(&[4]), on(&[2])])
                .unwrap()
                .to_string(),
            "d0 has 3 receive queues, with threads on CPUs 2, 4, 2. A frame's flow decides its queue."
        );
        assert_eq!(
            queue_words("d0", 2, &[on(&[0, 1]), on(&[0, 1])])
                .unwrap()
                .to_string(),
            "d0 has 2 receive queues, with threads where the scheduler puts them. A frame's flow decides its queue."
        );
    }
}
