//! Links that begin anew. Some drivers stop their port when an XDP program or an AF_XDP socket comes or
//! goes (igb, ixgbe): seconds pass until it carries frames again, and whoever sends meanwhile, sends
//! nothing (`pktgen_xmit` gives the device up for good).

use std::time::{Duration, Instant};

use nicety_netdev::link::{Link, Links};
use nicety_netdev::netns::NetNs;
use nicety_paths::PathError;
use nicety_port::Stop;

use crate::event::{Event, Observer, Stage};
use crate::setup_error::SetupError;

/// Longest time for hardware to agree with its neighbour on speed and mode.
const NEGOTIATION: Duration = Duration::from_secs(30);
/// The same where there is nothing to agree on: the kernel tells of a change within a second
/// (`linkwatch_schedule_work` in net/core/link_watch.c).
const NO_NEGOTIATION: Duration = Duration::from_secs(2);
/// Waits shorter than this are not worth a word.
const QUIETLY: Duration = Duration::from_secs(1);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until every one of `ports` that is set up has a link; `observer` is told when that takes time. A port
/// that is not there, or down, is left to whoever opens it.
///
/// # Errors
/// The port that has none after half a minute; [`PathError::Stopped`].
pub fn wait(
    ports: &[(&NetNs, &str)],
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<(), SetupError> {
    let begun = Instant::now();
    let mut reported = false;
    for (ns, name) in ports {
        let links = Links::open(ns)?;
        while let Some(longest) = links.get(name).ok().as_ref().and_then(longest) {
            let waited = begun.elapsed();
            if stop.is_set() {
                return Err(PathError::Stopped.into());
            }
            if waited >= longest {
                let name = (*name).to_owned();
                return Err(PathError::NoCarrier { name }.into());
            }
            if !reported && waited >= QUIETLY && longest > NO_NEGOTIATION {
                observer.on(Event::Stage(Stage::Link {
                    port: name,
                    at_most: longest - waited,
                }));
                reported = true;
            }
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// The same for two interfaces of this thread's namespace.
///
/// # Errors
/// Those of [`wait`].
pub fn wait_here(a: &str, b: &str, stop: &Stop, observer: &dyn Observer) -> Result<(), SetupError> {
    let here = NetNs::current()?;
    wait(&[(&here, a), (&here, b)], stop, observer)
}

/// How long a link is worth waiting for; `None` when there is nothing to wait for.
fn longest(link: &Link) -> Option<Duration> {
    // Interfaces made of software have a kind.
    let limit = match link.kind.as_str() {
        "" => NEGOTIATION,
        _ => NO_NEGOTIATION,
    };
    (link.up && !link.is_running()).then_some(limit)
}
