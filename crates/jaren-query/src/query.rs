//! The public face: compiling a query and evaluating it over a scope.

use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::ControlFlow;
use std::sync::Arc;

use jaren_json::{MemberName, Object, Report, Value};

use crate::capability::{Collations, Functions, LexicalProviders, Operators};
use crate::compile::compile;
use crate::dependencies::Dependencies;
use crate::error::EvalError;
use crate::eval::Run;
use crate::plan::Plan;
use crate::quick::Quick;
use crate::schema_test::Schemas;
use crate::zone::TimeZones;

/// A compiled query: shared by clones and between threads.
#[derive(Clone, Debug)]
pub struct Query {
    plan: Arc<Plan>,
    /// Its other form, where its truth needs no evaluation.
    pub(crate) quick: Option<Arc<Quick>>,
}

/// How to compile a query.
///
/// ```
/// use std::num::NonZeroU64;
/// use jaren_query::{CompileOptions, Limits};
///
/// let limits = Limits::new().with_steps(NonZeroU64::new(100_000));
/// let options = CompileOptions::new().with_limits(limits).with_externals(["least", "most"]);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CompileOptions {
    /// What an evaluation may spend.
    pub limits: Limits,
    /// The external parameters that the query may name (section 9): any name where this is `None`, and otherwise only
    /// these; another free variable is then `JQ0005`.
    pub externals: Option<Vec<String>>,
    /// What compiles the schemas of `$valid`, `$assert` and `$as`; a query that has one is `JQ0008` without it.
    pub schemas: Option<Schemas>,
    /// The functions that `$call` knows; another name is `JQ0010`.
    pub functions: Functions,
    /// The operators that the host adds to the language.
    pub operators: Operators,
    /// The orders of texts that `$collation` knows; another name is `JQ0010`.
    pub collations: Collations,
    /// The providers that `$lexical` knows; another name is `JQ0012`.
    pub lexical_providers: LexicalProviders,
    /// The time zones that a series may name; a specification that names one is `JQ0003` without them (section 8.16).
    pub time_zones: Option<Arc<dyn TimeZones>>,
}

impl CompileOptions {
    /// Any external parameters, nothing of a host, and the limits that always hold.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same where the query may name these external parameters and no others.
    #[must_use]
    pub fn with_externals<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.externals = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The same with what compiles schemas.
    #[must_use]
    pub fn with_schemas(mut self, schemas: Schemas) -> Self {
        self.schemas = Some(schemas);
        self
    }

    /// The same with these functions.
    #[must_use]
    pub fn with_functions(mut self, functions: Functions) -> Self {
        self.functions = functions;
        self
    }

    /// The same with these operators.
    #[must_use]
    pub fn with_operators(mut self, operators: Operators) -> Self {
        self.operators = operators;
        self
    }

    /// The same with these orders of texts.
    #[must_use]
    pub fn with_collations(mut self, collations: Collations) -> Self {
        self.collations = collations;
        self
    }

    /// The same with these lexical providers.
    #[must_use]
    pub fn with_lexical_providers(mut self, providers: LexicalProviders) -> Self {
        self.lexical_providers = providers;
        self
    }

    /// The same with these time zones.
    #[must_use]
    pub fn with_time_zones(mut self, zones: Arc<dyn TimeZones>) -> Self {
        self.time_zones = Some(zones);
        self
    }
}

/// What a query may spend (section 8.12).
///
/// An evaluation always ends and never takes all memory: where `steps` or `work` is `None`, [`Limits::STEPS`] and
/// [`Limits::WORK`] hold, which allow some minutes of one processor and a few gigabytes. A host that runs queries of
/// strangers wants less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Evaluations of expression nodes in one evaluation of the query; `JQ2009` beyond.
    pub steps: Option<NonZeroU64>,
    /// Work inside the steps of one evaluation, which is ours and not the format's: a unit is a node at which a path looks,
    /// a pair of items that is compared, or four bytes of what is made and kept; `JQ2009` beyond.
    pub work: Option<NonZeroU64>,
    /// Nested expressions; `JQ0011` beyond, while compiling. A fixed bound of 128 applies whatever this says.
    pub depth: Option<NonZeroUsize>,
    /// Items that one FLWOR phrase or `$range` hands on; `JQ2009` and `JQ2007` beyond.
    pub sequence_items: Option<NonZeroUsize>,
    /// Items of the result, where it is asked for as a whole; `JQ2009` beyond.
    pub result_items: Option<NonZeroUsize>,
}

