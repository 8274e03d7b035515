//! What the daemon says over HTTP: metrics for Prometheus, health, a live page. It only reads
//! what the loop has shown.

mod gate;

use std::sync::Arc;

use anyhow::anyhow;
use hyper::{Request, StatusCode};
use nicety_host::clock;
use nicety_police::Explanation;
use nicety_police::report::State;
use nicety_policed::board::{Board, HistoryPoint};
use nicety_policed::guests::Place;
use nicety_policed::metrics;
use serde::Serialize;

use crate::exit::Failure;
use crate::exposition;
use crate::web::{self, Answer, ListenAt, Listener, Tls, page, text, with};
pub use gate::Gate;

const PAGE: &str = include_str!("serve/page.html");
const STYLE: &str = concat!(
    include_str!("../web/base.css"),
    include_str!("serve/page.css")
);
const SCRIPT: &str = concat!(
    include_str!("../web/base.js"),
    include_str!("../web/chart.js"),
    include_str!("serve/history.js"),
    include_str!("serve/page.js")
);

/// What the page asks for.
#[derive(Serialize)]
struct LiveUpdate<'a> {
    /// When the last period ended, in seconds since 1970 by this host's clock.
    ended_unix_s: f64,
    /// How long ago that was, in seconds.
    age_s: f64,
    state: &'a State,
    /// What keeps each tenant from more, as `nicety police status` says it.
    held_by: Vec<String>,
    history: Vec<&'a HistoryPoint>,
}

/// What is served, and to whom.
pub struct Serve<'a> {
    /// Where to listen.
    pub at: &'a ListenAt,
    /// Host names of requests that are answered too.
    pub names: &'a [String],
    /// Who may look.
    pub gate: Gate,
    /// How nobody else reads along.
    pub tls: Option<Tls>,
}

/// A server's place; its socket, where it has one, goes when this is dropped.
#[derive(Debug)]
pub struct Served {
    /// Where it listens, for users.
    pub at: ListenAt,
    place: Option<Place>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.place.iter().for_each(Place::remove);
    }
}

/// Begins to serve.
pub fn start(serve: Serve<'_>, board: Arc<Board>) -> Result<Served, Failure> {
    let (listener, served) = listen(serve.at)?;
    let gate = serve.gate;
    web::serve(listener, serve.names, serve.tls, move |request| {
        gate.refuses(request)
            .unwrap_or_else(|| answer(request, &board))
    })?;
    Ok(served)
}

fn listen(at: &ListenAt) -> Result<(Listener, Served), Failure> {
    match at {
        ListenAt::Tcp(address) => {
            let listener = web::bind(*address, "--listen")?;
            let at = listener.local_addr().map_err(Failure::environment)?;
            let at = ListenAt::Tcp(at);
            Ok((Listener::Tcp(listener), Served { at, place: None }))
        }
        ListenAt::Unix(path) => {
            let listens = Place::open(path).and_then(|place| Ok((place.listen(0, true)?, place)));
            let (listener, place) = listens.map_err(|error| {
                Failure::environment(anyhow!(
                    "cannot listen on {at}: {error}; give --listen another path or address"
                ))
            })?;
            let at = at.clone();
            let place = Some(place);
            Ok((Listener::Unix(listener), Served { at, place }))
        }
    }
}

fn answer(request: &Request<()>, board: &Board) -> Answer {
    match request.uri().path() {
        "/" => page("text/html; charset=utf-8", PAGE),
        "/page.css" => page("text/css; charset=utf-8", STYLE),
        "/page.js" => page("text/javascript; charset=utf-8", SCRIPT),
        "/uplot.css" => page("text/css; charset=utf-8", web::CHARTS_STYLE),
        "/uplot.js" => page("text/javascript; charset=utf-8", web::CHARTS),
        "/metrics" => match board.last().as_deref().map(metrics::families) {
            Some(families) => with(exposition::CONTENT_TYPE, exposition::text(families)),
            None => unready("no period has ended yet".to_owned()),
        },
        "/health" => match board.health() {
            Ok(said) => text(StatusCode::OK, format!("{said}\n")),
            Err(why) => unready(why),
        },
        "/state.json" => state(request.uri().query(), board),
        _ => text(
            StatusCode::NOT_FOUND,
            "not here; see /, /metrics, /health, /state.json\n".to_owned(),
        ),
    }
}

/// The last period and the history after `?since=SECONDS`.
fn state(query: Option<&str>, board: &Board) -> Answer {
    let Some(shown) = board.last() else {
        return unready("no period has ended yet".to_owned());
    };
    let since = query.and_then(|query| query.strip_prefix("since="));
    let since: f64 = since.and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let history = board.since(since);
    let age = shown.at.elapsed();
    let state = shown.whole();
    let update = LiveUpdate {
        ended_unix_s: clock::unix_time().saturating_sub(age).as_secs_f64(),
        age_s: age.as_secs_f64(),
        held_by: state.tenants.iter().map(Explanation::held_by).collect(),
        state: &state,
        history: history.iter().map(AsRef::as_ref).collect(),
    };
    web::json(&update)
}

fn unready(why: String) -> Answer {
    text(StatusCode::SERVICE_UNAVAILABLE, why + "\n")
}
