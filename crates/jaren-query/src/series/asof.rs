//! `$asof`: for each row on the left the row on the right that was current.

use jaren_json::{Shape, Value};

use super::{Column, Columns, record, same_instant};

/// The specification of an `$asof`.
#[derive(Debug)]
pub(crate) struct AsOf {
    pub(crate) left: Columns,
    pub(crate) right: Columns,
    /// What rows must have equal to be joined.
    pub(crate) by: Option<Column>,
    pub(crate) direction: Direction,
    /// The furthest that rows may be apart, in milliseconds.
    pub(crate) tolerance: f64,
}

/// Where the row on the right is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Backward,
    Forward,
    Nearest,
}

/// A row of one side.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) at: f64,
    /// Which group it belongs to; only rows of one group are joined.
    pub(crate) group: usize,
    pub(crate) value: Value,
}

/// A group of the right side. Of rows at one instant only the last can be matched, so it has no others.
#[derive(Default)]
struct Group<'r> {
    rows: Vec<&'r Row>,
    /// How many of them are not after the current row of the left side.
    passed: usize,
}

/// Joins rows, which are in the order of their instants on both sides.
pub(crate) fn join(left: &[Row], right: &[Row], direction: Direction, tolerance: f64) -> Vec<Value> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in right {
        if groups.len() <= row.group {
            groups.resize_with(row.group + 1, Group::default);
        }
        if let Some(Group { rows, .. }) = groups.get_mut(row.group) {
            rows.pop_if(|last| same_instant(last.at, row.at));
            rows.push(row);
        }
    }
    let shape = Shape::new(["left", "right", "distance"]);
    let answer = |row: &Row| {
        let found = groups.get_mut(row.group).and_then(|group| group.match_of(row.at, direction));
        let found = found.filter(|(_, distance)| *distance <= tolerance);
        let (right, distance) = found.map_or((Value::Null, Value::Null), |(right, distance)| {
            (right.value.clone(), Value::Number(distance))
        });
        record(shape.as_ref(), vec![row.value.clone(), right, distance])
    };
    left.iter().map(answer).collect()
}

impl<'r> Group<'r> {
    /// The row that matches an instant, which is not before any asked for earlier, and how far away it is.
    fn match_of(&mut self, at: f64, direction: Direction) -> Option<(&'r Row, f64)> {
        while self.rows.get(self.passed).is_some_and(|row| row.at <= at) {
            self.passed += 1;
        }
        let (past, future) = self.rows.split_at_checked(self.passed)?;
        let last = past.last().copied();
        let next = match last {
            Some(row) if same_instant(row.at, at) => last,
            _ => future.first().copied(),
        };
        let last = last.map(|row| (row, at - row.at));
        let next = next.map(|row| (row, row.at - at));
        match direction {
            Direction::Backward => last,
            Direction::Forward => next,
            Direction::Nearest => match (last, next) {
                (Some((_, back)), Some((_, ahead))) if back > ahead => next,
                (None, _) => next,
                _ => last,
            },
        }
    }
}
