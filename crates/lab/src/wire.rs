//! The messages between `nicety lab` and the agent in the guest.
//!
//! One message is a kind (1 byte), a length (4 bytes, little endian) and that many bytes. The
//! host sends [`ToGuest`], the guest [`ToHost`].

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

/// A command to run in the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory.
    pub directory: OsString,
    /// Size of the terminal it gets; absent for plain streams.
    pub terminal: Option<Size>,
}

/// Size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters per line.
    pub columns: u16,
}

/// From host to guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToGuest {
    /// Run this. Ends what ran before on this port.
    Start(Box<Start>),
    /// Bytes of its standard input; the next may follow after [`ToHost::Took`].
    Input(Vec<u8>),
    /// End of its standard input.
    InputEnd,
    /// The terminal has another size.
    Resize(Size),
    /// A signal for its process group.
    Signal(u8),
}

/// From guest to host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToHost {
    /// It runs.
    Started,
    /// It cannot be started; one line.
    Refused(String),
    /// Bytes of its standard output.
    Output(Vec<u8>),
    /// Bytes of its standard error.
    Errors(Vec<u8>),
    /// The last [`ToGuest::Input`] has reached the command.
    Took,
    /// It exited with this code.
    Exited(u8),
    /// A signal ended it.
    Signalled(u8),
    /// All CPUs of the guest run.
    Alive,
}

/// Most bytes of a stream in one message.
pub const CHUNK: usize = 32 << 10;
/// Longest message: a command line and environment as the kernel admits them.
const LONGEST: usize = 16 << 20;
const HEADER: usize = 5;

/// Bytes that are no message.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the other side sent a message of kind {kind} and {length} bytes that cannot be understood; are both sides the same version?"
)]
pub struct WireError {
    /// Kind.
    pub kind: u8,
    /// Length in bytes.
    pub length: usize,
}

/// One direction of the wire.
pub trait Message: Sized {
    /// Kind and contents.
    fn parts(&self) -> (u8, Vec<u8>);
    /// The message of a kind and its contents; none when they do not fit.
    fn from_parts(kind: u8, contents: &[u8]) -> Option<Self>;

    /// The bytes to send.
    fn encode(&self) -> Vec<u8> {
        let (kind, contents) = self.parts();
        let length = u32::try_from(contents.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(HEADER + contents.len());
        bytes.push(kind);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&contents);
        bytes
    }
}

impl Message for ToGuest {
    fn parts(&self) -> (u8, Vec<u8>) {
        match self {
            // Strings of bytes and numbers always have a JSON form.
            Self::Start(start) => (1, serde_json::to_vec(start).unwrap_or_default()),
            Self::Input(bytes) => (2, bytes.clone()),
            Self::InputEnd => (3, Vec::new()),
            Self::Resize(size) => {
                let [a, b] = size.rows.to_le_bytes();
                let [c, d] = size.columns.to_le_bytes();
                (4, vec![a, b, c, d])
            }
            Self::Signal(number) => (5, vec![*number]),
        }
    }

    fn from_parts(kind: u8, contents: &[u8]) -> Option<Self> {
        Some(match (kind, contents) {
            (1, json) => Self::Start(Box::new(serde_json::from_slice(json).ok()?)),
            (2, bytes) => Self::Input(bytes.to_vec()),
            (3, []) => Self::InputEnd,
            (4, &[a, b, c, d]) => Self::Resize(Size {
                rows: u16::from_le_bytes([a, b]),
                columns: u16::from_le_bytes([c, d]),
            }),
            (5, &[number]) => Self::Signal(number),
            _ => return None,
        })
    }
}

