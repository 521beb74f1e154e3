//! `jaren rebind`: binds a run to another document; nothing is executed.

use std::sync::Arc;

use jaren::engine::{Engine, Failure, Rebind, Rebound, RunStatus, TaskContext, Tasks};
use jaren::flow::workflow::Workflow;
use jaren::json::Value;

use super::check::refused;
use super::execute::{Execution, busy, unknown_run};
use super::resume::remembered_tasks;
use super::run::attachment;
use crate::args;
use crate::exit::Exit;
use crate::input;
use crate::lock::Asked;
use crate::output::Output;
use crate::problem::Problem;
use crate::store::{self, Use};
use crate::tasks_file::{self, TasksFile};
use crate::text;

/// Rebinds the run. Everything that the user gave is read and checked before anything is written.
pub(crate) async fn rebind(arguments: &args::Rebind, output: &mut Output) -> Result<Exit, Problem> {
    let (run, path) = (&*arguments.run, &*arguments.store.store);
    let document = input::document(&arguments.file)?;
    let storage = store::open(path, Use::Write)?;
    let execution = Execution { run, path, storage: Arc::clone(&storage), tasks: None, no_wait: true };
    let view = execution.view().await?.ok_or_else(|| unknown_run(run, path))?;
    if view.status == RunStatus::Done {
        return Err(Problem::new(Exit::Conflict, format!("run {run:?} is done, and goes on with nothing")));
    }
    let tasks = remembered_tasks(&view, arguments.tasks.as_deref(), output)?;
    Workflow::compile(&document.value, tasks_file::bindings(tasks.as_ref()))
        .map_err(|report| refused("workflow", &document, &report))?;
    let mut rebind = Rebind::new(document.value, &*arguments.actor, &*arguments.reason);
    if arguments.tasks.is_some() {
        rebind = rebind.with_attachment(attachment(tasks.as_ref()));
    }
    if arguments.start_over {
        rebind = rebind.starting_over();
    }
    let lock = match execution.lock().await? {
        Asked::Held(lock) => lock,
        Asked::Busy(holder) => return Err(busy(run, holder)),
    };
    let engine = Engine::new(storage, named(tasks.as_ref()));
    let rebound = engine.rebind(run, rebind).await;
    drop(lock);
    let rebound = rebound.map_err(|error| execution.problem(&error))?;
    output.print(&to_json(run, &rebound), || {
        let (from, to) = (text::line(&rebound.from.revision), text::line(&rebound.to.revision));
        format!("run {} goes on with revision {to}, instead of {from}\n", text::line(run))
    });
    Ok(Exit::Success)
}

/// The tasks of the file by name and version: none of them is executed here.
fn named(file: Option<&TasksFile>) -> Tasks {
    let mut tasks = Tasks::new();
    for (name, _, binding) in tasks_file::bindings(file).iter() {
        tasks.add_value(name, &binding.version, async |_: TaskContext, _: Value, _: Value| {
            Err(Failure::new("a run is not executed while it is bound to another document"))
        });
    }
    tasks
}

fn to_json(run: &str, rebound: &Rebound) -> Value {
    let members = super::show::rebound_json(rebound);
    let head = [("type", Value::from("rebound")), ("run", Value::from(run))];
    let rest = members.as_object().into_iter().flat_map(|members| members.iter());
    Value::Object(head.into_iter().chain(rest.map(|(name, value)| (name, value.clone()))).collect())
}
