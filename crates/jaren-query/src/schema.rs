//! JSON Schemas of the formats: that of queries, and what the formats above need to publish theirs.
//!
//! A schema decides what can be seen in the structure of a document: members, types, vocabulary, arities. What a name
//! refers to, what stands in a filter and what a host registers is the compilers' business, so a document that satisfies
//! its schema may still be refused, and one that a compiler accepts never fails its schema. The exceptions to that are
//! the operators that a host adds.
//!
//! ```
//! use jaren_query::schema::{self, Dialect};
//!
//! let schema = schema::query(Dialect::Draft202012);
//! assert_eq!(schema.get("$id").and_then(|id| id.as_str()), Some("urn:jaren:query:0.1"));
//! ```

use jaren_json::{Object, ReadOptions, Str, Value, read};

/// The version of JSON Schema that a schema is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Draft 2020-12.
    #[default]
    Draft202012,
    /// Draft-07, for tools that stopped there.
    Draft07,
}

const SOURCE: &str = include_str!("../schemas/query.json");

/// The schema of a query document. It refers to nothing outside itself, as all of them.
pub fn query(dialect: Dialect) -> Value {
    publish(SOURCE, [], dialect)
}

/// The definitions of the schema of queries, for a schema that embeds queries: `query`, `expression`, `path` and what
/// they need, each name behind `prefix`, with further operators, each with the schema of its argument.
///
/// For the formats above, as all in `crate::extension`.
#[doc(hidden)]
pub fn definitions<'a>(prefix: &str, operators: impl IntoIterator<Item = (&'a str, Value)>) -> Object {
    let own = source(SOURCE).get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let definitions = own.iter().map(|(name, schema)| {
        let schema = walk(schema, &|target| match target.strip_prefix("#/$defs/") {
            Some(name) => format!("#/$defs/{prefix}{name}"),
            None => target.to_owned(),
        });
        (Str::from(format!("{prefix}{name}")), schema)
    });
    let mut definitions: Object = definitions.collect();
    let name = format!("{prefix}operator");
    let operator = definitions.get(&name).and_then(Value::as_object);
    let known = operator.and_then(|operator| operator.get("properties")).and_then(Value::as_object);
    if let Some((operator, known)) = operator.zip(known) {
        let known =
            operators.into_iter().fold(known.clone(), |known, (name, schema)| known.with(name, schema));
        let operator = operator.with("properties", Value::Object(known));
        definitions = definitions.with(name, Value::Object(operator));
    }
    definitions
}

/// A schema from its source in draft 2020-12, with the definitions that it borrows, in the dialect that is asked for.
///
/// The source keeps to keywords that mean the same in both drafts, tuples aside, so that the translation is a matter of
/// names: nothing stands beside a `$ref`, references lead to `$defs` of the schema itself, nothing is dynamic.
///
/// # Panics
///
/// When the source is no JSON object: sources are parts of the program.
///
/// For the formats above, as all in `crate::extension`.
#[doc(hidden)]
pub fn publish(source_text: &str, borrowed: impl IntoIterator<Item = Object>, dialect: Dialect) -> Value {
    let schema = source(source_text);
    let own = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let all = [own].into_iter().chain(borrowed);
    let definitions: Object = all.flat_map(|definitions| pairs(&definitions)).collect();
    let schema = Value::Object(schema.with("$defs", Value::Object(definitions)));
    match dialect {
        Dialect::Draft202012 => schema,
        Dialect::Draft07 => draft_07(&schema),
    }
}

fn pairs(object: &Object) -> Vec<(Str, Value)> {
    object.iter().map(|(name, value)| (Str::from(name), value.clone())).collect()
}

#[expect(clippy::expect_used, reason = "sources are parts of the program, and tests read every one")]
fn source(text: &str) -> Object {
    let value = read(text.as_bytes(), &ReadOptions::document()).expect("a schema is JSON");
    value.as_object().cloned().expect("a schema is an object")
}

