//! The live view as a page: the same board, asked for by a browser.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hyper::StatusCode;
use serde::Serialize;

use super::board::Board;
use super::lock;
use crate::exit::Failure;
use crate::web::{self, Answer};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = concat!(
    include_str!("../../web/base.css"),
    include_str!("page/page.css")
);
const SCRIPT: &str = concat!(
    include_str!("../../web/base.js"),
    include_str!("page/page.js")
);

/// What the page asks for.
#[derive(Serialize)]
struct News<'a> {
    plan: &'a str,
    elapsed_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_s: Option<f64>,
    board: &'a Board,
}

/// Begins to serve the board on a thread of its own.
pub fn serve(
    listener: TcpListener,
    plan: String,
    board: Arc<Mutex<Board>>,
    started: Instant,
) -> Result<(), Failure> {
    web::serve(listener, &[], move |request| match request.uri().path() {
        "/" => web::page("text/html; charset=utf-8", PAGE),
        "/page.css" => web::page("text/css; charset=utf-8", STYLE),
        "/page.js" => web::page("text/javascript; charset=utf-8", SCRIPT),
        "/state.json" => news(&plan, &board, started),
        _ => web::text(
            StatusCode::NOT_FOUND,
            "not here; see / and /state.json\n".to_owned(),
        ),
    })
}

fn news(plan: &str, board: &Mutex<Board>, started: Instant) -> Answer {
    // A copy, so that the run never waits for a slow answer.
    let board = lock(board).clone();
    let elapsed = started.elapsed();
    let left = board.end.map(|end| end.saturating_sub(elapsed));
    web::json(&News {
        plan,
        elapsed_s: elapsed.as_secs_f64(),
        left_s: left.map(|left| left.as_secs_f64()),
        board: &board,
    })
}
