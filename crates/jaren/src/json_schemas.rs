//! JSON Schema as the language of schema literals. It lies here because the crate behind it draws random numbers for its
//! tables, which no pure layer may reach.

use jaren_json::Value;
use jaren_query::{SchemaTest, Schemas};
use jsonschema::{PatternOptions, Validator};

/// Schema literals are JSON Schemas, of the draft that `$schema` names or else 2020-12.
///
/// A schema stands alone: one that refers to another document does not compile. Its patterns run in linear time. An item
/// is handed over as a copy, so that a test costs by the item's size; one that holds NaN or an infinity satisfies no
/// schema.
///
/// ```
/// use jaren::json::value;
/// use jaren::query::{CompileOptions, Query, Scope};
///
/// let options = CompileOptions::new().with_schemas(jaren::json_schemas());
/// let query = value!({"$valid": ["$.tags[*]", {"type": "string", "pattern": "^[a-z]+$"}]});
/// let query = Query::compile_with(&query, &options)?;
/// assert!(query.truth(&Scope::value(&value!({"tags": ["new", "sale"]})))?);
/// assert!(!query.truth(&Scope::value(&value!({"tags": ["new", 7]})))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn json_schemas() -> Schemas {
    Schemas::new(|schema| {
        let validator = compile(schema)?;
        Ok::<_, String>(SchemaTest::new(move |item| {
            serde_json::to_value(item).is_ok_and(|item| validator.is_valid(&item))
        }))
    })
}

fn compile(schema: &Value) -> Result<Validator, String> {
    let schema = serde_json::to_value(schema).map_err(|error| error.to_string())?;
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    // The error's own text may quote the schema at length; its place says enough.
    options.build(&schema).map_err(|error| {
        let place = error.instance_path().to_string();
        format!("the schema is no JSON Schema that stands alone, at \"{place}\"")
    })
}

#[cfg(test)]
mod tests {
    use jaren_json::value;

    use super::json_schemas;

    #[test]
    fn what_cannot_be_a_schema_is_refused() {
        for schema in [
            value!({"type": "strange"}),
            value!({"$ref": "https://example.com/other.json"}),
            value!({"pattern": "(?=a)b"}),
            value!("text"),
        ] {
            assert!(json_schemas().compile(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn numbers_that_json_has_not_satisfy_nothing() {
        let test = json_schemas().compile(&value!({"type": "number"})).unwrap();
        assert!(test.accepts(&value!(1.5)));
        assert!(!test.accepts(&value!([(f64::NAN)])));
        assert!(!test.accepts(&value!(f64::INFINITY)));
    }
}
