//! What is measured, in the same words in every command that measures a path.

use std::path::PathBuf;

use clap::Args;

use super::heading;

/// What is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::WHAT)]
pub struct WhatArgs {
    /// A plan, two interfaces of this host, or a plan and the interfaces that replace its paths.
    /// Default: a kernel bridge made for it.
    #[arg(value_name = "PLAN|A B", num_args = 0..=3)]
    words: Vec<String>,
    /// Make a path of this kind, with keys as a plan has them: vlan-bridge,tagging=filtering.
    #[arg(long, value_name = "KIND")]
    pub path: Option<String>,
}

impl WhatArgs {
    /// The file of the plan.
    pub fn plan(&self) -> Option<PathBuf> {
        let named = matches!(self.words.len(), 1 | 3);
        self.words.first().filter(|_| named).map(PathBuf::from)
    }

    /// Both interfaces.
    pub fn ports(&self) -> Option<[&str; 2]> {
        match self.words.as_slice() {
            [a, b] | [_, a, b] => Some([a, b]),
            _ => None,
        }
    }

    /// Whether anything is named.
    pub fn given(&self) -> bool {
        !self.words.is_empty() || self.path.is_some()
    }
}
