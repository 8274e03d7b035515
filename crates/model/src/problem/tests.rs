use super::*;
use crate::cell::SkippedCell;

#[test]
fn codes_are_numbers_in_order_and_names_are_words() {
    for (n, code) in ProblemCode::ALL.iter().enumerate() {
        let digits = code.code().strip_prefix('P').unwrap();
        assert!(digits.len() == 3 && digits.parse::<u16>().is_ok(), "{code}");
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(code.name().chars().all(plain), "{code}");
        assert!(n == 0 || ProblemCode::ALL[n - 1].code() < code.code());
    }
}

#[test]
fn every_code_has_its_page_and_every_page_its_code() {
    let document = include_str!("../../../../docs/reference/problems.md");
    let found: Vec<ProblemCode> = pages(document).iter().map(|page| page.code).collect();
    assert_eq!(
        found,
        ProblemCode::ALL,
        "a page is missing, lacks a part, or is out of order"
    );
    assert_eq!(
        document.matches("\n### ").count(),
        found.len(),
        "a page has no code"
    );
    assert!(
        pages(document)
            .iter()
            .all(|page| page.text.says.len() < 120)
    );
}

/// Numbers and names are for ever: whoever changes one sees it here.
#[test]
fn codes_are_as_ever() {
    let written: String = ProblemCode::ALL
        .iter()
        .map(|code| format!("{code} {}\n", code.kind()))
        .collect();
    assert_eq!(written, include_str!("tests/codes.txt"));
}

#[test]
fn a_problem_is_one_line_with_the_remedy_last() {
    let problem = Problem::new(ProblemCode::NotInstalled, "ovs is not installed");
    assert_eq!(problem.to_string(), "ovs is not installed");
    let problem = problem.with("apt install openvswitch-switch");
    assert_eq!(
        problem.to_string(),
        "ovs is not installed; apt install openvswitch-switch"
    );
}

#[test]
fn a_skipped_cell_has_its_code_and_older_ones_have_none() {
    let problem = Problem::new(ProblemCode::NoKvm, "KVM does not work").with("use tcg");
    let cell = SkippedCell::new("vm/64/uni".to_owned(), problem);
    let text = serde_json::to_string(&cell).unwrap();
    let older = r#"{"cell":"vm/64/uni","reason":"KVM does not work","remedy":"use tcg"}"#;
    assert_eq!(
        text,
        older.replace(r#","reason"#, r#","code":"P038","reason"#)
    );
    let read = |text: &str| serde_json::from_str::<SkippedCell>(text).unwrap();
    assert_eq!(read(&text), cell);
    let without = SkippedCell { code: None, ..cell };
    assert_eq!(read(older), without);
    assert_eq!(read(&text.replace("P038", "P999")), without);
    assert_eq!(serde_json::to_string(&without).unwrap(), older);
}
