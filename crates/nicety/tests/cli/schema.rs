//! What commands print as JSON is what `schema/nicety.schema.json` says.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../schema/nicety.schema.json");

/// A definition of the schema, compiled: that takes longer than to look at thousands of values.
struct Definition {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Definition {
    fn new(name: &str) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let all = serde_json::from_str(SCHEMA).unwrap();
        compiler.add_resource("nicety.json", all).unwrap();
        let place = format!("nicety.json#/$defs/{name}");
        let index = compiler.compile(&place, &mut schemas).unwrap();
        Self { schemas, index }
    }

    #[track_caller]
    fn fits(&self, value: &Value) {
        if let Err(error) = self.schemas.validate(value, self.index) {
            panic!("{error}: {value}");
        }
    }
}

/// A text as JSON that fits a definition of the schema.
#[track_caller]
pub fn read(text: &str, definition: &str) -> Value {
    let value = serde_json::from_str(text).unwrap();
    fits(&value, definition);
    value
}

/// The lines of a text, each as JSON that fits a definition of the schema.
#[track_caller]
pub fn stream(text: &str, definition: &str) -> Vec<Value> {
    let definition = Definition::new(definition);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.inspect(|value| definition.fits(value)).collect()
}

#[track_caller]
pub fn fits(value: &Value, definition: &str) {
    Definition::new(definition).fits(value);
}
