//! `jaren schema`: the JSON Schemas of the formats, for editors and validators.

use jaren::flow::schema::{self, Dialect};
use jaren::json::{Value, pretty, value};
use jaren::{jslt, query};

use crate::args::{self, Draft, SchemaName};
use crate::exit::Exit;
use crate::output::Output;

/// The schemas with what they describe, in the order of the list.
const ALL: [(SchemaName, &str, &str); 7] = [
    (SchemaName::Workflow, "workflow", "a workflow (jaren-workflow 0.2)"),
    (SchemaName::Dag, "dag", "a dataflow (jaren-dag 0.1)"),
    (SchemaName::Statechart, "statechart", "a statechart (jaren-fsm 0.2)"),
    (SchemaName::StatechartSnapshot, "statechart-snapshot", "the state of a running statechart"),
    (SchemaName::Machine, "machine", "a machine (jaren-fsm 0.1)"),
    (SchemaName::Query, "query", "a query"),
    (SchemaName::Stylesheet, "stylesheet", "a stylesheet"),
];

/// Prints a schema, or the list of them.
pub(crate) fn schema(arguments: &args::Schema, output: &mut Output) -> Exit {
    match arguments.name {
        Some(name) => {
            let schema = of(name, arguments.draft);
            output.print(&schema, || pretty(&schema).unwrap_or_default() + "\n");
        }
        None => {
            for (_, name, what) in ALL {
                let object = value!({ "type": "schema", "name": name, "describes": what });
                output.print(&object, || format!("{name:<20} {what}\n"));
            }
        }
    }
    Exit::Success
}

fn of(name: SchemaName, draft: Draft) -> Value {
    let dialect = match draft {
        Draft::Draft202012 => Dialect::Draft202012,
        Draft::Draft07 => Dialect::Draft07,
    };
    match name {
        SchemaName::Workflow => schema::workflow(dialect),
        SchemaName::Dag => schema::dag(dialect),
        SchemaName::Statechart => schema::statechart(dialect),
        SchemaName::StatechartSnapshot => schema::statechart_snapshot(dialect),
        SchemaName::Machine => schema::machine(dialect),
        SchemaName::Query => query::schema::query(dialect),
        SchemaName::Stylesheet => jslt::schema::stylesheet(dialect),
    }
}
