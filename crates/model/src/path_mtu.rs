//! Test of whether a path carries packets of a size: the request and its result.

use std::fmt;
use std::net::IpAddr;

/// Result for packets that must not be fragmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// The peer answered.
    Yes,
    /// No answer.
    Silent,
    /// A router, or this host's own interface, said that they are too long.
    TooLong {
        /// The longest packet that it takes in bytes, when it said so.
        takes: Option<u32>,
    },
}

/// One size tried towards a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathProbe {
    /// Address of the peer.
    pub peer: IpAddr,
    /// Length of the packets in bytes, IP header included: what an MTU counts.
    pub bytes: u32,
    /// Result.
    pub carried: Carried,
}

impl fmt::Display for PathProbe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, bytes, .. } = self;
        match self.carried {
            Carried::Yes => write!(out, "{peer} answers packets of {bytes} bytes"),
            Carried::Silent => write!(out, "{peer} answers no packet of {bytes} bytes"),
            Carried::TooLong { takes: Some(takes) } => write!(
                out,
                "the path to {peer} takes {takes} bytes, not packets of {bytes}"
            ),
            Carried::TooLong { takes: None } => {
                write!(out, "the path to {peer} takes no packets of {bytes} bytes")
            }
        }
    }
}
