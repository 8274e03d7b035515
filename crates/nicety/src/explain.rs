//! `nicety explain`: what a note or a problem means, from the reference that comes with the program.

use std::io::Write;

use anyhow::Context;
use nicety_model::reference::{Entry, Explained, PageText};
use nicety_model::{SCHEMA, note, problem};

use crate::cli::report::ExplainArgs;
use crate::exit::{Exit, Failure};

const NOTES: &str = include_str!("../../../docs/reference/notes.md");
const PROBLEMS: &str = include_str!("../../../docs/reference/problems.md");

/// Prints one page, or a line of each.
pub fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let mut pages = all();
    if let Some(word) = &args.code {
        let code = Entry::of(word)?.code();
        pages.notes.retain(|page| page.code == code);
        pages.problems.retain(|page| page.code.code() == code);
    }
    let text = match args.output.json {
        true => serde_json::to_string_pretty(&pages).map_err(Failure::environment)? + "\n",
        false => text(&pages),
    };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error)
            .context("cannot write the explanation")
            .map_err(Failure::environment),
        _ => Ok(Exit::Done),
    }
}

fn all() -> Explained {
    Explained {
        schema: SCHEMA,
        notes: note::pages(NOTES),
        problems: problem::pages(PROBLEMS),
    }
}

/// The page of the only code, or a line of each.
fn text(pages: &Explained) -> String {
    let notes = pages.notes.iter();
    let notes = notes.map(|page| (page.code, page.name, page.severity.to_string(), &page.text));
    let problems = pages.problems.iter();
    let problems = problems.map(|page| {
        (
            page.code.code(),
            page.name,
            page.kind.to_string(),
            &page.text,
        )
    });
    let pages: Vec<(&str, &str, String, &PageText)> = notes.chain(problems).collect();
    match pages.as_slice() {
        [(code, name, kind, page)] => {
            let PageText {
                says,
                cause,
                effect,
                remedy,
            } = page;
            format!(
                "{code} {name} ({kind})\n{says}\n\nCause: {cause}\nEffect: {effect}\nWhat to do: {remedy}\n"
            )
        }
        _ => {
            let line = |(code, name, kind, page): &(&str, &str, String, &PageText)| {
                format!("{code} {name:<24} {kind:<11} {}\n", page.says)
            };
            pages.iter().map(line).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use nicety_model::ProblemCode;

    use super::*;

    #[test]
    fn a_page_has_all_parts_and_the_list_a_line_of_each() {
        let list = text(&all());
        assert_eq!(list.lines().count(), Entry::all().count());
        for line in [
            "N014 rests                    info        Whether",
            "P014 not-installed            environment ",
        ] {
            assert!(list.contains(line), "{list}");
        }
        let mut one = all();
        one.notes.clear();
        one.problems.retain(|page| page.name == "not-installed");
        let page = text(&one);
        assert!(
            page.starts_with("P014 not-installed (environment)\n"),
            "{page}"
        );
        assert!(
            page.contains("\nCause: ") && page.contains("\nWhat to do: "),
            "{page}"
        );
    }

    /// Text of the sources below `dir`, without tests.
    fn sources(dir: &Path, text: &mut String) {
        let mut paths: Vec<PathBuf> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !["tests", "note", "problem"].contains(&name) {
                sources(&path, text);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let source = fs::read_to_string(&path).unwrap();
                text.push_str(source.split("#[cfg(test)]\nmod tests {").next().unwrap());
            }
        }
    }

    /// Text of all sources but those that declare codes, and where the crates are.
    fn all_sources() -> (String, PathBuf) {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut text = String::new();
        for entry in fs::read_dir(&crates).unwrap() {
            sources(&entry.unwrap().path().join("src"), &mut text);
        }
        (text, crates)
    }

    #[test]
    fn every_problem_is_made_somewhere() {
        let (text, _) = all_sources();
        // Points that no machine can build stand in a table of their own.
        let made = |word: &str| {
            let spots = text.match_indices(word).map(|(at, _)| at + word.len());
            spots
                .filter_map(|end| text[end..].chars().next())
                .any(|next| !next.is_alphanumeric())
        };
        for code in ProblemCode::ALL {
            let built = [
                format!("ProblemCode::{code:?}"),
                format!("first! {{ {code:?}:"),
            ];
            assert!(
                *code == ProblemCode::BadValue || built.iter().any(|word| made(word)),
                "nobody makes {code}"
            );
        }
    }

    #[test]
    fn every_note_is_built_somewhere() {
        let (text, crates) = all_sources();
        for area in fs::read_dir(crates.join("model/src/note")).unwrap() {
            let path = area.unwrap().path();
            let declared = path.is_file().then(|| fs::read_to_string(&path).unwrap());
            let declared = declared.filter(|text| text.starts_with("//! Notes on"));
            let Some(declared) = declared else { continue };
            let (_, head) = declared.split_once("notes! {").unwrap();
            let area = head.lines().find(|line| line.ends_with("Note {")).unwrap();
            let area = area.trim().trim_end_matches(" {");
            let mut lines = declared.lines();
            while let Some(line) = lines.next() {
                if !line.trim_start().starts_with("\"N") {
                    continue;
                }
                let variant = lines.next().unwrap().split_whitespace().next().unwrap();
                let built = format!("{area}::{variant}");
                let whole_word = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
                assert!(
                    text.split(&built).skip(1).any(whole_word),
                    "nobody builds {built}"
                );
            }
        }
    }
}
