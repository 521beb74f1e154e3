//! The public face: compiling a stylesheet and transforming values.

use std::num::NonZeroU64;
use std::sync::Arc;

use jaren_json::{Array, Pointer, Report, Value};

use crate::compile::compile;
use crate::error::TransformError;
use crate::sheet::Sheet;
use crate::transform::{check_size, transform};

/// A compiled stylesheet: shared by clones and between threads.
#[derive(Clone, Debug)]
pub struct Stylesheet(Arc<Sheet>);

/// How to compile a stylesheet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompileOptions {
    /// How bodies are compiled: their limits, and what a host lends them.
    ///
    /// The `externals` are the parameters of the stylesheet (section 8.1), beside which bodies may name `root` and `path`.
    /// The `schemas` compile the schemas of matches too.
    ///
    /// Of the limits, `steps` and `work` hold for a transform as a whole: for all evaluations of bodies together, and for
    /// what happens between them, where a dispatch is a step and values that are kept are work. What a body spends beyond
    /// them is `JT2004`, and what is spent between bodies `JR2001`.
    pub bodies: jaren_query::CompileOptions,
    /// How deep dispatches may lie within each other (section 5.4); `JT2001` beyond. The dispatch of the input is at depth
    /// 0, so that 0 lets none lie within another. Each level needs some stack, which is taken from the heap where the thread's own is short; what would take more than
    /// 128 MiB of it is `JT2001` too.
    pub depth_max: usize,
    /// How many values a transform may dispatch; `JR2001` beyond. The format has no such limit; where this is `None`, only
    /// the steps of `bodies` bound it.
    pub dispatches_max: Option<NonZeroU64>,
}

impl CompileOptions {
    /// Any parameters, nothing of a host, the format's depth of 1024, and no other limit.
    pub fn new() -> Self {
        Self { bodies: jaren_query::CompileOptions::new(), depth_max: 1024, dispatches_max: None }
    }

    /// The same with bodies compiled like this.
    #[must_use]
    pub fn with_bodies(mut self, bodies: jaren_query::CompileOptions) -> Self {
        self.bodies = bodies;
        self
    }

    /// The same with dispatches so deep within each other.
    #[must_use]
    pub fn with_depth_max(mut self, depth: usize) -> Self {
        self.depth_max = depth;
        self
    }

    /// The same with so many dispatches.
    #[must_use]
    pub fn with_dispatches_max(mut self, dispatches: impl Into<Option<NonZeroU64>>) -> Self {
        self.dispatches_max = dispatches.into();
        self
    }
}

impl Default for CompileOptions {
    /// As [`CompileOptions::new`].
    fn default() -> Self {
        Self::new()
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
        let answer = if items.len() > 1 { Some(Array::from(items).into()) } else { items.pop() };
        // An input may be composed of earlier answers, twice the same: so this holds for what is only handed on, too.
        answer.iter().try_for_each(|answer| check_size(answer, Pointer::root()))?;
        Ok(answer)
    }

    /// All items of the answer.
    pub fn items(&self, input: &Value, parameters: &[(&str, &Value)]) -> Result<Vec<Value>, TransformError> {
        transform(&self.0, input, parameters)
    }
}
