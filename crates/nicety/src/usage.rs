//! Wrong usage in one line, like every other message: what, and what to do.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The line for wrong usage; `None` for help and version, which are printed as they are.
pub fn line(error: &Error) -> Option<String> {
    let given = |kind| text(error, kind);
    let argument = || option(&given(ContextKind::InvalidArg).unwrap_or_default());
    let help = format!("see {} --help", command(error));
    Some(match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string);
            format!("{}: {}", argument(), why.unwrap_or(help))
        }
        ErrorKind::InvalidValue => {
            match given(ContextKind::InvalidValue).filter(|value| !value.is_empty()) {
                Some(value) => {
                    let fix = match given(ContextKind::SuggestedValue) {
                        Some(near) => format!("did you mean {near}?"),
                        None => format!("write one of {}", list(error, ContextKind::ValidValue)),
                    };
                    format!("{}: unknown value {value:?}; {fix}", argument())
                }
                None => {
                    let usage = given(ContextKind::InvalidArg).unwrap_or_default();
                    let usage = usage.replace(['<', '>'], "");
                    format!("{} needs a value; write {usage}", argument())
                }
            }
        }
        ErrorKind::UnknownArgument => {
            let fix = match given(ContextKind::SuggestedArg) {
                Some(near) => format!("did you mean {near}?"),
                None => help,
            };
            format!("unknown argument {}; {fix}", argument())
        }
        ErrorKind::InvalidSubcommand => {
            let word = given(ContextKind::InvalidSubcommand).unwrap_or_default();
            let fix = match given(ContextKind::SuggestedSubcommand) {
                Some(near) => format!("did you mean {near}?"),
                None => help,
            };
            format!("unknown command {word}; {fix}")
        }
        ErrorKind::MissingRequiredArgument => format!("{} is missing; {help}", argument()),
        ErrorKind::ArgumentConflict => match given(ContextKind::PriorArg) {
            Some(prior) if option(&prior) == argument() => {
                format!("{} is given twice; remove one of them", argument())
            }
            Some(prior) => format!(
                "{} and {} exclude each other; remove one of them",
                argument(),
                option(&prior)
            ),
            None => format!("{} excludes other arguments; {help}", argument()),
        },
        _ => format!("{}; {help}", first_line(error)),
    })
}

/// A piece of what clap knows about the error; of a list, the last item: clap sorts what it suggests by
/// likeness, the nearest last.
fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(list) => list.last().cloned(),
        _ => None,
    }
}

/// All of a list that clap knows.
fn list(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::Strings(list)) => list.join(", "),
        _ => String::new(),
    }
}

/// `--out` of `--out <DIR>`, `RUN` of `<RUN>...`.
fn option(usage: &str) -> String {
    let word = if usage.starts_with('-') {
        usage.split([' ', '=']).next().unwrap_or(usage)
    } else {
        usage
    };
    word.trim_end_matches("...")
        .trim_matches(['<', '>', '[', ']'])
        .to_owned()
}

/// The command whose help is meant: `nicety bench` of `Usage: nicety bench [OPTIONS] [PLAN]`.
fn command(error: &Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let words: Vec<&str> = usage
        .split_whitespace()
        .skip(1)
        .take_while(|word| word.chars().all(|c| c.is_ascii_alphanumeric()))
        .collect();
    match words.as_slice() {
        [] => "nicety".to_owned(),
        words => words.join(" "),
    }
}

fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
