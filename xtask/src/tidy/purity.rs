//! What is pure stays so in its sources too: the standard library has clocks, files and threads, and needs no
//! dependency for them.
//!
//! `[workspace.metadata.pure]` of the root `Cargo.toml` names the crates and modules, and the paths that none of them may
//! name. A pure module of another crate names nothing of that crate but what is pure itself, and of other crates the
//! pure ones alone. It holds for tests beside the code as well.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::Metadata;
use serde::Deserialize;

use super::Finding;
use super::files::SourceFile;
use super::paths::{By, Named, named};
use crate::run::Failure;

/// What is pure, and what that forbids.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Rules {
    crates: BTreeSet<String>,
    /// Packages.
    forbidden: BTreeSet<String>,
    /// Paths, each for all that is below it.
    paths: BTreeSet<String>,
    /// What a pure module may name of a crate that is not pure: plain values.
    values: BTreeSet<String>,
    /// By crate, those of its modules that are pure.
    modules: BTreeMap<String, BTreeSet<String>>,
    /// Every member of the workspace.
    #[serde(skip)]
    members: BTreeSet<String>,
}

/// The rules of the root `Cargo.toml`.
pub(super) fn rules(metadata: &Metadata) -> Result<Rules, Failure> {
    let table = metadata.workspace_metadata.get("pure").cloned().unwrap_or_default();
    let mut rules: Rules = serde_json::from_value(table)
        .map_err(|error| format!("[workspace.metadata.pure] of the root Cargo.toml: {error}"))?;
    rules.members = metadata.workspace_packages().iter().map(|member| member.name.to_string()).collect();
    Ok(rules)
}

/// Where a file stands: its crate, and its module there.
struct Place<'a> {
    package: &'a str,
    module: Vec<&'a str>,
}

pub(super) fn check(sources: &[SourceFile], rules: &Rules) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for file in sources {
        let (Some(rust), Some(place)) = (&file.rust, place(&file.path)) else { continue };
        let module = place.module.first().copied().unwrap_or_default();
        let own = rules.modules.get(place.package).filter(|modules| modules.contains(module));
        if own.is_none() && !rules.crates.contains(place.package) {
            continue;
        }
        if own.is_some() {
            seen.insert((place.package, module));
        }
        for path in named(&rust.code, &place.module) {
            let complaint = forbidden(&path, rules).or_else(|| foreign(&path, own?, rules));
            let line = 1 + rust.code.bytes().take(path.at).filter(|&byte| byte == b'\n').count();
            found.extend(complaint.map(|complaint| Finding::new(&file.path, line, complaint)));
        }
    }
    let modules =
        rules.modules.iter().flat_map(|(package, modules)| modules.iter().map(move |name| (package, name)));
    for (package, name) in
        modules.filter(|(package, name)| !seen.contains(&(package.as_str(), name.as_str())))
    {
        let message =
            format!("[workspace.metadata.pure] names the module `{name}` of `{package}`, which has no file");
        found.push(Finding::new("Cargo.toml", 0, message));
    }
    found
}

/// The crate and the module of a source of a library.
fn place(path: &str) -> Option<Place<'_>> {
    let (package, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let file = file.strip_suffix(".rs")?;
    let file = file.strip_suffix("/mod").unwrap_or(file);
    let module = if file == "lib" { Vec::new() } else { file.split('/').collect() };
    Some(Place { package, module })
}

