//! JSON Schemas of the formats, in draft 2020-12 and draft-07.
//!
//! Each stands alone: the schemas of queries and stylesheets are part of it. What a schema decides and what it leaves to
//! the compilers is said in [`jaren_query::schema`].
//!
//! ```
//! use jaren_flow::schema::{self, Dialect};
//!
//! let text = schema::workflow(Dialect::Draft07).to_string();
//! assert!(text.starts_with(r#"{"$schema":"http://json-schema.org/draft-07/schema#""#));
//! ```

use jaren_json::{Object, Value};
pub use jaren_query::schema::Dialect;
use jaren_query::schema::{definitions, publish};

const MACHINE: &str = include_str!("../schemas/machine.json");
const STATECHART: &str = include_str!("../schemas/statechart.json");
const SNAPSHOT: &str = include_str!("../schemas/statechart-snapshot.json");
const DAG: &str = include_str!("../schemas/dag.json");
const WORKFLOW: &str = include_str!("../schemas/workflow.json");

/// The schema of a machine, jaren-fsm 0.1.
pub fn machine(dialect: Dialect) -> Value {
    publish(MACHINE, [queries()], dialect)
}

/// The schema of a statechart, jaren-fsm 0.2.
pub fn statechart(dialect: Dialect) -> Value {
    publish(STATECHART, [queries()], dialect)
}

/// The schema of the snapshot of a running statechart.
pub fn statechart_snapshot(dialect: Dialect) -> Value {
    publish(SNAPSHOT, [], dialect)
}

/// The schema of a dataflow, jaren-dag 0.1.
pub fn dag(dialect: Dialect) -> Value {
    publish(DAG, [queries(), jaren_jslt::schema::definitions()], dialect)
}

/// The schema of a workflow, jaren-workflow 0.2, the dataflows of its states included.
pub fn workflow(dialect: Dialect) -> Value {
    let dag = dag(Dialect::Draft202012);
    let dag = dag.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    publish(WORKFLOW, [dag], dialect)
}

fn queries() -> Object {
    definitions("", [])
}
