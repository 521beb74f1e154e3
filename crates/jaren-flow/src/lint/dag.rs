//! Dataflows.

use std::collections::BTreeMap;

use jaren_json::{Pointer, Value};

use super::query::query;
use crate::defects::Defects;

pub(super) fn lint(document: &Value, warnings: &mut Defects) {
    at(document, &Pointer::root(), warnings);
}

/// Looks through a dag that stands at `pointer`.
pub(super) fn at(document: &Value, pointer: &Pointer, warnings: &mut Defects) {
    let edges = document.get("edges").and_then(Value::as_array).map_or(&[][..], |edges| edges);
    let mut ports: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (index, edge) in edges.iter().enumerate() {
        let select = pointer.child("edges").child_index(index).child("select");
        query(edge.get("select"), &select, &[], warnings);
        let text = |member: &str| edge.get(member).and_then(Value::as_str);
        if let Some((to, port)) = text("to").zip(text("port")) {
            ports.entry(to).or_default().push(port);
        }
    }
    for (id, node) in document.get("nodes").and_then(Value::as_object).into_iter().flatten() {
        let pointer = pointer.child("nodes").child(id);
        let ports = ports.get(id).map(|ports| [(&[][..], ports.as_slice())]);
        let scope = ports.as_ref().map_or(&[][..], |ports| ports);
        let member = match node.get("kind").and_then(Value::as_str) {
            Some("query") => "query",
            Some("task") => "with",
            _ => continue,
        };
        query(node.get(member), &pointer.child(member), scope, warnings);
    }
}
