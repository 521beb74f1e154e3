//! From values to serde types, and serde formats to values.

mod any;

use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
};

use crate::ser::{DEPTH_MAX, Place};
use crate::{Array, Object, Pointer, Value, diagnostic, number};

/// Anything that serde deserializes, from a value.
///
/// Numbers without a fraction are integers where the type asks for one. The error tells where in the value the type
/// does not fit.
pub fn from_value<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, FromValueError> {
    if value.depth() > DEPTH_MAX {
        return Err(FromValueError::custom(format_args!("the value is more than {DEPTH_MAX} deep")));
    }
    T::deserialize(value)
}

/// A value does not fit a type, and where.
#[derive(Clone, PartialEq, Eq)]
pub struct FromValueError(Box<Place>);

impl FromValueError {
    #[cold]
    fn within(mut self, token: impl Into<String>) -> Self {
        self.0.way.push(token.into());
        self
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where in the value.
    pub fn pointer(&self) -> Pointer {
        self.0.pointer()
    }
}

impl de::Error for FromValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new(Place::new(message.to_string())))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("expected {expected}, found {}", kind_of(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("expected {expected}, found another {}", kind_of(unexpected)))
    }

    fn unknown_variant(_variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!("expected one of {}, found another string", expected.join(", ")))
    }
}

/// The type of what was found: messages hold no values.
fn kind_of(unexpected: Unexpected<'_>) -> &'static str {
    match unexpected {
        Unexpected::Bool(_) => "boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "integer",
        Unexpected::Float(_) => "number",
        Unexpected::Char(_) | Unexpected::Str(_) => "string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq | Unexpected::Bytes(_) => "array",
        Unexpected::Map => "object",
        _ => "value",
    }
}

impl fmt::Display for FromValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {})", self.0.message, diagnostic::place(&self.pointer()))
    }
}

impl fmt::Debug for FromValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for FromValueError {}

impl<'de> Deserializer<'de> for &'de Value {
    type Error = FromValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromValueError> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(bool) => visitor.visit_bool(*bool),
            Value::Number(number) => visit_number(*number, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(array) => visit_array(array, visitor),
            Value::Object(object) => visit_object(object, visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromValueError> {
        match self {
            Value::Number(number) => visitor.visit_f64(*number),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromValueError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromValueError> {
        match self {
            Value::Null => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FromValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FromValueError> {
        match self {
            Value::String(variant) => visitor.visit_enum(Enum { variant, content: None }),
            Value::Object(object) => match (object.keys(), object.values()) {
                ([variant], [content]) => visitor.visit_enum(Enum { variant, content: Some(content) }),
                _ => Err(FromValueError::custom("expected an object with one member, named as a variant")),
            },
            other => Err(FromValueError::custom(format_args!(
                "expected a string or an object with one member, named as a variant, found {}",
                other.kind()
            ))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromValueError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

impl<'de> IntoDeserializer<'de, FromValueError> for &'de Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: f64, visitor: V) -> Result<V::Value, FromValueError> {
    let Some(integer) = number::integer(number) else { return visitor.visit_f64(number) };
    match (u64::try_from(integer), i64::try_from(integer)) {
        (Ok(integer), _) => visitor.visit_u64(integer),
        (_, Ok(integer)) => visitor.visit_i64(integer),
        _ => visitor.visit_f64(number),
    }
}

fn visit_array<'de, V: Visitor<'de>>(array: &'de Array, visitor: V) -> Result<V::Value, FromValueError> {
    let mut elements = Elements { elements: array.iter(), next: 0 };
    let value = visitor.visit_seq(&mut elements)?;
    match elements.elements.len() {
        0 => Ok(value),
        _ => Err(FromValueError::custom(format_args!(
            "expected an array of {} elements, found {}",
            elements.next,
            array.len()
        ))),
    }
}

fn visit_object<'de, V: Visitor<'de>>(object: &'de Object, visitor: V) -> Result<V::Value, FromValueError> {
    visitor.visit_map(Members { members: object.iter(), current: None })
}

struct Elements<'de> {
    elements: std::slice::Iter<'de, Value>,
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Elements<'de> {
    type Error = FromValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FromValueError> {
        let Some(element) = self.elements.next() else { return Ok(None) };
        let index = self.next;
        self.next = index.saturating_add(1);
        seed.deserialize(element).map(Some).map_err(|error| error.within(index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

struct Members<'de> {
    members: crate::Members<'de>,
    current: Option<(&'de str, &'de Value)>,
}

impl<'de> de::MapAccess<'de> for Members<'de> {
    type Error = FromValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FromValueError> {
        self.current = self.members.next();
        let Some((name, _)) = self.current else { return Ok(None) };
        seed.deserialize(Name(name)).map(Some).map_err(|error| error.within(name))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, FromValueError> {
        let Some((name, value)) = self.current.take() else {
            return Err(FromValueError::custom("a member's value was asked for before its name"));
        };
        seed.deserialize(value).map_err(|error| error.within(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// A member's name; a type that has integers or booleans for keys reads them from it.
struct Name<'de>(&'de str);

macro_rules! parsed {
    ($($method:ident: $type:ty => $visit:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromValueError> {
            match self.0.parse::<$type>() {
                Ok(key) => visitor.$visit(key),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = FromValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromValueError> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed!(deserialize_bool: bool => visit_bool, deserialize_i8: i8 => visit_i8, deserialize_i16: i16 => visit_i16,
        deserialize_i32: i32 => visit_i32, deserialize_i64: i64 => visit_i64, deserialize_i128: i128 => visit_i128,
        deserialize_u8: u8 => visit_u8, deserialize_u16: u16 => visit_u16, deserialize_u32: u32 => visit_u32,
        deserialize_u64: u64 => visit_u64, deserialize_u128: u128 => visit_u128);

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FromValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FromValueError> {
        visitor.visit_enum(Enum { variant: self.0, content: None })
    }

    serde::forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// An enum that is tagged from outside.
struct Enum<'de> {
    variant: &'de str,
    content: Option<&'de Value>,
}

impl<'de> de::EnumAccess<'de> for Enum<'de> {
    type Error = FromValueError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), FromValueError> {
        Ok((seed.deserialize(Name(self.variant))?, self))
    }
}

impl<'de> Enum<'de> {
    fn content(&self, expected: &'static str) -> Result<&'de Value, FromValueError> {
        let missing = || {
            FromValueError::custom(format_args!(
                "expected an object with one member, the variant with {expected}"
            ))
        };
        self.content.ok_or_else(missing)
    }
}

impl<'de> de::VariantAccess<'de> for Enum<'de> {
    type Error = FromValueError;

    fn unit_variant(self) -> Result<(), FromValueError> {
        match self.content {
            None | Some(Value::Null) => Ok(()),
            Some(content) => {
                let message =
                    format_args!("expected null, as the variant has no content, found {}", content.kind());
                Err(FromValueError::custom(message).within(self.variant))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, FromValueError> {
        seed.deserialize(self.content("its content")?).map_err(|error| error.within(self.variant))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, FromValueError> {
        match self.content("an array")? {
            Value::Array(array) => visit_array(array, visitor),
            other => Err(FromValueError::custom(format_args!("expected an array, found {}", other.kind()))),
        }
        .map_err(|error| error.within(self.variant))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FromValueError> {
        self.content("an object")?.deserialize_any(visitor).map_err(|error| error.within(self.variant))
    }
}
