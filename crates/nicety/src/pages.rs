//! Manual pages and shell completions, made of the command line's own definition.

#[cfg(test)]
mod reference;
#[cfg(test)]
mod rules;

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::exit::{Exit, Failure};
use crate::output;

/// Writes the completions of a shell to standard output.
pub fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut visible(&Cli::command()), "nicety", &mut text);
    output::print_as("the completions", &String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// The command without the commands that help hides: shells would offer them.
fn visible(command: &Command) -> Command {
    let name = command.get_name().to_owned();
    let below = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let mut shown = Command::new(name)
        .about(command.get_about().cloned().unwrap_or_default())
        .args(command.get_arguments())
        .groups(command.get_groups())
        .subcommands(below.map(visible));
    if let Some(version) = command.get_version() {
        shown = shown.version(version.to_owned());
    }
    shown
}

/// Writes a manual page for every command into `dir`.
pub fn manual(dir: &Path) -> Result<Exit, Failure> {
    fs::create_dir_all(dir)
        .and_then(|()| pages(&Cli::command().disable_help_subcommand(true), "nicety", dir))
        .with_context(|| format!("cannot write manual pages to {}", dir.display()))
        .map_err(Failure::environment)?;
    Ok(Exit::Done)
}

/// The page of `command`, called `name`, and those of its commands: `nicety-police-run.1`.
fn pages(command: &Command, name: &str, dir: &Path) -> io::Result<()> {
    let of_command = command
        .clone()
        .name(name.to_owned())
        .display_name(name.to_owned())
        .bin_name(name.replace('-', " "));
    let mut text = Vec::new();
    Man::new(of_command).render(&mut text)?;
    fs::write(dir.join(format!("{name}.1")), text)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        pages(sub, &format!("{name}-{}", sub.get_name()), dir)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_programs_call_is_not_completed() {
        let mut text = Vec::new();
        let mut command = visible(&Cli::command());
        command.build();
        clap_complete::generate(Shell::Bash, &mut command, "nicety", &mut text);
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("plan apply undo status persist help\""),
            "{text}"
        );
        assert!(text.contains("--version") && text.contains("--fix-risk"));
    }
}
