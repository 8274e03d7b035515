//! The daemon's own small web server: metrics for Prometheus, health, a live page. It only reads
//! what the loop has shown, in a thread of its own, and takes nothing but GET.

mod metrics;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::sync::Semaphore;

use super::board::{Board, Point};
use super::state::State;
use crate::exit::Failure;

/// Connections at the same time; more are closed at once.
const CONNECTIONS: usize = 64;
/// A request's head must be there within, and a connection ends after: who reads nothing or
/// sends byte by byte holds a place no longer.
const HEAD: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(60);
/// Largest head of a request in bytes.
const HEAD_BYTES: usize = 16 << 10;

const PAGE: &str = include_str!("serve/page.html");
const STYLE: &str = include_str!("serve/page.css");
const SCRIPT: &str = include_str!("serve/page.js");

/// What the page asks for.
#[derive(Serialize)]
struct News<'a> {
    state: &'a State,
    history: Vec<&'a Point>,
}

/// Begins to serve; returns where.
pub fn start(address: SocketAddr, board: Arc<Board>) -> Result<SocketAddr, Failure> {
    let refuse = |error: std::io::Error| {
        Failure::environment(anyhow!(
            "cannot listen on {address}: {error}; give --listen another address or port"
        ))
    };
    let listener = TcpListener::bind(address).map_err(refuse)?;
    let at = listener.local_addr().map_err(refuse)?;
    listener.set_nonblocking(true).map_err(refuse)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::environment)?;
    // Ends with the process.
    std::thread::Builder::new()
        .name("serve".to_owned())
        .spawn(move || runtime.block_on(accept(listener, board)))
        .map_err(Failure::environment)?;
    Ok(at)
}

async fn accept(listener: TcpListener, board: Arc<Board>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptors left, most likely.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        let board = Arc::clone(&board);
        tokio::spawn(async move {
            let _place = place;
            let answer = service_fn(|request| {
                let response = answer(&request, &board);
                async { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), answer);
            // A peer that breaks off is no error of ours.
            let _ = tokio::time::timeout(WHOLE, connection).await;
        });
    }
}

fn answer(request: &Request<Incoming>, board: &Board) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
        let allowed = HeaderValue::from_static("GET, HEAD");
        refused.headers_mut().insert(ALLOW, allowed);
        return refused;
    }
    match request.uri().path() {
        "/" => page("text/html; charset=utf-8", PAGE),
        "/page.css" => page("text/css; charset=utf-8", STYLE),
        "/page.js" => page("text/javascript; charset=utf-8", SCRIPT),
        "/metrics" => match board.last().as_deref().map(metrics::render) {
            Some(body) => with(
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                body,
            ),
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
fn state(query: Option<&str>, board: &Board) -> Response<Full<Bytes>> {
    let Some(shown) = board.last() else {
        return unready("no period has ended yet".to_owned());
    };
    let since = query.and_then(|query| query.strip_prefix("since="));
    let since: f64 = since.and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let history = board.since(since);
    let news = News {
        state: &shown.state,
        history: history.iter().map(AsRef::as_ref).collect(),
    };
    match serde_json::to_string(&news) {
        Ok(body) => with("application/json", body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn unready(why: String) -> Response<Full<Bytes>> {
    text(StatusCode::SERVICE_UNAVAILABLE, why + "\n")
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = with("text/plain; charset=utf-8", body);
    *response.status_mut() = status;
    response
}

/// A part of the page, which may load and run what the daemon serves and nothing else.
fn page(kind: &'static str, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = with(kind, body);
    let policy = "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; \
        img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let policy = HeaderValue::from_static(policy);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn with(kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
