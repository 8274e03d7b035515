//! Guests' channels: a Unix socket for each tenant that has one, or one vsock for all virtual
//! machines. Containers get the socket, QEMU connects it to a virtio-serial port. Whoever comes
//! through it, or from that machine, is that tenant, and nobody else.
//!
//! Everything happens in a thread of its own. The loop reads soft limits from a table and never
//! waits for a guest.

mod place;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_host::vsock::VsockListener;
use nicety_model::BitRate;
use nicety_netdev::privilege::give_up_capabilities;
use nicety_police::event::Event;
use nicety_police::guest::{Budget, Line, Lines, Refusals, Reply, Request, Soft, VSOCK_PORT};
use nicety_police::policy::GuestChannel;
use nicety_police::reload::soft_limits;
use nicety_police::{Policy, Tenant};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::Error;
use crate::board::Board;
use crate::log::Log;
use crate::soft_limits::SoftLimits;
pub use place::Place;

/// Connections of one tenant at the same time; more are closed at once.
const CONNECTIONS: usize = 4;
/// A guest that does not read its answer is let go after.
const PATIENCE: Duration = Duration::from_secs(1);
/// The last words to a guest that sends no lines.
const TOO_LONG: &str = "the line is too long; the connection ends";

/// The soft limits of all tenants.
#[derive(Debug, Default)]
pub struct Softs(Mutex<Vec<Soft>>);

impl Softs {
    fn with<T>(&self, tenant: usize, work: impl FnOnce(&mut Soft) -> T) -> Option<T> {
        let mut softs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        softs.get_mut(tenant).map(work)
    }

    /// What each tenant has asked not to get more than, now.
    pub fn now(&self) -> Vec<Option<BitRate>> {
        let now = since_boot();
        let softs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        softs.iter().map(|soft| soft.at(now)).collect()
    }

