//! The field of a fleet's page that hides rows, typed into as people do.

use serde_json::{Value, json};

use crate::Stage;

/// What is shown: rows of all tables and of the hosts' one, the words beside the field, and the hosts that are named.
const SHOWN: &str = r##"(() => {
  const rows = (of) => [...of.querySelectorAll("table.sortable tbody tr")].filter((row) => row.checkVisibility());
  return {
    all: rows(document).length,
    hosts: rows(document.querySelector("#hosts")).length,
    said: document.querySelector("#filter [role=status]").textContent,
    first: rows(document.querySelector("#hosts"))[0]?.cells[0].textContent ?? null,
  };
})()"##;

#[test]
fn a_word_in_the_field_hides_the_rows_without_it() {
    let test = "a_word_in_the_field_hides_the_rows_without_it";
    let Some(mut stage) = Stage::start(test) else {
        return;
    };
    stage.open("fleet", 1280, "light");
    let browser = &mut stage.browser;
    let field = r##"(() => { const field = document.querySelector("#filter input"); field.focus(); field.select(); return field.checkVisibility(); })()"##;
    let mut typed = |text: &str| -> Value {
        assert_eq!(
            browser.value(field),
            true,
            "with a script the field is there"
        );
        match text {
            "" => browser.press("Backspace", 8, ""),
            text => {
                browser.ask("Input.insertText", json!({ "text": text }));
            }
        }
        browser.value(SHOWN)
    };
    let whole = typed("");
    let count = |shown: &Value, what: &str| shown[what].as_u64().unwrap();
    assert_eq!(whole["said"], "");
    assert!(count(&whole, "hosts") > 10, "{whole}");
    // One host by its name: its own row, and rows that name it alone or in a run of names.
    let one = typed("kvm0007");
    assert_eq!(
        (count(&one, "hosts"), &one["first"]),
        (1, &json!("kvm0007")),
        "{one}"
    );
    assert!(
        count(&one, "all") > 1,
        "rows with runs such as kvm0001 to kvm0080 name it: {one}"
    );
    let said = format!("{} rows", count(&one, "all"));
    assert_eq!(one["said"], said, "{one}");
    // All words have to be there, in any case.
    let two = typed("RING 4096");
    assert_eq!((count(&two, "all"), count(&two, "hosts")), (1, 0), "{two}");
    assert_eq!(two["said"], "1 row");
    assert_eq!(typed("nobody")["all"], 0);
    assert_eq!(typed(""), whole);
}
