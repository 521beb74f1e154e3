//! Stylesheets of jaren: rules that match by location and by schema, whose bodies are queries.
//!
//! ```
//! use jaren_jslt::Stylesheet;
//! use jaren_json::value;
//!
//! let sheet = Stylesheet::compile(&value!([{ "match": "$..price", "body": { "$mul": ["$", 2] } }]))?;
//! let input = value!({ "parts": [{ "price": 10 }, { "price": 2.5 }], "meta": { "owner": "Io" } });
//! let output = sheet.transform(&input)?.unwrap();
//! assert_eq!(output, value!({ "parts": [{ "price": 20 }, { "price": 5 }], "meta": { "owner": "Io" } }));
//! assert!(output.get("meta").unwrap().ptr_eq(input.get("meta").unwrap()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Laws
//!
//! - A transform is a pure function of the input and the parameters.
//! - In mode `share`, what no rule touched is the same allocation in the output as in the input, up to the whole of it.
//! - A value matches a path only where it stands: what a body made has no location, and no path selects it.
//! - The compiler reports every defect that it finds; the first is the one that a compiler which stops there would name.
//! - Dispatches lie within each other no deeper than [`CompileOptions::depth_max`], and none of them overflows the stack.
//!
//! # What this crate will not do
//!
//! It has no schema language: [`jaren_query::Schemas`] of the host compile schemas. It reads no files and imports no
//! other sheets.
#![forbid(unsafe_code)]

mod codes;
mod compile;
mod document;
mod error;
mod locations;
mod rebuild;
pub mod schema;
mod sheet;
mod stylesheet;
mod transform;

pub use error::TransformError;
pub use stylesheet::{CompileOptions, Stylesheet};
