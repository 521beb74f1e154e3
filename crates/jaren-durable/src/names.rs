//! How things are named: sessions, sequence numbers, documents and their code-side definitions.

use std::fmt;
use std::sync::Arc;

use crate::limits;

/// A name that a storage does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what}: expected 1 to {bytes_max} bytes of text without control characters, found {found}")]
pub struct InvalidName {
    what: &'static str,
    bytes_max: usize,
    found: &'static str,
}

impl InvalidName {
    /// What was being named, such as `"session id"`.
    pub fn what(&self) -> &'static str {
        self.what
    }
}

/// Checks a name that people see: not empty, bounded, no control characters.
pub(crate) fn check_name(what: &'static str, text: &str, bytes_max: usize) -> Result<(), InvalidName> {
    let found = if text.is_empty() {
        "an empty name"
    } else if text.len() > bytes_max {
        "a longer one"
    } else if text.chars().any(char::is_control) {
        "a control character"
    } else {
        return Ok(());
    };
    Err(InvalidName { what, bytes_max, found })
}

/// The name of a session, unique in its storage: 1 to 512 bytes without control characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Checks and wraps a name.
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self, InvalidName> {
        let id = id.into();
        check_name("session id", &id, limits::SESSION_ID_BYTES_MAX)?;
        Ok(Self(id))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The number of a commit in its session: 1 for the first, then one more each.
///
/// [`Seq::ZERO`] stands before the first commit. At most `i64::MAX`, which storages can all hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(u64);

impl Seq {
    /// Before the first commit.
    pub const ZERO: Self = Self(0);

    /// The commit of that number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The commit after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What document reads can see of a document's past.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Retention {
    /// Every revision can be read by its sequence number until the session is pruned.
    #[default]
    Full,
    /// Only the newest revision can be read.
    Current,
    /// Only the newest value is stored, whole, and the change log counts it instead of holding it: for masses of
    /// documents, such as ingested facts and staged pages. Handles never keep it in memory.
    Bulk,
}

/// What a document belongs to, and ends with (durable A32, A35). Storages write it as a part of addresses, so there are no
/// further cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Scope {
    /// The session: it lives until it is retired.
    #[default]
    Session,
    /// The conversation of that id: it lives until it is retired.
    Conversation(u64),
    /// The task of that id: it is retired by the commit that makes the task terminal.
    Task(u64),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => f.write_str("session"),
            Self::Conversation(id) => write!(f, "conversation {id}"),
            Self::Task(id) => write!(f, "task {id}"),
        }
    }
}

/// Where a document lives in its session: a scope, a kind, and for a member of a family its key.
///
/// The singleton of a kind and the family member with the key `""` are two different addresses, and so is the same
/// kind in another scope (durable A32). Addresses are ordered by scope, kind and key; the singleton comes first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    scope: Scope,
    kind: Arc<str>,
    key: Option<Arc<str>>,
}

impl Address {
    /// The one document of that kind.
    pub fn singleton(kind: impl Into<Arc<str>>) -> Self {
        Self { scope: Scope::Session, kind: kind.into(), key: None }
    }

    /// The member of that family with that key. A key may be any text, NUL included.
    pub fn member(kind: impl Into<Arc<str>>, key: impl Into<Arc<str>>) -> Self {
        Self { scope: Scope::Session, kind: kind.into(), key: Some(key.into()) }
    }

    /// The same kind and key in a scope.
    #[must_use]
    pub fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// The scope.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The key, for a member of a family.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    pub(crate) fn shared_key(&self) -> Option<&Arc<str>> {
        self.key.as_ref()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scope != Scope::Session {
            write!(f, "{} of ", self.scope)?;
        }
        match &self.key {
            None => f.write_str(&self.kind),
            Some(key) => write!(f, "{}[{key:?}]", self.kind),
        }
    }
}
