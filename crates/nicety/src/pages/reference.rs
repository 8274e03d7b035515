//! The reference of the command line in the documentation, made of the command line's own
//! definition. `make golden` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use clap::{Arg, Command, CommandFactory};

use crate::cli::{Cli, heading};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");

const HEAD: &str = "# Command line reference\n\nEvery command with its options, as `nicety COMMAND --help` and \
the manual pages print them.\nThis page is generated. Examples in context: the guides.\n";

/// Signs that Markdown takes for its own, and line ends.
fn plain(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.replace('<', "\\<").replace('*', "\\*")
}

/// `--out DIR`, `-o`, or `PLAN`.
fn names(arg: &Arg) -> String {
    let mut names: Vec<String> = arg
        .get_short()
        .map(|short| format!("-{short}"))
        .into_iter()
        .collect();
    names.extend(arg.get_long().map(|long| format!("--{long}")));
    let values = arg.get_value_names().into_iter().flatten();
    let values: Vec<&str> = values
        .filter(|_| arg.get_action().takes_values())
        .map(clap::builder::Str::as_str)
        .collect();
    let values = values.join(" ");
    if names.is_empty() {
        format!("`{values}`")
    } else if arg.is_require_equals_set() {
        format!("`{}[={values}]`", names.join("`, `"))
    } else {
        format!("`{} {values}", names.join("`, `"))
            .trim_end()
            .to_owned()
            + "`"
    }
}

/// Arguments that help shows, but for help itself.
fn shown(command: &Command) -> Vec<&Arg> {
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    command.get_arguments().filter(shown).collect()
}

/// Options that several commands have in the same words, each with the number of commands.
fn repeated(command: &Command, found: &mut BTreeMap<String, usize>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let own = shown(sub).into_iter();
        let own = own.filter(|arg| arg.get_help_heading() != Some(heading::GLOBAL));
        for arg in own.filter(|arg| arg.get_long().is_some()) {
            *found.entry(argument(arg)).or_default() += 1;
        }
        repeated(sub, found);
    }
}

/// Arguments in their groups, one to a list item. What every command takes stands once, at the top, and so do `shared`
/// options.
fn arguments(command: &Command, top: bool, shared: &[String], out: &mut String) {
    let group = |arg: &Arg| arg.get_help_heading().unwrap_or("Options").to_owned();
    let (others, all): (Vec<_>, Vec<_>) = shown(command)
        .into_iter()
        .partition(|arg| shared.contains(&argument(arg)));
    let mut groups: Vec<String> = Vec::new();
    for arg in &all {
        if !groups.contains(&group(arg)) {
            groups.push(group(arg));
        }
    }
    groups.sort_by_key(|name| heading::ORDER.iter().position(|known| known == name));
    for title in groups
        .iter()
        .filter(|title| top || *title != heading::GLOBAL)
    {
        writeln!(out, "\n{title}:\n").unwrap();
        for arg in all.iter().filter(|arg| group(arg) == *title) {
            out.push_str(&argument(arg));
        }
    }
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|arg| long(arg)).collect();
        writeln!(out, "\n[Shared](#shared): {}", names.join(", ")).unwrap();
    }
}

fn long(arg: &Arg) -> String {
    format!("`--{}`", arg.get_long().unwrap_or_default())
}

/// An argument, with a line for each word that it takes.
fn argument(arg: &Arg) -> String {
    let mut out = String::new();
    let help = arg.get_long_help().or(arg.get_help());
    let help = help
        .map(|help| plain(&help.to_string()))
        .unwrap_or_default();
    write!(out, "- {}: {help}", names(arg)).unwrap();
    let takes = arg.get_action().takes_values();
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<_> = defaults.filter_map(|value| value.to_str()).collect();
    if !defaults.is_empty() && !arg.is_hide_default_value_set() && takes {
        let stop = if help.ends_with(['.', '?']) { "" } else { "." };
        write!(out, "{stop} Default: `{}`.", defaults.join(" ")).unwrap();
    }
    out.push('\n');
    if !takes || arg.is_hide_possible_values_set() {
        return out;
    }
    for value in arg.get_possible_values() {
        let help = value.get_help().map(|help| plain(&help.to_string()));
        let help = help.map(|help| format!(": {help}")).unwrap_or_default();
        writeln!(out, "  - `{}`{help}", value.get_name()).unwrap();
    }
    out
}

/// The section of `command`, called `name`, and those of its commands.
fn sections(command: &Command, name: &str, shared: &[String], out: &mut String) {
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    writeln!(out, "\n## {name}\n\n{}\n", plain(&about)).unwrap();
    let usage = command.clone().bin_name(name).render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    writeln!(out, "```text\n{usage}\n```").unwrap();
    let top = name == "nicety";
    arguments(command, top, shared, out);
    // What a group's help shows, its commands show too.
    let group = command.get_subcommands().any(|sub| !sub.is_hide_set());
    let group = !top && group && command.get_positionals().next().is_none();
    let after = command.get_after_long_help().or(command.get_after_help());
    if let Some(after) = after.filter(|_| !group) {
        writeln!(out, "\n```text\n{after}\n```").unwrap();
    }
    if top {
        let options = shared.concat();
        writeln!(
            out,
            "\n### Shared\n\nOptions that several commands have:\n\n{options}"
        )
        .unwrap();
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        sections(sub, &format!("{name} {}", sub.get_name()), shared, out);
    }
}

#[test]
fn the_reference_of_commands_is_theirs() {
    let mut text = HEAD.to_owned();
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut found = BTreeMap::new();
    repeated(&command, &mut found);
    found.retain(|_, commands| *commands > 1);
    let shared: Vec<String> = found.into_keys().collect();
    sections(&command, "nicety", &shared, &mut text);
    if std::env::var_os("NICETY_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(FILE, text).unwrap();
        return;
    }
    let there = fs::read_to_string(FILE).unwrap_or_default();
    let differs = there
        .lines()
        .zip(text.lines())
        .find(|(old, new)| old != new);
    assert!(
        there == text,
        "docs/reference/cli.md is not what make golden writes; first difference: {differs:?}"
    );
}
