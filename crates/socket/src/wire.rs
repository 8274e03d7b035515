//! Messages of the control connection and how they are framed.
//!
//! A frame is `NCTY`, the length of what follows (four bytes, big-endian) and one JSON object.
//! The length is checked before anything is allocated, every read has a limit in time.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nicety_model::sock::{EndReport, SockSpec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::token::{Nonce, Proof};

/// Version of the protocol; raised when either side would misunderstand the other.
pub const PROTOCOL: u32 = 2;

const MAGIC: [u8; 4] = *b"NCTY";
/// Largest message a server takes: orders are small.
pub(crate) const LARGEST_ORDER: usize = 4 << 10;
/// Largest message a client takes: an hour's time line has 3600 lines of some 200 bytes.
pub(crate) const LARGEST_REPORT: usize = 4 << 20;

/// What a client says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "say")]
pub(crate) enum ToServer {
    /// First message. `token` stays empty: protocol 1 had it here, and its servers want the key to read
    /// which protocol this is.
    Hello {
        protocol: u32,
        version: String,
        #[serde(default)]
        token: String,
    },
    /// Answers the challenge.
    Proof { nonce: Nonce, proof: Proof },
    /// Prepare this test.
    Order {
        #[serde(rename = "ask")]
        spec: SockSpec,
    },
    /// All flows are there: begin.
    Go,
    /// The test is over: say what you counted.
    Stop,
}

/// What a server says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "say")]
pub(crate) enum ToClient {
    /// Show that you know the token.
    Challenge { nonce: Nonce },
    /// The client may give orders; the server knows the token too.
    Welcome {
        version: String,
        host_id: String,
        proof: Proof,
    },
    /// Wrong token.
    WrongToken,
    /// Another protocol.
    WrongProtocol { protocol: u32, version: String },
    /// Connect the flows to this port; each says the key first.
    Ready { port: u16, key: [u8; 16] },
    /// All flows have come.
    Joined,
    /// The server's clock runs.
    Going,
    /// The end.
    Report { report: Box<EndReport> },
    /// It cannot be done.
    Failed {
        why: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        remedy: Option<String>,
    },
}

/// Random bytes from the kernel.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    if got == N {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Why no message came.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// Nothing, or not all of it, within the time.
    Late,
    /// The peer closed the connection.
    Closed,
    /// Not a message of ours.
    Garbage(String),
}

/// Sends a message within `limit`.
pub(crate) fn write(
    stream: &TcpStream,
    message: &impl Serialize,
    limit: Duration,
) -> io::Result<()> {
    let body = serde_json::to_vec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut frame = MAGIC.to_vec();
    frame.extend(length.to_be_bytes());
    frame.extend(body);
    stream.set_write_timeout(Some(limit))?;
    (&mut &*stream).write_all(&frame)
}

/// Reads a message of at most `largest` bytes within `limit`, however slowly it trickles in.
pub(crate) fn read<T: DeserializeOwned>(
    stream: &TcpStream,
    largest: usize,
    limit: Duration,
) -> Result<T, ReadError> {
    let end = Instant::now() + limit;
    let mut head = [0; 8];
    fill(stream, &mut head, end)?;
    if head[..4] != MAGIC {
        let text = String::from_utf8_lossy(&head).escape_debug().to_string();
        return Err(ReadError::Garbage(format!("it said {text:?}")));
    }
    let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize;
    if length > largest {
        return Err(ReadError::Garbage(format!(
            "a message of {length} bytes, at most {largest} are taken"
        )));
    }
    let mut body = vec![0; length];
    fill(stream, &mut body, end)?;
    serde_json::from_slice(&body)
        .map_err(|error| ReadError::Garbage(format!("a message that means nothing here: {error}")))
}

fn fill(stream: &TcpStream, mut into: &mut [u8], end: Instant) -> Result<(), ReadError> {
    while !into.is_empty() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(ReadError::Late);
        }
        match (&mut &*stream).read(into) {
            Ok(0) => return Err(ReadError::Closed),
            Ok(got) => into = &mut into[got..],
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Err(ReadError::Late),
                io::ErrorKind::Interrupted => {}
                _ => return Err(ReadError::Closed),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const SHORT: Duration = Duration::from_millis(200);

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn messages_come_back() {
        let (near, far) = pair();
        write(&near, &ToServer::Go, SHORT).unwrap();
        write(&near, &ToServer::Stop, SHORT).unwrap();
        let first: ToServer = read(&far, LARGEST_ORDER, SHORT).unwrap();
        let second: ToServer = read(&far, LARGEST_ORDER, SHORT).unwrap();
        assert!(matches!((first, second), (ToServer::Go, ToServer::Stop)));
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        let huge = [MAGIC.as_slice(), &u32::MAX.to_be_bytes()].concat();
        let odd = [MAGIC.as_slice(), &2_u32.to_be_bytes(), b"{}"].concat();
        for (sent, close, expected) in [
            (b"SSH-2.0-OpenSSH".as_slice(), false, "garbage"),
            (&huge, false, "garbage"),
            (&odd, false, "garbage"),
            (b"", true, "closed"),
            (b"NCTY\0\0", true, "closed"),
            (b"", false, "late"),
            (b"NCTY\0\0\0\x09{", false, "late"),
        ] {
            let (mut near, far) = pair();
            near.write_all(sent).unwrap();
            if close {
                near.shutdown(std::net::Shutdown::Write).unwrap();
            }
            let word = match read::<ToServer>(&far, LARGEST_ORDER, SHORT) {
                Err(ReadError::Garbage(_)) => "garbage",
                Err(ReadError::Closed) => "closed",
                Err(ReadError::Late) => "late",
                Ok(_) => "message",
            };
            assert_eq!(word, expected, "{sent:?}");
        }
    }
}
