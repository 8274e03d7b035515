//! Help: every command has examples that work, options stand in groups, and sentences are short and
//! in the imperative.

use clap::{Arg, Command, CommandFactory, Parser};

use super::Cli;

/// Longest sentence, in words.
const LONGEST: usize = 25;

/// Commands that users see, each with its name from the first word on.
fn commands() -> Vec<(String, Command)> {
    fn walk(command: &Command, name: &str, all: &mut Vec<(String, Command)>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            walk(sub, &format!("{name} {}", sub.get_name()), all);
        }
        all.push((name.to_owned(), command.clone()));
    }
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut all = Vec::new();
    walk(&root, "nicety", &mut all);
    all
}

fn after(command: &Command) -> String {
    let text = command.get_after_help().map(ToString::to_string);
    text.unwrap_or_default()
}

/// Examples in the text below the help: the lines after `Examples:` that begin with the program.
fn examples(text: &str) -> Vec<&str> {
    let Some((_, below)) = text.split_once("Examples:\n") else {
        return Vec::new();
    };
    let lines = below.lines().take_while(|line| !line.is_empty());
    lines.map(str::trim_start).collect()
}

/// The command of an example without the words that explain it, and what else a shell takes from it.
fn line(example: &str) -> Vec<String> {
    // An explanation stands behind two blanks.
    let command = example.split("  ").next().unwrap();
    let command = match command.split_once("<(") {
        Some((_, inner)) => inner.trim_end_matches(')'),
        None => command,
    };
    let command = command.split([';', '|', '>']).next().unwrap();
    let command = command.split("&&").next().unwrap();
    let mut words: Vec<String> = Vec::new();
    let (mut quoted, mut open) = (false, false);
    for c in command.trim().chars() {
        match c {
            '\'' => (quoted, open) = (!quoted, true),
            ' ' if !quoted => open = false,
            c => {
                if !open {
                    words.push(String::new());
                }
                open = true;
                words.last_mut().unwrap().push(c);
            }
        }
    }
    // Variables of the environment stand before the program.
    let program = words.iter().position(|word| !word.contains('=')).unwrap();
    words.split_off(program)
}

#[test]
fn every_command_has_examples_that_parse() {
    let mut seen = 0;
    for (name, command) in commands() {
        let text = after(&command);
        let all = examples(&text);
        assert!(!all.is_empty(), "{name}: no examples in {text:?}");
        for example in all {
            let words: Vec<String> = line(example)
                .into_iter()
                .map(|word| word.replace("TOKEN", "0123456789abcdef"))
                .collect();
            assert_eq!(words[0], "nicety", "{name}: {example}");
            if words[1] == "help" {
                continue;
            }
            if let Err(error) = Cli::try_parse_from(&words) {
                panic!("{name}: {example}: {words:?}: {error}");
            }
            seen += 1;
        }
        // A command shows its own use.
        let own = command.get_subcommands().next().is_some()
            || examples(&text)
                .iter()
                .any(|example| line(example).join(" ").starts_with(&name));
        assert!(own, "{name}: no example of itself in {text}");
    }
    assert!(seen > 60, "{seen}");
}

fn sentences(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for word in text.split_whitespace() {
        let last = all.last_mut().unwrap();
        last.push_str(word);
        last.push(' ');
        if word.ends_with(['.', '?', '!', ':', ';']) {
            all.push(String::new());
        }
    }
    all
}

/// Help of an option or a command, and what stands below that of the command.
fn texts(name: &str, command: &Command) -> Vec<(String, String)> {
    let mut all = vec![(
        name.to_owned(),
        command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default(),
    )];
    for arg in shown(command) {
        all.push((format!("{name} {}", arg.get_id()), help(arg)));
        for value in arg.get_possible_values() {
            let help = value.get_help().map(ToString::to_string);
            all.push((
                format!("{name} {} {}", arg.get_id(), value.get_name()),
                help.unwrap_or_default(),
            ));
        }
    }
    let prose = after(command);
    let prose = prose.split("Examples:\n").next().unwrap_or_default();
    all.push((format!("{name}, below"), prose.to_owned()));
    all
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    let own = |arg: &&Arg| !matches!(arg.get_id().as_str(), "help" | "version");
    command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .filter(own)
}

