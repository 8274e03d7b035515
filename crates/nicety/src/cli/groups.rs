//! The commands in the groups of the README, for the first screen.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use super::Cli;

/// Groups and their commands, in the order of the screen.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Measure",
        &["probe", "bench", "sock", "load", "trace", "stateful"],
    ),
    ("Diagnose", &["inspect", "tune", "drops", "explain"]),
    ("Share", &["police", "port", "guest"]),
    ("Compare", &["report", "compare", "runs", "bisect"]),
    ("Other", &["lab", "completions"]),
];

/// The whole command line; its help shows the commands in groups.
pub fn command() -> Command {
    let command = Cli::command();
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        // A String takes everything.
        let _ = writeln!(text, "\n{title}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:<11}  {about}");
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_on_one_line() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
        for line in template(&command).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
