//! What the formats above this language need of it. It is no part of what this crate promises: any release may change it.
//!
//! A format may add an operator to the language inside its own expressions, such as `$apply` in the rules of a stylesheet.
//! While compiling, an [`Extension`] reads the operator's argument and says which part of it is an expression.
//! While evaluating, the [`Host`] receives the items that the expression answers, one by one and in order, and answers
//! items for each.
//! The host also learns where an item stands, if the expression selects it by a path from a value of which the host knows
//! the location.

use std::sync::Arc;

use jaren_json::{Report, Value};

pub use crate::budget::{Allowance, Exhausted};
use crate::compile::compile;
pub use crate::compile::{BINDING, Expressions, expressions_of};
use crate::error::EvalError;
use crate::eval::Run;
pub use crate::path::Track;
use crate::plan::Plan;
use crate::query::{CompileOptions, Scope};

/// An operator beside the language's own, for compiling.
pub trait Extension {
    /// The operator's name with its `$`; none of the language's own.
    fn name(&self) -> &str;

    /// Reads the operator's argument, once for each time that it occurs.
    /// A refusal is reported as `JQ0003`.
    fn read(&mut self, argument: &Value) -> Result<Reading, Refusal>;
}

/// What an [`Extension`] makes of an argument.
#[derive(Debug)]
pub struct Reading {
    /// The index of the operand in the argument, which is a list; the argument itself is the operand where this is `None`.
    pub operand: Option<usize>,
    /// What [`Host::apply`] is told of this occurrence of the operator.
    pub tag: usize,
    /// What is wrong beside the operand, whose own defects are reported first.
    pub refusal: Option<Refusal>,
}

/// Why an [`Extension`] refuses an argument.
#[derive(Debug)]
pub struct Refusal {
    /// The index of the element that is wrong; the argument itself is where this is `None`.
    pub element: Option<usize>,
    /// What was expected and what was found.
    pub message: String,
}

/// Where an item stands in a document, as its [`Host`] names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location(pub u32);

/// What evaluates the extension operator of an [`ExtendedQuery`].
pub trait Host {
    /// The location of the input document, or of the external parameter of that name.
    fn location(&self, external: Option<&str>) -> Option<Location>;

    /// The location of the child at `position` among the elements or members of `parent`, which stands at `location`.
    fn child(&mut self, location: Location, parent: &Value, position: usize) -> Location;

    /// Adds to `answer` what the operator answers for one item.
    ///
    /// `location` is there where the operand is `$`, an external parameter or a path from one of them, and the host knows
    /// the location of that.
    /// `allowance` is what the evaluation has left; what the host spends is spent.
    fn apply(
        &mut self,
        tag: usize,
        item: (&Value, Option<Location>),
        allowance: &mut Allowance,
        answer: &mut Vec<Value>,
    ) -> Result<(), EvalError>;
}

/// The host as the track of a walk.
pub(crate) struct Located<'h>(pub(crate) &'h mut dyn Host);

impl Track for Located<'_> {
    type Place = Location;

    fn child(&mut self, location: Location, parent: &Value, position: usize) -> Location {
        self.0.child(location, parent, position)
    }
}

/// A compiled query in which an [`Extension`] may occur: shared by clones and between threads.
#[derive(Clone, Debug)]
pub struct ExtendedQuery(Arc<Plan>);

impl ExtendedQuery {
    /// Compiles a query document in which the extension's operator may occur wherever an expression may.
    pub fn compile(
        document: &Value,
        options: &CompileOptions,
        extension: &mut dyn Extension,
    ) -> Result<Self, Report> {
        compile(document, options, Some(extension)).map(|plan| Self(Arc::new(plan)))
    }

    /// The names of the external parameters, in the order of their first appearance.
    pub fn externals(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.externals.iter().map(|name| &**name)
    }

    /// Adds all items of the result to `answer`. What it has after an error is not specified.
    ///
    /// Of the limits it was compiled with, steps and work do not hold here: `allowance` does, and keeps what is left.
    pub fn evaluate(
        &self,
        scope: &Scope<'_>,
        host: &mut dyn Host,
        allowance: &mut Allowance,
        answer: &mut Vec<Value>,
    ) -> Result<(), EvalError> {
        let mut run = Run::with_host(&self.0, scope, host);
        run.exchange(allowance);
        let evaluated = run.append(answer);
        run.exchange(allowance);
        evaluated
    }
}
