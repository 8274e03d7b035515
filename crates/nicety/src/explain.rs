//! `nicety explain`: what the code of a note, a problem or a rule means, from the reference that comes with
//! the program.

use nicety_advisor::catalogue;
use nicety_model::reference::{Explained, PageText};
use nicety_model::{SCHEMA, note, problem};
use nicety_report::rules;

use crate::cli::report::ExplainArgs;
use crate::exit::{Exit, Failure};
use crate::output;

const NOTES: &str = include_str!("../../../docs/reference/notes.md");
const PROBLEMS: &str = include_str!("../../../docs/reference/problems.md");

/// Prints one page, or a line of each.
pub fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let pages = match &args.code {
        Some(word) => all().meant(word)?,
        None => all(),
    };
    if args.output.json {
        output::print_json(&pages)?;
    } else {
        output::print_as("the explanation", &text(&pages))?;
    }
    Ok(Exit::Done)
}

fn all() -> Explained {
    Explained {
        schema: SCHEMA,
        notes: note::pages(NOTES),
        problems: problem::pages(PROBLEMS),
        rules: catalogue::rules(),
    }
}

/// One code as it is shown.
struct Entry<'p> {
    code: &'p str,
    name: &'p str,
    kind: String,
    says: &'p str,
    page: String,
}

impl<'p> Entry<'p> {
    fn of_page(code: &'p str, name: &'p str, kind: String, text: &'p PageText) -> Self {
        let PageText {
            says,
            cause,
            effect,
            remedy,
        } = text;
        let page = format!("{says}\n\nCause: {cause}\nEffect: {effect}\nWhat to do: {remedy}\n");
        Self {
            code,
            name,
            kind,
            says,
            page,
        }
    }
}

/// The page of the only code, or a line of each.
fn text(pages: &Explained) -> String {
    let entries: Vec<Entry<'_>> = entries(pages).collect();
    match entries.as_slice() {
        [one] => format!("{} {} ({})\n{}", one.code, one.name, one.kind, one.page),
        several => several
            .iter()
            .map(|of| format!("{} {:<24} {:<11} {}\n", of.code, of.name, of.kind, of.says))
            .collect(),
    }
}

fn entries(pages: &Explained) -> impl Iterator<Item = Entry<'_>> {
    let notes = pages.notes.iter();
    let notes = notes
        .map(|page| Entry::of_page(page.code, page.name, page.severity.to_string(), &page.text));
    let problems = pages.problems.iter();
    let problems = problems.map(|page| {
        Entry::of_page(
            page.code.code(),
            page.name,
            page.kind.to_string(),
            &page.text,
        )
    });
    let rules = pages.rules.iter().map(|rule| Entry {
        code: &rule.id,
        name: &rule.name,
        kind: match rule.writes {
            Some(_) => "applied",
            None => "by hand",
        }
        .to_owned(),
        says: &rule.checks,
        page: rules::lines(rule),
    });
    notes.chain(problems).chain(rules)
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
        assert_eq!(list.lines().count(), all().entries().count());
        for line in [
            "N014 rests                    info        Whether",
            "P014 not-installed            environment ",
            "T04 irq-affinity             applied     ",
        ] {
            assert!(list.contains(line), "{list}");
        }
        for (word, begin, parts) in [
            (
                "P014",
                "P014 not-installed (environment)\n",
                ["\nCause: ", "\nWhat to do: "],
            ),
            (
                "irq-affinity",
                "T04 irq-affinity (applied)\n",
                ["scaling.rst", "\nUndo: "],
            ),
        ] {
            let page = text(&all().meant(word).unwrap());
            assert!(page.starts_with(begin), "{page}");
            assert!(parts.iter().all(|part| page.contains(part)), "{page}");
        }
    }

    #[test]
    fn a_word_means_one_thing_and_a_letter_a_kind() {
        let pages = all();
        for (code, name) in pages.entries() {
            for word in [name, &code.to_lowercase()] {
                let meant = all().meant(word).unwrap();
                let meant: Vec<(&str, &str)> = meant.entries().collect();
                assert_eq!(meant, [(code, name)]);
            }
        }
        let rules = all().meant("t").unwrap();
        assert!(rules.notes.is_empty() && rules.problems.is_empty());
        assert_eq!(rules.rules, all().rules);
        for (word, remedy) in [
            ("restz", "did you mean rests?"),
            ("no-qemo", "did you mean no-qemu?"),
            ("irq-afinity", "did you mean irq-affinity?"),
            ("N999", "nicety explain lists all"),
        ] {
            let problem = all().meant(word).unwrap_err();
            assert_eq!(problem.remedy.as_deref(), Some(remedy));
        }
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
