//! From serde types to values, and values to serde formats.

use std::fmt;

use serde::ser::{self, Error as _, Serialize, Serializer};

use crate::{
    Array, InexactInteger, Object, ObjectBuilder, Pointer, ReadOptions, Str, Value, diagnostic, number, read,
};

/// How deep a value may be that goes through serde, in either direction: serde is recursive.
pub const DEPTH_MAX: u32 = 512;

/// The value of anything that serde serializes.
///
/// Options are the value or `null`, structs and maps are objects (keys may be strings, characters, booleans, integers
/// and variants without content), enums are tagged from outside. Refused are integers that no double holds exactly;
/// NaN and the infinities stay what they are.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, ToValueError> {
    value.serialize(ToValue { depth: 0 })
}

/// Something has no value, and where in it the reason is.
#[derive(Clone, PartialEq, Eq)]
pub struct ToValueError(Box<Place>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) message: String,
    /// The way to the place, innermost token first.
    pub(crate) way: Vec<String>,
}

impl Place {
    pub(crate) fn new(message: String) -> Self {
        Self { message, way: Vec::new() }
    }

    pub(crate) fn pointer(&self) -> Pointer {
        Pointer::from_tokens(self.way.iter().rev())
    }
}

impl ToValueError {
    #[cold]
    fn within(mut self, token: impl Into<String>) -> Self {
        self.0.way.push(token.into());
        self
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where in the value that was to be made.
    pub fn pointer(&self) -> Pointer {
        self.0.pointer()
    }
}

impl ser::Error for ToValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new(Place::new(message.to_string())))
    }
}

impl From<InexactInteger> for ToValueError {
    fn from(error: InexactInteger) -> Self {
        Self::custom(error)
    }
}

impl fmt::Display for ToValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {})", self.0.message, diagnostic::place(&self.pointer()))
    }
}

impl fmt::Debug for ToValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ToValueError {}

/// Integers are written as such, so that other formats and types read them as integers.
///
/// Refuses NaN, the infinities, and values deeper than [`DEPTH_MAX`].
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.depth() > DEPTH_MAX {
            return Err(S::Error::custom(format_args!("the value is more than {DEPTH_MAX} deep")));
        }
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Number(number) => match number::safe_integer(*number) {
                Some(integer) => match u64::try_from(integer) {
                    Ok(integer) => serializer.serialize_u64(integer),
                    Err(_) => serializer.serialize_i64(integer),
                },
                None if number.is_finite() => serializer.serialize_f64(*number),
                None => Err(S::Error::custom("JSON has no number for NaN and the infinities")),
            },
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(array) => serializer.collect_seq(array),
            Self::Object(object) => serializer.collect_map(object),
        }
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::Array(self.clone()).serialize(serializer)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::Object(self.clone()).serialize(serializer)
    }
}

impl Serialize for Str {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The serializer that makes values.
#[derive(Clone, Copy)]
struct ToValue {
    /// How many containers lie around.
    depth: u32,
}

impl ToValue {
    fn deeper(self) -> Result<Self, ToValueError> {
        if self.depth < DEPTH_MAX {
            return Ok(Self { depth: self.depth.saturating_add(1) });
        }
        Err(ToValueError::custom(format_args!("it is more than {DEPTH_MAX} deep")))
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, integer: $type) -> Result<Value, ToValueError> {
            Ok(Value::try_from(integer)?)
        }
    )*};
}

macro_rules! numbers {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, number: $type) -> Result<Value, ToValueError> {
            Ok(Value::from(number))
        }
    )*};
}

impl Serializer for ToValue {
    type Ok = Value;
    type Error = ToValueError;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Variant<Elements>;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Variant<Members>;

