//! A recorded sequence of inputs, and its replay.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::host::Remembered;
use super::node::{Input, Node, Output};
use super::settings::HostSettings;

/// How a log begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beginning {
    /// The node's settings.
    pub settings: HostSettings,
    /// What it remembered.
    pub remembered: Option<Remembered>,
}

/// One line: an input and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When (`CLOCK_BOOTTIME`).
    pub at: Duration,
    /// What happened.
    pub input: Input,
    /// What was to be done.
    pub output: Output,
}

/// Feeds a node anew. Gives the first line with another output than recorded, counted from 0, and
/// what came instead.
pub fn replay(beginning: &Beginning, lines: &[Line]) -> Option<(usize, Output)> {
    let mut node = Node::new(beginning.settings.clone(), beginning.remembered.clone());
    lines.iter().enumerate().find_map(|(index, line)| {
        let output = node.feed(line.at, &line.input);
        (output != line.output).then_some((index, output))
    })
}
