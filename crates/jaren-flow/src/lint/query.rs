//! The queries of a document: variables that nothing binds, and paths to what is never there.

use jaren_json::{Pointer, Value};
use jaren_query::{CompileOptions, analyze};

use crate::defects::Defects;

/// What a query reads at `$`, as far as it is known.
pub(super) enum Scope<'a> {
    /// Anything.
    Any,
    /// An object of these members, and of the first one named by the second list an object of those.
    Members(&'a [&'a str], Option<(&'a str, &'a [&'a str])>),
}

/// Looks through the query at `pointer`.
pub(super) fn query(document: Option<&Value>, pointer: &Pointer, scope: &Scope<'_>, warnings: &mut Defects) {
    let Some(document) = document else { return };
    // What does not compile is none of a lint's business.
    let Ok(analysis) = analyze(document, &CompileOptions::default()) else { return };
    let nodes = nodes(&analysis);
    let bound: Vec<&str> = nodes.iter().filter_map(|node| binding(node)).collect();
    let mut seen = Vec::new();
    for node in nodes {
        let text = |member: &str| node.get(member).and_then(Value::as_str);
        let (Some(kind @ ("var" | "path")), Some(name)) = (text("kind"), text("name")) else { continue };
        let Some(place) = text("docPath").and_then(|place| Pointer::parse(place).ok()) else { continue };
        let place = pointer.join(&place);
        if node.get("external").and_then(Value::as_bool) == Some(true) {
            // One warning a name and place, however often the path at that place reads it.
            if !seen.contains(&(name, place.clone())) {
                unbound(name, &place, scope, &bound, warnings);
                seen.push((name, place));
            }
        } else if kind == "path" && name == "$" {
            let steps: Vec<&str> = node
                .get("segments")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map_while(step)
                .collect();
            unknown(&steps, &place, scope, warnings);
        }
    }
}

/// All objects of an analysis, outermost first, without those in constants of the query.
fn nodes(analysis: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut waiting: Vec<&Value> = analysis.get("root").into_iter().collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items.iter().rev()),
            Value::Object(object) if object.get("kind").and_then(Value::as_str) != Some("literal") => {
                found.push(value);
                let parts = object.iter().filter(|(name, _)| *name != "schema");
                waiting.extend(parts.map(|(_, part)| part).rev());
            }
            _ => {}
        }
    }
    found
}

/// The name that a node binds.
fn binding(node: &Value) -> Option<&str> {
    let binds = node.get("slot").is_some() && node.get("external").is_none();
    node.get("name").and_then(Value::as_str).filter(|_| binds)
}

/// The name of a single step into an object.
fn step(segment: &Value) -> Option<&str> {
    let selectors = segment.get("selectors").and_then(Value::as_array)?;
    let [selector] = &**selectors else { return None };
    let single = segment.get("descendant").and_then(Value::as_bool) == Some(false);
    let named = selector.get("kind").and_then(Value::as_str) == Some("name");
    selector.get("name").and_then(Value::as_str).filter(|_| single && named)
}

fn unbound(name: &str, place: &Pointer, scope: &Scope<'_>, bound: &[&str], warnings: &mut Defects) {
    let members = match scope {
        Scope::Any => &[][..],
        Scope::Members(members, _) => members,
    };
    let member = warnings.nearest(name, members.iter().copied()).map(|near| format!("$.{near}"));
    let near =
        member.or_else(|| warnings.nearest(name, bound.iter().copied()).map(|near| format!("${near}")));
    let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let message = format!("nothing binds the variable '${name}' here, so reading it fails{near}");
    warnings.push("JL0001", place.clone(), message);
}

/// Warns of the first step of a path that never finds anything.
fn unknown(steps: &[&str], place: &Pointer, scope: &Scope<'_>, warnings: &mut Defects) {
    let Scope::Members(members, inner) = scope else { return };
    let (before, step, members) = match (steps, inner) {
        ([step, ..], _) if !members.contains(step) => ("$", step, *members),
        ([first, step, ..], Some((name, members))) if first == name && !members.contains(step) => {
            (*first, step, *members)
        }
        _ => return,
    };
    let before = if before == "$" { before.to_owned() } else { format!("$.{before}") };
    let near = warnings.suggest(Some(&Value::from(*step)), members.iter().copied());
    let message = format!(
        "'{before}' has no member '{step}' here, so this finds nothing; there are {}{near}",
        members.join(", ")
    );
    warnings.push("JL0002", place.clone(), message);
}
