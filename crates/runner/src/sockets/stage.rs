//! The endpoints of socket tests: namespaces at both ends of a path.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nicety_guests::wire::Serve;
use nicety_model::Note;
use nicety_model::plan::{SockCell, VmConfig};
use nicety_model::sock::{EndReport, Ending, Family, SockSpec};
use nicety_model::{FrameSize, PathSpec, Problem, ProblemCode, Remedy};
use nicety_netdev::netns::NetNs;
use nicety_netdev::sysctl;
use nicety_paths::{
    EndpointSite, Endpoints, NetnsPath, NetnsSpec, Path, PathError, VmPath, add_neighbours,
};
use nicety_socket::{Ran, Token};

use super::ends::{self, LARGEST, carried_whole, features, segmentation, tagged, whole_frames};
use super::{Making, failed, lacks, missing, of_server};
use crate::builder;
use crate::setup_error::SetupError;
use crate::sock::PORT;
use crate::sock::guest::{Outcome, Test};
use crate::sock::inside::Inside;
use crate::sock::workers::threads_on;

/// Both ends and what lies between them; gone when dropped.
pub(super) struct Stage {
    /// Where clients run.
    pub(super) client: EndpointSite,
    /// More pairs on the same switch, or why there are none.
    pub(super) neighbours: Result<Vec<[EndpointSite; 2]>, Problem>,
    /// Whether both ends' CPU time is one.
    pub(super) shared_host: bool,
    /// What a reader should know.
    pub(super) notes: Vec<Note>,
    far: FarEnd,
    between: Between,
}

/// Where servers run.
enum FarEnd {
    /// A namespace; a server is started for every test.
    Site(EndpointSite),
    /// A guest with servers of its own.
    Guest { ipv6: bool, token: Token },
}

/// What lies between the ends and goes with them.
enum Between {
    Bridge(#[expect(dead_code, reason = "gone when dropped")] Option<NetNs>),
    Path(Box<dyn Path>),
    Guests(Box<VmPath>),
}

/// A server under way.
pub(super) struct Far {
    pub(super) address: String,
    pub(super) token: Token,
    /// Serves until dropped, where it is not a guest's.
    _inside: Option<Inside>,
}

impl Stage {
    /// Builds the path of `cell` with at most `neighbours` pairs beside it, and with a guest for
    /// clients where one is wanted.
    pub(super) fn build(
        making: &mut Making<'_>,
        cell: &SockCell,
        neighbours: u32,
        from_guest: bool,
    ) -> Result<Self, Problem> {
        match &cell.path {
            PathSpec::Bridge => {
                let ends = Endpoints::with_neighbours(neighbours).map_err(missing)?;
                Ok(Self {
                    client: ends.a,
                    far: FarEnd::Site(ends.b),
                    neighbours: Ok(ends.neighbours),
                    shared_host: true,
                    notes: Vec::new(),
                    between: Between::Bridge(ends.dut),
                })
            }
            PathSpec::VlanBridge { .. }
            | PathSpec::Ovs { .. }
            | PathSpec::OvsDpdk(_)
            | PathSpec::Testpmd { nics: None, .. }
            | PathSpec::Routed(_)
            | PathSpec::Tunnel(_)
            | PathSpec::Macvlan { .. }
            | PathSpec::Ipvlan { .. }
            | PathSpec::TcRedirect { .. }
            | PathSpec::XdpRedirect
            | PathSpec::Ovn { .. }
            | PathSpec::Bond { .. }
            | PathSpec::Team { .. }
            | PathSpec::Netkit { .. } => made_for_frames(making, cell, neighbours),
            PathSpec::Ports { .. } | PathSpec::Testpmd { .. } => Err(Problem::new(
                ProblemCode::NoPlaceForSockets,
                "both ports are this host's: its kernel would hand the data over without them",
            )
            .with("run nicety sock serve on the far host and nicety sock TESTS HOST here")),
            PathSpec::Vm(vm) => match vm.config() {
                ask if ask.netns => namespace(making, ask, neighbours),
                ask => guest(making, ask, neighbours, from_guest),
            },
            PathSpec::Foreign(_) => Err(Problem::new(
                ProblemCode::NoPlaceForSockets,
                format!("this version does not know the path {}", cell.kind()),
            )
            .with("measure with the version that made the run")),
        }
    }

