//! What a host registers, as the compilers see it: task names and the versions of their handlers.

use std::collections::BTreeMap;

/// What a registry says about one task name (dag format, declared task versions).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEntry<'a> {
    /// No handler has this name: JF0018.
    Missing,
    /// A handler without a version. It serves only nodes that declare none.
    Unversioned,
    /// A handler with a version, which a node that declares one must repeat: JF0019.
    Version(&'a str),
    /// There is no registry to ask: the document's own word is taken.
    Declared,
}

/// The registry of a host, as far as compiling needs it.
pub trait TaskVersions {
    /// The entry of `task`.
    fn version(&self, task: &str) -> TaskEntry<'_>;

    /// The names that there are, where the registry can list them: the nearest to a missing one is suggested.
    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(std::iter::empty())
    }

    /// The task versions of a handler that is itself composed of tasks, by their paths inside it: segments are
    /// escaped as in a JSON Pointer and joined by `/`. They become part of the identity of what calls it.
    fn nested(&self, _task: &str) -> Option<&BTreeMap<String, String>> {
        None
    }
}

/// Names with versions.
impl TaskVersions for BTreeMap<String, String> {
    fn version(&self, task: &str) -> TaskEntry<'_> {
        self.get(task).map_or(TaskEntry::Missing, |version| TaskEntry::Version(version))
    }

    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.keys().map(String::as_str))
    }
}

/// Accepts every task at the version that the document declares: for checking a document without its bindings
/// and for reading a stored run.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeclaredTasks;

impl TaskVersions for DeclaredTasks {
    fn version(&self, _task: &str) -> TaskEntry<'_> {
        TaskEntry::Declared
    }
}
