//! What differs between what a run was saved with and what is here now, in words: both sides by name, where they differ
//! first, and never what stands there, which is the host's data.

use jaren_json::{Pointer, Value, digest};

/// Digits of a digest that are shown: enough to tell two documents apart, and to find one.
const DIGEST_DIGITS: usize = 12;

/// Two documents, by their revisions and digests.
pub(crate) fn of_documents(saved: &Value, here: &Value) -> String {
    format!("{} then, {} now; they differ first at {}", document(saved), document(here), place(saved, here))
}

/// Two values, by their digests.
pub(crate) fn of_values(saved: &Value, here: &Value) -> String {
    format!(
        "{} then, {} now; they differ first at {}",
        short_digest(saved),
        short_digest(here),
        place(saved, here)
    )
}

/// Two sets of task versions: the first task whose version differs, with both.
pub(crate) fn of_versions(saved: &Value, here: &Value) -> String {
    let version = |of: &Value, task: &str| match of.get(task) {
        Some(version) => version.to_string(),
        None => "none".to_owned(),
    };
    let members = [saved, here].into_iter().filter_map(Value::as_object).flat_map(jaren_json::Object::iter);
    let mut tasks = members.map(|(task, _)| task);
    match tasks.find(|task| saved.get(task) != here.get(task)) {
        Some(task) => format!("{task} {} then, {} now", version(saved, task), version(here, task)),
        None => of_values(saved, here),
    }
}

fn document(document: &Value) -> String {
    match document.get("revision").and_then(Value::as_str) {
        Some(revision) => format!("revision {revision:?} ({})", short_digest(document)),
        None => short_digest(document),
    }
}

/// `sha256:0123456789ab`.
pub(crate) fn short_digest(value: &Value) -> String {
    let digits: String = full_digest(value).chars().take(DIGEST_DIGITS).collect();
    format!("sha256:{digits}")
}

/// The digits of the SHA-256 of the canonical text.
pub(crate) fn full_digest(value: &Value) -> String {
    // What is stored, and what compiles, is canonical JSON.
    digest(value).map(|digest| digest.to_string()).unwrap_or_default()
}

/// In words, as the root has no pointer to show.
fn place(one: &Value, other: &Value) -> String {
    let pointer = first_difference(one, other).to_string();
    if pointer.is_empty() { "the root".to_owned() } else { pointer }
}

/// Where two values differ first, in the order of the first one's members; the root when they do not.
fn first_difference(mut one: &Value, mut other: &Value) -> Pointer {
    let mut pointer = Pointer::root();
    loop {
        let next = match (one, other) {
            (Value::Object(members), Value::Object(others)) => {
                let missing =
                    others.iter().find(|(name, _)| !members.contains_key(name)).map(|(name, _)| name);
                let differs = members.iter().find(|(name, value)| others.get(name) != Some(value));
                let Some(name) = differs.map(|(name, _)| name).or(missing) else { return pointer };
                pointer.push(name);
                (members.get(name), others.get(name))
            }
            (Value::Array(items), Value::Array(others)) => {
                let differs = (0..items.len().max(others.len())).find(|at| items.get(*at) != others.get(*at));
                let Some(at) = differs else { return pointer };
                pointer.push_index(at);
                (items.get(at), others.get(at))
            }
            _ => return pointer,
        };
        let (Some(inner), Some(outer)) = next else { return pointer };
        (one, other) = (inner, outer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jaren_json::value;

    #[test]
    fn the_first_difference_is_found() {
        let one = value!({ "a": [1, { "x/y": 2 }], "b": 3 });
        for (other, expected) in [
            (value!({ "a": [1, { "x/y": 2 }], "b": 4 }), "/b"),
            (value!({ "b": 3, "a": [1, { "x/y": null }] }), "/a/1/x~1y"),
            (value!({ "a": [1, { "x/y": 2 }, 5], "b": 3 }), "/a/2"),
            (value!({ "a": [1, { "x/y": 2 }], "b": 3, "c": 1 }), "/c"),
            (value!({ "a": [1, { "x/y": 2 }] }), "/b"),
            (value!([]), "the root"),
        ] {
            assert_eq!(place(&one, &other), expected, "{other}");
        }
    }

    #[test]
    fn both_sides_are_named_and_no_value_is_told() {
        let told = of_documents(
            &value!({ "revision": "a", "secret": 1 }),
            &value!({ "revision": "b", "secret": 2 }),
        );
        assert!(
            told.starts_with("revision \"a\" (sha256:") && told.contains("then, revision \"b\""),
            "{told}"
        );
        assert!(told.ends_with("they differ first at /revision"), "{told}");
        let told = of_versions(&value!({ "/states/a/task": "1" }), &value!({ "/states/a/task": "2" }));
        assert_eq!(told, "/states/a/task \"1\" then, \"2\" now");
    }
}
