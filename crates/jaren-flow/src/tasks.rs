//! What a host registers, as the compilers see it: handlers by the name and the version of their task, and the one rule
//! by which a document names one of them.

use std::collections::BTreeMap;

use jaren_json::Str;

/// What a registry says about a task that a document names (dag format, declared task versions).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskEntry<'a> {
    /// It has the handler that is meant, or there is no registry that could know better.
    Found,
    /// No handler has this name: JF0018.
    Missing,
    /// It has handlers of this name, but not the one that is meant: JF0019. These are their versions, `None` that of a
    /// handler without one.
    Others(Vec<Option<&'a str>>),
}

/// The registry of a host, as far as compiling needs it. [`TaskMap`] is one.
pub trait TaskVersions {
    /// Is there the handler that a document means by this name and the version that it declares, if it declares one?
    fn entry(&self, task: &str, declared: Option<&str>) -> TaskEntry<'_>;

    /// The names that there are, where the registry can list them: the nearest to a missing one is suggested.
    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(std::iter::empty())
    }

    /// The task versions of a handler that is itself composed of tasks, by their paths inside it: segments are
    /// escaped as in a JSON Pointer and joined by `/`. They become part of the identity of what calls it.
    fn nested(&self, _task: &str, _declared: Option<&str>) -> Box<dyn Iterator<Item = (&str, &str)> + '_> {
        Box::new(std::iter::empty())
    }
}

/// Handlers, or whatever stands for them, by the name and the version of their task.
///
/// A task may be there at several versions, so that documents which name the old one and documents which name the new
/// one find theirs side by side. The rule of [`get`](TaskMap::get) is the one of the formats:
///
/// - a document that declares a version means the handler of exactly that version;
/// - a document that declares none means the handler without a version, or else the only one that there is. Where there
///   are several versions and no handler without one, it has to say which it means.
///
/// ```
/// use jaren_flow::{TaskEntry, TaskMap, TaskVersions};
///
/// let mut tasks = TaskMap::new();
/// assert!(tasks.insert("tax", Some("1"), "the old rate"));
/// assert_eq!(tasks.get("tax", None), Some(&"the old rate"));
/// assert!(tasks.insert("tax", Some("2"), "the new rate"));
/// assert_eq!(tasks.get("tax", Some("1")), Some(&"the old rate"));
/// assert_eq!(tasks.entry("tax", None), TaskEntry::Others(vec![Some("1"), Some("2")]));
/// ```
#[derive(Debug, Clone)]
pub struct TaskMap<T> {
    /// Sorted by version, none first.
    by_name: BTreeMap<Str, Vec<(Option<Str>, T)>>,
}

impl<T> TaskMap<T> {
    /// No tasks.
    pub const fn new() -> Self {
        Self { by_name: BTreeMap::new() }
    }

    /// Adds a handler, unless there is one of that name and version: then the first one stays, and the answer is false.
    #[must_use = "a handler that is there already stays"]
    pub fn insert(&mut self, task: &str, version: Option<&str>, handler: T) -> bool {
        let versions = self.by_name.entry(Str::from(task)).or_default();
        let Err(place) = position(versions, version) else { return false };
        versions.insert(place, (version.map(Str::from), handler));
        true
    }

    /// The handler that a document means by this name and the version that it declares, if it declares one.
    pub fn get(&self, task: &str, declared: Option<&str>) -> Option<&T> {
        let versions = self.by_name.get(task)?;
        match (position(versions, declared), declared, &**versions) {
            (Ok(place), ..) => versions.get(place).map(|(_, handler)| handler),
            (Err(_), None, [(_, only)]) => Some(only),
            (Err(_), ..) => None,
        }
    }

    /// The handler of exactly this name and version.
    pub fn get_mut(&mut self, task: &str, version: Option<&str>) -> Option<&mut T> {
        let versions = self.by_name.get_mut(task)?;
        let place = position(versions, version).ok()?;
        versions.get_mut(place).map(|(_, handler)| handler)
    }

    /// Everything that there is, by name and then by version.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, Option<&Str>, &T)> {
        self.by_name.iter().flat_map(|(task, versions)| {
            versions.iter().map(move |(version, handler)| (task, version.as_ref(), handler))
        })
    }

    /// Is nothing there?
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

impl<T> Default for TaskMap<T> {
    fn default() -> Self {
        Self::new()
    }
}

fn position<T>(versions: &[(Option<Str>, T)], version: Option<&str>) -> Result<usize, usize> {
    versions.binary_search_by(|(found, _)| found.as_deref().cmp(&version))
}

impl<T> TaskVersions for TaskMap<T> {
    fn entry(&self, task: &str, declared: Option<&str>) -> TaskEntry<'_> {
        match self.by_name.get(task) {
            None => TaskEntry::Missing,
            Some(_) if self.get(task, declared).is_some() => TaskEntry::Found,
            Some(versions) => TaskEntry::Others(versions.iter().map(|(other, _)| other.as_deref()).collect()),
        }
    }

    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.by_name.keys().map(|name| &**name))
    }
}

/// Accepts every task at the version that the document declares: for checking a document without its bindings
/// and for reading a stored run.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeclaredTasks;

impl TaskVersions for DeclaredTasks {
    fn entry(&self, _task: &str, _declared: Option<&str>) -> TaskEntry<'_> {
        TaskEntry::Found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undeclared_version_means_the_handler_without_one_or_the_only_one() {
        let mut tasks = TaskMap::new();
        assert_eq!(tasks.entry("t", None), TaskEntry::Missing);
        assert!(tasks.insert("t", Some("2"), 2));
        assert_eq!((tasks.get("t", None), tasks.get("t", Some("2"))), (Some(&2), Some(&2)));
        assert!(tasks.insert("t", Some("1"), 1));
        assert_eq!((tasks.get("t", None), tasks.get("t", Some("1"))), (None, Some(&1)));
        assert_eq!(tasks.entry("t", Some("3")), TaskEntry::Others(vec![Some("1"), Some("2")]));
        assert!(tasks.insert("t", None, 0));
        assert_eq!((tasks.get("t", None), tasks.get("t", Some("3"))), (Some(&0), None));
    }

    #[test]
    fn the_first_of_a_pair_stays() {
        let mut tasks = TaskMap::new();
        assert!(tasks.insert("t", Some("1"), 1) && !tasks.insert("t", Some("1"), 2));
        assert!(tasks.insert("t", None, 3) && !tasks.insert("t", None, 4));
        let all: Vec<_> =
            tasks.iter().map(|(_, version, value)| (version.map(|text| &**text), *value)).collect();
        assert_eq!(all, [(None, 3), (Some("1"), 1)]);
        assert_eq!(tasks.get_mut("t", Some("2")), None);
    }
}
