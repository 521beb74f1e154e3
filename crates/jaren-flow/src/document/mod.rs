//! Documents as Rust types: to look into one that was read, and to change it, without walking through JSON.
//!
//! Reading and writing lose nothing: members that a format does not know, where it allows them, the order of members,
//! and the difference between a member that is absent and one that is null. The types say what shape a document has;
//! what its names refer to is the compilers' business. A part is made from JSON as well, by its `read`; to write a document
//! from nothing, see [`build`](crate::build).
//!
//! ```
//! use jaren_flow::document::MachineDocument;
//! use jaren_json::value;
//!
//! let text = r#"{"states":["a",{"id":"b","note":"kept"}],"initial":"a","transitions":[{"event":null,"from":"a","to":"b"}]}"#;
//! let mut document: MachineDocument = serde_json::from_str(text)?;
//! assert_eq!(serde_json::to_string(&document)?, text);
//!
//! document.transitions[0].guard = Some(value!("$.payload.ready"));
//! assert!(serde_json::to_string(&document)?.ends_with(r#""to":"b","guard":"$.payload.ready"}]}"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod member;
mod part;

pub mod dag;
pub mod machine;
pub mod statechart;
pub mod workflow;

use std::collections::BTreeMap;

use jaren_json::{Kind, Pointer, Str, Value};

pub use self::dag::DagDocument;
pub use self::machine::MachineDocument;
use self::part::part;
pub use self::statechart::StatechartDocument;
pub use self::workflow::WorkflowDocument;

part! {
    /// An effect: what the host is told to do.
    open Effect {
        /// The host's name of it.
        run: Str = "run",
        /// The query of its argument.
        with: Option<Value> = "with",
    }
}

/// A member that a format lets be null, which says the same as leaving it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nullable<T> {
    /// The member is not there.
    #[default]
    Absent,
    /// The member is null.
    Null,
    /// The member has a value.
    Value(T),
}

impl<T> Nullable<T> {
    /// The value, where there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }
}

/// Members by their names, in the order of the document.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<T> {
    members: Vec<(Str, T)>,
    /// Where each stands.
    places: BTreeMap<Str, usize>,
}

impl<T> Named<T> {
    /// The member of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.members.get(*self.places.get(name)?).map(|(_, value)| value)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.members.get_mut(*self.places.get(name)?).map(|(_, value)| value)
    }

    /// Sets a member, in its place where it exists, else as the last one; the one that was there.
    pub fn insert(&mut self, name: impl Into<Str>, value: T) -> Option<T> {
        let name = name.into();
        if let Some(known) = self.get_mut(&name) {
            return Some(std::mem::replace(known, value));
        }
        self.places.insert(name.clone(), self.members.len());
        self.members.push((name, value));
        None
    }

    /// Takes a member out; those behind it move up, which takes as long as there are members.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        let place = self.places.remove(name)?;
        self.places.values_mut().filter(|other| **other > place).for_each(|other| *other -= 1);
        Some(self.members.remove(place).1)
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &T)> {
        self.members.iter().map(|(name, value)| (name, value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// The last of a name counts, in the place of the first.
impl<T> FromIterator<(Str, T)> for Named<T> {
    fn from_iter<I: IntoIterator<Item = (Str, T)>>(members: I) -> Self {
        let mut named = Self { members: Vec::new(), places: BTreeMap::new() };
        for (name, value) in members {
            named.insert(name, value);
        }
        named
    }
}

/// Why a value has not the shape of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at '{}': expected {expected}, found {}", self.pointer(), self.found.map_or("nothing", Kind::as_str))]
pub struct DocumentError {
    expected: &'static str,
    found: Option<Kind>,
    /// The way to the place, from its end.
    tokens: Vec<String>,
}

impl DocumentError {
    fn new(expected: &'static str, found: Option<Kind>) -> Self {
        Self { expected, found, tokens: Vec::new() }
    }

    fn below(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    /// The place in the document.
    pub fn pointer(&self) -> Pointer {
        Pointer::from_tokens(self.tokens.iter().rev())
    }
}
