//! What evaluations may still spend: one of them inside its steps (`Limits::work`), or several together.

use std::cell::Cell;
use std::num::NonZeroU64;

use crate::query::Limits;

/// Units of work that are left.
#[derive(Debug, Default)]
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

    /// Takes so many units, as those that count in memory have them; once one cannot be had, nothing is left.
    #[inline]
    pub(crate) fn spend(&self, units: usize) -> Result<(), Spent> {
        self.spend_u64(u64::try_from(units).unwrap_or(u64::MAX))
    }

    /// Takes so many units; once one cannot be had, nothing is left.
    #[inline]
    pub(crate) fn spend_u64(&self, units: u64) -> Result<(), Spent> {
        let left = self.0.get().checked_sub(units);
        self.0.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Spent)
    }
}

/// What several evaluations may still spend together: the bodies of a format above, and what it does between them.
/// By default that is nothing.
#[derive(Debug, Default)]
pub struct Allowance {
    pub(crate) steps: u64,
    pub(crate) work: Budget,
}

/// An [`Allowance`] is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this takes more steps or work than the limits allow; expected less, or higher limits")]
pub struct Exhausted;

impl Allowance {
    /// All that `steps` and `work` of some limits allow.
    pub fn new(limits: &Limits) -> Self {
        Self {
            steps: limits.steps.map_or(Limits::STEPS, NonZeroU64::get),
            work: Budget::new(limits.work.map_or(Limits::WORK, NonZeroU64::get)),
        }
    }

    /// Takes a step.
    #[inline]
    pub fn step(&mut self) -> Result<(), Exhausted> {
        self.steps = self.steps.checked_sub(1).ok_or(Exhausted)?;
        Ok(())
    }

    /// Takes so many units of work; once one cannot be had, nothing is left.
    #[inline]
    pub fn work(&self, units: usize) -> Result<(), Exhausted> {
        self.work.spend(units).map_err(|Spent| Exhausted)
    }
}
