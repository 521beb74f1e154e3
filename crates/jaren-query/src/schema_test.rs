//! Schema literals: the language knows no schema language of its own and asks its host (section 8.11).

use std::fmt;
use std::sync::Arc;

use jaren_json::Value;

type Compile = dyn Fn(&Value) -> Result<SchemaTest, String> + Send + Sync;

/// What compiles the schema literals of `$valid`, `$assert` and `$as` to tests.
///
/// ```
/// use jaren_json::{Value, value};
/// use jaren_query::{CompileOptions, Query, Scope, SchemaTest, Schemas};
///
/// let names = Schemas::new(|schema| match schema.as_str() {
///     Some("text") => Ok(SchemaTest::new(|item| item.as_str().is_some())),
///     _ => Err("expected \"text\""),
/// });
/// let options = CompileOptions::new().with_schemas(names);
/// let query = Query::compile_with(&value!({"$valid": ["$.tags[*]", "text"]}), &options)?;
/// assert!(query.truth(&Scope::value(&value!({"tags": ["a", "b"]})))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Schemas(Arc<Compile>);

impl Schemas {
    /// Each schema literal is compiled once, by `compile`; what it refuses is `JQ0009` with the reason it gives.
    pub fn new<E: fmt::Display>(
        compile: impl Fn(&Value) -> Result<SchemaTest, E> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |schema| compile(schema).map_err(|reason| reason.to_string())))
    }

    /// The test of a schema, or why there is none.
    pub fn compile(&self, schema: &Value) -> Result<SchemaTest, String> {
        (self.0)(schema)
    }
}

impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schemas")
    }
}

/// The test of one schema.
#[derive(Clone)]
pub struct SchemaTest(Arc<dyn Fn(&Value) -> bool + Send + Sync>);

impl SchemaTest {
    /// A test, which must always answer the same for the same item.
    pub fn new(accepts: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(accepts))
    }

    /// Whether an item satisfies the schema.
    pub fn accepts(&self, item: &Value) -> bool {
        (self.0)(item)
    }
}

impl fmt::Debug for SchemaTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SchemaTest")
    }
}
