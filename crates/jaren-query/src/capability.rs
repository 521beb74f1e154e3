//! What a host registers for its queries: functions, operators, collations, lexical providers (section 8.12).
//!
//! None of them changes the language. A document that names one compiles only where it is registered.
//! All of them must be pure: the same answer for the same arguments, for ever.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use jaren_json::Value;

/// What a registered function is given for an operand: nothing, the one item, or an array of several items.
pub type Argument = Option<Value>;

type Call = dyn Fn(&[Argument]) -> Result<Option<Value>, String> + Send + Sync;

/// A registered function.
#[derive(Clone)]
pub(crate) struct Function(Arc<Call>);

impl Function {
    fn new<E: fmt::Display>(
        call: impl Fn(&[Argument]) -> Result<Option<Value>, E> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |arguments| call(arguments).map_err(|error| error.to_string())))
    }

    /// What it answers for these arguments: one item or nothing.
    pub(crate) fn call(&self, arguments: &[Argument]) -> Result<Option<Value>, String> {
        (self.0)(arguments)
    }
}

/// The functions that `$call` knows, by name.
///
/// ```
/// use jaren_json::{Value, value};
/// use jaren_query::{CompileOptions, Functions, Query, Scope};
///
/// let functions = Functions::new().with("initial", |arguments| match arguments {
///     [Some(Value::String(text))] => Ok(text.chars().next().map(|first| Value::from(first.to_string()))),
///     _ => Err("expected one text"),
/// });
/// let options = CompileOptions::new().with_functions(functions);
/// let query = Query::compile_with(&value!({"$call": ["initial", "$.name"]}), &options)?;
/// assert_eq!(query.first(&Scope::value(&value!({"name": "Emma"})))?, Some(value!("E")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Functions(BTreeMap<String, Function>);

impl Functions {
    /// No function.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same and one more; the last of a name counts. What it refuses with an error is `JQ2010`.
    #[must_use]
    pub fn with<E: fmt::Display>(
        mut self,
        name: &str,
        call: impl Fn(&[Argument]) -> Result<Option<Value>, E> + Send + Sync + 'static,
    ) -> Self {
        self.0.insert(name.to_owned(), Function::new(call));
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Function> {
        self.0.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// How a registered operator takes its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operands {
    /// Its value is the one operand.
    One,
    /// Its value is a list of so many operands.
    List(RangeInclusive<usize>),
}

/// A registered operator.
#[derive(Clone, Debug)]
pub(crate) struct HostOperator {
    pub(crate) operands: Operands,
    pub(crate) function: Function,
}

/// The operators that a host adds to the language, by name.
///
/// ```
/// use jaren_json::value;
/// use jaren_query::{CompileOptions, Operands, Operators, Query, Scope};
///
/// let operators = Operators::new().with("$sqrt", Operands::One, |arguments| match arguments {
///     [None] => Ok(None),
///     [Some(number)] => number.as_f64().map(|number| Some(number.sqrt().into())).ok_or("expected a number"),
///     _ => Err("expected one operand"),
/// })?;
/// let options = CompileOptions::new().with_operators(operators);
/// let query = Query::compile_with(&value!({"$sqrt": "$.area"}), &options)?;
/// assert_eq!(query.first(&Scope::value(&value!({"area": 9})))?, Some(value!(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Operators(BTreeMap<String, HostOperator>);

/// A name that no registered operator may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no operator can be registered as '{0}': expected a name that begins with '$' and is none of the language's own"
)]
pub struct ReservedName(String);

impl Operators {
    /// No operator.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same and one more, whose name begins with `$`; the last of a name counts.
    /// A name of the language itself is refused.
    pub fn with<E: fmt::Display>(
        mut self,
        name: &str,
        operands: Operands,
        call: impl Fn(&[Argument]) -> Result<Option<Value>, E> + Send + Sync + 'static,
    ) -> Result<Self, ReservedName> {
        if !name.starts_with('$') || name.len() == 1 || crate::compile::is_reserved(name) {
            return Err(ReservedName(name.to_owned()));
        }
        self.0.insert(name.to_owned(), HostOperator { operands, function: Function::new(call) });
        Ok(self)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&HostOperator> {
        self.0.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

type Compare = dyn Fn(&str, &str) -> Ordering + Send + Sync;

/// A registered order of texts.
#[derive(Clone)]
pub(crate) struct Collation(Arc<Compare>);

impl Collation {
    pub(crate) fn compare(&self, left: &str, right: &str) -> Ordering {
        (self.0)(left, right)
    }
}

/// The orders of texts that the `$collation` of an `$orderby` key knows, by name (section 6.6).
#[derive(Clone, Debug, Default)]
pub struct Collations(BTreeMap<String, Collation>);

impl Collations {
    /// No collation.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same and one more; the last of a name counts. An order that contradicts itself makes no order of rows that
    /// means anything, and does no other harm.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        compare: impl Fn(&str, &str) -> Ordering + Send + Sync + 'static,
    ) -> Self {
        self.0.insert(name.to_owned(), Collation(Arc::new(compare)));
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Collation> {
        self.0.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

type Search = dyn Fn(&str) -> Result<Value, String> + Send + Sync;

/// A compiled request to a lexical provider: from a text to a result.
#[derive(Clone)]
pub struct Lexical(Arc<Search>);

impl Lexical {
    /// A search. What it refuses with an error is `JQ2012`, and so is a result of another shape than that of the format.
    pub fn new<E: fmt::Display>(search: impl Fn(&str) -> Result<Value, E> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |text| search(text).map_err(|error| error.to_string())))
    }

    pub(crate) fn search(&self, text: &str) -> Result<Value, String> {
        (self.0)(text)
    }
}

type CompileRequest = dyn Fn(&Value) -> Result<Lexical, String> + Send + Sync;

/// What a lexical provider makes of a request.
#[derive(Clone)]
pub(crate) struct LexicalProvider(Arc<CompileRequest>);

impl LexicalProvider {
    pub(crate) fn compile(&self, request: &Value) -> Result<Lexical, String> {
        (self.0)(request)
    }
}

/// The providers that `$lexical` knows, by name.
#[derive(Clone, Debug, Default)]
pub struct LexicalProviders(BTreeMap<String, LexicalProvider>);

impl LexicalProviders {
    /// No provider.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same and one more; the last of a name counts. Each request literal is compiled once; what `compile` refuses is
    /// `JQ0012`.
    #[must_use]
    pub fn with<E: fmt::Display>(
        mut self,
        name: &str,
        compile: impl Fn(&Value) -> Result<Lexical, E> + Send + Sync + 'static,
    ) -> Self {
        let compile = move |request: &Value| compile(request).map_err(|reason| reason.to_string());
        self.0.insert(name.to_owned(), LexicalProvider(Arc::new(compile)));
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&LexicalProvider> {
        self.0.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Names stand for closures, which have nothing to show.
macro_rules! opaque {
    ($($name:ident)*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

opaque!(Function Collation Lexical LexicalProvider);