impl Limits {
    /// The steps that an evaluation may take where no other limit is given: 2³⁰.
    pub const STEPS: u64 = 1 << 30;
    /// The work that an evaluation may do where no other limit is given: 2²⁹ units, at most 2 GiB of what is made.
    pub const WORK: u64 = 1 << 29;
    /// The [size](Value::size) of a value that an evaluation makes, each shared part counted wherever it stands: 2²⁶. It
    /// always holds, and for what [`Query::value`] answers even where it is of the input; `JQ2009` beyond. Otherwise a fold of
    /// thirty rounds that puts a value beside itself would make one that nobody can write or compare.
    pub const SIZE: u32 = 1 << 26;

    /// Only what always holds.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with so many steps; what always holds where it is none. So for the others.
    #[must_use]
    pub fn with_steps(mut self, steps: impl Into<Option<NonZeroU64>>) -> Self {
        self.steps = steps.into();
        self
    }

    /// The same with so many units of work.
    #[must_use]
    pub fn with_work(mut self, units: impl Into<Option<NonZeroU64>>) -> Self {
        self.work = units.into();
        self
    }

    /// The same with so many nested expressions.
    #[must_use]
    pub fn with_depth(mut self, expressions: impl Into<Option<NonZeroUsize>>) -> Self {
        self.depth = expressions.into();
        self
    }

    /// The same with so many items of a phrase or a range.
    #[must_use]
    pub fn with_sequence_items(mut self, items: impl Into<Option<NonZeroUsize>>) -> Self {
        self.sequence_items = items.into();
        self
    }

    /// The same with so many items of the result.
    #[must_use]
    pub fn with_result_items(mut self, items: impl Into<Option<NonZeroUsize>>) -> Self {
        self.result_items = items.into();
        self
    }
}

/// What a query reads: its input document, whole or in borrowed parts, and its external parameters.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    root: ScopeRoot<'a>,
    externals: &'a [(&'a str, &'a Value)],
}

#[derive(Clone, Copy, Debug)]
enum ScopeRoot<'a> {
    Value(&'a Value),
    Record(&'a [(&'a str, &'a Value)]),
}

impl<'a> Scope<'a> {
    /// The input document as one value.
    pub fn value(input: &'a Value) -> Self {
        Self { root: ScopeRoot::Value(input), externals: &[] }
    }

    /// The input document as an object of these members, in this order; names must differ.
    /// The object is only built where a query asks for it whole.
    pub fn record(members: &'a [(&'a str, &'a Value)]) -> Self {
        debug_assert!(
            members
                .iter()
                .enumerate()
                .all(|(at, (name, _))| members.iter().take(at).all(|(other, _)| other != name)),
            "expected members of different names"
        );
        Self { root: ScopeRoot::Record(members), externals: &[] }
    }

    /// The same scope with these external parameters bound (section 9).
    #[must_use]
    pub fn with_externals(self, externals: &'a [(&'a str, &'a Value)]) -> Self {
        Self { externals, ..self }
    }

    /// The input where it is one value.
    #[inline]
    pub(crate) fn whole(&self) -> Option<&'a Value> {
        match self.root {
            ScopeRoot::Value(value) => Some(value),
            ScopeRoot::Record(_) => None,
        }
    }

    /// The member of that name where the input is in parts, looked for first where it was found the last time.
    #[inline]
    pub(crate) fn part(&self, name: &MemberName) -> Option<&'a Value> {
        match self.root {
            ScopeRoot::Value(_) => None,
            ScopeRoot::Record(members) => match members.get(name.load()) {
                Some((part, value)) if *name.name() == **part => Some(value),
                _ => part_learned(members, name),
            },
        }
    }

    /// The input as a value of its own.
    pub(crate) fn build(&self) -> Value {
        match self.root {
            ScopeRoot::Value(value) => value.clone(),
            ScopeRoot::Record(members) => Value::Object(
                members.iter().map(|(name, value)| (*name, (*value).clone())).collect::<Object>(),
            ),
        }
    }

    pub(crate) fn external(&self, name: &str) -> Option<&'a Value> {
        self.externals.iter().find(|(external, _)| *external == name).map(|(_, value)| *value)
    }
}

