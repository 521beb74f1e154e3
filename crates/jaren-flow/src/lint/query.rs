//! The queries of a document: variables that nothing binds, and paths to what is never there.

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Pointer, Value};

use super::Warnings;

/// So many members are named where one of them was meant.
const NAMED_MAX: usize = 8;

/// What is known of what a query reads at `$`: what objects have which members, by the names that lead to them. What no
/// entry speaks of may be anything.
pub(super) type Scope<'a> = [(&'a [&'a str], &'a Members<'a>)];

/// The members that an object has. Each path of the document is looked up in them.
#[derive(Default)]
pub(super) struct Members<'a> {
    listed: Vec<&'a str>,
    known: BTreeSet<&'a str>,
    /// The first one for each last step, of names that are pointers.
    by_end: BTreeMap<&'a str, &'a str>,
}

impl<'a> FromIterator<&'a str> for Members<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let mut members = Self::default();
        for name in names {
            members.listed.push(name);
            members.known.insert(name);
            members.by_end.entry(name.rsplit('/').next().unwrap_or(name)).or_insert(name);
        }
        members
    }
}

/// Looks through the query at `pointer`.
pub(super) fn query(document: Option<&Value>, pointer: &Pointer, scope: &Scope<'_>, warnings: &mut Warnings) {
    let Some(document) = document else { return };
    // What does not compile is none of a lint's business.
    let Some(analysis) = warnings.queries.analyze(document) else { return };
    let nodes = nodes(&analysis);
    let bound: Vec<&str> = nodes.iter().filter_map(|node| binding(node)).collect();
    let mut seen = BTreeSet::new();
    for node in nodes {
        let text = |member: &str| node.get(member).and_then(Value::as_str);
        let (Some(kind @ ("var" | "path")), Some(name)) = (text("kind"), text("name")) else { continue };
        let Some(place) = text("docPath").and_then(|place| Pointer::parse(place).ok()) else { continue };
        let place = pointer.join(&place);
        if node.get("external").and_then(Value::as_bool) == Some(true) {
            // One warning a name and place, however often the path at that place reads it.
            if seen.insert((name, place.clone())) {
                unbound(name, &place, scope, &bound, warnings);
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

fn unbound(name: &str, place: &Pointer, scope: &Scope<'_>, bound: &[&str], warnings: &mut Warnings) {
    let members = scope.iter().find(|(path, _)| path.is_empty()).map(|(_, members)| &members.listed);
    let members = members.into_iter().flatten().copied();
    let member = warnings.found.nearest(name, members).map(|near| format!("$.{near}"));
    let near =
        member.or_else(|| warnings.found.nearest(name, bound.iter().copied()).map(|near| format!("${near}")));
    let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let message = format!("nothing binds the variable '${name}' here, so reading it fails{near}");
    warnings.push("JL0001", place.clone(), message);
}

/// Warns of a path that never finds anything.
fn unknown(steps: &[&str], place: &Pointer, scope: &Scope<'_>, warnings: &mut Warnings) {
    for (path, members) in scope {
        let Some(step) = steps.strip_prefix(*path).and_then(|rest| rest.first()) else { continue };
        if members.known.contains(step) {
            continue;
        }
        // Who writes the name of a state where its pointer belongs is not near it, letter by letter.
        let listed = &members.listed;
        let near = match members.by_end.get(step) {
            Some(member) => format!("; did you mean '{member}'?"),
            None => warnings.found.suggest(Some(&Value::from(*step)), listed.iter().copied()),
        };
        let all =
            if listed.len() > NAMED_MAX { String::new() } else { format!(" among {}", listed.join(", ")) };
        let whole: String = path.iter().flat_map(|step| [".", step]).collect();
        let message = format!("'${whole}' has no member '{step}'{all}, so this finds nothing{near}");
        warnings.push("JL0002", place.clone(), message);
        return;
    }
}
