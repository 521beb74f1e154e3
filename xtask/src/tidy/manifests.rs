//! Manifests: versions stand once, and every dependency has its row with a reason and its true users.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::Metadata;

use super::Finding;
use super::files::SourceFile;

/// Who names which external crate.
pub(super) type Users = BTreeMap<String, BTreeSet<String>>;

/// The page with a row for each dependency.
const PAGE: &str = "docs/dependencies.md";

/// The members that name each external crate, dev-dependencies included.
pub(super) fn users(metadata: &Metadata) -> Users {
    let mut users = Users::new();
    for member in metadata.workspace_packages() {
        for dependency in member.dependencies.iter().filter(|dependency| dependency.path.is_none()) {
            users.entry(dependency.name.clone()).or_default().insert(member.name.to_string());
        }
    }
    users
}

pub(super) fn check(sources: &[SourceFile], users: &Users) -> Vec<Finding> {
    let mut found: Vec<Finding> = sources
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml") && !is_apart(file))
        .flat_map(versions_stand_once)
        .collect();
    let text = |path: &str| sources.iter().find(|file| file.path == path).map_or("", |file| &*file.text);
    let declared = declared(text("Cargo.toml"));
    found.extend(rows(&declared, text(PAGE), users));
    found
}

/// A package that is a workspace of its own has nobody to take a version from.
fn is_apart(manifest: &SourceFile) -> bool {
    manifest.text.lines().any(|line| line == "[workspace]")
}

/// A member takes every dependency from the workspace.
fn versions_stand_once(manifest: &SourceFile) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut inside = false;
    for (line, text) in (1..).zip(manifest.text.lines()) {
        if text.starts_with('[') {
            inside = text.ends_with("dependencies]");
        } else if inside && text.contains('=') && !text.starts_with('#') && !text.contains("workspace = true")
        {
            let message = "versions stand once: take it with `workspace = true`";
            found.push(Finding::new(&manifest.path, line, message));
        }
    }
    found
}

/// The external crates of `[workspace.dependencies]`.
fn declared(manifest: &str) -> BTreeSet<String> {
    let section = manifest.split("[workspace.dependencies]\n").nth(1).unwrap_or("");
    section
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.contains("path = "))
        .filter_map(|line| Some(line.split_once('=')?.0.trim().to_owned()))
        .filter(|name| !name.starts_with('#'))
        .collect()
}

/// The page's table against what is declared and used.
fn rows(declared: &BTreeSet<String>, page: &str, users: &Users) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut rows = BTreeSet::new();
    for (line, text) in (1..).zip(page.lines()) {
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let ["", name, named, why, ""] = *cells.as_slice() else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { continue };
        let mut complain = |message: String| found.push(Finding::new(PAGE, line, message));
        if !rows.insert(name.to_owned()) {
            complain(format!("`{name}` has two rows"));
        }
        if !declared.contains(name) {
            complain(format!("`{name}` is not in [workspace.dependencies]: remove its row"));
            continue;
        }
        if why.is_empty() {
            complain(format!("`{name}` has no reason"));
        }
        let named: BTreeSet<String> = named.split(',').map(|user| user.trim().to_owned()).collect();
        let truly = users.get(name).cloned().unwrap_or_default();
        if named != truly {
            let truly = truly.into_iter().collect::<Vec<_>>().join(", ");
            complain(format!("`{name}` is used by: {truly}"));
        }
    }
    for name in declared.iter().filter(|name| !rows.contains(*name)) {
        found.push(Finding::new(PAGE, 0, format!("`{name}` has no row: why this one?")));
    }
    for name in declared.iter().filter(|name| !users.contains_key(*name)) {
        found.push(Finding::new("Cargo.toml", 0, format!("no member uses `{name}`")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace.dependencies]\nours = { path = \"crates/ours\" }\n# why\na = \"1\"\n\
                            b = { version = \"2\" }\n\n[profile.dev]\nc = 1\n";

    fn messages(page: &str) -> Vec<String> {
        let users = [("a", vec!["x", "y"]), ("b", vec!["x"])].map(|(name, members)| {
            (name.to_owned(), members.into_iter().map(str::to_owned).collect::<BTreeSet<_>>())
        });
        let found = rows(&declared(MANIFEST), page, &users.into());
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_true_table_has_no_finding() {
        let page = "# Words\n\n| crate | used by | why |\n|---|---|---|\n| `a` | y, x | good |\n| `b` | x | small |\n";
        assert_eq!(messages(page), Vec::<String>::new());
    }

    #[test]
    fn each_drift_is_found() {
        assert_eq!(
            messages("| `a` | x | good |\n| `a` | x, y | |\n| `gone` | x | old |\n"),
            [
                "docs/dependencies.md:1: `a` is used by: x, y",
                "docs/dependencies.md:2: `a` has two rows",
                "docs/dependencies.md:2: `a` has no reason",
                "docs/dependencies.md:3: `gone` is not in [workspace.dependencies]: remove its row",
                "docs/dependencies.md: `b` has no row: why this one?",
            ]
        );
    }

    #[test]
    fn a_version_in_a_member_is_found() {
        let text = "[package]\nversion = \"1\"\n[dependencies]\na.workspace = true\nb = \"2\"\n\
                    c = { workspace = true, features = [\"d\"] }\n";
        let found = check(&[SourceFile::new("crates/x/Cargo.toml", text)], &Users::new());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, 5);
    }
}
