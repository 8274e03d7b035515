//! Where a web server listens: an address, or a socket in the file system.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;

use tokio::io::{AsyncRead, AsyncWrite};

/// Words before the path of a socket.
const UNIX: &str = "unix:";

/// Where to listen, as in `127.0.0.1:9471` or `unix:/run/nicety/http.sock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAt {
    /// An address.
    Tcp(SocketAddr),
    /// A socket's absolute path.
    Unix(PathBuf),
}

impl FromStr for ListenAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(UNIX) {
            return if path.starts_with('/') && path.len() <= 107 {
                Ok(Self::Unix(path.into()))
            } else {
                Err(format!(
                    "{text:?} names no absolute path of at most 107 bytes; write one as in unix:/run/nicety/http.sock"
                ))
            };
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            format!(
                "{text:?} is not an address with a port; write one as in 127.0.0.1:9471, [::]:9471 or unix:/run/nicety/http.sock"
            )
        })
    }
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// What listens.
#[derive(Debug)]
pub enum Listener {
    /// At an address.
    Tcp(TcpListener),
    /// At a path.
    Unix(UnixListener),
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::Tcp(listener)
    }
}

/// The same, in a runtime.
pub(super) enum Registered {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

/// A connection, whatever it came through.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Listener {
    /// For the runtime of the calling thread.
    pub(super) fn register(self) -> io::Result<Registered> {
        Ok(match self {
            Self::Tcp(tcp) => Registered::Tcp(tokio::net::TcpListener::from_std(tcp)?),
            Self::Unix(unix) => Registered::Unix(tokio::net::UnixListener::from_std(unix)?),
        })
    }
}

impl Registered {
    /// The next connection and whose it is: its address, or one that stands for a user of this host.
    pub(super) async fn accept(&self) -> io::Result<(Box<dyn Stream>, IpAddr)> {
        match self {
            Self::Tcp(tcp) => {
                let (stream, peer) = tcp.accept().await?;
                Ok((Box::new(stream), peer.ip()))
            }
            Self::Unix(unix) => {
                let (stream, _) = unix.accept().await?;
                let user = stream.peer_cred()?.uid();
                Ok((Box::new(stream), Ipv4Addr::from_bits(user).into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_or_a_path() {
        for text in ["127.0.0.1:9471", "[::]:9471", "unix:/run/nicety/http.sock"] {
            assert_eq!(text.parse::<ListenAt>().unwrap().to_string(), text);
        }
        let long = format!("unix:/{}", "x".repeat(107));
        for text in ["", "9471", "unix:", "unix:http.sock", &long, "/run/x"] {
            let said = text.parse::<ListenAt>().unwrap_err();
            assert!(said.contains("unix:/run/nicety/http.sock"), "{said}");
        }
    }
}
