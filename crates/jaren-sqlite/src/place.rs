//! Where a store's files are: one name for all of them, who may read them, and whether they are still those that were
//! opened.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Creates an empty file where there is none, for its owner alone: what a run carries may be secret. SQLite gives the
/// files beside it the same permissions.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    restrict(&mut options);
    options.open(path).map(drop)
}

/// Creates an empty file that must not exist yet, with the permissions of another one.
pub(crate) fn create_like(path: &Path, other: &Path) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    restrict(&mut options); // until it has its own
    options.open(path)?.set_permissions(fs::metadata(other)?.permissions())
}

/// Opens a file beside a store, or creates it with the store's permissions, so that all who may write the store may
/// write the file.
pub(crate) fn open_beside(store: &Path, suffix: &str) -> io::Result<File> {
    let permissions = fs::metadata(store)?.permissions();
    let file = File::options().create(true).truncate(false).write(true).open(beside(store, suffix))?;
    if file.metadata()?.permissions() != permissions {
        // Only its owner may, and whoever is not can use it as it is.
        let _ = file.set_permissions(permissions);
    }
    Ok(file)
}

/// The name of a file beside a store.
pub(crate) fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(not(unix))]
fn restrict(_: &mut OpenOptions) {}

/// Tells a file from another one that has its name later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    /// That of the file which has the name now; none if there is none.
    ///
    /// It asks for nothing but the number: Linux gives a file whose times somebody has asked for a new time with the next
    /// write, which then has to be synced with it, and that made commits that are alone a third slower.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        match statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
            Ok(found) => {
                let device = (u64::from(found.stx_dev_major) << 32) | u64::from(found.stx_dev_minor);
                Some(Self { device, number: found.stx_ino })
            }
            Err(rustix::io::Errno::NOSYS) => Self::by_metadata(path),
            Err(_) => None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Self::by_metadata(path)
    }

    fn by_metadata(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::from_metadata(&metadata))
    }

    #[cfg(unix)]
    fn from_metadata(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), number: metadata.ino() }
    }

    /// Where an open file cannot lose its name, there is nothing to tell apart.
    #[cfg(not(unix))]
    fn from_metadata(_: &Metadata) -> Self {
        Self { device: 0, number: 0 }
    }
}
