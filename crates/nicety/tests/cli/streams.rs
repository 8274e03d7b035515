//! What commands write line by line as JSON.

use std::fs;

use serde_json::Value;

/// Lines of a stream, each as the schema has it.
pub fn stream(text: &str, schema: &str) -> Vec<Value> {
    let file = format!(
        "{}/../../schema/{schema}.schema.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let schema = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let read = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{line}");
        value
    };
    text.lines().map(read).collect()
}
