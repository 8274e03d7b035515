//! What the test asks over HTTP, and what Alertmanager tells it: a client and a server without a library, in a
//! namespace.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nicety_netdev::netns::NetNs;
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(5);

/// The JSON that a server answers; none when it does not.
pub fn get(ns: &NetNs, at: SocketAddr, path: &str) -> Option<Value> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&at, LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        // In this version of HTTP no answer comes in chunks.
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ns.run(ask).unwrap().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
}

/// A message of Alertmanager.
#[derive(Debug, Clone)]
pub struct Message {
    /// Where it was sent: `/pager`, `/team`.
    pub path: String,
    pub body: Value,
}

/// Takes messages until it is dropped.
pub struct Receiver {
    messages: Arc<Mutex<Vec<Message>>>,
    end: Arc<AtomicBool>,
    at: SocketAddr,
    ns: NetNs,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    pub fn start(ns: &NetNs, at: SocketAddr) -> Self {
        let listener = ns.run(|| TcpListener::bind(at)).unwrap().unwrap();
        let messages: Arc<Mutex<Vec<Message>>> = Arc::default();
        let end = Arc::new(AtomicBool::new(false));
        let (taken, ending) = (Arc::clone(&messages), Arc::clone(&end));
        let thread = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if ending.load(Ordering::Relaxed) {
                    return;
                }
                // A connection that breaks is tried again by who made it.
                if let Ok(message) = take(&stream) {
                    taken.lock().unwrap().push(message);
                }
            }
        });
        Self {
            messages,
            end,
            at,
            ns: ns.clone(),
            thread: Some(thread),
        }
    }

    pub fn messages(&self) -> Vec<Message> {
        self.messages.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        // Wakes it.
        let _ = self.ns.run(|| TcpStream::connect(self.at));
        let _ = self.thread.take().unwrap().join();
    }
}

/// Reads one request and answers it.
fn take(mut stream: &TcpStream) -> std::io::Result<Message> {
    stream.set_read_timeout(Some(LIMIT))?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )?;
    let body = serde_json::from_slice(&body)?;
    Ok(Message { path, body })
}
