//! Code-side definitions of kinds of documents: schema version, retention, scope, migration.

use std::error::Error;

use jaren_json::Value;

use crate::{Address, Retention, Scope, SessionError, StoredDocument};

/// Brings a value of an older schema version, which is given beside it, to the version of the definition.
pub type Migrate = fn(value: Value, version: u32) -> Result<Value, Box<dyn Error + Send + Sync>>;

/// The definition of a kind of document of which a scope has at most one.
#[derive(Debug, Clone, Copy)]
pub struct Singleton(Form);

/// The definition of a kind of document of which a scope has any number, told apart by a key.
#[derive(Debug, Clone, Copy)]
pub struct Family(Form);

/// What both have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) kind: &'static str,
    pub(crate) version: u32,
    pub(crate) retention: Retention,
    pub(crate) scope: Scope,
    /// Whether handles keep what they read and write of it.
    pub(crate) kept: bool,
    migrate: Option<Migrate>,
}

impl Form {
    const fn new(kind: &'static str, version: u32) -> Self {
        Self { kind, version, retention: Retention::Full, scope: Scope::Session, kept: true, migrate: None }
    }

    const fn keeping(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    const fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    const fn unkept(self) -> Self {
        Self { kept: false, ..self }
    }

    const fn migrating(self, migrate: Migrate) -> Self {
        Self { migrate: Some(migrate), ..self }
    }

    /// A stored value as this definition has it (durable A45); what is stored stays as it is.
    pub(crate) fn read(&self, stored: &StoredDocument) -> Result<Value, SessionError> {
        if stored.version == self.version {
            return Ok(stored.value.clone());
        }
        let migrate = self.migration(&stored.address, stored.version)?;
        migrate(stored.value.clone(), stored.version).map_err(|source| {
            let (address, supported) = (Box::new(stored.address.clone()), self.version);
            SessionError::Migration { address, stored: stored.version, supported, source }
        })
    }

    /// Refuses to write over a value that this definition could not read.
    pub(crate) fn check_version(&self, address: &Address, stored: u32) -> Result<(), SessionError> {
        if stored == self.version { Ok(()) } else { self.migration(address, stored).map(|_| ()) }
    }

    fn migration(&self, address: &Address, stored: u32) -> Result<Migrate, SessionError> {
        let known = self.migrate.filter(|_| stored < self.version);
        known.ok_or_else(|| SessionError::Version {
            address: Box::new(address.clone()),
            stored,
            supported: self.version,
        })
    }
}

/// The methods that both definitions share.
macro_rules! definition {
    ($name:ident) => {
        impl $name {
            /// A kind, its schema version (from 1), full retention, in the scope of the session.
            pub const fn new(kind: &'static str, version: u32) -> Self {
                Self(Form::new(kind, version))
            }

            /// The same with only the newest revision readable.
            #[must_use]
            pub const fn current(self) -> Self {
                Self(self.0.keeping(Retention::Current))
            }

            /// The same with only the newest value stored, and never kept by a handle ([`Retention::Bulk`]).
            #[must_use]
            pub const fn bulk(self) -> Self {
                Self(self.0.keeping(Retention::Bulk).unkept())
            }

            /// The same, always written whole and never kept by a handle: for records of which there are ever more.
            #[must_use]
            pub const fn unkept(self) -> Self {
                Self(self.0.unkept())
            }

            /// The same in another scope.
            #[must_use]
            pub const fn within(self, scope: Scope) -> Self {
                Self(self.0.within(scope))
            }

            /// The same with a migration from every older schema version. Without one, a value of an older version
            /// is an error.
            ///
            /// Reading migrates in memory only; writing the document stores a base of the new version, even if its
            /// value is the migrated one (durable A46).
            #[must_use]
            pub const fn migrating(self, migrate: Migrate) -> Self {
                Self(self.0.migrating(migrate))
            }

            /// The kind.
            pub const fn kind(&self) -> &'static str {
                self.0.kind
            }

            /// The scope.
            pub const fn scope(&self) -> Scope {
                self.0.scope
            }

            /// A stored value as this definition has it: of its own schema version, or migrated to it. History is
            /// read through it, too (durable A47).
            pub fn read(&self, stored: &StoredDocument) -> Result<Value, SessionError> {
                self.0.read(stored)
            }

            pub(crate) const fn form(&self) -> Form {
                self.0
            }
        }
    };
}

definition!(Singleton);
definition!(Family);

impl Singleton {
    /// Where it lives.
    pub fn address(&self) -> Address {
        Address::singleton(self.0.kind).within(self.0.scope)
    }
}

impl Family {
    /// Where the member with that key lives.
    pub fn address(&self, key: &str) -> Address {
        Address::member(self.0.kind, key).within(self.0.scope)
    }
}
