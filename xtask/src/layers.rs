//! Who may depend on whom, checked against `cargo metadata`.
//!
//! Three rules, each with its data in the root `Cargo.toml`:
//!
//! 1. `[workspace.metadata.layers]`: every member has a rank and depends only on members of a lower one,
//!    dev-dependencies and build-dependencies included; equal ranks never know each other.
//! 2. `[workspace.metadata.pure]`: nothing forbidden stands anywhere in the normal dependency tree of a pure crate.
//! 3. `[workspace.metadata.heavy]`: a heavy dependency is named only by the members that are listed for it.

mod read;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::run::Failure;
use crate::workspace;

/// What the check looks at, taken out of cargo's answer.
#[derive(Debug, Default)]
struct Graph {
    /// Each member with the names of all that it depends on directly, of every kind.
    members: BTreeMap<String, BTreeSet<String>>,
    /// Each package of the resolved build with its normal dependencies; a name may stand for several versions.
    normal: BTreeMap<String, BTreeSet<String>>,
    rules: Rules,
}

/// The rules' data.
#[derive(Debug, Default)]
struct Rules {
    ranks: BTreeMap<String, i64>,
    pure: BTreeSet<String>,
    forbidden: BTreeSet<String>,
    heavy: BTreeMap<String, BTreeSet<String>>,
}

/// The task.
pub(crate) fn layers() -> Result<(), Failure> {
    let graph = read::graph(&workspace::metadata()?)?;
    let violations = check(&graph);
    for violation in &violations {
        eprintln!("layers: {violation}");
    }
    if violations.is_empty() {
        println!("layers: {} members keep their ranks", graph.members.len());
        Ok(())
    } else {
        Err(format!("{} violations of the layers in the root Cargo.toml", violations.len()))
    }
}

/// Every violation, in the order of the rules.
fn check(graph: &Graph) -> Vec<String> {
    let mut found = ranks(graph);
    found.extend(pure(graph));
    found.extend(heavy(graph));
    found
}

fn ranks(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for (member, dependencies) in &graph.members {
        let Some(rank) = graph.rules.ranks.get(member) else {
            found.push(format!("`{member}` has no rank: give it one in [workspace.metadata.layers]"));
            continue;
        };
        for dependency in dependencies.iter().filter(|name| graph.members.contains_key(*name)) {
            if let Some(other) = graph.rules.ranks.get(dependency).filter(|other| *other >= rank) {
                found.push(format!("`{member}` (rank {rank}) depends on `{dependency}` (rank {other})"));
            }
        }
    }
    let named = graph.rules.ranks.keys().filter(|name| !graph.members.contains_key(*name));
    found.extend(named.map(|name| format!("`{name}` has a rank and is no member of the workspace")));
    found
}

fn pure(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for crate_name in &graph.rules.pure {
        if !graph.members.contains_key(crate_name) {
            found.push(format!("`{crate_name}` is declared pure and is no member of the workspace"));
        }
        for (forbidden, chain) in reached(graph, crate_name) {
            found.push(format!("`{crate_name}` is pure and reaches `{forbidden}`: {}", chain.join(" → ")));
        }
    }
    found
}

/// The forbidden packages below a crate, each with one shortest way to it.
fn reached(graph: &Graph, from: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([from.to_owned()]);
    let mut front = vec![vec![from.to_owned()]];
    while !front.is_empty() {
        let mut next = Vec::new();
        for chain in front {
            let below = chain.last().and_then(|last| graph.normal.get(last));
            for name in below.into_iter().flatten() {
                if !seen.insert(name.clone()) {
                    continue;
                }
                let mut chain = chain.clone();
                chain.push(name.clone());
                if graph.rules.forbidden.contains(name) {
                    found.push((name.clone(), chain));
                } else {
                    next.push(chain);
                }
            }
        }
        front = next;
    }
    found
}

fn heavy(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for (dependency, expected) in &graph.rules.heavy {
        for (member, dependencies) in &graph.members {
            if dependencies.contains(dependency) && !expected.contains(member) {
                found.push(format!(
                    "`{member}` names `{dependency}`, which [workspace.metadata.heavy] leaves to {expected:?}"
                ));
            }
        }
    }
    found
}
