//! `nicety explain`: what a note means, from the reference that comes with the program.

use std::io::Write;

use anyhow::Context;
use nicety_model::SCHEMA;
use nicety_model::note::{Code, Explained, NotePage, pages};

use crate::cli::ExplainArgs;
use crate::exit::{Exit, Failure};

const REFERENCE: &str = include_str!("../../../docs/reference/notes.md");

/// Prints one page, or a line of each.
pub fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let mut notes = pages(REFERENCE);
    if let Some(word) = &args.code {
        let code = Code::of(word).map_err(Failure::usage)?;
        notes.retain(|page| page.code == code.code);
    }
    let text = match (args.json, notes.as_slice()) {
        (true, _) => {
            let explained = Explained {
                schema: SCHEMA,
                notes,
            };
            serde_json::to_string_pretty(&explained).map_err(Failure::environment)? + "\n"
        }
        (false, [page]) => whole(page),
        (false, pages) => pages.iter().map(line).collect(),
    };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error)
            .context("cannot write the explanation")
            .map_err(Failure::environment),
        _ => Ok(Exit::Done),
    }
}

fn whole(page: &NotePage) -> String {
    format!(
        "{} {} ({})\n{}\n\nCause: {}\nEffect: {}\nWhat to do: {}\n",
        page.code, page.name, page.severity, page.says, page.cause, page.effect, page.remedy
    )
}

fn line(page: &NotePage) -> String {
    let (code, name, severity) = (page.code, page.name, page.severity.to_string());
    format!("{code} {name:<24} {severity:<8} {}\n", page.says)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn a_page_has_all_parts_and_the_list_a_line_of_each() {
        let all = pages(REFERENCE);
        assert_eq!(all.len(), Code::all().count());
        let rests = all.iter().find(|page| page.name == "rests").unwrap();
        let text = whole(rests);
        assert!(
            text.starts_with("N014 rests (info)\nWhether senders rest"),
            "{text}"
        );
        assert!(
            text.contains("\nCause: ") && text.contains("\nWhat to do: "),
            "{text}"
        );
        let lines: String = all.iter().map(line).collect();
        assert_eq!(lines.lines().count(), all.len());
        assert!(
            lines.contains("N014 rests                    info     Whether"),
            "{lines}"
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
            if path.is_dir() && !["tests", "note"].contains(&name) {
                sources(&path, text);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let source = fs::read_to_string(&path).unwrap();
                text.push_str(source.split("#[cfg(test)]\nmod tests {").next().unwrap());
            }
        }
    }

    #[test]
    fn every_note_is_built_somewhere() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut text = String::new();
        for entry in fs::read_dir(&crates).unwrap() {
            sources(&entry.unwrap().path().join("src"), &mut text);
        }
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