    /// Those of all tenants, with their leases.
    fn all(&self) -> Vec<Soft> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The sockets and who serves them; gone when dropped.
#[derive(Debug)]
pub struct Channels {
    places: Vec<Place>,
    /// Dropping it ends the thread.
    serves: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Drop for Channels {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.serves.take() {
            drop(end);
            // It has nothing to hand over.
            let _ = thread.join();
        }
        self.places.iter().for_each(Place::remove);
    }
}

/// One tenant's channel.
struct Channel {
    tenant: usize,
    name: String,
    uid: u32,
    guarantee: BitRate,
    period: Duration,
    places: Arc<Semaphore>,
    refusals: Mutex<Refusals>,
    board: Arc<Board>,
    softs: Arc<Softs>,
    kept: Arc<SoftLimits>,
    log: Log,
}

/// The soft limits of a policy's tenants, see [`soft_limits`].
pub fn softs(policy: &Policy, kept: &SoftLimits, before: Option<(&Policy, &Softs)>) -> Softs {
    let before = before.map(|(policy, softs)| (policy, softs.all()));
    let before = before.as_ref().map(|(policy, softs)| (*policy, &softs[..]));
    Softs(Mutex::new(soft_limits(
        policy,
        |name| kept.of(name),
        before,
    )))
}

/// Makes the sockets of a policy and begins to serve them.
///
/// # Errors
/// When a socket cannot be made.
pub fn start(
    policy: &Policy,
    board: &Arc<Board>,
    kept: SoftLimits,
    before: Option<(&Policy, &Softs)>,
    log: &Log,
) -> Result<(Channels, Arc<Softs>), Error> {
    let softs = Arc::new(softs(policy, &kept, before));
    let kept = Arc::new(kept);
    let mut channels = Channels {
        places: Vec::new(),
        serves: None,
    };
    let mut served = Vec::new();
    let mut machines = BTreeMap::new();
    for (index, tenant) in policy.tenants.iter().enumerate() {
        let Some(guest) = &tenant.guest else { continue };
        let channel = |uid| {
            Arc::new(Channel {
                tenant: index,
                name: tenant.name.clone(),
                uid,
                guarantee: tenant.guarantee,
                period: policy.period,
                places: Arc::new(Semaphore::new(CONNECTIONS)),
                refusals: Mutex::default(),
                board: Arc::clone(board),
                softs: Arc::clone(&softs),
                kept: Arc::clone(&kept),
                log: log.clone(),
            })
        };
        match guest {
            GuestChannel::Unix { path: name, uid } => {
                let place = Place::open(Path::new(name));
                let listens = place.and_then(|place| Ok((place.listen(*uid, false)?, place)));
                let (listener, place) = listens.map_err(|source| refused(name, tenant, source))?;
                channels.places.push(place);
                served.push((listener, channel(*uid)));
            }
            GuestChannel::Vsock { cid } => {
                machines.insert(*cid, channel(0));
            }
        }
    }
    if served.is_empty() && machines.is_empty() {
        return Ok((channels, softs));
    }
    let vsock = if machines.is_empty() {
        None
    } else {
        Some(VsockListener::bind(VSOCK_PORT).map_err(|source| {
            let port = VSOCK_PORT;
            Error::Vsock { port, source }
        })?)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (end, ended) = oneshot::channel::<()>();
    let log = log.clone();
    let thread = std::thread::Builder::new()
        .name("guests".to_owned())
        .spawn(move || {
            if let Err(error) = give_up_capabilities() {
                // It still does what is asked for, and no more: what is lost is a second line of defence.
                log.report(&Event::GuestsPrivileged(error.to_string()));
            }
            runtime.block_on(async {
                for (listener, channel) in served {
                    tokio::spawn(accept(listener, channel));
                }
                if let Some(vsock) = vsock {
                    tokio::spawn(accept_machines(vsock, machines));
                }
                // An error: nobody ever says anything.
                let _ = ended.await;
            });
        })?;
    channels.serves = Some((end, thread));
    Ok((channels, softs))
}

/// Refuses a policy whose sockets could not be made, without making one. A socket that is there may
/// be that of the daemon whose place another one will take.
///
/// # Errors
/// When something else is in the place of a socket, or there is no place.
pub fn check(policy: &Policy) -> Result<(), Error> {
    for tenant in &policy.tenants {
        if let Some(GuestChannel::Unix { path: name, .. }) = &tenant.guest {
            place(Path::new(name)).map_err(|source| refused(name, tenant, source))?;
        }
    }
    Ok(())
}

/// Whether there is a place for a socket.
fn place(path: &Path) -> io::Result<()> {
    match Place::open(path) {
        // The daemon makes this one itself.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && path.parent() == Some(Path::new(crate::state::PLACE)) =>
        {
            Ok(())
        }
        place => place?.has_socket().map(drop),
    }
}

fn refused(path: &str, tenant: &Tenant, source: io::Error) -> Error {
    Error::Socket {
        path: path.to_owned(),
        tenant: tenant.name.clone(),
        source,
    }
}

async fn accept(listener: UnixListener, channel: Arc<Channel>) {
    let Ok(listener) = tokio::net::UnixListener::from_std(listener) else {
        return;
    };
    let mut budget = Budget::begin(since_boot());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        // Whoever connects again and again waits for itself: the socket is this tenant's alone.
        pause(&mut budget).await;
        let peer = stream.peer_cred().map(|peer| peer.uid());
        let own = rustix::process::geteuid().as_raw();
        if !peer.is_ok_and(|uid| uid == channel.uid || uid == own) {
            continue;
        }
        serve(&channel, stream);
    }
}

/// Connections of virtual machines, each to the tenant whose machine it is. Those of machines that
/// nobody named, and of users who are not root inside, are closed.
#[allow(
    deprecated,
    reason = "the listener owns its descriptor for as long as it is registered; what replaces this is an unsafe call"
)]
async fn accept_machines(listener: VsockListener, machines: BTreeMap<u32, Arc<Channel>>) {
    let Ok(listener) = AsyncFd::with_interest(listener, Interest::READABLE) else {
        return;
    };
    let mut budgets: BTreeMap<u32, Budget> = BTreeMap::new();
    loop {
        let Ok(mut ready) = listener.readable().await else {
            return;
        };
        let Ok(accepted) = ready.try_io(|listener| listener.get_ref().accept()) else {
            continue;
        };
        let Ok((stream, peer)) = accepted else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (Some(channel), true) = (machines.get(&peer.cid), peer.privileged) else {
            continue;
        };
        // All machines come through one socket, so nobody may wait here: too many at once are closed.
        let now = since_boot();
        let budget = budgets.entry(peer.cid).or_insert(Budget::begin(now));
        if budget.may(now)
            // Reading and writing is the same for all stream sockets.
            && let Ok(stream) = UnixStream::from_std(stream.into())
        {
            serve(channel, stream);
        }
    }
}

