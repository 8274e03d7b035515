//! The session's thread: one endpoint after the other, until it is told to stop.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use nicety_police::cluster::{Batch, Changes, HostReport, Lease, Registration};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch::Sender as Latest;
use tokio::time::{sleep, timeout};

use crate::etcd::backoff::Backoff;
use crate::etcd::connect::Link;
use crate::etcd::event::Held;
use crate::etcd::mailbox::Mailbox;
use crate::etcd::{Event, Settings, Status, Trouble, keep, lead, register, watch, write};

/// Events that wait; whoever makes more of them waits for room.
const EVENTS: usize = 1024;

/// A host's session with etcd, in a thread of its own. It ends with this value: the lease is given back where etcd
/// answers in time.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    /// Begins; etcd need not be there. Whatever is wrong comes as [`Event::Trouble`], and is tried again.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let (to, events) = channel(EVENTS);
        let shared = Arc::new(Shared::new(to));
        shared.mailbox.touch();
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build()?;
        let of_thread = Arc::clone(&shared);
        let work = move || runtime.block_on(live(&settings, &of_thread));
        let named = std::thread::Builder::new().name("etcd".to_owned());
        Ok(Self {
            shared,
            events,
            thread: Some(named.spawn(work)?),
        })
    }

    /// Writes the host's entry soon, and again in later connections. An entry for another lease than the present one
    /// waits for nothing: it is not written.
    pub fn register(&self, registration: Registration) {
        self.shared.mailbox.register(registration);
    }

    /// Writes the host's report soon, once its entry stands. The newest one counts.
    pub fn report(&self, report: HostReport) {
        self.shared.mailbox.report(report);
    }

    /// Writes a leader's transactions soon, instead of those that may still wait; their outcome comes as
    /// [`Event::Written`].
    pub fn lead(&self, batches: Vec<Batch>) {
        self.shared.mailbox.lead(batches);
    }

    /// What has happened since it was asked last. Whoever does not ask for as long as a lease lives loses the
    /// lease: grants that nobody applies must end.
    pub fn poll(&mut self) -> Vec<Event> {
        self.shared.mailbox.touch();
        let mut events = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            events.push(event);
        }
        events
    }

    /// How it is now.
    pub fn status(&self) -> Status {
        self.shared.status().clone()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.mailbox.stop();
        // A full queue would keep the thread from its end.
        self.events.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The election's key as this host has made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leadership {
    pub(crate) key: Vec<u8>,
    pub(crate) term: i64,
}

/// What the thread and its owner both see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mailbox: Mailbox,
    status: Mutex<Status>,
    leadership: Latest<Option<Leadership>>,
    /// Troubles told since the host had joined last, or had written.
    told: Mutex<Vec<Trouble>>,
    to: Sender<Event>,
}

impl Shared {
    fn new(to: Sender<Event>) -> Self {
        Self {
            mailbox: Mailbox::default(),
            status: Mutex::default(),
            leadership: Latest::default(),
            told: Mutex::default(),
            to,
        }
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn leadership(&self) -> Option<Leadership> {
        self.leadership.borrow().clone()
    }

    pub(crate) fn elected(&self, leadership: Option<Leadership>) {
        {
            let mut status = self.status();
            status.leading = leadership.is_some();
            status.elections += u64::from(leadership.is_some());
        }
        self.leadership.send_replace(leadership);
    }

    /// This leadership has ended; a later one goes on.
    pub(crate) fn deposed(&self, leadership: &Leadership) {
        if self.leadership().as_ref() == Some(leadership) {
            self.elected(None);
        }
    }

    /// Until it is another one.
    pub(crate) async fn leadership_changed(&self, from: &Option<Leadership>) {
        let mut latest = self.leadership.subscribe();
        // Fails only without a sender, which this has.
        let _ = latest.wait_for(|now| now != from).await;
    }

    /// Never waits: a renewal that is not told makes the deadline earlier.
    pub(crate) fn renewed(&self, lease: Held) {
        self.status().lease = Some(lease);
        let _ = self.to.try_send(Event::Lease(lease.into()));
    }

    pub(crate) fn registered(&self, is: bool) {
        self.status().registered = is;
    }

    pub(crate) fn is_registered(&self) -> bool {
        self.status().registered
    }

    /// Waits while nobody takes events.
    pub(crate) async fn tell(&self, event: Event) {
        let _ = self.to.send(event).await;
    }

    pub(crate) async fn changed(&self, changes: Changes) {
        if !changes.changes.is_empty() {
            self.tell(Event::Changed(changes)).await;
        }
    }

    /// Tells a trouble, once until the host has joined or written again: not for each endpoint anew.
    pub(crate) async fn trouble(&self, trouble: Trouble) {
        self.status().trouble = Some(trouble.clone());
        let is_new = {
            let mut told = self.told();
            let is_new = !told.iter().any(|told| told.is_like(&trouble));
            if is_new {
                told.push(trouble.clone());
            }
            is_new
        };
        if is_new {
            self.tell(Event::Trouble(trouble)).await;
        }
    }

    /// Writes pass: whatever comes now is told again.
    pub(crate) fn well(&self) {
        self.status().trouble = None;
        self.told().clear();
    }

    fn told(&self) -> MutexGuard<'_, Vec<Trouble>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn joined(&self, link: &Link<'_>) {
        {
            let mut status = self.status();
            status.reconnects += u64::from(status.endpoint.is_some());
            status.endpoint = Some(link.endpoint.to_owned());
            status.joined = true;
            status.trouble = None;
        }
        self.told().clear();
        let endpoint = link.endpoint.to_owned();
        self.tell(Event::Joined { endpoint }).await;
    }

