//! A small web server for live pages: a thread of its own that takes nothing but GET and answers
//! from what others have left for it. Everything it serves is made here; nothing is read from disk.

mod confine;
mod listener;
mod places;
mod tls;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;

use crate::exit::Failure;
pub use listener::{ListenAt, Listener};
use places::Places;
pub use tls::{Files as TlsFiles, Tls};

/// A request's head must be there within, and a connection ends after: who reads nothing or
/// sends byte by byte holds a place no longer.
const HEAD: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(60);
/// Largest head of a request in bytes.
const HEAD_BYTES: usize = 16 << 10;

/// Draws charts, for every live page, with its licence on top.
pub const CHARTS: &str = concat!(
    "/*\n",
    include_str!("web/uplot/LICENSE"),
    "*/\n",
    include_str!("web/uplot/uPlot.iife.min.js")
);
/// Style of the charts.
pub const CHARTS_STYLE: &str = include_str!("web/uplot/uPlot.min.css");

/// An answer, whole.
pub type Answer = Response<Full<Bytes>>;

/// Takes an address. What listens stays in the network namespace it was made in.
pub fn bind(address: SocketAddr, option: &str) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|error| {
        Failure::environment(anyhow!(
            "cannot listen on {address}: {error}; give {option} another address or port"
        ))
    })
}

/// Begins to serve: `answer` is given the head of a request. Requests are answered that name this
/// server by an address, as `localhost`, by this machine's host name, or by one of `names`. With `tls`
/// whoever does not speak it is not answered.
pub fn serve(
    listener: impl Into<Listener>,
    names: &[String],
    tls: Option<Tls>,
    answer: impl Fn(&Request<()>) -> Answer + Send + Sync + 'static,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::environment)?;
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy().into_owned();
    let names = names.iter().cloned().chain([own]).collect();
    let listener = listener.into();
    // Ends with the process.
    std::thread::Builder::new()
        .name("serve".to_owned())
        .spawn(move || {
            // Whoever gets at this thread gets at nothing.
            confine::confine();
            runtime.block_on(accept(listener, names, tls, Arc::new(answer)));
        })
        .map_err(Failure::environment)?;
    Ok(())
}

async fn accept<A>(listener: Listener, names: Vec<String>, tls: Option<Tls>, answer: Arc<A>)
where
    A: Fn(&Request<()>) -> Answer + Send + Sync + 'static,
{
    let Ok(listener) = listener.register() else {
        return;
    };
    let (names, places) = (Arc::new(names), Places::default());
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // No descriptors left, most likely.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (answer, names) = (Arc::clone(&answer), Arc::clone(&names));
        let tls = tls.clone();
        places.spawn(peer, async move {
            let stream = match tls {
                // A peer that only begins to greet holds its place no longer than one without a request.
                Some(tls) => match tokio::time::timeout(HEAD, tls.greet(stream)).await {
                    Ok(Ok(stream)) => stream,
                    Ok(Err(_)) | Err(_) => return,
                },
                None => stream,
            };
            let answer = service_fn(|request: Request<Incoming>| {
                let response = match *request.method() {
                    _ if !is_meant(&request, &names) => misdirected(&names),
                    Method::GET | Method::HEAD => answer(&request.map(|_| ())),
                    _ => refused(),
                };
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

/// Whether a request names this server. A page of a stranger whose name was made to point here (DNS
/// rebinding) asks by the stranger's name, and could read what is served otherwise.
fn is_meant<B>(request: &Request<B>, names: &[String]) -> bool {
    let Some(host) = request.headers().get(HOST) else {
        // No browser leaves it out.
        return true;
    };
    let Some(host) = host.to_str().ok().and_then(|host| {
        let authority: hyper::http::uri::Authority = host.parse().ok()?;
        Some(authority.host().to_owned())
    }) else {
        return false;
    };
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    literal.parse::<IpAddr>().is_ok()
        || host.eq_ignore_ascii_case("localhost")
        || names.iter().any(|name| name.eq_ignore_ascii_case(&host))
}

fn misdirected(names: &[String]) -> Answer {
    text(
        StatusCode::MISDIRECTED_REQUEST,
        format!(
            "This server does not go by that name. Ask it by its address, as localhost or as {}; \
             name=NAME behind the address of --listen adds a name.\n",
            names.join(" or ")
        ),
    )
}

fn refused() -> Answer {
    let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
    let allowed = HeaderValue::from_static("GET, HEAD");
    refused.headers_mut().insert(ALLOW, allowed);
    refused
}

/// Plain text.
pub fn text(status: StatusCode, body: String) -> Answer {
    let mut response = with("text/plain; charset=utf-8", body);
    *response.status_mut() = status;
    response
}

/// An object.
pub fn json(of: &impl Serialize) -> Answer {
    match serde_json::to_string(of) {
        Ok(body) => with("application/json", body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

/// A part of a page, which may load and run what this server has and nothing else.
pub fn page(kind: &'static str, body: &'static str) -> Answer {
    let mut response = with(kind, body);
    let policy = "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; \
        img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let policy = HeaderValue::from_static(policy);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// A body of this kind.
pub fn with(kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::new(body.into()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_that_name_this_server_are_answered() {
        let names = ["web01".to_owned()];
        for (host, meant) in [
            (Some("127.0.0.1:9471"), true),
            (Some("[::1]:9471"), true),
            (Some("[::1]"), true),
            (Some("LOCALHOST"), true),
            (Some("web01:9471"), true),
            (Some("web01.evil.example:9471"), false),
            (Some("evil.example"), false),
            (Some("localhost.evil.example"), false),
            (Some("a b"), false),
            (Some(""), false),
            (None, true),
        ] {
            let mut request = Request::builder().uri("/state.json");
            if let Some(host) = host {
                request = request.header(HOST, host);
            }
            let request = request.body(()).unwrap();
            assert_eq!(is_meant(&request, &names), meant, "{host:?}");
        }
    }
}
