//! From cargo's answer to the graph that is checked.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata};
use serde::Deserialize;

use super::{Graph, Rules};
use crate::run::Failure;

pub(super) fn graph(metadata: &Metadata) -> Result<Graph, Failure> {
    let members = metadata
        .workspace_packages()
        .into_iter()
        .map(|package| {
            let names = package.dependencies.iter().map(|dependency| dependency.name.clone()).collect();
            (package.name.to_string(), names)
        })
        .collect();
    Ok(Graph { members, normal: normal(metadata)?, rules: rules(metadata)? })
}

fn normal(metadata: &Metadata) -> Result<BTreeMap<String, BTreeSet<String>>, Failure> {
    let resolve = metadata.resolve.as_ref().ok_or("cargo metadata answered no resolved dependencies")?;
    let names: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (&package.id, package.name.to_string())).collect();
    let mut normal: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in &resolve.nodes {
        let below = node
            .deps
            .iter()
            .filter(|dependency| dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal));
        let below = below.filter_map(|dependency| names.get(&dependency.pkg).cloned());
        if let Some(name) = names.get(&node.id) {
            normal.entry(name.clone()).or_default().extend(below);
        }
    }
    Ok(normal)
}

/// The tables of the root `Cargo.toml`, as they are written there.
#[derive(Deserialize)]
struct Tables {
    layers: BTreeMap<String, i64>,
    pure: Pure,
    heavy: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Deserialize)]
struct Pure {
    crates: BTreeSet<String>,
    forbidden: BTreeSet<String>,
}

fn rules(metadata: &Metadata) -> Result<Rules, Failure> {
    let tables: Tables = serde_json::from_value(metadata.workspace_metadata.clone())
        .map_err(|error| format!("[workspace.metadata] of the root Cargo.toml: {error}"))?;
    Ok(Rules {
        ranks: tables.layers,
        pure: tables.pure.crates,
        forbidden: tables.pure.forbidden,
        heavy: tables.heavy,
    })
}
