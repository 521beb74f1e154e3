//! JSLT-FORMAT: `{"stylesheet", "input", "params"?, "maxDepth"?, "typeTest"?, "expectExternals"?, "sharesInput"?, "expect"}`.

use jaren_jslt::{CompileOptions, Stylesheet};
use jaren_json::{Array, Diagnostic, ObjectBuilder, Value, value};
use jaren_query::{SchemaTest, Schemas};

use crate::answer::{Rules, decode, same};
use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(case: &Case) -> Outcome {
    let expected = case.need("expect")?;
    if case.refused.is_some() {
        return case.refused_as_expected();
    }
    let found = answer(case)?;
    if expected.get("value").is_some() {
        // A result is the reference's to the order of members; an error's envelope never is.
        return same(&decode(expected), &found, Rules { order: true, approx: false });
    }
    same(expected, &found, Rules::EXACT)
}

/// What the crate answers, in the form of a case's `expect`.
fn answer(case: &Case) -> Result<Value, String> {
    let sheet = match Stylesheet::compile_with(case.need("stylesheet")?, &options(case)) {
        Ok(sheet) => sheet,
        Err(report) => return Ok(error("compile", report.first())),
    };
    if let Some(expected) = case.get("expectExternals") {
        let found = Value::Array(sheet.parameters().collect::<Array>());
        same(expected, &found, Rules::EXACT).map_err(|difference| format!("parameters: {difference}"))?;
    }
    let parameters: Vec<(&str, &Value)> =
        case.get("params").and_then(Value::as_object).into_iter().flatten().collect();
    let input = case.need("input")?;
    match sheet.transform_with(input, &parameters) {
        Ok(None) => Ok(value!({ "empty": true })),
        Ok(Some(found)) => {
            let shared = case.get("sharesInput").and_then(Value::as_bool);
            if shared.is_some_and(|shared| shared != found.ptr_eq(input)) {
                return Err(format!("expected sharesInput {shared:?}"));
            }
            Ok(value!({ "value": found }))
        }
        Err(failure) => Ok(error("run", &Diagnostic::from(failure))),
    }
}

fn options(case: &Case) -> CompileOptions {
    let mut options = CompileOptions::default();
    if let Some(depth) = case.get("maxDepth").and_then(Value::as_u64) {
        options.depth_max = usize::try_from(depth).unwrap_or(usize::MAX);
    }
    if case.get("typeTest").is_some() {
        options.bodies.schemas = Some(Schemas::new(|schema| {
            let schema = Tiny::compile(schema)?;
            Ok::<_, String>(SchemaTest::new(move |item| schema.accepts(item)))
        }));
    }
    options
}

fn error(stage: &str, diagnostic: &Diagnostic) -> Value {
    let mut members = ObjectBuilder::new();
    members.insert("stage", stage);
    members.insert("code", diagnostic.code());
    members.insert("docPath", diagnostic.pointer().as_str());
    if let Some(cause) = diagnostic.cause() {
        members.insert("cause", value!({ "code": (cause.code()), "docPath": (cause.pointer().as_str()) }));
    }
    value!({ "error": (members.build()) })
}

/// The schemas of the corpus's tests of types, `tiny`.
enum Tiny {
    Is(bool),
    /// All of these.
    All(Vec<Keyword>),
}

enum Keyword {
    Type(Vec<String>),
    Required(Vec<String>),
    Properties(Vec<(String, Tiny)>),
    Items(Tiny),
    Enum(Vec<Value>),
    Minimum(f64),
}

impl Tiny {
    fn compile(schema: &Value) -> Result<Self, String> {
        match schema {
            Value::Bool(is) => Ok(Self::Is(*is)),
            Value::Object(keywords) => {
                let keywords = keywords.iter().map(|(name, value)| Keyword::compile(name, value));
                keywords.collect::<Result<_, _>>().map(Self::All)
            }
            other => Err(format!("a schema is a boolean or an object, not {}", other.kind())),
        }
    }

    fn accepts(&self, item: &Value) -> bool {
        match self {
            Self::Is(is) => *is,
            Self::All(keywords) => keywords.iter().all(|keyword| keyword.accepts(item)),
        }
    }
}

impl Keyword {
    fn compile(name: &str, value: &Value) -> Result<Self, String> {
        let malformed = || format!("not a value of '{name}'");
        Ok(match name {
            "type" => Self::Type(types(value).ok_or_else(malformed)?),
            "required" => {
                Self::Required(texts(value.as_array().ok_or_else(malformed)?).ok_or_else(malformed)?)
            }
            "properties" => {
                let properties = value.as_object().ok_or_else(malformed)?.iter();
                let properties =
                    properties.map(|(name, schema)| Ok((name.to_owned(), Tiny::compile(schema)?)));
                Self::Properties(properties.collect::<Result<_, String>>()?)
            }
            "items" => Self::Items(Tiny::compile(value)?),
            "const" => Self::Enum(vec![value.clone()]),
            "enum" => Self::Enum(value.as_array().ok_or_else(malformed)?.to_vec()),
            "minimum" => Self::Minimum(value.as_f64().ok_or_else(malformed)?),
            _ => return Err(format!("unknown keyword '{name}'")),
        })
    }

    fn accepts(&self, item: &Value) -> bool {
        match self {
            Self::Type(types) => types.iter().any(|name| {
                let integer = name == "integer" && item.as_f64().is_some_and(|number| number.fract() == 0.0);
                integer || name == item.kind().as_str()
            }),
            Self::Required(names) => {
                item.as_object().is_none_or(|object| names.iter().all(|name| object.contains_key(name)))
            }
            Self::Properties(properties) => properties
                .iter()
                .all(|(name, schema)| item.get(name).is_none_or(|member| schema.accepts(member))),
            Self::Items(schema) => {
                item.as_array().is_none_or(|array| array.iter().all(|element| schema.accepts(element)))
            }
            Self::Enum(values) => values.contains(item),
            Self::Minimum(minimum) => item.as_f64().is_none_or(|number| number >= *minimum),
        }
    }
}

/// The names of a `type`, all of them known.
fn types(value: &Value) -> Option<Vec<String>> {
    const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];
    let names = match value {
        Value::String(name) => vec![name.to_string()],
        value => texts(value.as_array()?)?,
    };
    names.iter().all(|name| TYPES.contains(&&**name)).then_some(names)
}

fn texts(array: &Array) -> Option<Vec<String>> {
    array.iter().map(|text| text.as_str().map(ToOwned::to_owned)).collect()
}
