//! What the libraries promise: one line for each public item, from rustdoc's own reading of them.
//!
//! rustdoc answers JSON on the stable toolchain where it is told that it may; only rustdoc is told, so that nothing
//! else is built anew. What is hidden from the pages (`#[doc(hidden)]`) is no part of the surface.

mod items;
mod signature;

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use serde_json::Value;

use crate::run::{Failure, cargo, run};
use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The packages; all libraries of `crates/` if none is named.
    #[arg(value_name = "PACKAGE")]
    packages: Vec<String>,
    /// Prints how many lines each has, and not the lines.
    #[arg(long)]
    count: bool,
    /// Another checkout of this repository, to compare with.
    #[arg(long, value_name = "FOLDER")]
    checkout: Option<PathBuf>,
}

/// The task.
pub(crate) fn surface(options: &Options) -> Result<(), Failure> {
    let root = options.checkout.as_deref().unwrap_or_else(|| workspace::root());
    let rustdoc = rustdoc()?;
    let mut all = 0;
    for package in
        libraries(root)?.iter().filter(|name| options.packages.is_empty() || options.packages.contains(name))
    {
        let lines = items::lines(&document(root, &rustdoc, package)?, root);
        all += lines.len();
        if options.count {
            println!("{package:<20} {:>6}", lines.len());
        } else {
            for line in &lines {
                println!("{line}");
            }
        }
    }
    if options.count {
        println!("{:<20} {all:>6}", "all");
    }
    Ok(())
}

/// The names of the packages under `crates/` that are libraries.
fn libraries(root: &Path) -> Result<Vec<String>, Failure> {
    let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec();
    let metadata = metadata.map_err(|error| format!("cargo metadata: {error}"))?;
    let crates =
        metadata.packages.iter().filter(|package| package.manifest_path.as_str().contains("/crates/"));
    let libraries = crates.filter(|package| package.targets.iter().any(cargo_metadata::Target::is_lib));
    let mut names: Vec<String> = libraries.map(|package| package.name.to_string()).collect();
    names.sort();
    Ok(names)
}

/// A rustdoc that may answer JSON, as a script: cargo asks for a program.
fn rustdoc() -> Result<PathBuf, Failure> {
    let folder = workspace::root().join("target/surface");
    let script = folder.join("rustdoc");
    let failed = |error: std::io::Error| format!("{}: {error}", script.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::write(&script, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n").map_err(failed)?;
    make_executable(&script).map_err(failed)?;
    Ok(script)
}

#[cfg(unix)]
fn make_executable(script: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(script, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("the surface is listed on Unix only"))
}

/// What rustdoc says of a library.
fn document(root: &Path, rustdoc: &Path, package: &str) -> Result<Value, Failure> {
    // Two checkouts in one target folder would take each other's libraries for their own.
    let target = root.join("target");
    let mut command = cargo(["rustdoc", "--quiet", "--lib", "--package", package]);
    command.args(["--", "-Zunstable-options", "--output-format", "json"]);
    command.current_dir(root).env("RUSTDOC", rustdoc).env("CARGO_TARGET_DIR", &target);
    run(&mut command)?;
    let path = target.join("doc").join(package.replace('-', "_")).with_extension("json");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
