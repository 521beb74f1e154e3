//! The public items of a crate, from rustdoc's JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::signature::{Source, signature};

/// A line for each public item, sorted by its path.
pub(super) fn lines(document: &Value, root: &Path) -> BTreeSet<String> {
    let mut surface = Surface {
        index: document.get("index").unwrap_or(&Value::Null),
        source: Source::new(root),
        seen: BTreeMap::new(),
        lines: BTreeSet::new(),
    };
    if let Some(item) = surface.item(document.get("root").unwrap_or(&Value::Null)) {
        surface.inside(item, name(item));
    }
    surface.lines
}

struct Surface<'a> {
    index: &'a Value,
    source: Source,
    /// Where each item is listed, by its number: once, under the first of its paths.
    seen: BTreeMap<String, String>,
    lines: BTreeSet<String>,
}

fn name(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// The kind of an item, and what its kind has.
fn inner(item: &Value) -> (&str, &Value) {
    let inner = item.get("inner").and_then(Value::as_object).and_then(|inner| inner.iter().next());
    inner.map_or(("", &Value::Null), |(kind, inner)| (kind.as_str(), inner))
}

fn list<'a>(of: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    of.get(member).and_then(Value::as_array).into_iter().flatten()
}

impl<'a> Surface<'a> {
    fn item(&self, id: &Value) -> Option<&'a Value> {
        self.index.get(id.to_string())
    }

    /// An item that may be named by `path`.
    fn public(&mut self, item: &'a Value, path: &str) {
        let (kind, details) = inner(item);
        if kind == "use" {
            return self.reexport(details, path);
        }
        let id = item.get("id").map(Value::to_string).unwrap_or_default();
        if let Some(before) = self.seen.insert(id, path.to_owned()) {
            self.lines.insert(format!("{path}: pub use {before}"));
            return;
        }
        self.lines.insert(format!("{path}: {}", signature(item, kind, &self.source)));
        self.inside(item, path);
        for id in list(details, "impls") {
            if let Some(block) = self.item(id) {
                self.block(block, path);
            }
        }
    }

    /// What is in a module, a type or a trait.
    fn inside(&mut self, item: &'a Value, path: &str) {
        let (kind, details) = inner(item);
        let below = match kind {
            "module" | "trait" => details.get("items"),
            "enum" => details.get("variants"),
            "struct" => details.pointer("/kind/plain/fields").or_else(|| details.pointer("/kind/tuple")),
            "variant" => details.pointer("/kind/struct/fields"),
            _ => None,
        };
        for id in below.and_then(Value::as_array).into_iter().flatten() {
            let Some(below) = self.item(id) else { continue };
            // Variants, their fields and what a trait asks for have the visibility of what they are in.
            let is_public = below.get("visibility").and_then(Value::as_str) == Some("public");
            if is_public || matches!(kind, "trait" | "enum" | "variant") {
                self.public(below, &format!("{path}::{}", name(below)));
            }
        }
    }

    fn reexport(&mut self, details: &'a Value, path: &str) {
        let source = details.get("source").and_then(Value::as_str).unwrap_or_default();
        let parent = path.rsplit_once("::").map_or(path, |(parent, _)| parent);
        let named = details.get("name").and_then(Value::as_str).unwrap_or_default();
        let target = details.get("id").and_then(|id| self.item(id));
        let is_glob = details.get("is_glob").and_then(Value::as_bool) == Some(true);
        match target {
            Some(target) if is_glob => self.inside(target, parent),
            Some(target) => self.public(target, &format!("{parent}::{named}")),
            None => {
                self.lines.insert(format!("{parent}::{named}: pub use {source}"));
            }
        }
    }

    /// An `impl` of a type: its trait, or what it adds.
    fn block(&mut self, block: &'a Value, path: &str) {
        let (_, details) = inner(block);
        let is_made = details.get("is_synthetic").and_then(Value::as_bool) == Some(true)
            || details.get("blanket_impl").is_some_and(|of| !of.is_null());
        if is_made {
            return;
        }
        if let Some(of) = details.get("trait").and_then(|of| of.get("path")).and_then(Value::as_str) {
            let written = signature(block, "impl", &self.source);
            // What `derive` adds for patterns nobody can name.
            if of == "StructuralPartialEq" {
                return;
            }
            let line = if written.starts_with("impl") && written.contains(of) {
                written
            } else {
                format!("impl {of}")
            };
            self.lines.insert(format!("{path}: {line}"));
            return;
        }
        for id in list(details, "items") {
            let Some(item) = self.item(id) else { continue };
            if item.get("visibility").and_then(Value::as_str) == Some("public") {
                self.public(item, &format!("{path}::{}", name(item)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_can_be_named_has_a_line_and_the_rest_has_none() {
        let item = |id: u32, name: &str, visibility: &str, inner: Value| {
            (id.to_string(), json!({ "id": id, "name": name, "visibility": visibility, "inner": inner }))
        };
        let index: serde_json::Map<String, Value> = [
            item(0, "it", "public", json!({ "module": { "items": [1, 2, 3, 9] } })),
            item(1, "hidden", "default", json!({ "module": { "items": [4] } })),
            item(2, "", "public", json!({ "use": { "source": "self::hidden::S", "name": "S", "id": 4 } })),
            item(3, "", "public", json!({ "use": { "source": "other::T", "name": "U", "id": 77 } })),
            item(
                4,
                "S",
                "public",
                json!({ "struct": { "kind": { "plain": { "fields": [5, 6] } }, "impls": [7, 8] } }),
            ),
            item(5, "shown", "public", json!({ "struct_field": {} })),
            item(6, "kept", "default", json!({ "struct_field": {} })),
            item(
                7,
                "",
                "default",
                json!({ "impl": { "trait": { "path": "Clone" }, "is_synthetic": false } }),
            ),
            item(8, "", "default", json!({ "impl": { "trait": { "path": "Send" }, "is_synthetic": true } })),
            item(9, "", "public", json!({ "use": { "source": "self::S", "name": "Again", "id": 4 } })),
        ]
        .into_iter()
        .collect();
        let document = json!({ "root": 0, "index": index });
        let found: Vec<String> = lines(&document, Path::new("/nowhere")).into_iter().collect();
        let expected = [
            "it::Again: pub use it::S",
            "it::S: impl Clone",
            "it::S: struct S",
            "it::S::shown: struct_field shown",
            "it::U: pub use other::T",
        ];
        assert_eq!(found, expected);
    }
}
