//! The workspace as the other tasks see it: where it lies and what cargo says about it.

use std::path::{Path, PathBuf};

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};

use crate::run::Failure;

/// The repository's root: the folder above this package.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The folder with the corpus and the peers, beside the repository.
pub(crate) fn shared() -> PathBuf {
    root().join("../shared")
}

/// `cargo metadata` for the platform that we run on, so that no other platform's crates need to be downloaded.
pub(crate) fn metadata() -> Result<Metadata, Failure> {
    let platform = host_platform()?;
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .features(CargoOpt::AllFeatures)
        .other_options(vec!["--filter-platform".to_owned(), platform])
        .exec()
        .map_err(|error| format!("cargo metadata: {error}"))
}

/// The triple that rustc builds for when it is not told.
pub(crate) fn host_platform() -> Result<String, Failure> {
    let output = std::process::Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| format!("`rustc -vV` did not start: {error}"))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| "`rustc -vV` named no host platform".to_owned())
}
