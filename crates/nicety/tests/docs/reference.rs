//! The references of plans and policies, made of their schemas. `make golden` writes them.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use crate::page;

/// What stands above the tables of a page.
const PLAN: &str = "# Plan reference\n\nA plan is a TOML file that says what `nicety bench` measures. \
This page lists every key.\nIt is generated from [`schema/plan.schema.json`](../../schema/plan.schema.json), \
which editors use to complete and check a plan.\nIntroduction: [Measure a path](../guide/bench.md). \
Paths and their drawings: [Test topologies](../guide/paths.md).\n\nA key that takes a list also takes one value. \
Every list multiplies the matrix.\n";

const POLICY: &str = "# Policy reference\n\nA policy is a TOML file that says how `nicety police` shares a link. \
This page lists every key.\nIt is generated from [`schema/policy.schema.json`](../../schema/policy.schema.json), \
which editors use to complete and check a policy.\nIntroduction: \
[Bandwidth limits and fair sharing for VMs](../guide/police.md).\n";

/// A schema, and where its parts are defined.
struct Schema(Value);

impl Schema {
    /// The definition that a part refers to, also through `anyOf` with null.
    fn definition<'a>(&'a self, part: &'a Value) -> (Option<&'a str>, &'a Value) {
        if let Some(name) = part["$ref"]
            .as_str()
            .and_then(|path| path.strip_prefix("#/$defs/"))
        {
            return (Some(name), &self.0["$defs"][name]);
        }
        let choices = part["anyOf"].as_array().into_iter().flatten();
        let first = choices
            .filter(|one| one["type"] != "null")
            .find(|one| one["type"] != "array");
        first.map_or((None, part), |first| self.definition(first))
    }

    /// Whether a list may stand there.
    fn list(part: &Value) -> bool {
        let choices = part["anyOf"].as_array().into_iter().flatten();
        part["type"] == "array" || choices.into_iter().any(Self::list)
    }

    /// What may be written, in words.
    fn values(&self, part: &Value) -> String {
        let (name, found) = self.definition(part);
        let mut text = if let Some(choices) = found["oneOf"].as_array() {
            let words = choices
                .iter()
                .filter_map(|one| Some(format!("`\"{}\"`", one["const"].as_str()?)));
            words.collect::<Vec<_>>().join(", ")
        } else if let (Some(low), Some(high)) =
            (found["minimum"].as_f64(), found["maximum"].as_f64())
        {
            format!("{} to {}", number(low), number(high))
        } else if let Some(low) = found["minimum"].as_f64() {
            format!("{} or more", number(low))
        } else {
            let kind = match &found["type"] {
                Value::Array(kinds) => kinds[0].as_str(),
                kind => kind.as_str(),
            };
            match (name, kind) {
                (Some("Time" | "Period"), _) => "duration with a unit, as in `\"30s\"`".to_owned(),
                (Some("Burst"), _) => {
                    "duration as in `\"4ms\"`, or credit as in `\"2s at 2x, refilled at 0.1x\"`"
                        .to_owned()
                }
                (Some("BurstCredit"), _) => {
                    "credit, as in `\"2s at 2x, refilled at 0.1x\"`".to_owned()
                }
                (Some("Rate" | "LimitRate"), _) => {
                    "rate with a unit, as in `\"500mbit\"`".to_owned()
                }
                (_, Some("boolean")) => "`true`, `false`".to_owned(),
                (_, Some("array")) => "list".to_owned(),
                (_, kind) => kind.unwrap_or("text").replace("string", "text"),
            }
        };
        if Self::list(part) && found["type"] != "array" {
            text.push_str("; or a list");
        }
        text
    }

    /// The table of an object's keys, and the meaning of words that they take.
    fn table(&self, object: &Value, out: &mut String) {
        out.push_str("\n| Key | Value | Meaning |\n|---|---|---|\n");
        let required: Vec<_> = object["required"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let keys = object["properties"].as_object().unwrap();
        for (key, part) in keys {
            let must = if required.iter().any(|one| *one == key) {
                ", required"
            } else {
                ""
            };
            let meaning = one_line(&part["description"]);
            writeln!(out, "| `{key}`{must} | {} | {meaning} |", self.values(part)).unwrap();
        }
        for (key, part) in keys {
            let (_, found) = self.definition(part);
            let Some(choices) = found["oneOf"].as_array() else {
                continue;
            };
            // `on` and `off` need no list that says "On." and "Off.".
            let own_words = |one: &Value| {
                let meaning = one_line(&one["description"]).to_lowercase();
                Some(meaning.trim_end_matches('.')) == one["const"].as_str()
            };
            if choices.iter().all(own_words) {
                continue;
            }
            writeln!(out, "\n`{key}` is one of:\n").unwrap();
            for one in choices {
                let (word, meaning) = (
                    one["const"].as_str().unwrap(),
                    one_line(&one["description"]),
                );
                writeln!(out, "- `\"{word}\"`: {meaning}").unwrap();
            }
        }
    }
}

fn number(value: f64) -> String {
    match value {
        4_294_967_295.0 => "2^32 - 1".to_owned(),
        4_294_967_294.0 => "2^32 - 2".to_owned(),
        value => format!("{value}"),
    }
}

fn one_line(text: &Value) -> String {
    text.as_str()
        .unwrap_or_default()
        .replace('\n', " ")
        .replace('|', "\\|")
}

/// The page of a schema: a section for each of its tables.
fn rendered(file: &str, head: &str) -> String {
    let schema = Schema(serde_json::from_str(&page::read(file)).unwrap());
    let mut out = head.to_owned();
    let mut top = schema.0.clone();
    let mut sections = Vec::new();
    for (key, part) in schema.0["properties"].as_object().unwrap() {
        let items = &part["items"];
        let (inner, title) = if items.is_object() {
            (schema.definition(items).1, format!("`[[{key}]]`"))
        } else {
            (schema.definition(part).1, format!("`[{key}]`"))
        };
        if inner["properties"].is_object() {
            sections.push((title, part, inner));
            top["properties"].as_object_mut().unwrap().remove(key);
        }
    }
    if !top["properties"].as_object().unwrap().is_empty() {
        out.push_str("\n## At the top\n");
        schema.table(&top, &mut out);
    }
    for (title, part, inner) in sections {
        writeln!(out, "\n## {title}\n\n{}", one_line(&part["description"])).unwrap();
        schema.table(inner, &mut out);
    }
    out
}

/// Compares a generated page with the one in the repository, or writes it.
fn golden(name: &str, text: &str) {
    if std::env::var_os("NICETY_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(page::root().join(name), text).unwrap();
        return;
    }
    let there = fs::read_to_string(page::root().join(name)).unwrap_or_default();
    let differs = there
        .lines()
        .zip(text.lines())
        .find(|(old, new)| old != new);
    assert!(
        there == text,
        "{name} is not what make golden writes; first difference: {differs:?}"
    );
}

#[test]
fn the_plan_reference_is_that_of_the_schema() {
    golden(
        "docs/reference/plan.md",
        &rendered("schema/plan.schema.json", PLAN),
    );
}

#[test]
fn the_policy_reference_is_that_of_the_schema() {
    golden(
        "docs/reference/policy.md",
        &rendered("schema/policy.schema.json", POLICY),
    );
}
