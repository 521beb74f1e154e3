//! How documents are compiled: what the host lends to their queries, and what these may spend.

use std::num::NonZeroU64;

use jaren_jslt::Stylesheet;
use jaren_json::{Diagnostic, Pointer, Report, Value};
use jaren_query::{Limits, Query};

use crate::defects::Defects;

/// How a document of any of the formats is compiled.
///
/// ```
/// use jaren_flow::CompileOptions;
/// use jaren_flow::machine::Machine;
/// use jaren_json::{Value, value};
/// use jaren_query::Functions;
///
/// let functions = Functions::new().with("is-long", |arguments| match arguments {
///     [Some(Value::String(text))] => Ok(Some(Value::Bool(text.len() > 8))),
///     _ => Err("expected one text"),
/// });
/// let queries = jaren_query::CompileOptions::new().with_functions(functions);
/// let document = value!({
///     "initial": "draft",
///     "states": ["draft", "review"],
///     "transitions": [{
///         "from": "draft", "event": "submit", "to": "review",
///         "guard": { "$call": ["is-long", "$.payload.title"] }
///     }]
/// });
/// assert!(Machine::compile(&document).is_err());
/// assert!(Machine::compile_with(&document, &CompileOptions::new().with_queries(queries)).is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct CompileOptions {
    queries: jaren_query::CompileOptions,
    step_limits: Limits,
    microsteps_max: NonZeroU64,
    is_reading: bool,
}

impl CompileOptions {
    /// What a query within a step may spend where nothing else is said: 2²⁴ steps, and as much work. A transition does
    /// not wait for an author's slip, and this is enough to look through a million rows.
    pub const STEP_EFFORT: NonZeroU64 = NonZeroU64::new(1 << 24).unwrap();

    /// Nothing of a host's, and the limits that are said here.
    pub fn new() -> Self {
        let limits = Limits::new().with_steps(Self::STEP_EFFORT).with_work(Self::STEP_EFFORT);
        Self {
            queries: jaren_query::CompileOptions::default(),
            step_limits: limits,
            microsteps_max: const { NonZeroU64::new(1000).unwrap() },
            is_reading: false,
        }
    }

    /// For reading what a document says without the code of the host that runs it: as with
    /// [`DeclaredTasks`](crate::DeclaredTasks), its word is taken. No query or stylesheet in it is compiled, so that it
    /// may name functions and schemas that nobody has here; each answers null. What is compiled so is not to be driven.
    pub fn for_reading() -> Self {
        Self { is_reading: true, ..Self::new() }
    }

    /// The same with what a host lends to all queries of the document and to the bodies of its stylesheets: functions,
    /// operators, collations, schemas, lexical providers, time zones.
    ///
    /// Its limits hold for the queries and stylesheets that are nodes of a dataflow, which take the time that the work
    /// takes. Its externals are not used: there is nothing that could bind one.
    #[must_use]
    pub fn with_queries(mut self, queries: jaren_query::CompileOptions) -> Self {
        self.queries = queries;
        self
    }

    /// The same with other limits of the queries within a step, for which the whole run waits: guards, the `with` of
    /// effects and tasks, the `select` of edges, the `input` of work.
    #[must_use]
    pub fn with_step_limits(mut self, limits: Limits) -> Self {
        self.step_limits = limits;
        self
    }

    /// The same with another bound on the automatic transitions and timers of one call of a statechart, 1000 by default;
    /// more are JF2012.
    #[must_use]
    pub fn with_microsteps_max(mut self, max: NonZeroU64) -> Self {
        self.microsteps_max = max;
        self
    }
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The options as the compilers use them: made once for a document.
#[derive(Debug)]
pub(crate) struct Queries {
    step: jaren_query::CompileOptions,
    /// The `bodies` are for a node's query, too.
    node: jaren_jslt::CompileOptions,
    is_reading: bool,
    pub(crate) microsteps_max: NonZeroU64,
}

impl Queries {
    pub(crate) fn new(options: &CompileOptions) -> Self {
        let mut bodies = options.queries.clone();
        bodies.externals = None;
        let step = bodies.clone().with_limits(options.step_limits);
        let node = jaren_jslt::CompileOptions::new().with_bodies(bodies);
        Self { step, node, is_reading: options.is_reading, microsteps_max: options.microsteps_max }
    }

    /// Compiles a query within a step.
    pub(crate) fn in_step(
        &self,
        document: &Value,
        code: &'static str,
        pointer: &Pointer,
        what: &str,
        defects: &mut Defects,
    ) -> Option<Query> {
        let document = if self.is_reading { &Value::Null } else { document };
        embedded(Query::compile_with(document, &self.step), code, pointer, what, defects)
    }

    /// The analysis of a query that compiles.
    pub(crate) fn analyze(&self, document: &Value) -> Option<Value> {
        jaren_query::analyze(document, &self.step).ok()
    }

    /// Compiles the query of a node.
    pub(crate) fn of_node(
        &self,
        document: &Value,
        pointer: &Pointer,
        defects: &mut Defects,
    ) -> Option<Query> {
        let document = if self.is_reading { &Value::Null } else { document };
        embedded(Query::compile_with(document, &self.node.bodies), "JF0014", pointer, "the query", defects)
    }

    /// Compiles the stylesheet of a node.
    pub(crate) fn stylesheet(
        &self,
        document: &Value,
        pointer: &Pointer,
        defects: &mut Defects,
    ) -> Option<Stylesheet> {
        let nothing = Value::Array(jaren_json::Array::default());
        let document = if self.is_reading { &nothing } else { document };
        let compiled = Stylesheet::compile_with(document, &self.node);
        embedded(compiled, "JF0014", pointer, "the stylesheet", defects)
    }
}

/// What an embedded document compiled to. A failure becomes defects of the document around it, one for each of the
/// embedded one's own, which is its cause.
fn embedded<T>(
    compiled: Result<T, Report>,
    code: &'static str,
    pointer: &Pointer,
    what: &str,
    defects: &mut Defects,
) -> Option<T> {
    match compiled {
        Ok(compiled) => Some(compiled),
        Err(report) => {
            for cause in report.iter() {
                let message = format!("{what} does not compile");
                let defect = Diagnostic::new(code, pointer.clone(), message).with_cause(cause.clone());
                defects.add(defect.with_place(pointer.join(cause.place())));
            }
            None
        }
    }
}
