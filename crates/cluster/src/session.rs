//! The session's thread: one endpoint after the other, until it is told to stop.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};

use crate::backoff::Backoff;
use crate::connect::Link;
use crate::event::Lease;
use crate::mailbox::Mailbox;
use crate::{Batch, Event, OwnPut, Settings, Status, Trouble, keep, lead, own, register, write};

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
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let of_thread = Arc::clone(&shared);
        let work = move || runtime.block_on(live(&settings, &of_thread));
        let thread = std::thread::Builder::new()
            .name("etcd".to_owned())
            .spawn(work)?;
        Ok(Self {
            shared,
            events,
            thread: Some(thread),
        })
    }

    /// Writes one of this host's own values soon. Of each path the newest value counts.
    pub fn put(&self, put: OwnPut) {
        self.shared.mailbox.own(put);
    }

    /// Writes a leader's batch soon; its outcome comes as [`Event::Wrote`]. False when too many wait already: then
    /// nothing of it is written.
    pub fn lead(&self, batch: Batch) -> bool {
        self.shared.mailbox.batch(batch)
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
    leadership: Mutex<Option<Leadership>>,
    /// Troubles told since the host had joined last.
    told: Mutex<Vec<Trouble>>,
    to: Sender<Event>,
}

impl Shared {
    fn new(to: Sender<Event>) -> Self {
        Self {
            mailbox: Mailbox::default(),
            status: Mutex::default(),
            leadership: Mutex::default(),
            told: Mutex::default(),
            to,
        }
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn leadership(&self) -> Option<Leadership> {
        let of = self
            .leadership
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        of.clone()
    }

    fn set_leadership(&self, leadership: Option<Leadership>) -> Option<Leadership> {
        self.status().leading = leadership.is_some();
        let mut of = self
            .leadership
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut of, leadership)
    }

    pub(crate) fn renewed(&self, lease: Lease) {
        self.status().lease = Some(lease);
    }

    /// Waits while nobody takes events.
    pub(crate) async fn tell(&self, event: Event) {
        let _ = self.to.send(event).await;
    }

    pub(crate) async fn leading(&self, leadership: Leadership) {
        let term = leadership.term;
        self.set_leadership(Some(leadership));
        self.tell(Event::Leading { term }).await;
    }

    pub(crate) async fn not_leading(&self) {
        if self.set_leadership(None).is_some() {
            self.tell(Event::NotLeading).await;
        }
    }

    /// Tells a trouble, once until the host has joined again.
    pub(crate) async fn trouble(&self, trouble: Trouble) {
        self.status().trouble = Some(trouble.clone());
        let is_new = {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = !told.contains(&trouble);
            if is_new {
                told.push(trouble.clone());
            }
            is_new
        };
        if is_new {
            self.tell(Event::Trouble(trouble)).await;
        }
    }

    async fn joined(&self, link: &Link<'_>, lease: Lease) {
        {
            let mut status = self.status();
            status.reconnects += u64::from(status.endpoint.is_some());
            status.endpoint = Some(link.endpoint.to_owned());
            status.joined = true;
            status.trouble = None;
        }
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        let (endpoint, lease) = (link.endpoint.to_owned(), lease.id);
        self.tell(Event::Joined { endpoint, lease }).await;
    }

    /// What holds no longer when a session ends.
    async fn ended(&self, trouble: &Trouble) -> bool {
        let had_joined = std::mem::replace(&mut self.status().joined, false);
        self.not_leading().await;
        if *trouble == Trouble::LeaseEnded && self.status().lease.take().is_some() {
            self.tell(Event::LeaseLost).await;
        }
        had_joined
    }
}

async fn live(settings: &Settings, shared: &Shared) {
    let mut backoff = Backoff::default();
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
                trouble = session(&link, shared) => trouble,
                () = shared.mailbox.stopped() => {
                    give_back(&link, shared).await;
                    return;
                }
            },
            Err(trouble) => trouble,
        };
        if shared.ended(&trouble).await {
            backoff = Backoff::default();
        }
        shared.trouble(trouble).await;
        turn += 1;
        tokio::select! {
            () = sleep(backoff.next()) => {}
            () = shared.mailbox.stopped() => {}
        }
    }
}

/// One session, until something fails.
async fn session(link: &Link<'_>, shared: &Shared) -> Trouble {
    let lease = match join(link, shared).await {
        Ok(lease) => lease,
        Err(trouble) => return trouble,
    };
    shared.joined(link, lease).await;
    tokio::select! {
        trouble = keep::keep(link, shared, lease) => trouble,
        trouble = own::own(link, shared) => trouble,
        trouble = lead::lead(link, shared, lease.id) => trouble,
        trouble = write::write(link, shared, lease.id) => trouble,
    }
}

/// The lease outlives a connection.
async fn join(link: &Link<'_>, shared: &Shared) -> Result<Lease, Trouble> {
    register::prefix(link).await?;
    let has = shared.status().lease;
    let lease = match has {
        Some(lease) => lease,
        None => {
            let lease = register::lease(link).await?;
            shared.renewed(lease);
            lease
        }
    };
    register::name(link, lease.id).await?;
    Ok(lease)
}

/// Gives the lease back, so that others need not wait for its end.
async fn give_back(link: &Link<'_>, shared: &Shared) {
    let lease = shared.status().lease.take();
    if let Some(lease) = lease {
        let _ = timeout(link.settings.timeout, link.client().lease_revoke(lease.id)).await;
    }
}
