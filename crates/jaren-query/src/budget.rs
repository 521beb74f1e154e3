//! What one evaluation may still spend inside its steps (`Limits::work`).

use std::cell::Cell;

/// Units of work that are left.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

/// The work that was asked for is more than is left.
#[derive(Debug)]
pub(crate) struct Spent;

impl Budget {
    pub(crate) fn new(units: u64) -> Self {
        Self(Cell::new(units))
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.get()
    }

    /// Takes so many units; once one cannot be had, nothing is left.
    #[inline]
    pub(crate) fn spend(&self, units: usize) -> Result<(), Spent> {
        self.spend_u64(u64::try_from(units).unwrap_or(u64::MAX))
    }

    /// The same.
    #[inline]
    pub(crate) fn spend_u64(&self, units: u64) -> Result<(), Spent> {
        let left = self.0.get().checked_sub(units);
        self.0.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Spent)
    }
}
