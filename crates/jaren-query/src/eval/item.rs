//! Items and sequences of an evaluation.

use std::rc::Rc;

use jaren_json::{Object, Value};

/// One item: borrowed from the scope or the plan, or made by the query.
#[derive(Clone, Debug)]
pub(crate) enum Item<'a> {
    Ref(&'a Value),
    Own(Value),
}

impl<'a> Item<'a> {
    #[inline]
    pub(crate) fn value(&self) -> &Value {
        match self {
            Self::Ref(value) => value,
            Self::Own(value) => value,
        }
    }

    #[inline]
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Ref(value) => value.clone(),
            Self::Own(value) => value,
        }
    }

    #[inline]
    pub(crate) fn number(number: f64) -> Self {
        Self::Own(Value::Number(number))
    }

    /// The same lent.
    #[inline]
    pub(crate) fn lend(&self) -> Lent<'_, 'a> {
        match self {
            Self::Ref(value) => Lent::Scope(value),
            Self::Own(value) => Lent::Made(value),
        }
    }
}

/// An item that a loop lends to whoever may want it.
///
/// It fits into two registers. An item that goes by way of memory is written in parts and read as a whole, which processors
/// wait for: it costs as much as twenty instructions.
#[derive(Clone, Copy)]
pub(crate) enum Lent<'i, 'a> {
    /// Borrowed from the scope or the plan.
    Scope(&'a Value),
    /// Made by the query.
    Made(&'i Value),
}

impl<'i, 'a> Lent<'i, 'a> {
    #[inline]
    pub(crate) fn into_item(self) -> Item<'a> {
        match self {
            Self::Scope(value) => Item::Ref(value),
            Self::Made(value) => Item::Own(value.clone()),
        }
    }

    /// Lends each member of an array, or the item itself (D4).
    #[inline]
    pub(crate) fn unpack<E>(self, mut visit: impl FnMut(Lent<'i, 'a>) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Scope(value) => members(value).iter().try_for_each(|member| visit(Lent::Scope(member))),
            Self::Made(value) => members(value).iter().try_for_each(|member| visit(Lent::Made(member))),
        }
    }
}

/// The members of an array, or the item itself (D4).
#[inline]
fn members(value: &Value) -> &[Value] {
    match value {
        Value::Array(array) => array,
        value => std::slice::from_ref(value),
    }
}

/// A position or a count as a number. No list is long enough to be rounded.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "a list of 2^53 items does not fit into memory")]
pub(crate) fn count(n: usize) -> f64 {
    n as f64
}

/// A sequence: flat, and a list only from two items on.
#[derive(Clone, Debug)]
pub(crate) enum Seq<'a> {
    Empty,
    One(Item<'a>),
    /// Shared, because variables are read more often than they are bound.
    Many(Rc<Vec<Item<'a>>>),
}

impl<'a> Seq<'a> {
    pub(crate) fn len(&self) -> usize {
        self.as_slice().len()
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Item<'a>] {
        match self {
            Self::Empty => &[],
            Self::One(item) => std::slice::from_ref(item),
            Self::Many(items) => items,
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Item<'a>> {
        match self {
            Self::Empty => Vec::new(),
            Self::One(item) => vec![item],
            Self::Many(items) => Rc::unwrap_or_clone(items),
        }
    }
}

impl<'a> From<Vec<Item<'a>>> for Seq<'a> {
    fn from(mut items: Vec<Item<'a>>) -> Self {
        if items.len() > 1 {
            return Self::Many(Rc::new(items));
        }
        items.pop().map_or(Self::Empty, Self::One)
    }
}

/// What an expression answers to whoever can use at most one item.
#[derive(Debug)]
pub(crate) enum Got<'a> {
    None,
    One(Item<'a>),
    /// Two items or more.
    Several,
}

impl<'a> From<Option<Item<'a>>> for Got<'a> {
    #[inline]
    fn from(item: Option<Item<'a>>) -> Self {
        item.map_or(Self::None, Self::One)
    }
}

impl Got<'_> {
    /// What it is, for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::One(item) => item.value().kind().as_str(),
            Self::Several => "several items",
        }
    }
}

/// The effective boolean value of one item (section 2.2).
#[inline]
pub(crate) fn item_truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(bool) => *bool,
        Value::Number(number) => !(*number == 0.0 || number.is_nan()),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// The `{"key": …, "value": …}` pair of `$entries` and `$from-entries` (section 8.9).
pub(crate) fn entry_of(object: &Object) -> Option<(&str, Value)> {
    let key = object.get("key")?.as_str()?;
    Some((key, object.get("value").cloned().unwrap_or_default()))
}