impl Message for ToHost {
    fn parts(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Started => (65, Vec::new()),
            Self::Refused(why) => (66, why.as_bytes().to_vec()),
            Self::Output(bytes) => (67, bytes.clone()),
            Self::Errors(bytes) => (68, bytes.clone()),
            Self::Took => (69, Vec::new()),
            Self::Exited(code) => (70, vec![*code]),
            Self::Signalled(number) => (71, vec![*number]),
            Self::Alive => (72, Vec::new()),
        }
    }

    fn from_parts(kind: u8, contents: &[u8]) -> Option<Self> {
        Some(match (kind, contents) {
            (65, []) => Self::Started,
            (66, why) => Self::Refused(String::from_utf8_lossy(why).into_owned()),
            (67, bytes) => Self::Output(bytes.to_vec()),
            (68, bytes) => Self::Errors(bytes.to_vec()),
            (69, []) => Self::Took,
            (70, &[code]) => Self::Exited(code),
            (71, &[number]) => Self::Signalled(number),
            (72, []) => Self::Alive,
            _ => return None,
        })
    }
}

/// Puts messages together from what a stream brings.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
}

impl Decoder {
    /// Takes what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one.
    ///
    /// # Errors
    /// When the bytes are no message; nothing after them can be understood.
    pub fn message<M: Message>(&mut self) -> Result<Option<M>, WireError> {
        let Some(&[kind, a, b, c, d]) = self.bytes.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let error = WireError { kind, length };
        if length > LONGEST {
            return Err(error);
        }
        let Some(contents) = self.bytes.get(HEADER..HEADER + length) else {
            return Ok(None);
        };
        let message = M::from_parts(kind, contents).ok_or(error)?;
        self.bytes.drain(..HEADER + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn all<M: Message>(decoder: &mut Decoder) -> Vec<M> {
        std::iter::from_fn(|| decoder.message().unwrap()).collect()
    }

    #[test]
    fn messages_come_back_however_they_are_cut() {
        let start = Start {
            words: vec!["cat".into(), OsString::from_vec(vec![0xff, b'x'])],
            environment: vec![("A".into(), "b=c".into())],
            directory: "/tmp/with space".into(),
            terminal: Some(Size {
                rows: 50,
                columns: 300,
            }),
        };
        let sent = [
            ToGuest::Start(Box::new(start)),
            ToGuest::Input(vec![0, 1, 255]),
            ToGuest::Input(Vec::new()),
            ToGuest::InputEnd,
            ToGuest::Resize(Size {
                rows: 24,
                columns: 80,
            }),
            ToGuest::Signal(2),
        ];
        let bytes: Vec<u8> = sent.iter().flat_map(Message::encode).collect();
        for cut in 1..=bytes.len() {
            let mut decoder = Decoder::default();
            let mut got = Vec::new();
            for piece in bytes.chunks(cut) {
                decoder.push(piece);
                got.extend(all::<ToGuest>(&mut decoder));
            }
            assert_eq!(got, sent, "pieces of {cut}");
        }
    }

    #[test]
    fn answers_come_back() {
        let sent = [
            ToHost::Started,
            ToHost::Refused("no".into()),
            ToHost::Output(b"out".to_vec()),
            ToHost::Errors(vec![0]),
            ToHost::Took,
            ToHost::Exited(255),
            ToHost::Signalled(9),
            ToHost::Alive,
        ];
        let mut decoder = Decoder::default();
        decoder.push(&sent.iter().flat_map(Message::encode).collect::<Vec<_>>());
        assert_eq!(all::<ToHost>(&mut decoder), sent);
    }

    #[test]
    fn other_bytes_are_refused() {
        for (bytes, kind, length) in [
            (&[0, 0, 0, 0, 0][..], 0, 0),
            (&[65, 1, 0, 0, 0, 7][..], 65, 1),
            (&[67, 255, 255, 255, 255][..], 67, 0xffff_ffff),
            (b"login: root", b'l', 0x6e69_676f),
        ] {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            assert_eq!(
                decoder.message::<ToHost>(),
                Err(WireError { kind, length }),
                "{bytes:?}"
            );
        }
    }
}
