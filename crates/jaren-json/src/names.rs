//! Names in messages: as their author wrote them, and as they were probably meant.

use std::fmt;

/// A longer name is cut in messages, and compared with no other one: the time would grow with the product of the lengths.
const LENGTH_MAX: usize = 64;
/// No more names than these are compared with one.
const CANDIDATES_MAX: usize = 1000;

/// A name as messages show it: in quotes, and cut where it is long.
///
/// ```
/// assert_eq!(jaren_json::in_quotes("review").to_string(), "'review'");
/// assert_eq!(jaren_json::in_quotes(&"x".repeat(1000)).to_string().chars().count(), 64 + 3);
/// ```
pub fn in_quotes(name: &str) -> impl fmt::Display {
    let (cut, more) = match name.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => (name.get(..end).unwrap_or_default(), "…"),
        None => (name, ""),
    };
    fmt::from_fn(move |f| write!(f, "'{cut}{more}'"))
}

/// What a message about an unknown name may add: the known name that was probably meant, or nothing.
///
/// ```
/// assert_eq!(jaren_json::did_you_mean("reveiw", ["prepare", "review"]), "; did you mean 'review'?");
/// assert_eq!(jaren_json::did_you_mean("publish", ["prepare", "review"]), "");
/// ```
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean {}?", in_quotes(near)))
}

/// The nearest of the known names, when it is near enough to be meant: at most a third of the name's characters away.
/// Of many names the first thousand are compared, and none with a long name.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(LENGTH_MAX + 1).collect();
    if name.len() > LENGTH_MAX {
        return None;
    }
    let allowed = (name.len() / 3).max(1);
    let near = known.into_iter().take(CANDIDATES_MAX).filter_map(|candidate| {
        let distance = distance(&name, candidate)?;
        (distance <= allowed).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// How many characters must be added, removed, replaced or swapped with their neighbours; `None` when `other` is too
/// long to be compared.
fn distance(name: &[char], other: &str) -> Option<usize> {
    if other.len() > 4 * LENGTH_MAX {
        return None;
    }
    let cell = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=name.len()).collect();
    let mut previous = None;
    for (line, there) in other.chars().enumerate() {
        let mut next = vec![line + 1];
        for (index, here) in name.iter().enumerate() {
            let replaced = cell(&row, index) + usize::from(*here != there);
            let changed = replaced.min(cell(&row, index + 1) + 1).min(cell(&next, index) + 1);
            let earlier = index.checked_sub(1).and_then(|earlier| Some((earlier, name.get(earlier)?)));
            let swapped = earlier.filter(|(_, earlier)| **earlier == there && previous == Some(*here));
            next.push(swapped.map_or(changed, |(earlier, _)| changed.min(cell(&before, earlier) + 1)));
        }
        before = std::mem::replace(&mut row, next);
        previous = Some(there);
    }
    row.last().copied()
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    fn apart(one: &str, other: &str) -> Option<usize> {
        distance(&one.chars().collect::<Vec<_>>(), other)
    }

    #[test]
    fn counts_what_must_be_changed() {
        assert_eq!(apart("kitten", "sitting"), Some(3));
        assert_eq!(apart("", "abc"), Some(3));
        assert_eq!(apart("abc", ""), Some(3));
        assert_eq!(apart("flaw", "lawn"), Some(2));
        assert_eq!(apart("dnoe", "done"), Some(1));
        assert_eq!(apart("ab", "ba"), Some(1));
        assert_eq!(apart("grün", "grün"), Some(0));
    }

    #[test]
    fn only_a_near_name_is_meant() {
        let states = ["prepare", "review", "done"];
        assert_eq!(nearest("reveiw", states), Some("review"));
        assert_eq!(nearest("dun", states), None);
        assert_eq!(nearest("publish", states), None);
        assert_eq!(nearest(&"x".repeat(65), ["x"]), None);
    }
}
