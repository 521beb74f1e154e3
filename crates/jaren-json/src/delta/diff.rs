//! Finding a batch that leads from one value to another (durable D10 to D14).

use super::op::{Op, Path, Segment};
use super::text::{overlap, utf16_len};
use super::{RESERVED, is_reserved};
use crate::grown::{Difference, Grown};
use crate::{Array, Object, Str, Value, equal, number, patched};

/// A batch of more operations becomes one `r` (durable D13).
pub const OPS_MAX: usize = 4096;

/// A batch of fewer estimated characters is never compared with the whole value (durable D13).
const COST_MIN: usize = 65_536;

/// So many ways of shifting an array are tried in each direction (durable D12).
const SHIFTS_MAX: usize = 16;

/// Below this depth a changed part is set as a whole.
const DEPTH_MAX: usize = 128;

/// A batch that leads from the old value to the new one; empty where they are equal.
///
/// Parts that are the same allocation in both are skipped without a look inside.
pub fn diff(old: &Value, new: &Value) -> Vec<Op> {
    let mut ops = Vec::new();
    diff_at(Path::new(), old, new, &mut ops);
    ops
}

/// The same for the part of a larger value to which the path leads, at the end of a batch for that value.
pub(super) fn diff_at(path: Path, old: &Value, new: &Value, batch: &mut Vec<Op>) {
    if old.ptr_eq(new) {
        return;
    }
    let mut diff = Diff { ops: Vec::new(), path };
    diff.value(old, new);
    let replace = diff.ops.len() > OPS_MAX || {
        let cost = diff.ops.iter().map(cost_of_op).fold(0, usize::saturating_add);
        cost >= COST_MIN && cost >= cost_of(new)
    };
    if replace {
        diff.ops.clear();
        diff.set(new);
    }
    batch.append(&mut diff.ops);
}

struct Diff {
    ops: Vec<Op>,
    /// Where the values that are compared stand.
    path: Path,
}

impl Diff {
    fn value(&mut self, old: &Value, new: &Value) {
        // One operation too many is enough to know that the whole value is written.
        if old.ptr_eq(new) || self.ops.len() > OPS_MAX {
            return;
        }
        match (old, new) {
            (Value::Object(a), Value::Object(b)) if self.path.len() < DEPTH_MAX => self.object(a, b),
            (Value::Array(a), Value::Array(b)) if self.path.len() < DEPTH_MAX => self.array(a, b),
            (Value::String(a), Value::String(b)) if !self.path.is_empty() => self.text(a, b),
            (old, new) if old == new => {}
            (_, new) => self.set(new),
        }
    }

    /// Compares what lies one step down.
    fn below(&mut self, segment: impl FnOnce() -> Segment, old: &Value, new: &Value) {
        if old.ptr_eq(new) {
            return;
        }
        self.path.push(segment());
        self.value(old, new);
        self.path.pop();
    }

    fn set(&mut self, new: &Value) {
        let value = new.clone();
        let path = self.path.clone();
        self.ops.push(if path.is_empty() { Op::Replace(value) } else { Op::Set { path, value } });
    }

    fn object(&mut self, old: &Object, new: &Object) {
        if has_reserved(old) || has_reserved(new) {
            if old != new {
                self.set(&Value::Object(new.clone()));
            }
            return;
        }
        match (old.tree(), new.tree()) {
            (Some(old), Some(new)) => self.tree(old, new),
            _ => self.members(old, new),
        }
    }

    /// Two versions of a large object: what they share is skipped in large parts.
    fn tree(&mut self, old: &Grown, new: &Grown) {
        let mut added = Vec::new();
        old.differences(new, |difference| {
            match difference {
                Difference::Gone(name) => {
                    let path = self.path_to(Segment::Key(name.clone()));
                    self.ops.push(Op::Delete { path });
                }
                Difference::New(place, name, value) => added.push((place, name, value)),
                Difference::Other(name, old, new) => self.below(|| Segment::Key(name.clone()), old, new),
            }
            self.ops.len() <= OPS_MAX && added.len() <= OPS_MAX
        });
        added.sort_unstable_by_key(|(place, ..)| *place);
        for (_, name, value) in added {
            let path = self.path_to(Segment::Key(name.clone()));
            self.ops.push(Op::Set { path, value: value.clone() });
        }
    }