fn serve(channel: &Arc<Channel>, stream: UnixStream) {
    let Ok(place) = Arc::clone(&channel.places).try_acquire_owned() else {
        return;
    };
    let channel = Arc::clone(channel);
    tokio::spawn(async move {
        let _place = place;
        // A guest that breaks off is no error of ours.
        let _ = channel.talk(stream).await;
    });
}

/// Waits until the budget allows one more.
async fn pause(budget: &mut Budget) {
    let now = since_boot();
    sleep(budget.charge(now).saturating_sub(now)).await;
}

impl Channel {
    /// Answers until the guest leaves, or sends what is no line: whoever does that gets one answer, and
    /// the rest is not read. So a connection costs no more than its budget of lines.
    async fn talk(&self, mut stream: UnixStream) -> io::Result<()> {
        let mut lines = Lines::default();
        let mut buffer = [0; 512];
        let mut budget = Budget::begin(since_boot());
        loop {
            let count = stream.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            for line in lines.push(&buffer[..count]) {
                pause(&mut budget).await;
                let (reply, goes_on) = match line {
                    Line::Whole(line) => (self.answer(&line), true),
                    Line::TooLong => (Reply::error("", TOO_LONG), false),
                };
                let mut text = serde_json::to_string(&reply)?;
                text.push('\n');
                timeout(PATIENCE, stream.write_all(text.as_bytes())).await??;
                if !goes_on {
                    return Ok(());
                }
            }
        }
    }

    fn answer(&self, line: &[u8]) -> Reply {
        let request = match Request::parse(line) {
            Ok(request) => request,
            Err(reply) => return reply,
        };
        let Some(shown) = self.board.last() else {
            return Reply::error(&request.id, "the host has not looked yet; ask again");
        };
        let Some(decided) = shown.state.decision.tenants.get(self.tenant) else {
            return Reply::error(&request.id, "the host does not know; ask again");
        };
        let now = since_boot();
        let done = self.softs.with(self.tenant, |soft| {
            let before = soft.kept();
            soft.apply(&request, now)?;
            let record = soft.record(decided, self.guarantee, self.period, now);
            Ok::<_, Reply>((record, soft.kept(), before != soft.kept()))
        });
        match done {
            Some(Ok((record, limit, changed))) => {
                if changed {
                    self.kept.keep(&self.name, limit);
                }
                Reply::status(&request.id, record)
            }
            Some(Err(refusal)) => {
                self.report(refusal.error.as_deref().unwrap_or_default());
                refusal
            }
            None => Reply::error(&request.id, "the host does not know; ask again"),
        }
    }

    /// Reports a refusal to whoever runs the daemon, now and then.
    fn report(&self, why: &str) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.report(since_boot()) {
            self.log.report(&Event::GuestRefused {
                tenant: self.name.clone(),
                why: why.to_owned(),
            });
        }
    }
}
