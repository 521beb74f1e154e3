//! The queries of a document: variables that nothing binds, and paths to what is never there.

use jaren_json::{Pointer, Value};
use jaren_query::{CompileOptions, analyze};

use crate::defects::Defects;

/// So many members are named where one of them was meant.
const NAMED_MAX: usize = 8;

/// What is known of what a query reads at `$`: what objects have which members, by the names that lead to them. What no
/// entry speaks of may be anything.
pub(super) type Scope<'a> = [(&'a [&'a str], &'a [&'a str])];

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
    let members = scope.iter().find(|(path, _)| path.is_empty()).map_or(&[][..], |(_, members)| members);
    let member = warnings.nearest(name, members.iter().copied()).map(|near| format!("$.{near}"));
    let near =
        member.or_else(|| warnings.nearest(name, bound.iter().copied()).map(|near| format!("${near}")));
    let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let message = format!("nothing binds the variable '${name}' here, so reading it fails{near}");
    warnings.push("JL0001", place.clone(), message);
}

/// Warns of a path that never finds anything.
fn unknown(steps: &[&str], place: &Pointer, scope: &Scope<'_>, warnings: &mut Defects) {
    for (path, members) in scope {
        let Some(step) = steps.strip_prefix(*path).and_then(|rest| rest.first()) else { continue };
        if members.contains(step) {
            continue;
        }
        // Who writes the name of a state where its pointer belongs is not near it, letter by letter.
        let last = |member: &&&str| member.rsplit('/').next() == Some(*step);
        let near = match members.iter().find(last) {
            Some(member) => format!("; did you mean '{member}'?"),
            None => warnings.suggest(Some(&Value::from(*step)), members.iter().copied()),
        };
        let all =
            if members.len() > NAMED_MAX { String::new() } else { format!(" among {}", members.join(", ")) };
        let whole: String = path.iter().flat_map(|step| [".", step]).collect();
        let message = format!("'${whole}' has no member '{step}'{all}, so this finds nothing{near}");
        warnings.push("JL0002", place.clone(), message);
        return;
    }
}
