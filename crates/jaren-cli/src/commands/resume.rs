//! `jaren resume`: executes a stored run on; it knows its document and its tasks file.

use std::path::{Path, PathBuf};

use jaren::engine::{RunStatus, RunView};
use jaren::json::Value;

use super::execute::{Enter, Execution, busy, unknown_run};
use crate::args;
use crate::exit::Exit;
use crate::lock::Asked;
use crate::output::{Output, tell};
use crate::problem::Problem;
use crate::store::{self, Use};
use crate::tasks_file::{self, TasksFile};
use crate::text;

/// Executes the run on.
pub(crate) async fn resume(arguments: &args::Resume, output: &mut Output) -> Result<Exit, Problem> {
    let storage = store::open(&arguments.store.store, Use::Write)?;
    let mut execution = Execution {
        run: &arguments.run,
        path: &arguments.store.store,
        storage,
        tasks: None,
        no_wait: arguments.drive.no_wait,
    };
    let view = execution.view().await?.ok_or_else(|| unknown_run(&arguments.run, &arguments.store.store))?;
    execution.tasks = remembered_tasks(&view, arguments.drive.tasks.as_deref(), output)?;
    match execution.lock().await? {
        Asked::Held(lock) => execution.drive(lock, Enter::Open, output).await,
        Asked::Busy(holder) => Err(busy(&arguments.run, holder)),
    }
}

/// The tasks file that the command line names, or else the one that the run remembers. A run that is done needs none.
pub(crate) fn remembered_tasks(
    view: &RunView,
    named: Option<&Path>,
    output: &Output,
) -> Result<Option<TasksFile>, Problem> {
    if let Some(path) = named {
        return tasks_file::read(path).map(Some);
    }
    let remembered = view.attachment.get("tasks");
    let text = |member: &str| remembered.and_then(|tasks| tasks.get(member)).and_then(Value::as_str);
    let Some(path) = text("path").filter(|_| view.status != RunStatus::Done) else { return Ok(None) };
    let file = tasks_file::read(&PathBuf::from(path)).map_err(|problem| {
        problem.with_help("the run remembers this path; --tasks names the file's new place")
    })?;
    if text("sha256") != Some(&file.digest()) && !output.is_json() {
        tell(&format!(
            "note: {} has changed since the run began; task versions decide whether it still fits\n",
            text::line(path)
        ));
    }
    Ok(Some(file))
}
