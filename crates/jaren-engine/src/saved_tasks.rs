//! The tasks of a stored run, as far as what was saved tells of them: for reading it where nobody has its handlers.

use std::collections::BTreeMap;

use jaren_flow::workflow::Workflow;
use jaren_flow::{CompileOptions, DeclaredTasks, TaskEntry, TaskVersions};
use jaren_json::{Pointer, Report, Value};

/// Accepts every task at the version that the document declares, and knows the versions of those that it was composed
/// of when the run was saved.
struct SavedTasks {
    /// By the name and version of a task: the versions inside it by their paths.
    nested: BTreeMap<(String, String), BTreeMap<String, String>>,
}

/// The workflow that a snapshot was saved with, whoever has its tasks.
pub(crate) fn compile(document: &Value, snapshot: &Value) -> Result<Workflow, Report> {
    let workflow = Workflow::compile_with(document, &DeclaredTasks, &CompileOptions::for_reading())?;
    let saved = snapshot.get("identity").and_then(|identity| identity.get("taskVersions"));
    let Some(saved) = saved.and_then(Value::as_object).filter(|saved| *saved != workflow.task_versions())
    else {
        return Ok(workflow);
    };
    let mut nested: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for (state, dag) in workflow.lowered().dags() {
        let nodes = dag.get("nodes").and_then(Value::as_object);
        for (id, node) in nodes.into_iter().flat_map(|nodes| nodes.iter()) {
            let text = |member: &str| node.get(member).and_then(Value::as_str).map(str::to_owned);
            let (Some(name), Some(version)) = (text("run"), text("version")) else { continue };
            let inside = format!("{state}{}/", Pointer::from_tokens([id]));
            for (path, version_inside) in saved {
                if let (Some(path), Some(inner)) = (path.strip_prefix(&inside), version_inside.as_str()) {
                    let of_task = nested.entry((name.clone(), version.clone())).or_default();
                    of_task.insert(path.to_owned(), inner.to_owned());
                }
            }
        }
    }
    Workflow::compile_with(document, &SavedTasks { nested }, &CompileOptions::for_reading())
}

impl TaskVersions for SavedTasks {
    fn entry(&self, _task: &str, _declared: Option<&str>) -> TaskEntry<'_> {
        TaskEntry::Found
    }

    fn nested(&self, task: &str, declared: Option<&str>) -> Box<dyn Iterator<Item = (&str, &str)> + '_> {
        let key = declared.map(|version| (task.to_owned(), version.to_owned()));
        let nested = key.and_then(|key| self.nested.get(&key));
        Box::new(nested.into_iter().flatten().map(|(path, version)| (&**path, &**version)))
    }
}
