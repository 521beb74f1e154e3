//! Declaring the parts of documents.

/// A part of a document that is an object, with its members; one that is `open` may have others beside them.
macro_rules! part {
    ($(#[$doc:meta])* open $name:ident { $($body:tt)* }) => {
        $crate::document::part::part!(@ None::<&[&str]>, $(#[$doc])* $name { $($body)* });
    };
    ($(#[$doc:meta])* closed $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $member:literal,)*
    }) => {
        $crate::document::part::part!(@ Some(&[$($member),*]), $(#[$doc])* $name {
            $($(#[$field_doc])* $field: $type = $member,)*
        });
    };
    (@ $known:expr, $(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $member:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            /// As it was read: for the order of the members, and for those that the format does not know.
            source: jaren_json::Object,
        }

        impl $crate::document::member::Part for $name {
            fn read(value: &jaren_json::Value) -> Result<Self, $crate::document::DocumentError> {
                let object = $crate::document::member::object(value, $known)?;
                Ok(Self {
                    $($field: $crate::document::member::member(object, $member)?,)*
                    source: object.clone(),
                })
            }

            fn write(&self) -> jaren_json::Value {
                let object = self.source.clone();
                $(let object = $crate::document::member::put(object, $member, &self.$field);)*
                jaren_json::Value::Object(object)
            }
        }

        $crate::document::part::serde!($name);
    };
}

/// What parts have in common, whatever they are in JSON: conversion, equality, serde.
macro_rules! serde {
    ($name:ident) => {
        impl $name {
            /// Reads it, strict about its shape.
            pub fn read(value: &jaren_json::Value) -> Result<Self, $crate::document::DocumentError> {
                if value.depth() > jaren_json::ReadOptions::DEPTH_MAX {
                    let error = $crate::document::DocumentError::new("a value that nests less", None);
                    return Err(error);
                }
                $crate::document::member::Part::read(value)
            }

            /// The JSON that it is.
            pub fn to_value(&self) -> jaren_json::Value {
                $crate::document::member::Part::write(self)
            }
        }

        /// Equal when the JSON is.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.to_value() == other.to_value()
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_value().serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = jaren_json::Value::deserialize(deserializer)?;
                Self::read(&value).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// A member that is one of a few words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $expected:literal { $($(#[$word_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$word_doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word that a document has for it.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl $crate::document::member::Part for $name {
            fn read(value: &jaren_json::Value) -> Result<Self, $crate::document::DocumentError> {
                let found = Self::ALL.iter().find(|one| value.as_str() == Some(one.word()));
                found
                    .copied()
                    .ok_or_else(|| $crate::document::DocumentError::new($expected, Some(value.kind())))
            }

            fn write(&self) -> jaren_json::Value {
                jaren_json::Value::from(self.word())
            }
        }
    };
}

pub(super) use {part, serde, words};
