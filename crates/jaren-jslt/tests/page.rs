//! The examples of the page do what it says.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use jaren_jslt::{CompileOptions, Stylesheet};
use jaren_json::{Diagnostic, ObjectBuilder, Pointer, ReadOptions, Value, read, value};
use jaren_query::{SchemaTest, Schemas};

/// Knows `type` and `required`.
fn schemas() -> Schemas {
    Schemas::new(|schema| {
        let Some(keywords) = schema.as_object() else { return Err("a schema is an object") };
        if !keywords.iter().all(|(name, _)| ["type", "required"].contains(&name)) {
            return Err("a schema has 'type' and 'required'");
        }
        let keywords = keywords.clone();
        Ok(SchemaTest::new(move |item| {
            let is_type = keywords.get("type").is_none_or(|name| *name == *item.kind().as_str());
            let required =
                keywords.get("required").and_then(Value::as_array).into_iter().flat_map(|names| names.iter());
            let mut required = required.filter_map(Value::as_str);
            is_type && item.as_object().is_none_or(|object| required.all(|name| object.contains_key(name)))
        }))
    })
}

fn answer(example: &Value) -> Result<Option<Value>, Diagnostic> {
    let mut options = CompileOptions::default();
    options.bodies.schemas = Some(schemas());
    let sheet = Stylesheet::compile_with(example.get("stylesheet").unwrap(), &options)
        .map_err(jaren_json::Report::into_first)?;
    let parameters: Vec<_> =
        example.get("parameters").and_then(Value::as_object).into_iter().flatten().collect();
    let input = example.get("input").unwrap();
    let output = sheet.transform_with(input, &parameters)?;
    for pointer in example.get("shared").and_then(Value::as_array).into_iter().flat_map(|list| list.iter()) {
        let pointer = Pointer::parse(pointer.as_str().unwrap()).unwrap();
        let parts = output.as_ref().and_then(|output| output.pointer(&pointer)).zip(input.pointer(&pointer));
        assert!(parts.is_some_and(|(a, b)| a.ptr_eq(b)), "{pointer} is not shared in {example}");
    }
    Ok(output)
}

#[test]
fn the_examples_do_what_the_page_says() {
    let page = include_str!("../../../docs/stylesheets.md");
    let examples: Vec<&str> =
        page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() > 10);
    for text in examples {
        let example =
            read(text.as_bytes(), &ReadOptions::document()).unwrap_or_else(|error| panic!("{error}: {text}"));
        match (answer(&example), example.get("error")) {
            (Ok(output), None) => assert_eq!(output.as_ref(), example.get("output"), "{text}"),
            (Err(error), Some(expected)) => {
                let mut found = ObjectBuilder::new();
                found.insert("code", error.code());
                found.insert("pointer", error.pointer().as_str());
                if let Some(cause) = error.cause() {
                    found.insert("cause", cause.code());
                }
                assert_eq!(Value::from(found.build()), *expected, "{text}");
            }
            (found, _) => panic!("{found:?} from {text}"),
        }
    }
    assert_eq!(
        answer(&value!({"stylesheet": [{"match": {"schema": 1}, "body": 1}], "input": 1}))
            .unwrap_err()
            .code(),
        "JT0005"
    );
}
