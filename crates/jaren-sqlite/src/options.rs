//! How a store file is opened.

use std::fmt;
use std::sync::Arc;

use jaren_host::{Clock, SystemClock};

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Everything that the disk survives, power loss included: each group of commits is synced before it is
    /// acknowledged (`synchronous=FULL`).
    #[default]
    PowerLoss,
    /// The end of the process, however it comes. A loss of power may take the newest acknowledged commits, never
    /// the older of two while leaving the newer, and never a part of one (`synchronous=NORMAL`).
    ProcessCrash,
}

impl Durability {
    /// The value of SQLite's `synchronous`.
    pub(crate) fn synchronous(self) -> i64 {
        match self {
            Self::PowerLoss => 2,
            Self::ProcessCrash => 1,
        }
    }
}

/// How to open a store file for writing.
#[derive(Clone)]
pub struct SqliteOptions {
    pub(crate) durability: Durability,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) create: bool,
}

impl Default for SqliteOptions {
    /// Survives power loss, takes the system's time, creates what is missing.
    fn default() -> Self {
        Self { durability: Durability::default(), clock: Arc::new(SystemClock), create: true }
    }
}

impl SqliteOptions {
    /// Survives power loss, takes the system's time, creates what is missing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with what an acknowledged commit survives.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// The same with the clock that the times of commits come from.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// The same for a store that must exist already: a missing or empty file is an error of kind `Missing`.
    #[must_use]
    pub fn existing(self) -> Self {
        Self { create: false, ..self }
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("durability", &self.durability)
            .field("create", &self.create)
            .finish_non_exhaustive()
    }
}
