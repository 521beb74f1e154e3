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
#[non_exhaustive]
pub struct SqliteOptions {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Where the times of commits come from.
    pub clock: Arc<dyn Clock>,
    /// Whether a missing or empty file becomes a new store. If not, it is an error of kind `Missing`.
    pub create: bool,
}

impl Default for SqliteOptions {
    /// Survives power loss, takes the system's time, creates what is missing.
    fn default() -> Self {
        Self { durability: Durability::default(), clock: Arc::new(SystemClock), create: true }
    }
}

impl SqliteOptions {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// With that durability.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// With that clock.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// For a store that must exist already.
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
