//! Dataflows.

use std::collections::BTreeMap;

use jaren_json::{Pointer, Value};

use super::Warnings;
use super::query::{Members, query};
use crate::document::dag::Kind;
use crate::look::{list, text};

pub(super) fn lint(document: &Value, warnings: &mut Warnings) {
    at(document, &Pointer::root(), warnings);
}

/// Looks through a dag that stands at `pointer`.
pub(super) fn at(document: &Value, pointer: &Pointer, warnings: &mut Warnings) {
    let mut ports: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (index, edge) in list(document, "edges").iter().enumerate() {
        let select = pointer.child("edges").child_index(index).child("select");
        query(edge.get("select"), &select, &[], warnings);
        if let Some((to, port)) = text(edge, "to").zip(text(edge, "port")) {
            ports.entry(to).or_default().push(port);
        }
    }
    for (id, node) in document.get("nodes").and_then(Value::as_object).into_iter().flatten() {
        let pointer = pointer.child("nodes").child(id);
        let ports = ports.get(id).map(|ports| ports.iter().copied().collect::<Members<'_>>());
        let scope: Option<[(&[&str], &Members<'_>); 1]> = ports.as_ref().map(|ports| [(&[][..], ports)]);
        let scope = scope.as_ref().map_or(&[][..], |scope| scope);
        let kind = text(node, "kind");
        let member = if kind == Some(Kind::Query.word()) {
            "query"
        } else if kind == Some(Kind::Task.word()) {
            "with"
        } else {
            continue;
        };
        query(node.get(member), &pointer.child(member), scope, warnings);
    }
}
