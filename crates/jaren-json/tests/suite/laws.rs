//! Laws, on arbitrary values.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use jaren_json::{
    Pointer, ReadOptions, Value, canonical, delta, digest, from_value, pretty, read, to_text, to_value,
};
use proptest::prelude::*;

use crate::support::{arb_number, arb_pair, arb_text, arb_value, parse};

fn hash(value: &Value) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// The same value with the members of every object in reverse.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(array) => array.iter().map(reversed).collect(),
        Value::Object(object) => {
            Value::Object(object.iter().rev().map(|(name, value)| (name, reversed(value))).collect())
        }
        scalar => scalar.clone(),
    }
}

/// The pointers to all parts.
fn pointers(value: &Value, at: Pointer, found: &mut Vec<(Pointer, Value)>) {
    match value {
        Value::Array(array) => {
            array.iter().enumerate().for_each(|(index, value)| pointers(value, at.child_index(index), found));
        }
        Value::Object(object) => {
            object.iter().for_each(|(name, value)| pointers(value, at.child(name), found));
        }
        _ => {}
    }
    found.push((at, value.clone()));
}

proptest! {
    #[test]
    fn canonical_text_is_read_and_written_unchanged(value in arb_value()) {
        let text = canonical(&value).unwrap();
        let again = parse(&text);
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(canonical(&again).unwrap(), text);
    }

    #[test]
    fn canonical_text_does_not_see_the_order_of_members(value in arb_value()) {
        let reversed = reversed(&value);
        prop_assert_eq!(&reversed, &value);
        prop_assert_eq!(canonical(&reversed).unwrap(), canonical(&value).unwrap());
        prop_assert_eq!(digest(&reversed).unwrap(), digest(&value).unwrap());
        prop_assert_eq!(hash(&reversed), hash(&value));
    }

    #[test]
    fn canonical_text_is_that_of_serde_jcs(value in arb_value()) {
        let expected = serde_jcs::to_string(&value).unwrap();
        prop_assert_eq!(canonical(&value).unwrap(), expected);
    }

    #[test]
    fn text_keeps_the_order_of_members(value in arb_value()) {
        for text in [to_text(&value).unwrap(), pretty(&value).unwrap()] {
            let again = parse(&text);
            prop_assert_eq!(to_text(&again).unwrap(), to_text(&value).unwrap());
            // As a document too: no name stands twice, and every integer that we write is exact or shortest.
            prop_assert_eq!(read(text.as_bytes(), &ReadOptions::document()).unwrap(), again);
        }
    }

    #[test]
    fn equality_is_that_of_canonical_texts(a in arb_value(), b in arb_value(), (c, d) in arb_pair()) {
        for (a, b) in [(&a, &b), (&a, &a), (&c, &d)] {
            let equal = canonical(a).unwrap() == canonical(b).unwrap();
            prop_assert_eq!(a == b, equal);
            prop_assert_eq!(b == a, equal);
            prop_assert!(!equal || hash(a) == hash(b));
            prop_assert!(!a.ptr_eq(b) || equal);
        }
    }

    #[test]
    fn a_delta_leads_from_the_old_value_to_the_new_one((old, new) in arb_pair()) {
        let ops = delta::diff(&old, &new);
        prop_assert_eq!(ops.is_empty(), old == new);
        prop_assert_eq!(&delta::apply(Some(&old), &ops).unwrap(), &new);
        let form = delta::ops_to_value(&ops);
        prop_assert_eq!(delta::ops_to_text(&ops).unwrap(), to_text(&form).unwrap());
        let again = parse(&canonical(&form).unwrap());
        prop_assert_eq!(&delta::ops_from_value(&again).unwrap(), &ops);
    }

    // durable H41.
    #[test]
    fn a_delta_leads_between_any_two_values(old in arb_value(), new in arb_value()) {
        prop_assert_eq!(&delta::apply(Some(&old), &delta::diff(&old, &new)).unwrap(), &new);
    }

    #[test]
    fn a_pointer_is_read_and_written_unchanged(tokens in proptest::collection::vec(arb_text(), 0..5)) {
        let pointer = Pointer::from_tokens(&tokens);
        prop_assert_eq!(&Pointer::parse(&pointer.to_string()).unwrap(), &pointer);
        prop_assert_eq!(pointer.tokens().map(String::from).collect::<Vec<_>>(), tokens);
    }

    #[test]
    fn a_pointer_leads_to_each_part(value in arb_value()) {
        let mut found = Vec::new();
        pointers(&value, Pointer::root(), &mut found);
        for (pointer, part) in found {
            prop_assert_eq!(value.pointer(&pointer), Some(&part));
        }
    }

    #[test]
    fn serde_takes_a_value_apart_and_puts_it_together(value in arb_value()) {
        prop_assert_eq!(&to_value(&value).unwrap(), &value);
        prop_assert_eq!(&from_value::<Value>(&value).unwrap(), &value);
    }

    #[test]
    fn an_object_with_and_without_a_member(value in arb_value(), name in arb_text(), number in arb_number()) {
        let Value::Object(object) = value else { return Ok(()) };
        let with = object.with(name.as_str(), number);
        prop_assert_eq!(with.get(&name), Some(&Value::from(number)));
        let without = with.without(&name);
        prop_assert_eq!(without.get(&name), None);
        prop_assert_eq!(without, object.without(&name));
        prop_assert_eq!(with.len(), object.len() + usize::from(!object.contains_key(&name)));
    }
}