    /// Starts a server for a cell at the far end.
    pub(super) fn server(&self, cell: &SockCell) -> Result<Far, Problem> {
        let (family, pin) = (cell.family, &cell.server_pin);
        let site = match &self.far {
            FarEnd::Site(site) => site,
            FarEnd::Guest { ipv6: false, .. } if family == Family::Ipv6 => return Err(no_ipv6()),
            FarEnd::Guest { token, .. } => {
                return Ok(Far {
                    address: SocketAddr::new(address(family, GUEST), PORT).to_string(),
                    token: token.clone(),
                    _inside: None,
                });
            }
        };
        let ip: IpAddr = match family {
            Family::Ipv4 => site.ipv4,
            Family::Ipv6 => site.ipv6.ok_or_else(no_ipv6)?,
        };
        let server = Inside::pinned(&site.ns, ip, threads_on(None, pin), pin);
        let server = server.map_err(of_server)?;
        Ok(Far {
            address: server.address.clone(),
            token: server.token.clone(),
            _inside: Some(server),
        })
    }

    /// Runs a test whose client is in the guest beside the server's.
    pub(super) fn run_in_guest(
        &self,
        far: &Far,
        ask: &SockSpec,
        stop: &AtomicBool,
    ) -> Result<Ran, Problem> {
        let Between::Guests(path) = &self.between else {
            return Err(failed("there is no guest for the client"));
        };
        let test = Test {
            to: far.address.clone(),
            token: far.token.text().to_owned(),
            ask: ask.clone(),
        };
        let test = serde_json::to_value(test).map_err(failed)?;
        let limit = ask.duration() + REPORT_LIMIT;
        let stopped = || stop.load(Ordering::Relaxed);
        let done = match path.work(CLIENT, test, limit, &stopped) {
            Err(_) if stopped() => {
                return Ok(Ran {
                    ending: Ending::Interrupted,
                    client: EndReport::default(),
                    server: None,
                });
            }
            done => done.map_err(missing)?,
        };
        match serde_json::from_value(done).map_err(failed)? {
            Outcome::Failed { why, remedy } => Err(match remedy {
                Some(remedy) => lacks(ProblemCode::PeerRefuses, why, &Remedy::here(remedy)),
                None => failed(why),
            }),
            Outcome::Ran {
                ending,
                client,
                server,
            } => Ok(Ran {
                ending,
                client: *client,
                server: server.map(|report| *report),
            }),
        }
    }

