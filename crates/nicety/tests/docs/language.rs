//! The language of pages and help: short sentences, and no phrase that makes a reader guess.
//!
//! `docs/reference/cli.md`, `notes.md` and `problems.md` hold what the program prints, so they are
//! read as pages too.

use crate::page;

/// Longest sentence, in words.
const LONGEST: usize = 25;

/// What is not written, and what is instead.
const BANNED: [(&str, &str); 22] = [
    ("whoever", "name the person or the program"),
    ("whomever", "name the person or the program"),
    ("of whom", "name the person or the program"),
    ("somebody else's", "write: another program's"),
    ("however that ends", "write: even after a crash"),
    ("however it ends", "write: even after a crash"),
    ("however they end", "write: even after a crash"),
    ("that is told", "write who prints it and where"),
    ("is told once", "write who prints it and where"),
    ("it is said", "write who prints it and where"),
    ("is said once", "write who prints it and where"),
    ("frames die", "frames are lost"),
    ("frames died", "frames were lost"),
    (
        "is not to be relied on",
        "write what to do about the number",
    ),
    ("can be had", "write: is available"),
    ("cannot be had", "write: is not available"),
    ("but for", "write: except"),
    ("in order to", "write: to"),
    ("e.g.", "write: for example"),
    ("i.e.", "write: that is"),
    ("please", "say what to do"),
    ("utilize", "write: use"),
];

/// Text as a reader hears it: links are their words, code is one word.
fn spoken(line: &str) -> String {
    let mut out = String::new();
    for (at, part) in line.split('`').enumerate() {
        match at % 2 {
            0 => out.push_str(part),
            _ => out.push_str("code"),
        }
    }
    let mut plain = String::new();
    let mut rest = out.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        plain.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain.replace(['[', '*', '_'], "")
}

/// Paragraphs, list items and table cells of a page, each with its first line.
fn passages(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    let mut before = 0;
    for (at, line) in page::prose(text) {
        let line = line.trim();
        // A block of code ends a paragraph.
        open &= at == before + 1;
        before = at;
        let item = line.split_once(' ').filter(|(mark, _)| {
            matches!(*mark, "-" | "*")
                || mark
                    .strip_suffix('.')
                    .is_some_and(|n| n.parse::<u8>().is_ok())
        });
        if line.is_empty() {
            open = false;
        } else if line.starts_with('#') {
            all.push((at, line.trim_start_matches('#').trim().to_owned()));
            open = false;
        } else if line.starts_with('|') {
            all.extend(line.split('|').map(|cell| (at, cell.trim().to_owned())));
            open = false;
        } else if let Some((_, text)) = item {
            all.push((at, text.to_owned()));
            open = true;
        } else if let (true, Some((_, last))) = (open, all.last_mut()) {
            last.push(' ');
            last.push_str(line);
        } else {
            all.push((at, line.to_owned()));
            open = true;
        }
    }
    all
}

/// Sentences end with a stop, a colon or a question mark before a blank.
fn sentences(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for word in text.split_whitespace() {
        let last = all.last_mut().unwrap();
        last.push_str(word);
        last.push(' ');
        let word = word.trim_end_matches([')', '"']);
        if word.ends_with(['.', '?', '!', ':', ';']) && !matches!(word, "e.g." | "i.e." | "vs.") {
            all.push(String::new());
        }
    }
    all
}

/// Words, not marks.
fn words(sentence: &str) -> usize {
    sentence
        .split_whitespace()
        .filter(|word| word.contains(|c: char| c.is_alphanumeric()))
        .count()
}

/// What is wrong on a page.
fn findings(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, passage) in passages(text) {
        let heard = spoken(&passage);
        for sentence in sentences(&heard) {
            let count = words(&sentence);
            if count > LONGEST {
                found.push(format!("{name}:{at}: {count} words: {sentence}"));
            }
        }
        let lower = format!(" {} ", heard.to_lowercase());
        for (phrase, instead) in BANNED {
            let at_word = lower.match_indices(phrase).any(|(start, _)| {
                let ends = start + phrase.len();
                let edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
                edge(lower[..start].chars().next_back()) && edge(lower[ends..].chars().next())
            });
            if at_word {
                found.push(format!("{name}:{at}: \"{phrase}\": {instead}"));
            }
        }
    }
    found
}

#[test]
fn pages_and_help_are_plain_english() {
    let found = |(name, text): (String, String)| findings(&name, &text);
    let wrong: Vec<String> = page::all().into_iter().flat_map(found).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Help says what a command does for its user: "Show", not "Shows".
#[test]
fn help_is_in_the_imperative() {
    let page = page::read("docs/reference/cli.md");
    let mut lines = page.lines();
    let mut third = Vec::new();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("## ") else {
            continue;
        };
        let about = lines.find(|line| !line.is_empty()).unwrap_or_default();
        let first = about.split([' ', ',', ':']).next().unwrap_or_default();
        if first.ends_with('s') && !first.ends_with("ss") {
            third.push(format!("{command}: {about}"));
        }
    }
    assert!(third.is_empty(), "in the third person: {third:#?}");
}

#[test]
fn what_is_wrong_is_found() {
    let long = format!("{}end.", "word ".repeat(25));
    for (text, count) in [
        ("# Title\n\nShort. And short.\n", 0),
        (long.as_str(), 1),
        (&format!("- {}\n- b\n", "word ".repeat(26)), 1),
        (&format!("```\n{long}\n```\n"), 0),
        ("Limits stay in order to hold.\n", 1),
        ("A [whoever](page.md) is found, `whoever` is code.\n", 1),
        ("| but for | x |\n", 1),
        ("But forty are none.\n", 0),
    ] {
        assert_eq!(findings("page", text).len(), count, "{text}");
    }
}
