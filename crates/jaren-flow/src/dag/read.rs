//! Reading a jaren-dag 0.1 document: shapes only (JF0010, JF0011, JF0012).

use jaren_json::{Object, Pointer, Str, Value};

use crate::defects::{Defects, is_blank};
use crate::document::dag::Kind;

/// Checks the head of the document and gives its members, unless it is no dag at all.
pub(super) fn head<'a>(document: &'a Value, defects: &mut Defects) -> Option<&'a Object> {
    let Some(object) = document.as_object() else {
        let message = format!("a dag is an object, found {}", document.kind());
        defects.push("JF0010", Pointer::root(), message);
        return None;
    };
    if object.get("$dag").and_then(Value::as_str) != Some("0.1") {
        let message = "a dag says what it is: \"$dag\": \"0.1\"";
        defects.push("JF0010", Pointer::root().child("$dag"), message);
        return None;
    }
    Some(object)
}

/// The object of nodes.
pub(super) fn nodes<'a>(document: &'a Object, defects: &mut Defects) -> Option<&'a Object> {
    let nodes = document.get("nodes").and_then(Value::as_object);
    if nodes.is_none() {
        let message = "nodes must be an object of node declarations by their ids";
        defects.push("JF0011", Pointer::root().child("nodes"), message);
    }
    nodes
}

/// The members of a node and its kind.
pub(super) fn node<'a>(
    declaration: &'a Value,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<(&'a Object, Kind)> {
    let message = "a node is an object with a kind: input, output, const, query, jslt or task";
    let Some(object) = declaration.as_object() else {
        defects.push("JF0011", pointer.clone(), message);
        return None;
    };
    let word = object.get("kind");
    let kind = Kind::ALL.iter().find(|kind| word.and_then(Value::as_str) == Some(kind.word()));
    if kind.is_none() {
        let near = defects.suggest(word, Kind::ALL.iter().map(|kind| kind.word()));
        defects.push("JF0011", pointer.child("kind"), format!("{message}{near}"));
    }
    kind.map(|kind| (object, *kind))
}

/// Whether the node's value is kept; absent is false.
pub(super) fn checkpoint(object: &Object, pointer: &Pointer, defects: &mut Defects) -> bool {
    match object.get("checkpoint") {
        None => false,
        Some(Value::Bool(checkpoint)) => *checkpoint,
        Some(other) => {
            let message = format!("checkpoint must be true or false, found {}", other.kind());
            defects.push("JF0011", pointer.child("checkpoint"), message);
            false
        }
    }
}

/// A member without which the node means nothing.
pub(super) fn required<'a>(
    object: &'a Object,
    member: &str,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<&'a Value> {
    let value = object.get(member);
    if value.is_none() {
        defects.push("JF0011", pointer.clone(), format!("this kind of node needs the member \"{member}\""));
    }
    value
}

/// The handler's name of a task node.
pub(super) fn run(object: &Object, pointer: &Pointer, defects: &mut Defects) -> Option<Str> {
    match object.get("run") {
        Some(Value::String(run)) if !run.is_empty() => Some(run.clone()),
        _ => {
            let message = "a task node needs a non-empty string \"run\"";
            defects.push("JF0011", pointer.child("run"), message);
            None
        }
    }
}

/// The declared version of a task node; `needed` where the dag keeps any checkpoint.
pub(super) fn version(
    object: &Object,
    needed: bool,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<Str> {
    let message = match object.get("version") {
        Some(Value::String(version)) if !is_blank(version) => return Some(version.clone()),
        Some(_) => "version must be a string that is not blank",
        None if needed => {
            "a dag that keeps checkpoints needs a version on every task: a kept result is reused only while the \
             same handler would make it"
        }
        None => return None,
    };
    defects.push("JF0011", pointer.child("version"), message);
    None
}

/// The list of edges.
pub(super) fn edges<'a>(document: &'a Object, defects: &mut Defects) -> Option<&'a [Value]> {
    let edges = document.get("edges").and_then(Value::as_array);
    if edges.is_none() {
        defects.push("JF0012", Pointer::root().child("edges"), "edges must be a list");
    }
    edges.map(|edges| &**edges)
}

/// One edge, its ends still names.
pub(super) struct EdgeDocument<'a> {
    pub(super) from: &'a Str,
    pub(super) to: &'a Str,
    pub(super) port: Option<&'a Str>,
    pub(super) select: Option<&'a Value>,
}

pub(super) fn edge<'a>(
    item: &'a Value,
    pointer: &Pointer,
    defects: &mut Defects,
) -> Option<EdgeDocument<'a>> {
    let Some(object) = item.as_object() else {
        let message = format!("an edge is an object {{from, to, port?, select?}}, found {}", item.kind());
        defects.push("JF0012", pointer.clone(), message);
        return None;
    };
    let mut end = |member| {
        if let Some(Value::String(id)) = object.get(member) {
            return Some(id);
        }
        defects.push("JF0012", pointer.child(member), format!("an edge needs a string \"{member}\""));
        None
    };
    let (from, to) = (end("from"), end("to"));
    let port = match object.get("port") {
        None => None,
        Some(Value::String(port)) if !port.is_empty() => Some(port),
        Some(_) => {
            defects.push("JF0012", pointer.child("port"), "port must be a non-empty string");
            return None;
        }
    };
    Some(EdgeDocument { from: from?, to: to?, port, select: object.get("select") })
}