    /// What to say when the far end has gone.
    pub(super) fn lost(&self) -> Problem {
        let counters = match &self.between {
            Between::Bridge(_) => None,
            Between::Path(path) => Some(path.counters()),
            Between::Guests(path) => Some(path.counters()),
        };
        if let Some(Err(error)) = counters {
            return failed(format!("the far end went away during the test: {error}"));
        }
        lacks(
            ProblemCode::PathFailed,
            "the far end went away during the test",
            &Remedy::here("look at the kernel's log"),
        )
    }
}

/// Number of the guest's addresses; the client has the one before.
const GUEST: u8 = 2;
/// Number of the addresses of a client's guest: above those of neighbours.
const FROM: u8 = 250;
/// The client's guest, behind the server's.
const CLIENT: usize = 1;
/// Longest wait for a guest's result beyond the time of its test.
const REPORT_LIMIT: Duration = Duration::from_secs(40);

/// The address with this number, see [`EndpointSite::address`].
fn address(family: Family, number: u8) -> IpAddr {
    match family {
        Family::Ipv4 => EndpointSite::ipv4(number),
        Family::Ipv6 => EndpointSite::ipv6(number),
    }
}

/// A namespace at one end, a guest at the other.
fn guest(
    making: &mut Making<'_>,
    ask: VmConfig,
    pairs: u32,
    from_guest: bool,
) -> Result<Stage, Problem> {
    let token = Token::random().map_err(failed)?;
    let ipv6 = making.ipv6;
    let end = |number: u8| {
        let mut addresses = vec![(address(Family::Ipv4, number), 24)];
        if ipv6 {
            addresses.push((address(Family::Ipv6, number), 64));
        }
        Serve {
            addresses,
            port: PORT,
            token: token.text().to_owned(),
        }
    };
    let mut serve = vec![end(GUEST)];
    if from_guest {
        serve.push(end(FROM));
    }
    let largest = FrameSize::new(LARGEST).map_err(failed)?;
    let switch = ask.switch;
    let (stop, observer) = (making.stop, making.observer);
    let path = making
        .guests
        .serving(ask, &serve, (largest, pairs), stop, observer);
    let mut path = path.map_err(|error| refused(error.into()))?;
    let neighbours = beside(&mut path, pairs);
    let client = near(&path, ipv6)?;
    let mut notes = path.facts().notes.clone();
    if path
        .facts()
        .middle
        .as_ref()
        .is_some_and(|middle| middle.userspace)
    {
        notes.push(carried_whole(format!("guest on {switch}")));
    }
    Ok(Stage {
        client,
        far: FarEnd::Guest { ipv6, token },
        neighbours,
        shared_host: false,
        notes,
        between: Between::Guests(Box::new(path)),
    })
}

/// A namespace at either end, of which the far one stands for a guest.
fn namespace(making: &mut Making<'_>, ask: VmConfig, pairs: u32) -> Result<Stage, Problem> {
    let ipv6 = making.ipv6;
    let path = NetnsPath::build(&NetnsSpec {
        ask,
        stations: Vec::new(),
        largest_frame: FrameSize::new(LARGEST).map_err(failed)?,
        path_cpus: builder::path_cpus(making.placement),
        serves: true,
        neighbours: pairs,
    });
    let mut path = path.map_err(|error| refused(error.into()))?;
    let neighbours = beside(&mut path, pairs);
    let client = near(&path, ipv6)?;
    let (ns, name) = path
        .end()
        .ok_or_else(|| refused(PathError::Stopped.into()))?;
    if ipv6 {
        sysctl::enable_ipv6(ns).map_err(missing)?;
    }
    let far = EndpointSite::address(ns.clone(), name, GUEST);
    Ok(Stage {
        client,
        far: FarEnd::Site(far.map_err(missing)?),
        neighbours,
        shared_host: true,
        notes: path.facts().notes.clone(),
        between: Between::Path(Box::new(path)),
    })
}

/// The client's end of a path to a guest.
fn near(path: &dyn Path, ipv6: bool) -> Result<EndpointSite, Problem> {
    let near = &path.ports()[0];
    match &path.facts().middle {
        Some(middle) if middle.userspace => {
            features(&middle.ns, &["d0"], &[("rx-gro", false)])?;
            whole_frames(near)?;
        }
        _ if path.facts().coupling != nicety_paths::Coupling::Unknown => {
            segmentation(&near.ns, &near.name)?;
        }
        _ => {}
    }
    let name = tagged(path, near)?;
    if ipv6 {
        sysctl::enable_ipv6(&near.ns).map_err(missing)?;
    }
    let client = EndpointSite::address(near.ns.clone(), &name, GUEST - 1);
    client.map_err(missing)
}

/// Pairs on the same switch: without them the other tests can run all the same.
fn beside(path: &mut dyn Path, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, Problem> {
    match pairs {
        0 => Ok(Vec::new()),
        _ => add_neighbours(path, pairs).map_err(|e| refused(e.into())),
    }
}

/// Why a path cannot be had.
fn refused(error: SetupError) -> Problem {
    error.problem()
}

/// Both ends of a path that is made for frames, other than the bridge.
fn made_for_frames(making: &Making<'_>, cell: &SockCell, pairs: u32) -> Result<Stage, Problem> {
    let mut built = ends::path(&cell.path, cell.family, making.placement)?;
    let neighbours = beside(built.path.as_mut(), pairs);
    let [client, server] = built.ends(making.ipv6)?;
    Ok(Stage {
        client,
        far: FarEnd::Site(server),
        neighbours,
        shared_host: true,
        notes: built.notes,
        between: Between::Path(built.path),
    })
}

/// The kernel has no IPv6, or keeps it from these interfaces.
pub(super) fn no_ipv6() -> Problem {
    lacks(
        ProblemCode::KernelLacks,
        "this kernel gives interfaces no IPv6 addresses",
        &Remedy::plan("write family = \"ipv4\""),
    )
}
