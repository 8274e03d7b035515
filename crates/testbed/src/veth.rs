//! One veth pair between the tester and the far side, set up so that the far end receives in
//! threads of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_host::ethtool::Ethtool;
use nicety_host::link::{LinkChange, Links, Mac, VethEnd};
use nicety_host::napi::{self, NapiThread};
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_host::ns_sysfs::NsSysfs;
use nicety_host::sysctl;
use nicety_model::Note;
use nicety_model::note::PathNote;

use crate::path::{PathThread, Port};

/// Longest time a new veth or bridge port may take to report carrier. The kernel does it within
/// the call or shortly after (net/core/link_watch.c: at most a second).
pub(crate) const CARRIER_LIMIT: Duration = Duration::from_secs(3);

/// A namespace with the handles needed to build in it.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) ns: NetNs,
    pub(crate) links: Links,
    pub(crate) ethtool: Ethtool,
}

impl Site {
    /// A new namespace without IPv6 chatter; says so in `notes` where that cannot be had.
    pub(crate) fn create(name: &str, notes: &mut Vec<Note>) -> Result<Self, NetError> {
        let ns = NetNs::create(name)?;
        if let Err(error) = sysctl::disable_ipv6(&ns) {
            let note = PathNote::Ipv6Stays {
                namespace: name.to_owned(),
                error: error.to_string(),
            };
            notes.push(note.into());
        }
        Ok(Self {
            links: Links::open(&ns)?,
            ethtool: Ethtool::open(&ns)?,
            ns,
        })
    }

    /// The finished interface as a port of the tester.
    pub(crate) fn port(&self, name: &str) -> Result<Port, NetError> {
        let link = self.links.wait_carrier(name, CARRIER_LIMIT)?;
        Ok(Port {
            ns: self.ns.clone(),
            name: link.name,
            index: link.index,
            mac: link.mac.unwrap_or_default(),
            mtu: link.mtu,
            // Only information: an interface whose driver does not say has none.
            speed_mbps: self.ethtool.speed_mbps(name).unwrap_or(None),
        })
    }
}

/// One end of a pair: where, name, hardware address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) site: &'a Site,
    pub(crate) name: &'a str,
    pub(crate) mac: Mac,
}

/// Makes the pair `tester`-`far` and switches their features, so that frames sent by the tester
/// enter the far end's NAPI. Both ends stay down.
///
/// The switch is "no TSO on the sending end" rather than `rx-udp-gro-forwarding` or
/// `rx-gro-list` on the receiving end: those would make NAPI merge the tester's datagrams into
/// large ones, so that the path would carry fewer, larger packets than it was offered.
pub(crate) fn connect(
    tester: End<'_>,
    far: End<'_>,
    mtu: u32,
    queues: u32,
) -> Result<(), NetError> {
    fn veth_end(end: End<'_>, mtu: u32, queues: u32) -> VethEnd<'_> {
        VethEnd {
            ns: &end.site.ns,
            name: end.name,
            mtu,
            queues,
            mac: Some(end.mac),
        }
    }
    far.site
        .links
        .add_veth(veth_end(far, mtu, queues), veth_end(tester, mtu, queues))?;
    tester
        .site
        .ethtool
        .set_features(tester.name, &napi::SENDER_FEATURES)?;
    far.site
        .ethtool
        .set_features(far.name, &napi::RECEIVER_FEATURES)?;
    Ok(())
}

/// Sets an interface up.
pub(crate) fn set_up(site: &Site, name: &str) -> Result<(), NetError> {
    site.links.change(
        name,
        &LinkChange {
            up: Some(true),
            ..LinkChange::default()
        },
    )
}

/// Lets the far end receive in threads, that of every queue pinned to its `cpu`, in the order of the
/// queues. None at all means that it works in the sender's context; `notes` says why.
pub(crate) fn threads(
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
            ["the scheduler places the receive threads of d0 and d1: only root"]
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
            "d0: 3 receive queues, threads on CPUs 2, 4, 2; a frame's flow decides its queue"
        );
        assert_eq!(
            queue_words("d0", 2, &[on(&[0, 1]), on(&[0, 1])])
                .unwrap()
                .to_string(),
            "d0: 2 receive queues, threads where the scheduler puts them; a frame's flow decides its queue"
        );
    }
}
