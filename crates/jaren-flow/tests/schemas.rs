//! The published schemas against the conformance corpus: what a compiler accepts satisfies its schema in both drafts,
//! and what it refuses for its shape does not.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it did"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use jaren_flow::DeclaredTasks;
use jaren_flow::schema::{self, Dialect};
use jaren_flow::workflow::Workflow;
use jaren_json::{Duplicates, Integers, ReadOptions, Value, read};
use jsonschema::Validator;

const DIALECTS: [Dialect; 2] = [Dialect::Draft202012, Dialect::Draft07];

/// A schema with its conformance cases, and the refusals that it leaves to the compiler.
struct Format {
    folder: &'static str,
    /// The member of a case that has the document.
    document: &'static str,
    schema: fn(Dialect) -> Value,
    /// Why a schema cannot see it, and what it is: innermost codes, and names of cases or parts of them.
    left: &'static [(&'static str, &'static [&'static str])],
}

const QUERY: Format = Format {
    folder: "query",
    document: "query",
    schema: jaren_query::schema::query,
    left: &[
        ("which names are bound is seen in the whole document", &["JQ0005", "JQ0007"]),
        ("what the host registers", &["JQ0008", "JQ0010", "JQ0012", "named zone"]),
        ("limits of the host", &["JQ0011"]),
        ("the grammar of numbers in paths", &["[01]", "[-0]", "[0 1]"]),
        ("the grammar of filters", &["[?@.a==]", "[?nope(@)]", "[?match(@.a)]"]),
        ("the letters of date formats", &["$date-format"]),
        ("which of two times is earlier", &["window reversed"]),
    ],
};

const STYLESHEET: Format = Format {
    folder: "jslt",
    document: "stylesheet",
    schema: jaren_jslt::schema::stylesheet,
    left: &[
        ("what the host registers", &["JT0006", "JQ0008", "JQ0010"]),
        ("whether a literal is a schema, which the host says", &["JT0005", "JQ0009"]),
        ("which names are bound is seen in the whole document", &["JQ0007"]),
        ("the letters of date formats", &["date-format"]),
    ],
};

const MACHINE: Format = Format {
    folder: "fsm",
    document: "document",
    schema: schema::machine,
    left: &[
        ("which states are declared", &["JF0003", "JF0004", "JF0006"]),
        ("what the host registers", &["JQ0008"]),
    ],
};

const STATECHART: Format = Format {
    folder: "statechart",
    document: "document",
    schema: schema::statechart,
    left: &[
        ("which states are declared", &["duplicate", "undeclared"]),
        (
            "what stands where in the tree",
            &[
                "parent cycle",
                "parent self",
                "under atomic",
                "under final",
                "child of history",
                "compound without initial",
                "compound initial is",
                "only a history child",
                "parallel without regions",
                "atomic with initial",
                "initial not a root",
            ],
        ),
        ("the type of the state that a transition names", &["from history", "from final", "done on atomic"]),
        ("whether the target is within the source", &["internal to a"]),
    ],
};

const DAG: Format = Format {
    folder: "dag",
    document: "document",
    schema: schema::dag,
    left: &[
        ("what the host registers", &["JF0018", "JF0019", "JT0006"]),
        ("that there are not two outputs: schemas do not count members", &["two outputs"]),
        ("which nodes edges join", &["JF0013", "JF0015", "JF0016"]),
    ],
};

const WORKFLOW: Format = Format {
    folder: "workflow",
    document: "document",
    schema: schema::workflow,
    left: &[
        ("what the host registers", &["JF0018", "JF0019"]),
        ("which states are declared", &["undeclared", "another scope"]),
        ("which ways lead around", &["JF0022"]),
        ("how deep flows nest", &["depth 65"]),
        ("which nodes edges join", &["JF0016"]),
        ("that there are not two outputs: schemas do not count members", &["two outputs"]),
    ],
};

fn validators(schema: fn(Dialect) -> Value) -> [Validator; 2] {
    DIALECTS.map(|dialect| {
        let schema = serde_json::to_value(schema(dialect)).unwrap();
        jsonschema::meta::validate(&schema).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    })
}

/// The verdict of both drafts, which is one.
fn satisfies(validators: &[Validator; 2], document: &Value) -> bool {
    let document = serde_json::to_value(document).unwrap();
    let [newer, older] = validators.each_ref().map(|validator| validator.is_valid(&document));
    assert_eq!(newer, older, "the drafts disagree about {document}");
    newer
}

