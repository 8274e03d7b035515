//! `tests/notes.jsonl` has one note of every kind as it is written: whoever renumbers a code, renames
//! one or changes a key sees it there.

use super::*;

const WRITTEN: &str = include_str!("tests/notes.jsonl");

fn read(line: &str) -> Note {
    serde_json::from_str(line).unwrap()
}

#[test]
fn a_note_of_every_kind_is_written_as_ever_and_read_back() {
    for line in WRITTEN.lines() {
        let note = read(line);
        assert_eq!(serde_json::to_string(&note).unwrap(), line);
        let recorded = matches!(note, Note::Recorded(_));
        assert_eq!(recorded, note.code() == RECORDED, "{line}");
    }
    let written = WRITTEN.lines().map(|line| read(line).code());
    assert_eq!(written.collect::<Vec<_>>(), Code::all().collect::<Vec<_>>());
}

/// What people read is made of short sentences, each with its full stop.
#[test]
fn notes_are_short_sentences() {
    for note in WRITTEN.lines().map(read) {
        if note.code() == RECORDED {
            continue;
        }
        let text = note.to_string();
        // A console's last line stands as it is.
        let ends = text.ends_with('.') || text.contains("Its last line: ");
        assert!(ends, "{text}");
        let advice = note.advice().unwrap_or_default();
        assert_eq!(advice.is_empty(), !advice.ends_with('.'), "{advice}");
        for sentence in text.split(". ") {
            let words = sentence.split_whitespace().count();
            assert!(words <= 25, "{words} words: {sentence}");
        }
        for word in [" cell ", "died", "ledger", "stood still"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

/// What makes a number wrong or missing is a problem; what merely says how it was made is none.
#[test]
fn every_kind_of_note_has_its_list() {
    for code in Code::all().filter(|code| *code != RECORDED) {
        match code.severity {
            Severity::Warning => assert_eq!(code.list, List::Problem, "{code}"),
            Severity::Info => assert_eq!(code.list, List::Condition, "{code}"),
            Severity::Caution => {}
        }
    }
    let inner = Note::from(SearchNote::NoLoadInGoal);
    let end = Note::from(SockNote::At {
        end: End::Client,
        note: Box::new(inner),
    });
    assert_eq!(end.list(), List::Problem);
}

#[test]
fn codes_and_names_are_words_of_one_kind_only() {
    let codes: Vec<Code> = Code::all().collect();
    for (n, code) in codes.iter().enumerate() {
        let digits = code.code.strip_prefix('N').unwrap();
        assert!(digits.len() == 3 && digits.parse::<u16>().is_ok(), "{code}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(code.name.chars().all(plain), "{code}");
        assert!(n == 0 || codes[n - 1].code < code.code, "{code}");
        assert!(codes.iter().filter(|c| c.name == code.name).count() == 1);
    }
}

#[test]
fn sentences_of_older_versions_and_notes_of_newer_ones_keep_their_text() {
    let text = Note::Recorded("the CPUs were busy".to_owned());
    for line in [
        r#""the CPUs were busy""#,
        r#"{"code":"N999","name":"new","severity":"info","text":"the CPUs were busy","more":1}"#,
        r#"{"code":"N009","text":"the CPUs were busy","cpu":"all"}"#,
    ] {
        assert_eq!(read(line), text, "{line}");
    }
    for line in [r#"{"code":"N999"}"#, "7", "null"] {
        assert!(serde_json::from_str::<Note>(line).is_err(), "{line}");
    }
}

#[test]
fn advice_stands_behind_the_reason() {
    let note = Note::from(SearchNote::SingleVisit);
    let (reason, advice) = (
        "This result was measured once.",
        "Use --preset robust, which makes several.",
    );
    assert_eq!(note.reason(), reason);
    assert_eq!(note.advice(), Some(advice));
    assert_eq!(note.to_string(), format!("{reason} {advice}"));
}

#[test]
fn every_code_has_its_page_and_every_page_its_code() {
    let document = include_str!("../../../../docs/reference/notes.md");
    let found: Vec<&str> = pages(document).iter().map(|page| page.code).collect();
    let codes: Vec<&str> = Code::all().map(|code| code.code).collect();
    assert_eq!(
        found, codes,
        "a page is missing, lacks a part, or is out of order"
    );
    assert_eq!(
        document.matches("\n### ").count(),
        codes.len(),
        "a page has no code"
    );
    assert!(
        pages(document)
            .iter()
            .all(|page| page.text.says.len() < 120)
    );
}
