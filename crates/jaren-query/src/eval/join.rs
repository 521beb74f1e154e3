//! Joins of two `$for` bindings by a table, where that cannot be told from scanning (`compile::join`).

use std::iter;

use jaren_json::Value;

use super::item::{Got, Item, Lent, Seq};
use super::table::Table;
use super::{KEPT, Next, Run, Stop};
use crate::budget::{Budget, Spent};
use crate::error::EvalError;
use crate::path::Sight;
use crate::place::Place;
use crate::plan::{Binding, Comparison, Expr, Flwor, Join, JoinSide, Kind, Slot, Test};

/// The items of the joined source that have a key, in order for each key.
pub(super) struct Joined<'a> {
    table: Table<'a>,
    /// The first item of each key of the table.
    firsts: Vec<First<'a>>,
    /// The other items, each with the next one of the same key.
    others: Vec<(Item<'a>, Option<usize>)>,
}

struct First<'a> {
    item: Item<'a>,
    /// The second and the last of the same key, if there are any.
    others: Option<(usize, usize)>,
}

impl<'a> Joined<'a> {
    #[inline]
    fn add(&mut self, key: &[Option<Item<'a>>], item: Lent<'_, 'a>, work: &Budget) -> Result<(), Spent> {
        work.spend(KEPT)?;
        let (at, new) = self.table.place(key, work)?;
        if new {
            // Unlike `push`, this writes it where it stays.
            self.firsts.extend(iter::once_with(|| First { item: item.into_item(), others: None }));
        } else if let Some(first) = self.firsts.get_mut(at) {
            let number = self.others.len();
            self.others.push((item.into_item(), None));
            let (second, last) = first.others.unwrap_or((number, number));
            first.others = Some((second, number));
            if let Some((_, following)) = self.others.get_mut(last).filter(|_| last != number) {
                *following = Some(number);
            }
        }
        Ok(())
    }
}

impl<'a> Run<'a> {
    /// The tuples that the joined binding adds to the current one: those that satisfy the phrase's `$where`.
    pub(super) fn matching(
        &mut self,
        phrase: &'a Flwor,
        (join, binding): (Join, &'a Binding),
        joined: &mut Option<Joined<'a>>,
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        let Some((pair, rest)) = equality(phrase) else { return Ok(()) };
        let [left, right] = pair;
        let (inner, outer) = match join.inner {
            JoinSide::Left => (left, right),
            JoinSide::Right => (right, left),
        };
        if joined.is_none() {
            *joined = Some(self.table(binding, inner)?);
        }
        let Some(joined) = joined else { return Ok(()) };
        // Keys in plain sight are looked up from where they stand: see `Lent`.
        let found = match self.sight(outer) {
            Sight::At(value) => {
                self.step(outer)?;
                self.look_up(joined, &[Some(Item::Ref(value))], outer.place)?
            }
            Sight::Nowhere => return Ok(self.step(outer)?),
            Sight::Hidden => match self.seq(outer)? {
                Seq::Empty => return Ok(()),
                Seq::One(item) => self.look_up(joined, &[Some(item)], outer.place)?,
                // Several keys may select an item by more than one of them, and it comes once, in the order of the source.
                Seq::Many(_) => Found::Scan,
            },
        };
        let Found::Key(at) = found else { return self.scan(phrase, binding, next) };
        let Some(first) = at.and_then(|at| joined.firsts.get(at)) else { return Ok(()) };
        self.pair((&first.item, binding.slot), rest, next)?;
        let mut at = first.others.map(|(second, _)| second);
        while let Some((item, following)) = at.and_then(|at| joined.others.get(at)) {
            at = *following;
            self.pair((item, binding.slot), rest, next)?;
        }
        Ok(())
    }

    /// The tuple with an item whose key is equal, if it satisfies the rest.
    #[inline]
    fn pair(
        &mut self,
        (item, slot): (&Item<'a>, Slot),
        rest: &'a [Expr],
        next: Next<'_, 'a>,
    ) -> Result<(), Stop> {
        self.set_lent(slot, item.lend());
        if self.all(rest)? { next(self) } else { Ok(()) }
    }

    /// The joined source by its keys.
    fn table(&mut self, binding: &'a Binding, key: &'a Expr) -> Result<Joined<'a>, EvalError> {
        let mut joined = Joined { table: Table::new(1), firsts: Vec::new(), others: Vec::new() };
        let ended = self.each(&binding.source, false, |run, item| {
            run.set_lent(binding.slot, item);
            if let Sight::At(value) = run.sight(key) {
                run.step(key)?;
                return Ok(run.keep(&mut joined, &[Some(Item::Ref(value))], item, binding)?);
            }
            let Got::One(key) = run.one(key)? else { return Ok(()) };
            Ok(run.keep(&mut joined, &[Some(key)], item, binding)?)
        });
        super::modes::finished(ended)?;
        Ok(joined)
    }

    /// Keeps an item of the joined source, unless its key can equal none: no container equals a plain key, and a container on
    /// the other side scans.
    #[inline]
    fn keep(
        &self,
        joined: &mut Joined<'a>,
        key: &[Option<Item<'a>>; 1],
        item: Lent<'_, 'a>,
        binding: &Binding,
    ) -> Result<(), EvalError> {
        match Key::of(key) {
            Key::Plain => joined.add(key, item, &self.work).map_err(|Spent| self.spent(binding.source.place)),
            Key::Never | Key::Container => Ok(()),
        }
    }

    /// Which key of the joined source is equal to a key.
    #[inline]
    fn look_up(
        &self,
        joined: &Joined<'a>,
        key: &[Option<Item<'a>>; 1],
        place: Place,
    ) -> Result<Found, EvalError> {
        Ok(match Key::of(key) {
            Key::Plain => Found::Key(joined.table.find(key, &self.work).map_err(|Spent| self.spent(place))?),
            Key::Never => Found::Key(None),
            Key::Container => Found::Scan,
        })
    }

    fn scan(&mut self, phrase: &'a Flwor, binding: &'a Binding, next: Next<'_, 'a>) -> Result<(), Stop> {
        self.each(&binding.source, true, |run, item| {
            run.set_lent(binding.slot, item);
            run.survive(phrase, next)
        })
    }

    fn all(&mut self, operands: &'a [Expr]) -> Result<bool, EvalError> {
        for operand in operands {
            if !self.truth(operand)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What a key finds in the joined source.
enum Found {
    /// The equal one, if any.
    Key(Option<usize>),
    /// The table has no answer.
    Scan,
}

/// How a key is looked up.
enum Key {
    Plain,
    /// A NaN, which equals nothing.
    Never,
    /// An array or object, to which the table has no answer.
    Container,
}

impl Key {
    #[inline]
    fn of([key]: &[Option<Item<'_>>; 1]) -> Self {
        match key.as_ref().map(Item::value) {
            Some(Value::Number(number)) if number.is_nan() => Self::Never,
            Some(Value::Array(_) | Value::Object(_)) => Self::Container,
            _ => Self::Plain,
        }
    }
}

/// The equality of a phrase that joins, and what its `$where` asks beyond it.
fn equality(phrase: &Flwor) -> Option<(&[Expr; 2], &[Expr])> {
    let filter = phrase.filter.as_ref()?;
    let (first, rest) = match &filter.kind {
        Kind::Test(Test::And(operands)) => operands.split_first()?,
        _ => (filter, &[][..]),
    };
    match &first.kind {
        Kind::Test(Test::Compare(Comparison::Eq, pair)) => Some((pair, rest)),
        _ => None,
    }
}