/// The keywords whose value is a schema, an object of schemas, and a list of schemas.
const ONE: [&str; 7] = ["items", "additionalProperties", "propertyNames", "not", "if", "then", "else"];
const NAMED: [&str; 3] = ["$defs", "properties", "patternProperties"];
const MANY: [&str; 3] = ["anyOf", "allOf", "prefixItems"];

/// A schema with every reference in it led elsewhere. Only schemas are looked into, not the values of `const` and `enum`.
fn walk(schema: &Value, lead: &dyn Fn(&str) -> String) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let keywords = object.iter().map(|(keyword, value)| {
        let value = match value {
            Value::String(target) if keyword == "$ref" => Value::from(lead(target)),
            Value::Object(members) if NAMED.contains(&keyword) => Value::Object(
                members.iter().map(|(name, schema)| (Str::from(name), walk(schema, lead))).collect(),
            ),
            Value::Array(schemas) if MANY.contains(&keyword) => {
                schemas.iter().map(|schema| walk(schema, lead)).collect()
            }
            schema if ONE.contains(&keyword) => walk(schema, lead),
            other => other.clone(),
        };
        (Str::from(keyword), value)
    });
    Value::Object(keywords.collect())
}

/// The same schema in draft-07.
fn draft_07(schema: &Value) -> Value {
    rename(&walk(schema, &|target| target.replacen("#/$defs/", "#/definitions/", 1)))
}

fn rename(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let is_tuple = object.contains_key("prefixItems");
    let keywords = object.iter().map(|(keyword, value)| {
        let value = match value {
            Value::Object(members) if NAMED.contains(&keyword) => Value::Object(
                members.iter().map(|(name, schema)| (Str::from(name), rename(schema))).collect(),
            ),
            Value::Array(schemas) if MANY.contains(&keyword) => schemas.iter().map(rename).collect(),
            Value::String(_) if keyword == "$schema" => {
                Value::from("http://json-schema.org/draft-07/schema#")
            }
            Value::String(id) if keyword == "$id" => Value::from(format!("{id}:draft-07")),
            schema if ONE.contains(&keyword) => rename(schema),
            other => other.clone(),
        };
        let keyword = match keyword {
            "$defs" => "definitions",
            "prefixItems" => "items",
            "items" if is_tuple => "additionalItems",
            other => other,
        };
        (Str::from(keyword), value)
    });
    Value::Object(keywords.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jaren_json::value;

    #[test]
    fn draft_07_renames_keywords_and_leaves_data_alone() {
        let schema = value!({
            "$id": "urn:x", "allOf": [{ "$ref": "#/$defs/prefixItems" }], "const": { "prefixItems": [] },
            "$defs": { "prefixItems": { "prefixItems": [true], "items": { "$ref": "#/$defs/prefixItems" } } }
        });
        let expected = value!({
            "$id": "urn:x:draft-07", "allOf": [{ "$ref": "#/definitions/prefixItems" }], "const": { "prefixItems": [] },
            "definitions": { "prefixItems": { "items": [true], "additionalItems": { "$ref": "#/definitions/prefixItems" } } }
        });
        assert_eq!(draft_07(&schema), expected);
    }

    #[test]
    fn borrowed_definitions_have_their_prefix_and_operators() {
        let definitions = definitions("body-", [("$apply", value!({ "$ref": "#/$defs/apply" }))]);
        assert!(definitions.iter().all(|(name, _)| name.starts_with("body-")));
        let operator = definitions.get("body-operator").and_then(|operator| operator.get("properties"));
        let of = |name| operator.and_then(|operator| operator.get(name));
        assert_eq!(of("$apply"), Some(&value!({ "$ref": "#/$defs/apply" })));
        assert_eq!(of("$not"), Some(&value!({ "$ref": "#/$defs/body-expression" })));
    }
}