/// Out of the way of the callers whose guess is right.
#[inline(never)]
fn part_learned<'a>(members: &'a [(&'a str, &'a Value)], name: &MemberName) -> Option<&'a Value> {
    let position = members.iter().position(|(part, _)| *name.name() == **part)?;
    name.store(position);
    members.get(position).map(|(_, value)| *value)
}

impl Query {
    /// Compiles a query document in the open world of external parameters, with the limits that always hold.
    ///
    /// The report names every defect by one of the `JQ0…` codes.
    pub fn compile(document: &Value) -> Result<Self, Report> {
        Self::compile_with(document, &CompileOptions::default())
    }

    /// Compiles a query document.
    pub fn compile_with(document: &Value, options: &CompileOptions) -> Result<Self, Report> {
        compile(document, options, None).map(|plan| Self { quick: Quick::new(&plan), plan: Arc::new(plan) })
    }

    /// The names of the external parameters, in the order of their first appearance.
    pub fn externals(&self) -> impl ExactSizeIterator<Item = &str> {
        self.plan.externals.iter().map(|name| &**name)
    }

    /// What the query depends on: external parameters, operators, and what the host registered.
    pub fn dependencies(&self) -> &Dependencies {
        &self.plan.dependencies
    }

    /// The same as plain data, with the limits that were given or `null`: what to show to whoever approves a query.
    pub fn explain(&self) -> Value {
        match self.plan.dependencies.to_value() {
            Value::Object(object) => object.with("limits", crate::analysis::limits(&self.plan.limits)).into(),
            other => other,
        }
    }

    /// All items of the result.
    pub fn items(&self, scope: &Scope<'_>) -> Result<Vec<Value>, EvalError> {
        Run::new(&self.plan, scope).items()
    }

    /// Hands on each item of the result, in order, as it is found; the list of them is never built.
    ///
    /// After a `Break` no further one is looked for. An error may come after items that were handed on already, and the
    /// limit of `result_items` does not hold: whoever takes the items can count them.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use jaren_json::value;
    /// use jaren_query::{Query, Scope};
    ///
    /// let query = Query::compile(&value!("$.rows[?@.open].id"))?;
    /// let input = value!({"rows": [{"id": 7, "open": true}, {"id": 8}, {"id": 9, "open": true}]});
    /// let mut found = Vec::new();
    /// query.each(&Scope::value(&input), |id| {
    ///     found.push(id);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(found, [value!(7), value!(9)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn each(
        &self,
        scope: &Scope<'_>,
        mut visit: impl FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), EvalError> {
        Run::new(&self.plan, scope).each_item(&mut visit)
    }

    /// The first item of the result, if there is one. The whole query is evaluated.
    pub fn first(&self, scope: &Scope<'_>) -> Result<Option<Value>, EvalError> {
        Run::new(&self.plan, scope).first()
    }

    /// The result as one value: nothing, the one item, or an array of several items.
    pub fn value(&self, scope: &Scope<'_>) -> Result<Option<Value>, EvalError> {
        Run::new(&self.plan, scope).value()
    }

    /// The effective boolean value of the result (section 2.2).
    #[inline]
    pub fn truth(&self, scope: &Scope<'_>) -> Result<bool, EvalError> {
        if let Some(quick) = &self.quick
            && let Some(truth) = quick.truth(scope)
        {
            return Ok(truth);
        }
        self.evaluated_truth(scope)
    }

    /// Out of the way of what has a quick form.
    #[inline(never)]
    fn evaluated_truth(&self, scope: &Scope<'_>) -> Result<bool, EvalError> {
        Run::new(&self.plan, scope).root_truth()
    }

    /// Whether the result has an item.
    pub fn exists(&self, scope: &Scope<'_>) -> Result<bool, EvalError> {
        Run::new(&self.plan, scope).root_exists()
    }
}
