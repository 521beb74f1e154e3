//! The value type of jaren: reader, canonical form, pointers, equality, digests and deltas.
//!
//! ```
//! use jaren_json::{canonical, delta, read, value, Pointer, ReadOptions};
//!
//! let order = read(br#"{"id": "order-7", "items": [{"price": 10.50}, {"price": 2}]}"#, &ReadOptions::document())?;
//! assert_eq!(order.pointer(&Pointer::parse("/items/1/price")?), Some(&value!(2)));
//! assert_eq!(canonical(&order)?, r#"{"id":"order-7","items":[{"price":10.5},{"price":2}]}"#);
//!
//! let paid = value!({"id": "order-7", "items": [{"price": 10.5}, {"price": 2}], "paid": true});
//! let ops = delta::diff(&order, &paid);
//! assert_eq!(delta::apply(Some(&order), &ops)?, paid);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Laws
//!
//! - A [`Value`] is immutable and cheap to clone; clones share everything below them.
//! - Objects keep the order of their members; equality, canonical text, digests and deltas do not see it.
//! - Numbers are IEEE 754 doubles. `-0` equals `0`. NaN equals NaN, so equality is an equivalence; canonical and
//!   serialized forms refuse NaN and the infinities.
//! - Two values without such numbers are equal exactly when their canonical texts are.
//! - Nothing here overflows the stack, however deep a value is: drop, equality, writing and deltas are iterative or
//!   bounded, reading and serde refuse what is deeper than their limit.
//! - Equality and writing take time by a value's [size](Value::size), which counts a shared part wherever it stands. A value
//!   that was read is bounded by its text; who composes values of strangers' making looks at the size first.
//!
//! # What this crate will not do
//!
//! It has no clock, no I/O, no threads and no global state, and it never depends on the features that a downstream
//! build turns on in `serde_json`.
#![forbid(unsafe_code)]

mod array;
mod canonical;
pub mod de;
mod deep;
mod defects;
pub mod delta;
pub mod diagnostic;
mod digest;
mod equal;
mod grown;
mod macros;
mod member_list;
mod names;
mod number;
mod object;
mod patched;
mod pointer;
pub mod read;
mod scan;
pub mod ser;
mod shape;
mod text;
mod value;
mod write;

pub use array::Array;
pub use canonical::{canonical, canonical_to};
pub use de::{FromValueError, from_value};
pub use defects::Defects;
pub use diagnostic::{Diagnostic, Report};
pub use digest::{Digest, DigestError, digest};
pub use names::{did_you_mean, in_quotes, nearest};
pub use number::InexactInteger;
pub use object::{Members, Object, ObjectBuilder};
pub use pointer::{Pointer, PointerError};
pub use read::{Duplicates, Integers, Position, ReadError, ReadOptions, Reader, Span, locate, read};
pub use ser::{ToValueError, to_value};
pub use shape::{MemberName, Shape};
pub use text::Str;
pub use value::{Kind, Value};
pub use write::{NotJson, Written, pretty, to_text, to_text_with};
