//! The JSON schemas in `schema/` are those of the types. `make golden` rewrites them.

use std::fs;
use std::path::Path;

use nicety_model::bill::{Bill, Samples};
use nicety_model::bisect::Bisected;
use nicety_model::compare::Comparison;
use nicety_model::drops::DropsReport;
use nicety_model::finding::Advice;
use nicety_model::fleet::FleetReport;
use nicety_model::history::{RunList, Trend};
use nicety_model::interval::LoadLine;
use nicety_model::journal::{ApplyReport, TransactionReport, TuneStatus};
use nicety_model::journey::TraceLine;
use nicety_model::kept::{Kept, PersistReport};
use nicety_model::measured::Measured;
use nicety_model::plan::PlanFile;
use nicety_model::policed::{Policed, PolicedHead, PolicedPeriod};
use nicety_model::probe::ProbeReport;
use nicety_model::reference::Explained as ExplainedNotes;
use nicety_model::soak::{SoakHead, Soaked};
use nicety_model::sock::SockReport;
use nicety_model::stateful::StatefulReport;
use nicety_model::vf::{FunctionsReport, LimitReport, VfReport};
use nicety_model::{CellResult, Fingerprint, HostFacts, Plan, Run, TrialRecord};
use nicety_police::adopt::import::ImportReport;
use nicety_police::cluster::status::ClusterState;
use nicety_police::explain::Explained;
use nicety_police::guest::Reply;
use nicety_police::pacing::PacingReport;
use nicety_police::policy::PolicyFile;
use nicety_police::report::{DryPeriod, ReloadReport, RestoreReport, State};
use nicety_store::{RunMeta, TesterLimits};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The folder of the schemas.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema");

/// The formats of numbers are Rust's own, and no other reader knows them.
fn plain(schema: &mut Schema) {
    let kind = schema.get("type").map(Value::to_string).unwrap_or_default();
    if kind.contains("integer") || kind.contains("number") {
        schema.remove("format");
    }
}

/// TOML has no null: no branch says so, and an editor has one reason for one mistyped key.
fn without_null(schema: &mut Schema) {
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &kinds[..] {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    if let Some(choices) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        let before = choices.len();
        choices.retain(|choice| choice["type"] != "null");
        if choices.len() == 1 && before == 2 {
            let only = choices.remove(0);
            schema.remove("anyOf");
            schema
                .ensure_object()
                .extend(only.as_object().cloned().unwrap());
        }
    }
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with_transform(RecursiveTransform(plain))
}

/// What a file of this type may hold.
fn file<T: JsonSchema>() -> Schema {
    let settings = settings().with_transform(RecursiveTransform(without_null));
    settings.into_generator().into_root_schema_for::<T>()
}

/// What every command prints as JSON and writes into its directory: a definition each.
fn outputs() -> Value {
    let mut generator = settings().into_generator();
    macro_rules! defines {
        ($($kind:ident)*) => { $(generator.subschema_for::<$kind>();)* };
    }
    defines! {
        Run TrialRecord CellResult Fingerprint RunMeta TesterLimits HostFacts Advice FleetReport
        TransactionReport ApplyReport TuneStatus Kept Measured PersistReport SockReport Comparison VfReport
        FunctionsReport LimitReport PacingReport ProbeReport DropsReport TraceLine LoadLine SoakHead Soaked
        StatefulReport Bisected RunList Trend Policed PolicedHead PolicedPeriod Reply ExplainedNotes Explained
        State ClusterState DryPeriod ReloadReport RestoreReport ImportReport Bill Samples
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "nicety",
        "description": "What nicety prints and writes as JSON: a definition each.",
        "$defs": generator.take_definitions(true),
    })
}

/// JSON with a line for each definition and property, and no more.
fn lines(name: &str, value: &Value, indent: usize) -> String {
    let structure = |value: &Value| {
        ["$defs", "properties", "oneOf"]
            .iter()
            .any(|key| value.get(key).is_some())
    };
    let next = "  ".repeat(indent + 1);
    let end = "  ".repeat(indent);
    match value {
        Value::Object(all) if ["$defs", "properties"].contains(&name) || structure(value) => {
            let all = all.iter();
            let all = all.map(|(key, part)| {
                format!("{next}{}: {}", json!(key), lines(key, part, indent + 1))
            });
            format!("{{\n{}\n{end}}}", all.collect::<Vec<_>>().join(",\n"))
        }
        Value::Array(all) if name == "oneOf" => {
            let all = all
                .iter()
                .map(|part| next.clone() + &lines("", part, indent + 1));
            format!("[\n{}\n{end}]", all.collect::<Vec<_>>().join(",\n"))
        }
        value => value.to_string(),
    }
}

/// Compares a schema with its file, or rewrites the file.
fn check(name: &str, schema: &Value) {
    let text = lines("", schema, 0) + "\n";
    let path = Path::new(FOLDER).join(format!("{name}.schema.json"));
    if std::env::var_os("NICETY_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(&path, &text).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "{} is stale: make golden, read what it changed, commit it",
        path.display()
    );
}

#[test]
fn schemas_are_those_of_the_types() {
    check("nicety", &outputs());
    check("plan", file::<PlanFile>().as_value());
    check("policy", file::<PolicyFile>().as_value());
    let files = fs::read_dir(FOLDER).unwrap().count();
    assert_eq!(files, 3, "schema/ holds the generated schemas only");
}

#[test]
fn no_two_types_share_a_name() {
    let schemas = outputs();
    let names = schemas["$defs"].as_object().unwrap().keys();
    // The second of a name gets a number.
    let twice: Vec<_> = names
        .filter(|name| {
            name.strip_suffix('2')
                .is_some_and(|first| schemas["$defs"].get(first).is_some())
        })
        .collect();
    assert_eq!(twice, Vec::<&String>::new());
}

/// What is wrong with a plan or policy by its schema.
fn errors(name: &str, text: &str) -> Vec<String> {
    let schema = format!("{FOLDER}/{name}.schema.json");
    let schema = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("file.json", schema).unwrap();
    let schema = compiler.compile("file.json", &mut schemas).unwrap();
    let file: Value = toml::from_str(text).unwrap();
    let Err(error) = schemas.validate(&file, schema) else {
        return Vec::new();
    };
    let leaves = error.to_string();
    // Below the first line, which names the schema.
    leaves.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn ready_plans_and_policies_fit_the_schemas_they_name() {
    for (folder, name) in [("plans", "plan"), ("policies", "policy")] {
        let folder = Path::new(FOLDER).join("..").join(folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let first = format!("#:schema ../schema/{name}.schema.json\n");
            assert!(text.starts_with(&first), "{}", path.display());
            let errors = errors(name, &text);
            assert_eq!(errors, Vec::<String>::new(), "{}", path.display());
        }
    }
    let written = Plan::default_bridge().to_toml().unwrap();
    assert_eq!(errors("plan", &written), Vec::<String>::new());
    for wrong in ["flows = 0", "flow = 1", "directions = \"both\""] {
        let text = format!("[traffic]\n{wrong}\n[[path]]\nkind = \"bridge\"");
        assert!(!errors("plan", &text).is_empty(), "{wrong}");
    }
}
