//! The JSON Schema of stylesheets.

use jaren_json::{Object, Value, value};
use jaren_query::schema::{Dialect, definitions as query_definitions, publish};

const SOURCE: &str = include_str!("../schemas/stylesheet.json");

/// The schema of a stylesheet, its bodies included.
pub fn stylesheet(dialect: Dialect) -> Value {
    publish(SOURCE, [bodies()], dialect)
}

/// The definitions of that schema, for a schema that embeds stylesheets: `stylesheet` and what it needs.
pub fn definitions() -> Object {
    let schema = stylesheet(Dialect::Draft202012);
    schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Queries that may apply rules.
fn bodies() -> Object {
    query_definitions("body-", [("$apply", value!({ "$ref": "#/$defs/apply" }))])
}