    numbers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_bool: bool,
        serialize_str: &str);
    integers!(serialize_i64: i64, serialize_i128: i128, serialize_u64: u64, serialize_u128: u128);

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, ToValueError> {
        Ok(bytes.iter().copied().collect())
    }

    fn serialize_none(self) -> Result<Value, ToValueError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, ToValueError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, ToValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, ToValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, ToValueError> {
        Ok(Value::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value, ToValueError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, ToValueError> {
        let content = value.serialize(self.deeper()?).map_err(|error| error.within(variant))?;
        Ok(Value::Object(Object::from_iter([(variant, content)])))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Elements, ToValueError> {
        // The length is only a hint, and may be anybody's.
        Ok(Elements { elements: Vec::with_capacity(length.unwrap_or(0).min(1024)), inner: self.deeper()? })
    }

    fn serialize_tuple(self, length: usize) -> Result<Elements, ToValueError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Elements, ToValueError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Variant<Elements>, ToValueError> {
        Ok(Variant { variant, content: self.deeper()?.serialize_seq(Some(length))? })
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Members, ToValueError> {
        Ok(Members { built: ObjectBuilder::new(), name: Str::default(), inner: self.deeper()?, text: None })
    }

    fn serialize_struct(self, name: &'static str, _length: usize) -> Result<Members, ToValueError> {
        let text = [NUMBER_TOKEN, RAW_TOKEN].into_iter().find(|token| *token == name);
        Ok(Members { text, ..self.serialize_map(None)? })
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Variant<Members>, ToValueError> {
        Ok(Variant { variant, content: self.deeper()?.serialize_map(None)? })
    }
}

/// How `serde_json` passes a number as text when a build turns on its `arbitrary_precision`.
pub(crate) const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// How `serde_json` passes its `RawValue`.
const RAW_TOKEN: &str = "$serde_json::private::RawValue";

/// The number that stands in a text from `serde_json`.
pub(crate) fn number_from_text(text: &str) -> Result<Value, String> {
    match read(text.as_bytes(), &ReadOptions::data()) {
        Ok(number @ Value::Number(_)) => Ok(number),
        Ok(_) => Err(String::from("a number is not a number")),
        Err(error) => Err(error.kind().to_string()),
    }
}

struct Elements {
    elements: Vec<Value>,
    inner: ToValue,
}

impl Elements {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToValueError> {
        let element =
            value.serialize(self.inner).map_err(|error| error.within(self.elements.len().to_string()))?;
        self.elements.push(element);
        Ok(())
    }

    fn finish(self) -> Value {
        Value::Array(self.elements.into())
    }
}

impl ser::SerializeSeq for Elements {
    type Ok = Value;
    type Error = ToValueError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToValueError> {
        self.push(value)
    }

    fn end(self) -> Result<Value, ToValueError> {
        Ok(self.finish())
    }
}

impl ser::SerializeTuple for Elements {
    type Ok = Value;
    type Error = ToValueError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToValueError> {
        self.push(value)
    }

    fn end(self) -> Result<Value, ToValueError> {
        Ok(self.finish())
    }
}

impl ser::SerializeTupleStruct for Elements {
    type Ok = Value;
    type Error = ToValueError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToValueError> {
        self.push(value)
    }

    fn end(self) -> Result<Value, ToValueError> {
        Ok(self.finish())
    }
}

struct Members {
    built: ObjectBuilder,
    /// The name that waits for its value.
    name: Str,
    inner: ToValue,
    /// The name of the one field whose text is the value, if this is such a struct of `serde_json`.
    text: Option<&'static str>,
}

impl Members {
    fn insert<T: Serialize + ?Sized>(&mut self, name: Str, value: &T) -> Result<(), ToValueError> {
        let value = value.serialize(self.inner).map_err(|error| error.within(name.as_str()))?;
        self.built.insert(name, value);
        Ok(())
    }

    fn finish(self) -> Result<Value, ToValueError> {
        let object = self.built.build();
        let Some(text) = self.text.and_then(|token| object.get(token)).and_then(Value::as_str) else {
            return Ok(Value::Object(object));
        };
        if self.text == Some(NUMBER_TOKEN) {
            return number_from_text(text).map_err(ToValueError::custom);
        }
        read(text.as_bytes(), &ReadOptions::data()).map_err(|error| {
            let way = error.pointer().tokens().rev().map(std::borrow::Cow::into_owned).collect();
            ToValueError(Box::new(Place { message: error.kind().to_string(), way }))
        })
    }
}

impl ser::SerializeMap for Members {
    type Ok = Value;
    type Error = ToValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ToValueError> {
        self.name = match key.serialize(self.inner)? {
            Value::String(name) => name,
            Value::Bool(bool) => Str::from(bool.to_string()),
            Value::Number(number) => match number::safe_integer(number) {
                Some(integer) => Str::from(integer.to_string()),
                None => return Err(ToValueError::custom("a key that is a number is an integer")),
            },
            _ => return Err(ToValueError::custom("a key is a string, or a scalar with a text")),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToValueError> {
        let name = std::mem::take(&mut self.name);
        self.insert(name, value)
    }

    fn end(self) -> Result<Value, ToValueError> {
        self.finish()
    }
}

impl ser::SerializeStruct for Members {
    type Ok = Value;
    type Error = ToValueError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ToValueError> {
        self.insert(Str::from(name), value)
    }

    fn end(self) -> Result<Value, ToValueError> {
        self.finish()
    }
}

/// The content of an enum's variant, which becomes the only member of an object.
struct Variant<C> {
    variant: &'static str,
    content: C,
}

impl<C> Variant<C> {
    fn wrap(variant: &'static str, content: Value) -> Value {
        Value::Object(Object::from_iter([(variant, content)]))
    }
}

impl ser::SerializeTupleVariant for Variant<Elements> {
    type Ok = Value;
    type Error = ToValueError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToValueError> {
        self.content.push(value).map_err(|error| error.within(self.variant))
    }

    fn end(self) -> Result<Value, ToValueError> {
        Ok(Self::wrap(self.variant, self.content.finish()))
    }
}

impl ser::SerializeStructVariant for Variant<Members> {
    type Ok = Value;
    type Error = ToValueError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ToValueError> {
        self.content.insert(Str::from(name), value).map_err(|error| error.within(self.variant))
    }

    fn end(self) -> Result<Value, ToValueError> {
        Ok(Self::wrap(self.variant, self.content.finish()?))
    }
}