    /// What holds no longer when a session ends. Whether it had begun.
    async fn ended(&self, trouble: &Trouble) -> bool {
        let had_joined = {
            let mut status = self.status();
            status.registered = false;
            std::mem::replace(&mut status.joined, false)
        };
        if self.leadership().is_some() {
            self.elected(None);
            self.tell(Event::Elected(false)).await;
        }
        if *trouble == Trouble::LeaseEnded {
            let ended = self.status().lease.take();
            if let Some(Held { id: lease, .. }) = ended {
                self.tell(Event::Lease(Lease::Ended { lease })).await;
            }
        }
        had_joined
    }
}

async fn live(settings: &Settings, shared: &Shared) {
    let mut backoff = Backoff::new(settings.ttl);
    // Hosts spread over the members.
    let mut turn = fastrand::usize(..settings.endpoints.len().max(1));
    while !shared.mailbox.stops() {
        let Some(endpoint) = settings
            .endpoints
            .get(turn % settings.endpoints.len().max(1))
        else {
            return;
        };
        let trouble = match Link::open(settings, endpoint).await {
            Ok(link) => tokio::select! {
                ended = session(&link, shared) => match ended {
                    Ok(never) => match never {},
                    Err(trouble) => trouble,
                },
                () = shared.mailbox.stopped() => {
                    give_back(&link, shared).await;
                    return;
                }
            },
            Err(trouble) => trouble,
        };
        if shared.ended(&trouble).await {
            backoff.reset();
        }
        // The end of a lease is told as such, and what follows from it by the host.
        if trouble != Trouble::LeaseEnded {
            shared.trouble(trouble).await;
        }
        turn += 1;
        tokio::select! {
            () = sleep(backoff.next()) => {}
            () = shared.mailbox.stopped() => {}
        }
    }
}

/// One session, until something fails. The lease outlives it.
async fn session(link: &Link<'_>, shared: &Shared) -> Result<Infallible, Trouble> {
    register::prefix(link).await?;
    let has = shared.status().lease;
    let lease = match has {
        Some(lease) => lease,
        None => {
            let lease = register::lease(link).await?;
            shared.status().lease = Some(lease);
            shared.tell(Event::Lease(lease.into())).await;
            lease
        }
    };
    shared.joined(link).await;
    let ended = tokio::select! {
        ended = keep::keep(link, shared, lease) => ended,
        ended = watch::watch(link, shared) => ended,
        ended = lead::lead(link, shared, lease.id) => ended,
        ended = write::write(link, shared, lease.id) => ended,
    };
    ended.map_err(Trouble::once_joined)
}

/// Gives the lease back, so that others need not wait for its end.
async fn give_back(link: &Link<'_>, shared: &Shared) {
    let lease = shared.status().lease.take();
    if let Some(lease) = lease {
        let mut client = link.client();
        let _ = timeout(link.settings.timeout, client.lease_revoke(lease.id)).await;
    }
}