fn help(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help());
    help.map(ToString::to_string).unwrap_or_default()
}

#[test]
fn sentences_of_help_are_short() {
    let mut long = Vec::new();
    for (name, command) in commands() {
        for (name, text) in texts(&name, &command) {
            for sentence in sentences(&text) {
                let words = sentence.split_whitespace();
                let count = words
                    .filter(|word| word.contains(char::is_alphanumeric))
                    .count();
                if count > LONGEST {
                    long.push(format!("{name}: {count} words: {sentence}"));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// First words of help: what the command or the option does for its user.
const VERBS: &[&str] = &[
    "Add",
    "Also",
    "Answer",
    "Ask",
    "Boot",
    "Change",
    "Check",
    "Compare",
    "Confirm",
    "Connect",
    "Count",
    "Delete",
    "End",
    "Exit",
    "Explain",
    "Export",
    "Fetch",
    "Find",
    "Follow",
    "Give",
    "Go",
    "Hold",
    "Ignore",
    "Judge",
    "Keep",
    "Leave",
    "Let",
    "Limit",
    "List",
    "Listen",
    "Load",
    "Look",
    "Make",
    "Measure",
    "Open",
    "Overwrite",
    "Pass",
    "Pin",
    "Print",
    "Put",
    "Read",
    "Receive",
    "Record",
    "Refuse",
    "Remove",
    "Render",
    "Repeat",
    "Require",
    "Restore",
    "Run",
    "Search",
    "Send",
    "Serve",
    "Set",
    "Share",
    "Show",
    "Skip",
    "Spend",
    "Start",
    "Stop",
    "Store",
    "Take",
    "Tell",
    "Test",
    "Try",
    "Tune",
    "Undo",
    "Use",
    "Watch",
    "Write",
    "Draw",
    "Exclude",
    "Assume",
    "Fail",
    "Name",
    "Apply",
    "Reapply",
    "Set",
    "Enable",
    "Wait",
    "Overload",
    "Reset",
    "Translate",
];

#[test]
fn help_is_in_the_imperative() {
    let mut wrong = Vec::new();
    for (name, command) in commands() {
        let about = command.get_about().map(ToString::to_string);
        let options = shown(&command).filter(|arg| !arg.is_positional());
        let options = options.map(|arg| (format!("{name} --{}", arg.get_id()), help(arg)));
        let all = std::iter::once((name.clone(), about.unwrap_or_default())).chain(options);
        for (name, text) in all {
            let first = text.split([' ', ',']).next().unwrap_or_default();
            if !VERBS.contains(&first) {
                wrong.push(format!("{name}: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_option_stands_in_a_group() {
    for (name, command) in commands() {
        for arg in shown(&command) {
            let group = arg.get_help_heading().unwrap_or_default();
            assert!(
                super::heading::ORDER.contains(&group),
                "{name} {}: {group:?}",
                arg.get_id()
            );
        }
    }
}

#[test]
fn a_short_option_means_one_thing() {
    let meaning = [
        ('o', "out"),
        ('j', "json"),
        ('q', "quiet"),
        ('v', "verbose"),
        ('t', "time"),
    ];
    for (name, command) in commands() {
        for arg in shown(&command) {
            let Some(short) = arg.get_short() else {
                continue;
            };
            let id = arg.get_id().as_str();
            let known = meaning.iter().find(|(known, _)| *known == short);
            let (_, word) = known.unwrap_or_else(|| panic!("{name}: -{short}"));
            assert!(id.starts_with(word), "{name}: -{short} is {id}");
        }
    }
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}