/// Why a path may stand in nothing that is pure. One that ends above a forbidden one hides what is made of it.
fn forbidden(path: &Named, rules: &Rules) -> Option<String> {
    let shown = path.names.join("::");
    rules.paths.iter().find_map(|forbidden| {
        let below = |long: &str, short: &str| {
            long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        if below(&shown, forbidden) {
            Some(format!("`{shown}` in what is pure: [workspace.metadata.pure] forbids `{forbidden}`"))
        } else if path.by != By::Code && below(forbidden, &shown) {
            Some(format!(
                "`{shown}` in what is pure hides whether `{forbidden}` is used: name what is needed of it"
            ))
        } else {
            None
        }
    })
}

/// Why a path leads out of the pure modules of a crate.
fn foreign(path: &Named, own: &BTreeSet<String>, rules: &Rules) -> Option<String> {
    let shown = path.names.join("::");
    let first = path.names.first()?.as_str();
    if first == "crate" {
        let module = path.names.get(1).map(String::as_str);
        return match module.filter(|module| own.contains(*module)) {
            Some(_) => None,
            None => Some(format!("`{shown}` in a pure module, which may name of its crate only {own:?}")),
        };
    }
    if rules.values.contains(&shown) {
        return None;
    }
    let is = |package: &&String| package.replace('-', "_") == first;
    let barred = rules.forbidden.iter().chain(rules.members.difference(&rules.crates)).find(is)?;
    Some(format!("`{shown}` in a pure module: `{barred}` is not pure"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        Rules {
            crates: set(&["pure"]),
            forbidden: set(&["tokio-util"]),
            paths: set(&["std::env", "std::time::Instant", "std::collections::HashMap"]),
            values: set(&["host_clock::Moment"]),
            modules: BTreeMap::from([("engine".to_owned(), set(&["core", "numbers"]))]),
            members: set(&["pure", "engine", "host-clock"]),
        }
    }

    /// What is found in a file, when all others are in order.
    fn messages(path: &str, text: &str) -> Vec<String> {
        let others = ["crates/engine/src/core/mod.rs", "crates/engine/src/numbers.rs"];
        let mut files = vec![SourceFile::new(path, text)];
        files.extend(others.iter().filter(|other| **other != path).map(|other| SourceFile::new(other, "")));
        check(&files, &rules()).iter().map(ToString::to_string).collect()
    }

    const PURE: &str = "crates/pure/src/a/b.rs";
    const CORE: &str = "crates/engine/src/core/run.rs";

    #[test]
    fn what_is_allowed_has_no_finding() {
        let code = "//! `std::env::var`.\nuse std::{collections::BTreeMap, time::Duration};\n\
                    fn f() { \"std::env::var\"; Environment::std::env(); std::mem::take(x) }\n";
        for path in [PURE, CORE, "crates/pure/src/lib.rs"] {
            assert_eq!(messages(path, code), Vec::<String>::new(), "{path}");
        }
        let anything = "use std::env; use tokio_util::x; use crate::drive;";
        for path in ["crates/engine/src/drive.rs", "crates/pure/tests/a.rs", "xtask/src/main.rs"] {
            assert_eq!(messages(path, anything), Vec::<String>::new(), "{path}");
        }
        let inside = "use super::{record, super::numbers::count}; use pure::Value; use crate::core::Event;\n\
                      use host_clock::Moment; mod tests { use super::*; }";
        assert_eq!(messages(CORE, inside), Vec::<String>::new());
    }

    #[test]
    fn each_way_to_a_forbidden_path_is_found() {
        let ways = [
            "use std::env;",
            "use std::env::var as v;",
            "use std::{fmt, time::{Duration, Instant}};",
            "use std::time;",
            "use std::time::{self, Duration};",
            "use std::time::*;",
            "use std as s;",
            "use ::std::collections::HashMap;",
            "fn f() { std::env::var(x) }",
            "fn f() -> ::std::time::Instant { <std::time::Instant>::now() }",
            "fn f() { std :: env\n:: var(x) }",
        ];
        for way in ways {
            for path in [PURE, CORE] {
                let found = messages(path, &format!("//! Words.\n{way}\n"));
                assert!(!found.is_empty(), "{way} in {path}");
                assert!(found[0].starts_with(&format!("{path}:2: ")), "{found:?}");
            }
        }
    }

    #[test]
    fn a_pure_module_names_nothing_of_its_crate_that_is_not_pure() {
        for way in [
            "use crate::drive::Pilot;",
            "use crate::*;",
            "use super::super::drive;",
            "fn f() { crate::engine::x() }",
            "use tokio_util::sync;",
            "fn f() { host_clock::now() }",
            "mod tests { use super::super::super::drive; }",
        ] {
            assert_eq!(messages(CORE, way).len(), 1, "{way}: {:?}", messages(CORE, way));
        }
        assert_eq!(messages("crates/engine/src/core/mod.rs", "use super::drive;").len(), 1);
    }

    #[test]
    fn a_module_that_is_gone_is_found() {
        let found = check(&[SourceFile::new("crates/engine/src/core/mod.rs", "")], &rules());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("`numbers` of `engine`"), "{found:?}");
    }
}
