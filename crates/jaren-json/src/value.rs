//! The value itself.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::deep::Extent;
use crate::write::{self, Numbers};
use crate::{Array, Object, Pointer, Str, equal};

/// A JSON value: immutable, 16 bytes wide, cheap to clone.
///
/// # Equality
///
/// Values are equal when their canonical texts are: members in any order, `-0` equal to `0`. A NaN, which has no
/// canonical text, is equal to every NaN; so equality is an equivalence and subtrees that are the same allocation are
/// equal without a walk. A language in which NaN differs from itself compares numbers itself.
#[derive(Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A double; in memory also NaN or an infinity, which no text holds.
    Number(f64),
    /// A string of Unicode scalar values.
    String(Str),
    /// An array.
    Array(Array),
    /// An object, its members in order.
    Object(Object),
}

const _: () = assert!(size_of::<Value>() == 16, "a value is two words");
const _: () = assert!(size_of::<Option<Value>>() == 16, "an optional value is two words too");

/// What a value is, for messages: displayed as the word that JSON uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `number`
    Number,
    /// `string`
    String,
    /// `array`
    Array,
    /// `object`
    Object,
}

impl Kind {
    /// The word: `null`, `boolean`, `number`, `string`, `array` or `object`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Value {
    /// What it is.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Boolean,
            Self::Number(_) => Kind::Number,
            Self::String(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
        }
    }

    /// Whether it is `null`.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The boolean, if it is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[inline]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The number as an integer, if it is one without a fraction within ±(2^53 − 1), where every integer is exact.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_f64().and_then(crate::number::safe_integer)
    }

    /// The number as a count or an index, if it is a whole number from 0 to 2^53 − 1.
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i64().and_then(|integer| u64::try_from(integer).ok())
    }

    /// The string, if it is one.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The array, if it is one.
    #[inline]
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The object, if it is one.
    #[inline]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The member of that name, if it is an object that has one.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_object().and_then(|object| object.get(name))
    }

    /// The element at that index, if it is an array that has one.
    #[inline]
    pub fn at(&self, index: usize) -> Option<&Self> {
        self.as_array().and_then(|array| array.get(index))
    }

    /// What the pointer leads to, if anything.
    pub fn pointer(&self, pointer: &Pointer) -> Option<&Self> {
        pointer.tokens().try_fold(self, |value, token| match value {
            Self::Object(object) => object.get(&token),
            Self::Array(array) => crate::pointer::array_index(&token).and_then(|index| array.get(index)),
            _ => None,
        })
    }

    /// How many containers lie on the deepest way down: 0 for a scalar, 1 for `[]` or `[1]`, 2 for `[[]]`.
    #[inline]
    pub fn depth(&self) -> u32 {
        match self {
            Self::Array(array) => array.depth(),
            Self::Object(object) => object.depth(),
            _ => 0,
        }
    }

    /// Whether canonical and serialized text take it: it holds no NaN and no infinity. Known without a walk.
    #[inline]
    pub fn is_json(&self) -> bool {
        self.extent().is_json()
    }

    /// How large it is with each shared part counted wherever it stands, as in its text: one for each value inside and the
    /// value itself, and one more for each whole 16 bytes of a text or a name; at most 2^32 - 1. Known without a walk.
    ///
    /// A value of a few allocations that repeat each other can be larger than any memory when it is written, compared or
    /// hashed. Whoever lets strangers compose values bounds them by this.
    #[inline]
    pub fn size(&self) -> u32 {
        self.extent().size()
    }

    #[inline]
    pub(crate) fn extent(&self) -> Extent {
        match self {
            Self::Array(array) => array.extent(),
            Self::Object(object) => object.extent(),
            Self::Number(number) => Extent::of_scalar(number.is_finite()),
            Self::String(text) => Extent::of_text(text),
            _ => Extent::of_scalar(true),
        }
    }

    /// A cheap sign that two values are equal: the same allocation, or the same scalar.
    ///
    /// `false` says nothing; `true` implies equality.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => equal::numbers(*a, *b),
            (Self::String(a), Self::String(b)) => a.ptr_eq(b),
            (Self::Array(a), Self::Array(b)) => a.ptr_eq(b),
            (Self::Object(a), Self::Object(b)) => a.ptr_eq(b),
            _ => false,
        }
    }
}

impl Clone for Value {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Null => Self::Null,
            Self::Bool(bool) => Self::Bool(*bool),
            Self::Number(number) => Self::Number(*number),
            Self::String(text) => Self::String(text.clone()),
            Self::Array(array) => Self::Array(array.clone()),
            Self::Object(object) => Self::Object(object.clone()),
        }
    }

    /// Writes a value of one word where it stays: one that is moved as a whole right after its parts were written is waited
    /// for.
    #[inline]
    fn clone_from(&mut self, source: &Self) {
        match source {
            Self::Number(number) => *self = Self::Number(*number),
            Self::Array(array) => *self = Self::Array(array.clone()),
            Self::Object(object) => *self = Self::Object(object.clone()),
            other => *self = other.clone(),
        }
    }
}

impl PartialEq for Value {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        equal::values(self, other)
    }
}

impl Eq for Value {}

/// Equal values hash alike; what lies more than a few levels down, or after some hundred other values, does not take part.
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(equal::fingerprint(self));
    }
}

/// Compact JSON text, members in order; a number that JSON cannot hold appears as `null`, as `JSON.stringify` has it.
/// [`crate::to_text`] refuses such a value.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&write::lenient(self, Numbers::Null))
    }
}

/// The same text as `Display`, save that NaN and the infinities are named.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&write::lenient(self, Numbers::Name))
    }
}

impl PartialEq<str> for Value {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        matches!(self, Self::String(text) if *text == *other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

macro_rules! from_text {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            #[inline]
            fn from(text: $type) -> Self {
                Self::String(Str::from(text))
            }
        }
    )*};
}
from_text!(&str, String, &String, char, std::borrow::Cow<'_, str>);

macro_rules! from_number {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            #[inline]
            fn from(number: $type) -> Self {
                Self::Number(f64::from(number))
            }
        }
    )*};
}
from_number!(f64, f32, i8, i16, i32, u8, u16, u32);

impl From<()> for Value {
    #[inline]
    fn from((): ()) -> Self {
        Self::Null
    }
}

impl From<bool> for Value {
    #[inline]
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<Str> for Value {
    #[inline]
    fn from(text: Str) -> Self {
        Self::String(text)
    }
}

impl From<&Str> for Value {
    #[inline]
    fn from(text: &Str) -> Self {
        Self::String(text.clone())
    }
}

impl From<Array> for Value {
    #[inline]
    fn from(array: Array) -> Self {
        Self::Array(array)
    }
}

impl From<Object> for Value {
    #[inline]
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<&Value> for Value {
    #[inline]
    fn from(value: &Value) -> Self {
        value.clone()
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(elements: Vec<V>) -> Self {
        Self::Array(elements.into_iter().collect())
    }
}

impl<V: Into<Value>, const N: usize> From<[V; N]> for Value {
    fn from(elements: [V; N]) -> Self {
        Self::Array(elements.into_iter().collect())
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<V: Into<Value>> FromIterator<V> for Value {
    fn from_iter<I: IntoIterator<Item = V>>(elements: I) -> Self {
        Self::Array(elements.into_iter().collect())
    }
}
