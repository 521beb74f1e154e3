//! Reading and writing what parts consist of.

use jaren_json::{Object, Str, Value};

use super::{DocumentError, Named, Nullable};

/// Something that a document has as a value.
pub(super) trait Part: Sized {
    fn read(value: &Value) -> Result<Self, DocumentError>;
    fn write(&self) -> Value;
}

/// Something that a document has as a member, which may be missing.
pub(super) trait Member: Sized {
    fn read_member(value: Option<&Value>) -> Result<Self, DocumentError>;
    fn write_member(&self) -> Option<Value>;
}

/// The object of a part, with no other than the known members where there are such.
pub(super) fn object<'v>(value: &'v Value, known: Option<&[&str]>) -> Result<&'v Object, DocumentError> {
    let object = value.as_object().ok_or_else(|| DocumentError::new("an object", Some(value.kind())))?;
    let unknown = known.and_then(|known| object.iter().find(|(name, _)| !known.contains(name)));
    match unknown {
        None => Ok(object),
        Some((name, value)) => {
            Err(DocumentError::new("no member of this name", Some(value.kind())).below(name))
        }
    }
}

/// A member of an object that is being read.
pub(super) fn member<T: Member>(object: &Object, name: &str) -> Result<T, DocumentError> {
    T::read_member(object.get(name)).map_err(|error| error.below(name))
}

/// The object with that member as it is now, in its place.
pub(super) fn put(object: Object, name: &str, member: &impl Member) -> Object {
    match (member.write_member(), object.get(name)) {
        (Some(value), Some(old)) if value.ptr_eq(old) => object,
        (Some(value), _) => object.with(name, value),
        (None, Some(_)) => object.without(name),
        (None, None) => object,
    }
}

impl<T: Part> Member for T {
    fn read_member(value: Option<&Value>) -> Result<Self, DocumentError> {
        value.map_or_else(|| Err(DocumentError::new("a member of this name", None)), T::read)
    }

    fn write_member(&self) -> Option<Value> {
        Some(self.write())
    }
}

impl<T: Part> Member for Option<T> {
    fn read_member(value: Option<&Value>) -> Result<Self, DocumentError> {
        value.map(T::read).transpose()
    }

    fn write_member(&self) -> Option<Value> {
        self.as_ref().map(T::write)
    }
}

impl<T: Part> Member for Nullable<T> {
    fn read_member(value: Option<&Value>) -> Result<Self, DocumentError> {
        match value {
            None => Ok(Self::Absent),
            Some(Value::Null) => Ok(Self::Null),
            Some(value) => T::read(value).map(Self::Value),
        }
    }

    fn write_member(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Value(value) => Some(value.write()),
        }
    }
}

impl Part for Value {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        Ok(value.clone())
    }

    fn write(&self) -> Value {
        self.clone()
    }
}

impl Part for Str {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        match value {
            Value::String(text) => Ok(text.clone()),
            other => Err(DocumentError::new("a string", Some(other.kind()))),
        }
    }

    fn write(&self) -> Value {
        Value::String(self.clone())
    }
}

impl Part for bool {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        value.as_bool().ok_or_else(|| DocumentError::new("true or false", Some(value.kind())))
    }

    fn write(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Part for f64 {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        value.as_f64().ok_or_else(|| DocumentError::new("a number", Some(value.kind())))
    }

    fn write(&self) -> Value {
        Value::Number(*self)
    }
}

impl<T: Part> Part for Vec<T> {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        let items = value.as_array().ok_or_else(|| DocumentError::new("a list", Some(value.kind())))?;
        let items = items.iter().enumerate();
        items.map(|(index, item)| T::read(item).map_err(|error| error.below(index.to_string()))).collect()
    }

    fn write(&self) -> Value {
        self.iter().map(T::write).collect()
    }
}

impl<T: Part> Part for Named<T> {
    fn read(value: &Value) -> Result<Self, DocumentError> {
        let members = object(value, None)?.iter();
        let read = |(name, value)| match T::read(value) {
            Ok(value) => Ok((Str::from(name), value)),
            Err(error) => Err(error.below(name)),
        };
        members.map(read).collect()
    }

    fn write(&self) -> Value {
        Value::Object(self.iter().map(|(name, value)| (name.clone(), value.write())).collect())
    }
}
