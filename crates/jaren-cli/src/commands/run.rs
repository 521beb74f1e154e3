//! `jaren run`: starts a run and executes it; the same run again resumes it.

use std::sync::Arc;

use jaren::engine::{RunView, Start};
use jaren::flow::workflow::Workflow;
use jaren::host::{Ids, SortableIds, SystemClock, SystemRandom};
use jaren::json::{Value, value};

use super::check::refused;
use super::execute::{Enter, Execution, busy};
use crate::args;
use crate::exit::Exit;
use crate::input;
use crate::lock::Asked;
use crate::output::Output;
use crate::problem::Problem;
use crate::store::{self, Use};
use crate::tasks_file::{self, TasksFile};
use crate::text;

/// Starts the run. Everything that the user gave is read and checked before the store is touched.
pub(crate) async fn run(arguments: &args::Run, output: &mut Output) -> Result<Exit, Problem> {
    let dash = |path: &std::path::Path| path == std::path::Path::new("-");
    if dash(&arguments.file) && arguments.input.as_deref().is_some_and(dash) {
        return Err(Problem::new(
            Exit::Usage,
            "the document and the input cannot both be read from standard input",
        ));
    }
    let document = input::document(&arguments.file)?;
    let tasks = arguments.tasks.as_deref().map(tasks_file::read).transpose()?;
    Workflow::compile(&document.value, tasks_file::bindings(tasks.as_ref()))
        .map_err(|report| refused("workflow", &document, &report))?;
    let data = arguments.input.as_deref().map_or(Ok(Value::Null), input::data)?;

    let storage = store::open(&arguments.store.store, Use::Create)?;
    let minted = || SortableIds::new(Arc::new(SystemClock), Arc::new(SystemRandom)).mint("run");
    let id = arguments.id.clone().unwrap_or_else(minted);
    let execution =
        Execution { run: &id, path: &arguments.store.store, storage, tasks, no_wait: arguments.no_wait };
    if let Some(begun) = execution.view().await? {
        same(&id, &begun, &document.value, &data)?;
    }
    let store = arguments.store.store.display().to_string();
    let object = value!({ "type": "run", "run": id.as_str(), "store": store });
    output.print(&object, || format!("run {}\n", text::line(&id)));
    match execution.lock().await? {
        Asked::Held(lock) => {
            let start = Start::new(document.value, data)
                .with_id(&*id)
                .with_attachment(attachment(execution.tasks.as_ref()));
            execution.drive(lock, Enter::Start(start), output).await
        }
        Asked::Busy(holder) => Err(busy(&id, holder)),
    }
}

/// What the run's session remembers of its bindings.
pub(super) fn attachment(tasks: Option<&TasksFile>) -> Value {
    let tasks = tasks.map(|file| {
        let path = file.path.display().to_string();
        value!({ "path": path, "sha256": file.digest() })
    });
    value!({ "tasks": tasks })
}

/// A run that exists must be the one that is asked for.
fn same(id: &str, begun: &RunView, document: &Value, data: &Value) -> Result<(), Problem> {
    let what = match (begun.document == *document, begun.input == *data) {
        (true, true) => return Ok(()),
        (false, true) => "document",
        (true, false) => "input",
        (false, false) => "document and another input",
    };
    let message = format!("run {id:?} exists and began with another {what}");
    Err(Problem::new(Exit::Conflict, message)
        .with_help("a run goes on with what it began with: give that again, use `jaren resume`, or start another run under another --id"))
}
