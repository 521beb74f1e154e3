//! Values from any serde format that describes itself.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, Error as _, Visitor};

use crate::ser::{DEPTH_MAX, NUMBER_TOKEN, number_from_text};
use crate::{Array, Object, ObjectBuilder, Pointer, Str, Value};

/// Reads any format that describes itself.
///
/// JSON text is better read by [`read`](crate::read()): a format hands numbers over as it read them, and not every one rounds
/// correctly. Of members of the same name the last one counts; integers that no double holds exactly are refused.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Any { depth_left: DEPTH_MAX }.deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Array(array) => Ok(array),
            other => Err(D::Error::custom(format_args!("expected an array, found {}", other.kind()))),
        }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(object) => Ok(object),
            other => Err(D::Error::custom(format_args!("expected an object, found {}", other.kind()))),
        }
    }
}

impl<'de> Deserialize<'de> for Str {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrVisitor;
        impl Visitor<'_> for StrVisitor {
            type Value = Str;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Str, E> {
                Ok(Str::from(text))
            }
        }
        deserializer.deserialize_str(StrVisitor)
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&Str::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Reads a value that may hold so many containers within each other.
#[derive(Clone, Copy)]
struct Any {
    depth_left: u32,
}

impl Any {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        let depth_left = self.depth_left.checked_sub(1);
        let depth_left =
            depth_left.ok_or_else(|| E::custom(format_args!("it is more than {DEPTH_MAX} deep")))?;
        Ok(Self { depth_left })
    }
}

impl<'de> DeserializeSeed<'de> for Any {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {$(
        fn $method<E: de::Error>(self, integer: $type) -> Result<Value, E> {
            Value::try_from(integer).map_err(E::custom)
        }
    )*};
}

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    integers!(visit_i64: i64, visit_i128: i128, visit_u64: u64, visit_u128: u128);

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, bool: bool) -> Result<Value, E> {
        Ok(Value::Bool(bool))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut elements = Vec::new();
        while let Some(element) = access.next_element_seed(inner)? {
            elements.push(element);
        }
        Ok(Value::Array(elements.into()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut members = ObjectBuilder::new();
        while let Some(name) = access.next_key::<Str>()? {
            members.insert(name, access.next_value_seed(inner)?);
        }
        let object = members.build();
        // With `arbitrary_precision`, `serde_json` hands a number over as an object of one member.
        if let ([name], [Value::String(text)]) = (object.keys(), object.values())
            && name == NUMBER_TOKEN
        {
            return number_from_text(text).map_err(A::Error::custom);
        }
        Ok(Value::Object(object))
    }
}
