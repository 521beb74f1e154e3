//! The query language of jaren: JSON queries compiled once, evaluated over borrowed scopes.
//!
//! ```
//! use jaren_json::value;
//! use jaren_query::{Query, Scope};
//!
//! let guard = Query::compile(&value!({"$lt": ["$.context.count", "$.context.limit"]}))?;
//! let (event, context) = (value!({"type": "go"}), value!({"count": 3, "limit": 10}));
//! let parts = [("event", &event), ("context", &context)];
//! assert!(guard.truth(&Scope::record(&parts))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Laws
//!
//! - A query is a pure function of its scope: no clock, no randomness, no I/O.
//! - Reading a path of names and indexes copies nothing. The object behind `$` exists only if the query asks for it whole.
//! - A sequence of no or one item never allocates a list.
//! - The compiler reports every defect that it finds; the first is the one that a compiler which stops there would name.
//! - Whatever the document, compiling and evaluating need a bounded stack. Time and memory are bounded by [`Limits`].
//!
//! # What this crate will not do
//!
//! It knows no state, node or run. What the format leaves to a host (schemas, functions, collations, time zones) has
//! no default: a query that needs one does not compile.
//!
//! What the formats above need of it, and nobody else, is in the module `extension`, which is hidden from these pages: no
//! release promises anything of it.
#![forbid(unsafe_code)]

mod analysis;
mod budget;
mod capability;
mod card;
mod comparison;
mod compile;
mod dates;
mod dependencies;
mod error;
mod eval;
#[doc(hidden)]
pub mod extension;
mod iregexp;
mod path;
mod place;
mod plan;
mod query;
mod quick;
mod relation;
pub mod schema;
mod schema_test;
mod series;
mod spatial;
mod vectors;
mod zone;

pub use analysis::analyze;
pub use capability::{
    Argument, Collations, Functions, Lexical, LexicalProviders, Operands, Operators, ReservedName,
};
pub use dependencies::Dependencies;
pub use error::EvalError;
pub use path::{JsonPath, Node, NormalizedPath, PathError, WalkLimit};
pub use query::{CompileOptions, Limits, Query, Scope};
pub use schema_test::{SchemaTest, Schemas};
#[cfg(feature = "time-zones")]
pub use zone::BundledZones;
pub use zone::{Offsets, TimeZone, TimeZones};
