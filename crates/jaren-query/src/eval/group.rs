//! Groups: the barrier `$groupby` (section 6.5).

use std::{iter, slice};

use super::item::{Got, Item, Seq};
use super::table::Table;
use super::{KEPT, Next, Run, Stop};
use crate::budget::Spent;
use crate::error::{EvalError, TYPE};
use crate::path::Sight;
use crate::place::Places;
use crate::plan::{Expr, Group};

/// The groups of a phrase: their keys, and for each the values of the kept variables.
pub(super) struct Groups<'a> {
    table: Table<'a>,
    /// The values of all groups, one group after the other.
    kept: Vec<Vec<Item<'a>>>,
}

impl Groups<'_> {
    pub(super) fn new(group: &Group) -> Self {
        Self { table: Table::new(group.keys.len()), kept: Vec::new() }
    }
}

impl<'a> Run<'a> {
    /// Puts the current tuple into its group.
    pub(super) fn gather(&mut self, group: &'a Group, groups: &mut Groups<'a>) -> Result<(), EvalError> {
        let (several, one);
        let key = if let [(_, expr)] = &group.keys[..] {
            one = self.group_key(expr)?;
            slice::from_ref(&one)
        } else {
            several =
                group.keys.iter().map(|(_, expr)| self.group_key(expr)).collect::<Result<Vec<_>, _>>()?;
            &several
        };
        let place = group.keys.first().map_or(Places::ROOT, |(_, key)| key.place);
        let placed = groups.table.place(key, &self.work);
        let (at, new) = placed.map_err(|Spent| self.spent(place))?;
        let from = at * group.kept.len();
        if new {
            groups.kept.resize(from + group.kept.len(), Vec::new());
        }
        for (slot, values) in group.kept.iter().zip(groups.kept.get_mut(from..).unwrap_or_default()) {
            let items = self.slot(*slot);
            self.spend(KEPT * items.len(), place)?;
            match items {
                Seq::One(item) => values.extend(iter::once_with(|| item.clone())),
                items => values.extend_from_slice(items.as_slice()),
            }
        }
        Ok(())
    }

    #[inline]
    fn group_key(&mut self, expr: &'a Expr) -> Result<Option<Item<'a>>, EvalError> {
        self.step(expr)?;
        let got = match self.sight(expr) {
            Sight::At(value) => return Ok(Some(Item::Ref(value))),
            Sight::Nowhere => return Ok(None),
            Sight::Hidden => self.one_stepped(expr)?,
        };
        match got {
            Got::None => Ok(None),
            Got::One(item) => Ok(Some(item)),
            Got::Several => Err(self.fail(TYPE, expr.place, "expected at most one item as a group's key")),
        }
    }

    /// Calls `next` with a tuple for each group.
    pub(super) fn each_group(
        &mut self,
        group: &'a Group,
        groups: Groups<'a>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        let Groups { table, kept } = groups;
        let mut kept = kept.into_iter();
        for at in 0..table.len() {
            for ((slot, _), part) in group.keys.iter().zip(table.key(at)) {
                self.set(*slot, part.clone().map_or(Seq::Empty, Seq::One));
            }
            for (slot, values) in group.kept.iter().zip(&mut kept) {
                self.set(*slot, Seq::from(values));
            }
            next(self)?;
        }
        Ok(())
    }
}