    fn members(&mut self, old: &Object, new: &Object) {
        let mut kept = 0;
        for (index, (name, value)) in new.keys().iter().zip(new.values()).enumerate() {
            // Most often it stands where it stood.
            let before = match old.keys().get(index) {
                Some(same) if same == name => old.values().get(index),
                _ => old.get(name),
            };
            kept += usize::from(before.is_some());
            if let Some(before) = before {
                self.below(|| Segment::Key(name.clone()), before, value);
            } else {
                let path = self.path_to(Segment::Key(name.clone()));
                self.ops.push(Op::Set { path, value: value.clone() });
            }
            if self.ops.len() > OPS_MAX {
                return;
            }
        }
        if kept < old.len() {
            for name in old.keys().iter().filter(|name| !new.contains_key(name)) {
                let path = self.path_to(Segment::Key(name.clone()));
                self.ops.push(Op::Delete { path });
            }
        }
    }

    fn path_to(&self, segment: Segment) -> Path {
        let mut path = Path::with_capacity(self.path.len().saturating_add(1));
        path.extend_from_slice(&self.path);
        path.push(segment);
        path
    }

    /// Appends, drops the beginning and appends, or sets (durable D11).
    fn text(&mut self, old: &Str, new: &Str) {
        if old == new {
            return;
        }
        let path = self.path.clone();
        if let Some(added) = new.strip_prefix(old.as_str()) {
            self.ops.push(Op::Append { path, text: added.into() });
            return;
        }
        let kept = overlap(old, new);
        match (old.len().checked_sub(kept).and_then(|gone| old.get(..gone)), new.get(kept..)) {
            (Some(gone), Some(added)) if kept > 0 => {
                self.ops.push(Op::Trim { path, units: utf16_len(gone) });
                if !added.is_empty() {
                    let path = self.path.clone();
                    self.ops.push(Op::Append { path, text: added.into() });
                }
            }
            _ => self.set(&Value::from(new)),
        }
    }

    /// One changed element, another order, a shift, or element by element; one splice where the lengths differ
    /// (durable D12).
    fn array(&mut self, old: &Array, new: &Array) {
        if let Some(indexes) = patched::differences(old, new)
            && indexes.len() <= 1
        {
            let changed =
                indexes.first().and_then(|index| Some((*index, old.get(*index)?, new.get(*index)?)));
            if let Some((index, old, new)) = changed {
                self.below(|| Segment::Index(index as u64), old, new);
            }
            return;
        }
        if old.len() == new.len() {
            // Where all but one are the same allocation, nothing needs to be compared here.
            let middle = Middle::between(old, new, Value::ptr_eq);
            if middle.new.len() <= 1 {
                return self.elements(&middle);
            }
        }
        let middle = Middle::between(old, new, Value::eq);
        if old.len() != new.len() {
            return self.splice(middle.start, middle.old.len(), middle.new);
        }
        if middle.old.iter().zip(middle.new).filter(|(a, b)| a != b).nth(1).is_none() {
            return self.elements(&middle);
        }
        if let Some(order) = permutation(middle.old, middle.new) {
            let moved = order.into_iter().map(|from| from.saturating_add(middle.start));
            let end = middle.start.saturating_add(middle.old.len());
            let order =
                (0..middle.start).chain(moved).chain(end..old.len()).map(|from| from as u64).collect();
            self.ops.push(Op::Reorder { path: self.path.clone(), order });
        } else if let Some(by) = shift(old, new) {
            self.splice(0, by, &[]);
            self.splice(old.len() - by, 0, rest(new, new.len() - by));
        } else if let Some(by) = shift(new, old) {
            self.splice(old.len() - by, by, &[]);
            self.splice(0, 0, head(new, by));
        } else {
            self.elements(&middle);
        }
    }

    fn elements(&mut self, middle: &Middle<'_>) {
        for ((old, new), index) in middle.old.iter().zip(middle.new).zip(middle.start as u64..) {
            self.below(|| Segment::Index(index), old, new);
        }
    }

    fn splice(&mut self, index: usize, remove: usize, items: &[Value]) {
        let (index, remove, items) = (index as u64, remove as u64, items.to_vec());
        self.ops.push(Op::Splice { path: self.path.clone(), index, remove, items });
    }
}

fn has_reserved(object: &Object) -> bool {
    match object.tree() {
        Some(tree) => RESERVED.into_iter().any(|name| tree.get(name).is_some()),
        None => object.keys().iter().any(|name| is_reserved(name)),
    }
}