/// The cases of a folder of the corpus; `None`, said aloud, where it is not there.
fn cases(folder: &str) -> Option<Vec<Value>> {
    let path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance")).join(folder);
    let Ok(files) = std::fs::read_dir(&path) else {
        println!("skipped: the conformance corpus is not at {}", path.display());
        return None;
    };
    let lenient =
        ReadOptions { duplicates: Duplicates::LastWins, integers: Integers::Nearest, ..ReadOptions::data() };
    let files = files.map(|file| read(&std::fs::read(file.unwrap().path()).unwrap(), &lenient).unwrap());
    Some(files.flat_map(|cases| cases.as_array().unwrap().to_vec()).collect())
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

impl Format {
    fn agrees(&self) {
        let Some(cases) = cases(self.folder) else { return };
        let validators = validators(self.schema);
        let (mut accepted, mut refused, mut left) = (0, 0, BTreeMap::<&str, usize>::new());
        let mut wrong = Vec::new();
        for case in &cases {
            let error = case.get("expect").and_then(|expect| expect.get("error"));
            let error = error.filter(|error| error.get("stage").is_none_or(|stage| *stage == *"compile"));
            let document = case.get(self.document).unwrap();
            match (error, satisfies(&validators, document)) {
                (None, true) => accepted += 1,
                (Some(_), false) => refused += 1,
                (Some(error), true) => match self.left_to_compiler(text(case, "name"), error) {
                    Some(which) => *left.entry(which).or_default() += 1,
                    None => wrong.push(format!("satisfies the schema in spite of {error}: {case}")),
                },
                // Lowering, unlike compiling, looks at no dag.
                (None, false) if case.get("expect").and_then(|expect| expect.get("lowered")).is_some() => {
                    assert!(Workflow::compile(document, &DeclaredTasks).is_err(), "{case}");
                    refused += 1;
                }
                (None, false) => wrong.push(format!("does not satisfy the schema: {case}")),
            }
        }
        println!("{}: {accepted} accepted, {refused} refused by both; beyond: {left:?}", self.folder);
        let listed = self.left.iter().flat_map(|(_, which)| *which);
        let unused = listed.filter(|which| !left.contains_key(*which));
        wrong.extend(unused.map(|which| format!("'{which}' excuses nothing")));
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }

    /// The entry that excuses a case.
    fn left_to_compiler(&self, name: &str, error: &Value) -> Option<&'static str> {
        let code = text(error.get("cause").unwrap_or(error), "code");
        let mut listed = self.left.iter().flat_map(|(_, which)| *which);
        listed.find(|which| code == **which || name.contains(**which)).copied()
    }
}

#[test]
fn queries() {
    QUERY.agrees();
}

#[test]
fn stylesheets() {
    STYLESHEET.agrees();
}

#[test]
fn machines() {
    MACHINE.agrees();
}

#[test]
fn statecharts() {
    STATECHART.agrees();
}

#[test]
fn dags() {
    DAG.agrees();
}

#[test]
fn workflows() {
    WORKFLOW.agrees();
}

#[test]
fn snapshots() {
    let Some(cases) = cases("statechart") else { return };
    let validators = validators(schema::statechart_snapshot);
    let (mut accepted, mut refused, mut left) = (0, 0, 0);
    for case in &cases {
        for op in case.get("script").and_then(Value::as_array).into_iter().flatten() {
            let expect = op.get("expect").unwrap();
            if let Some(state) = expect.get("state").filter(|_| text(op, "op") != "sessionState") {
                assert!(satisfies(&validators, state), "{case}");
                accepted += 1;
            }
            if text(op, "op") == "restore" && expect.get("error").is_some() {
                // What a snapshot names must be active, declared or delayed in its chart: that is left to `restore`.
                let seen = !satisfies(&validators, op.get("state").unwrap_or(&Value::Null));
                *(if seen { &mut refused } else { &mut left }) += 1;
            }
        }
    }
    println!("snapshots: {accepted} accepted, {refused} refused by both, {left} left to restore");
}

/// The keywords whose value is no schema.
const DATA: [&str; 18] = [
    "$schema",
    "$id",
    "$ref",
    "title",
    "description",
    "type",
    "const",
    "enum",
    "pattern",
    "required",
    "minimum",
    "maximum",
    "minLength",
    "uniqueItems",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];

/// Every keyword means the same in both drafts, and nothing stands beside a reference, which draft-07 would not see.
#[test]
fn sources_keep_to_what_both_drafts_have() {
    fn check(schema: &Value, at: &str) {
        let Some(object) = schema.as_object() else {
            return assert!(schema.as_bool().is_some(), "{at}");
        };
        assert!(!object.contains_key("$ref") || object.len() == 1, "{at}");
        for (keyword, value) in object {
            let at = format!("{at}/{keyword}");
            let within: Vec<&Value> = match keyword {
                data if DATA.contains(&data) => Vec::new(),
                "items" | "additionalProperties" | "propertyNames" | "not" | "if" | "then" | "else" => {
                    vec![value]
                }
                "anyOf" | "allOf" | "prefixItems" => value.as_array().unwrap().iter().collect(),
                "$defs" | "properties" => value.as_object().unwrap().values().iter().collect(),
                other => panic!("{at}: is '{other}' the same in both drafts?"),
            };
            for (index, schema) in within.into_iter().enumerate() {
                check(schema, &format!("{at}/{index}"));
            }
        }
    }
    let all: [fn(Dialect) -> Value; 7] = [
        jaren_query::schema::query,
        jaren_jslt::schema::stylesheet,
        schema::machine,
        schema::statechart,
        schema::statechart_snapshot,
        schema::dag,
        schema::workflow,
    ];
    for schema in all {
        let schema = schema(Dialect::Draft202012);
        check(&schema, text(&schema, "$id"));
    }
}
