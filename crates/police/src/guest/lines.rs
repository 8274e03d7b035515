//! Splits a stream of bytes into lines, with memory for one line only.

use super::LONGEST;

/// Item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line longer than [`LONGEST`] began; its rest is no request.
    TooLong,
}

/// Cuts a stream into lines.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    held: Vec<u8>,
    skips: bool,
}

impl Lines {
    /// Takes bytes and returns the completed lines, in order.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut out = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' => {
                    if !std::mem::take(&mut self.skips) {
                        out.push(Line::Whole(std::mem::take(&mut self.held)));
                    }
                }
                _ if self.skips => {}
                _ if self.held.len() == LONGEST => {
                    self.held.clear();
                    self.skips = true;
                    out.push(Line::TooLong);
                }
                byte => self.held.push(*byte),
            }
        }
        out
    }
}
