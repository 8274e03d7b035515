//! What is printed, how much of it, and in which colours.

use clap::{Args, ValueEnum};

use super::heading;

/// What every command takes.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = heading::GLOBAL)]
pub struct GlobalArgs {
    /// Print the result and errors only: no progress, no hints.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print reasons and details too.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Use colours.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_default_value = true
    )]
    pub color: When,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set; elsewhere if CLICOLOR_FORCE is.
    #[default]
    Auto,
    /// Even into a pipe or a file.
    Always,
    /// Not at all.
    Never,
}

/// The format of what goes to standard output, for commands with tables.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = heading::OUTPUT)]
pub struct FormatArgs {
    /// Print the result in this format.
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "json")]
    format: Option<Format>,
    /// Print one JSON object on standard output.
    #[arg(short, long)]
    json: bool,
    /// Leave out the header of the table or of the CSV.
    #[arg(long, conflicts_with = "json")]
    no_header: bool,
}

/// Formats of standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for a terminal.
    #[default]
    Table,
    /// One JSON object.
    Json,
    /// A row per line, with a header.
    Csv,
    /// Markdown.
    Md,
}

impl FormatArgs {
    /// The format asked for.
    pub fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            self.format.unwrap_or_default()
        }
    }

    /// Whether a format was asked for.
    pub fn given(&self) -> bool {
        self.json || self.format.is_some()
    }

    /// Whether tables and CSV have their header.
    pub fn header(&self) -> bool {
        !self.no_header
    }
}

/// JSON or not, for commands without tables.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = heading::OUTPUT)]
pub struct JsonArgs {
    /// Print one JSON object on standard output.
    #[arg(short, long)]
    pub json: bool,
}
