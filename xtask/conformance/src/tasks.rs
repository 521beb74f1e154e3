//! The corpus's task registry: names, versions and nested versions for compiling, answers for running.

mod handlers;

use std::collections::BTreeMap;

use jaren_flow::{TaskEntry, TaskVersions};
use jaren_json::Value;

use crate::case::Case;
pub(crate) use handlers::{Called, Handlers};

/// Every task that the corpus names.
const NAMES: [&str; 9] = ["echo", "with", "both", "add1", "fail", "null", "turn", "flaky", "cancel"];

/// The registry of one case.
#[derive(Debug)]
pub(crate) struct CaseTasks {
    versions: BTreeMap<&'static str, Option<String>>,
    nested: BTreeMap<String, BTreeMap<String, String>>,
}

impl CaseTasks {
    /// The tasks at the versions that the case names, the others without one; every task at `version` where it names
    /// none.
    pub(crate) fn of(case: &Case, version: Option<&str>) -> Self {
        let named = case.get("versions");
        let own = |task: &str| match named {
            Some(named) => named.get(task).and_then(Value::as_str),
            None => version,
        };
        let versions = NAMES.iter().map(|&task| (task, own(task).map(ToOwned::to_owned))).collect();
        let nested = case.get("nested").and_then(Value::as_object).into_iter().flatten();
        let nested = nested.map(|(task, versions)| (task.to_owned(), strings(versions))).collect();
        Self { versions, nested }
    }
}

fn strings(versions: &Value) -> BTreeMap<String, String> {
    let members = versions.as_object().into_iter().flatten();
    members.filter_map(|(path, version)| Some((path.to_owned(), version.as_str()?.to_owned()))).collect()
}

impl TaskVersions for CaseTasks {
    fn version(&self, task: &str) -> TaskEntry<'_> {
        match self.versions.get(task) {
            None => TaskEntry::Missing,
            Some(None) => TaskEntry::Unversioned,
            Some(Some(version)) => TaskEntry::Version(version),
        }
    }

    fn nested(&self, task: &str) -> Option<&BTreeMap<String, String>> {
        self.nested.get(task)
    }
}
