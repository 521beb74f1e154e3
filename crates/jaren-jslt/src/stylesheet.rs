//! The public face: compiling a stylesheet and transforming values.

use std::num::NonZeroU64;
use std::sync::Arc;

use jaren_json::{Array, Report, Value};
use jaren_query::{Limits, TypeTests};

use crate::compile::compile;
use crate::error::TransformError;
use crate::sheet::Sheet;
use crate::transform::transform;

/// A compiled stylesheet: shared by clones and between threads.
#[derive(Clone, Debug)]
pub struct Stylesheet(Arc<Sheet>);

/// How to compile a stylesheet.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The parameters that bodies may name (section 8.1): any name where this is `None`, and otherwise only these beside
    /// `root` and `path`; another free variable is then a `JQ0005` in its body.
    pub parameters: Option<Vec<String>>,
    /// What compiles schemas, of matches and in bodies; a stylesheet that has one is refused without it.
    pub type_tests: Option<TypeTests>,
    /// How deep dispatches may lie within each other (section 5.4); `JT2001` beyond. The dispatch of the input is at depth
    /// 0. Each level needs some stack, which is taken from the heap where the thread's own is short; what would take more than
    /// 128 MiB of it is `JT2001` too.
    pub depth_max: usize,
    /// What one evaluation of one body may spend; `JT2004` beyond.
    pub limits: Limits,
    /// How many values a transform may dispatch; `JR2001` beyond. The format has no such limit, and depth does not bound
    /// it: a stylesheet of which the author is not trusted needs it, beside [`Self::limits`].
    pub dispatches_max: Option<NonZeroU64>,
}

impl Default for CompileOptions {
    /// Any parameters, no schemas, the format's depth of 1024, and no other limit.
    fn default() -> Self {
        Self {
            parameters: None,
            type_tests: None,
            depth_max: 1024,
            limits: Limits::default(),
            dispatches_max: None,
        }
    }
}

impl Stylesheet {
    /// Compiles a stylesheet document with the default options.
    ///
    /// The report names every defect by one of the `JT0…` codes; a `JT0007` has the defect of the query language as its
    /// cause.
    pub fn compile(document: &Value) -> Result<Self, Report> {
        Self::compile_with(document, &CompileOptions::default())
    }

    /// Compiles a stylesheet document.
    pub fn compile_with(document: &Value, options: &CompileOptions) -> Result<Self, Report> {
        compile(document, options).map(|sheet| Self(Arc::new(sheet)))
    }

    /// The parameters that bodies name, in the order of their first appearance, without `root` and `path` (section 8.3).
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.parameters.iter().map(|name| &**name)
    }

    /// Transforms an input, with no parameter bound. The answer is nothing, the one item, or an array of several items.
    ///
    /// What no rule touched is not copied: in mode `share` it is the same allocation as in the input.
    pub fn transform(&self, input: &Value) -> Result<Option<Value>, TransformError> {
        self.transform_with(input, &[])
    }

    /// The same with parameters bound. The names `root` and `path` are the engine's own and may not be rebound.
    pub fn transform_with(
        &self,
        input: &Value,
        parameters: &[(&str, &Value)],
    ) -> Result<Option<Value>, TransformError> {
        let mut items = self.items(input, parameters)?;
        Ok(if items.len() > 1 { Some(Array::from(items).into()) } else { items.pop() })
    }

    /// All items of the answer.
    pub fn items(&self, input: &Value, parameters: &[(&str, &Value)]) -> Result<Vec<Value>, TransformError> {
        transform(&self.0, input, parameters)
    }
}
