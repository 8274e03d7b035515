//! The JSON schemas in `schema/` are those of the types. `make golden` rewrites them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use nicety_model::bill::{Bill, Samples};
use nicety_model::bisect::Bisected;
use nicety_model::compare::Comparison;
use nicety_model::drops::DropsReport;
use nicety_model::finding::{Advice, RuleReports};
use nicety_model::fleet::FleetReport;
use nicety_model::history::{RunList, Trend};
use nicety_model::interval::LoadLine;
use nicety_model::journal::{ApplyReport, History, TransactionReport};
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
use schemars::{JsonSchema, schema_for};

/// The folder of the schemas.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema");

/// Compares one schema with its file, or rewrites the file.
fn check<T: JsonSchema>(name: &str) {
    let mut text = serde_json::to_string_pretty(&schema_for!(T)).unwrap();
    text.push('\n');
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
    check::<Run>("run");
    check::<TrialRecord>("trial");
    check::<CellResult>("cell");
    check::<Fingerprint>("host");
    check::<RunMeta>("run-meta");
    check::<TesterLimits>("tester");
    check::<PlanFile>("plan");
    check::<PolicyFile>("policy");
    check::<HostFacts>("facts");
    check::<Advice>("advice");
    check::<RuleReports>("rules");
    check::<FleetReport>("fleet");
    check::<TransactionReport>("transaction");
    check::<ApplyReport>("apply");
    check::<History>("history");
    check::<Kept>("kept");
    check::<Measured>("measured");
    check::<PersistReport>("persist");
    check::<SockReport>("sock");
    check::<Comparison>("comparison");
    check::<VfReport>("vf");
    check::<FunctionsReport>("functions");
    check::<LimitReport>("limit");
    check::<PacingReport>("pacing");
    check::<ProbeReport>("probe");
    check::<DropsReport>("drops");
    check::<TraceLine>("trace");
    check::<LoadLine>("load");
    check::<SoakHead>("soak-run");
    check::<Soaked>("soaked");
    check::<StatefulReport>("stateful");
    check::<Bisected>("bisect");
    check::<RunList>("run-list");
    check::<Trend>("trend");
    check::<Policed>("policed");
    check::<PolicedHead>("police-run");
    check::<PolicedPeriod>("police-period");
    check::<Reply>("guest");
    check::<ExplainedNotes>("explain");
    check::<Explained>("police-explain");
    check::<State>("police-status");
    check::<ClusterState>("police-cluster");
    check::<DryPeriod>("police-dry-run");
    check::<ReloadReport>("police-reload");
    check::<RestoreReport>("police-restore");
    check::<ImportReport>("police-import");
    check::<Bill>("police-bill");
    check::<Samples>("police-samples");
    let files = fs::read_dir(FOLDER).unwrap().count();
    assert_eq!(files, 48, "schema/ holds the generated schemas only");
}

/// What is wrong with a plan or policy by its schema.
fn errors(name: &str, text: &str) -> Vec<String> {
    let schema = format!("{FOLDER}/{name}.schema.json");
    let schema = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let file: serde_json::Value = toml::from_str(text).unwrap();
    let errors = validator.iter_errors(&file);
    errors.map(|error| error.to_string()).collect()
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