/// What lies between the beginning and the end that two arrays have in common.
struct Middle<'a> {
    start: usize,
    old: &'a [Value],
    new: &'a [Value],
}

impl<'a> Middle<'a> {
    fn between(old: &'a [Value], new: &'a [Value], same: impl Fn(&Value, &Value) -> bool) -> Self {
        let start = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
        let (old, new) = (rest(old, start), rest(new, start));
        let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| same(a, b)).count();
        Self { start, old: head(old, old.len() - end), new: head(new, new.len() - end) }
    }
}

fn rest(values: &[Value], from: usize) -> &[Value] {
    values.get(from..).unwrap_or_default()
}

fn head(values: &[Value], length: usize) -> &[Value] {
    values.get(..length).unwrap_or(values)
}

/// By how much `old` is shifted towards the front in `new`, the freed places at the end being new.
fn shift(old: &[Value], new: &[Value]) -> Option<usize> {
    let first = new.first()?;
    let candidates = (1..old.len()).filter(|by| old.get(*by).is_some_and(|value| value == first));
    candidates.take(SHIFTS_MAX).find(|by| rest(old, *by) == head(new, new.len() - *by))
}

/// The order in which the elements of `old` make up `new`, if they do.
fn permutation(old: &[Value], new: &[Value]) -> Option<Vec<usize>> {
    /// Among so many elements of one fingerprint the equal one is looked for.
    const ALIKE_MAX: usize = 32;
    let marked = |values: &[Value]| {
        let mut marks: Vec<(u64, usize)> = values.iter().map(equal::fingerprint).zip(0..).collect();
        marks.sort_unstable();
        marks
    };
    let (from, to) = (marked(old), marked(new));
    if from.iter().zip(&to).any(|(a, b)| a.0 != b.0) {
        return None;
    }
    let mut order = vec![0; old.len()];
    let mut used = vec![false; from.len()];
    let mut start = 0;
    for (index, (mark, target)) in to.iter().enumerate() {
        if index > 0 && to.get(index - 1).is_some_and(|before| before.0 != *mark) {
            start = index;
        }
        while used.get(start).is_some_and(|used| *used) {
            start += 1;
        }
        let wanted = new.get(*target)?;
        let alike =
            from.iter().enumerate().skip(start).take(ALIKE_MAX).take_while(|(_, (other, _))| other == mark);
        let (place, source) = alike
            .filter(|(place, _)| used.get(*place) == Some(&false))
            .map(|(place, (_, source))| (place, *source))
            .find(|(_, source)| old.get(*source) == Some(wanted))?;
        *used.get_mut(place)? = true;
        *order.get_mut(*target)? = source;
    }
    Some(order)
}

/// About how many characters an operation has as text.
fn cost_of_op(op: &Op) -> usize {
    // Brackets, verb and commas.
    const FIXED: usize = 10;
    let path = |path: &Path| -> usize {
        path.iter()
            .map(|segment| match segment {
                Segment::Key(name) => name.len().saturating_add(3),
                Segment::Index(_) => 4,
            })
            .sum()
    };
    let rest = match op {
        Op::Replace(value) => cost_of(value),
        Op::Set { path: at, value } => path(at).saturating_add(cost_of(value)),
        Op::Delete { path: at } | Op::Trim { path: at, .. } => path(at),
        Op::Append { path: at, text } => path(at).saturating_add(text.len()),
        Op::Splice { path: at, items, .. } => items.iter().map(cost_of).fold(path(at), usize::saturating_add),
        Op::Reorder { path: at, order } => path(at).saturating_add(order.len().saturating_mul(4)),
    };
    rest.saturating_add(FIXED)
}

fn cost_of_number(number: f64) -> usize {
    match number::safe_integer(number) {
        Some(integer) => integer.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1),
        None => 18,
    }
}

/// About how many characters a value has as text.
fn cost_of(value: &Value) -> usize {
    let mut cost = 0_usize;
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        cost = cost.saturating_add(match value {
            Value::Null | Value::Bool(_) => 5,
            Value::Number(number) => cost_of_number(*number),
            Value::String(text) => text.len().saturating_add(3),
            Value::Array(array) => {
                pending.extend(array.iter());
                2
            }
            Value::Object(object) => {
                pending.extend(object.values());
                object.keys().iter().map(|name| name.len().saturating_add(4)).sum::<usize>().saturating_add(2)
            }
        });
    }
    cost
}
