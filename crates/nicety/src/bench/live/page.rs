//! The live view as a page: the same board, asked for by a browser.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use nicety_host::clock;
use nicety_report::live::board::Board;
use nicety_report::live::metrics::families;
use nicety_report::live::{Words, words};
use serde::Serialize;

use crate::exit::Failure;
use crate::exposition;
use crate::web::{self, Answer, page, with};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = concat!(
    include_str!("../../web/base.css"),
    include_str!("page/page.css")
);
const SCRIPT: &str = concat!(
    include_str!("../../web/base.js"),
    include_str!("../../web/chart.js"),
    include_str!("page/charts.js"),
    include_str!("page/page.js")
);

/// What the page asks for.
#[derive(Serialize)]
struct Update<'a> {
    plan: &'a str,
    /// This host's clock, in seconds since 1970.
    unix_s: f64,
    elapsed_s: f64,
    words: Words,
    board: &'a Board,
}

/// Begins to serve the board on a thread of its own.
pub fn serve(
    listener: TcpListener,
    plan: String,
    board: impl Fn() -> Board + Send + Sync + 'static,
    started: Instant,
) -> Result<(), Failure> {
    web::serve(listener, &[], None, move |request| {
        match request.uri().path() {
            "/" => page("text/html; charset=utf-8", PAGE),
            "/page.css" => page("text/css; charset=utf-8", STYLE),
            "/page.js" => page("text/javascript; charset=utf-8", SCRIPT),
            "/uplot.css" => page("text/css; charset=utf-8", web::CHARTS_STYLE),
            "/uplot.js" => page("text/javascript; charset=utf-8", web::CHARTS),
            "/metrics" => {
                let families = families(&board(), &plan, started.elapsed());
                with(exposition::CONTENT_TYPE, exposition::text(families))
            }
            "/state.json" => update(&plan, &board(), started.elapsed()),
            _ => web::text(
                StatusCode::NOT_FOUND,
                "not here; see /, /metrics, /state.json\n".to_owned(),
            ),
        }
    })
}

fn update(plan: &str, board: &Board, elapsed: Duration) -> Answer {
    let elapsed_s = elapsed.as_secs_f64();
    web::json(&Update {
        plan,
        unix_s: clock::unix_time().as_secs_f64(),
        elapsed_s,
        words: words(board, elapsed),
        board,
    })
}
