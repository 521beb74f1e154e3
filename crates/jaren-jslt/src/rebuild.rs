//! Rebuilding a container from what its children answered, or finding that it is still itself (section 5.1).

use jaren_json::{Array, Object, Value};

/// What a dispatch answered.
pub(crate) enum Answer {
    /// The value as it is; nothing was added to the list.
    Itself,
    /// What was added to the list.
    Added,
}

/// A child that answered something else than itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) position: usize,
    /// How many items it answered.
    pub(crate) items: usize,
}

/// An array of which at most one in so many elements is changed shares the others as a whole.
const FEW: usize = 16;

/// A container in which the changed children are replaced by their items, which are the list from `from` on; they make room
/// for the container.
pub(crate) fn rebuild(value: &Value, changes: &[Change], (answer, from): (&mut Vec<Value>, usize)) {
    let container = match value {
        Value::Array(array) => rebuilt_array(array, changes, answer, from).into(),
        Value::Object(object) => rebuilt_object(object, changes, answer, from).into(),
        other => other.clone(),
    };
    answer.truncate(from);
    answer.push(container);
}

fn rebuilt_array(array: &Array, changes: &[Change], answer: &mut Vec<Value>, from: usize) -> Array {
    let is_few = !changes.is_empty() && changes.len() <= array.len() / FEW;
    if is_few && changes.iter().all(|change| change.items == 1) {
        let items = answer.drain(from..);
        return array.with_each(changes.iter().map(|change| change.position).zip(items));
    }
    let parts = in_order(array, changes, answer, from);
    answer.drain(parts..).into()
}

fn rebuilt_object(object: &Object, changes: &[Change], answer: &mut Vec<Value>, from: usize) -> Object {
    let (Some(shape), true) = (object.shape(), changes.iter().all(|change| change.items == 1)) else {
        return without_some(object, changes, answer, from);
    };
    let mut positions = changes.iter().map(|change| change.position).peekable();
    let mut items = answer.drain(from..);
    Object::from_shape_fn(shape, |position, place| {
        if positions.next_if_eq(&position).is_some() {
            // One for each position.
            *place = items.next().unwrap_or_default();
        } else if let Some(kept) = object.values().get(position) {
            place.clone_from(kept);
        }
    })
}

/// The object without the members that answered nothing.
fn without_some(object: &Object, changes: &[Change], answer: &mut Vec<Value>, from: usize) -> Object {
    let parts = in_order(object.values(), changes, answer, from);
    let values = answer.drain(parts..);
    let mut left_out = changes.iter().filter(|change| change.items == 0).peekable();
    let members = object.keys().iter().enumerate();
    let kept =
        members.filter(|(position, _)| left_out.next_if(|change| change.position == *position).is_none());
    kept.map(|(_, name)| name).zip(values).collect()
}

/// Where the parts of the container begin in the list: all children in their order, those that are changed as their items.
fn in_order(children: &[Value], changes: &[Change], answer: &mut Vec<Value>, from: usize) -> usize {
    if changes.len() == children.len() {
        return from;
    }
    let parts = answer.len();
    let (mut next, mut taken) = (0, from);
    for Change { position, items } in changes {
        answer.extend_from_slice(children.get(next..*position).unwrap_or_default());
        for _ in 0..*items {
            let item = answer.get_mut(taken).map(std::mem::take);
            answer.extend(item);
            taken += 1;
        }
        next = position + 1;
    }
    answer.extend_from_slice(children.get(next..).unwrap_or_default());
    parts
}

/// Identity as the format has it (`===`): the same container, or equal scalars.
pub(crate) fn is_identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        _ => a.ptr_eq(b),
    }
}
